//! Serving without a file: a folder or a URL becomes a configuration text, and that is understood as any other.
//!
//! So there is one way in, rules can be added to it live, and `samovar` can show what it runs by. Also here: what
//! the command line says beside a configuration.

use super::diag::{Code, Diagnostic};
use super::net::{Listen, parse_listen, parse_origin_url};
use super::render::Report;
use super::{Loaded, parse};
use std::path::Path;

/// What stands for a file's name in messages.
const NAME: &str = "(command line)";

/// One site with the files of a folder.
///
/// # Errors
/// The folder does not exist or is none.
pub fn from_folder(dir: &Path) -> Result<Loaded, Report> {
    let refuse = |why: String, hint: &str| {
        let text = dir.display().to_string();
        let d = Diagnostic::error(Code::MissingFile, 0..text.len(), why).hint(hint);
        Report::new(NAME, &text, vec![d])
    };
    let full = std::fs::canonicalize(dir).map_err(|e| {
        refuse(format!("{} cannot be served: {e}", dir.display()), "name a folder that exists")
    })?;
    if !full.is_dir() {
        return Err(refuse(format!("{} is a file", dir.display()), "name the folder it lies in"));
    }
    let Some(path) = full.to_str() else {
        return Err(refuse(
            format!("the name of {} is not UTF-8", dir.display()),
            "rename it, or serve a link to it",
        ));
    };
    parse(&text("a folder", "files", path), NAME)
}

/// One site that passes everything to an HTTP server.
///
/// # Errors
/// It is no URL that can be used.
pub fn from_origin(url: &str) -> Result<Loaded, Report> {
    // `host:port` alone is what people type.
    let bare = !url.contains("://")
        && !url.starts_with("unix:")
        && parse_origin_url(&format!("http://{url}")).is_ok();
    let url = if bare { format!("http://{url}") } else { url.to_owned() };
    if let Err(hint) = parse_origin_url(&url) {
        let d = Diagnostic::error(Code::BadValue, 0..url.len(), "this origin cannot be used").hint(hint);
        return Err(Report::new(NAME, &url, vec![d]));
    }
    parse(&text("an origin", "origin", &url), NAME)
}

fn text(what: &str, key: &str, value: &str) -> String {
    let quoted = toml_edit::Value::from(value);
    format!(
        "# Samovar was started with {what} instead of a configuration file; this text stands for one.\n\
         config = 1\n\n[[site]]\nname = \"default\"\ndefault = true\n{key} = {}\n",
        quoted.to_string().trim()
    )
}

/// What the command line says beside a configuration; it takes precedence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// `--listen`, repeatable.
    pub listen: Vec<String>,
    /// `--admin`; `off` turns it off.
    pub admin: Option<String>,
    /// `--workers`.
    pub workers: Option<usize>,
}

impl Loaded {
    /// Puts the command line over the file.
    ///
    /// # Errors
    /// An address that cannot be used.
    pub fn apply(&mut self, line: &CommandLine) -> Result<(), Report> {
        let server = &mut self.settings.server;
        if !line.listen.is_empty() {
            let listen: Result<Vec<Listen>, Report> =
                line.listen.iter().map(|t| address("--listen", t)).collect();
            server.listen = listen?;
        }
        match line.admin.as_deref() {
            Some("off") => server.admin = None,
            Some(text) => server.admin = Some(admin(text)?),
            None => {}
        }
        if let Some(workers) = line.workers {
            if !(1..=1024).contains(&workers) {
                return Err(refused("--workers", &workers.to_string(), "a number from 1 to 1024"));
            }
            server.workers = Some(workers);
        }
        Ok(())
    }
}

fn admin(text: &str) -> Result<Listen, Report> {
    match address("--admin", text)? {
        Listen::Tcp(a) if !a.ip().to_canonical().is_loopback() => {
            Err(refused("--admin", text, "a loopback address or a unix socket; others could reach this one"))
        }
        listen => Ok(listen),
    }
}

fn address(option: &str, text: &str) -> Result<Listen, Report> {
    parse_listen(text).map_err(|hint| refused(option, text, &hint))
}

fn refused(option: &str, text: &str, hint: &str) -> Report {
    let d = Diagnostic::error(Code::BadValue, 0..text.len(), format!("`{option} {text}` cannot be used"));
    Report::new(option, text, vec![d.hint(hint)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TargetSettings;
    use samovar_origin::Address;
    use samovar_policy::LifetimeWish;

    #[test]
    fn an_origin_becomes_a_site() {
        for url in ["http://127.0.0.1:3000", "127.0.0.1:3000", "http://127.0.0.1:3000/"] {
            let loaded = from_origin(url).unwrap();
            assert!(loaded.warnings.is_empty());
            let site = &loaded.settings.sites.sites[0];
            assert!(site.default && site.hosts.is_empty());
            assert_eq!(site.canonical_host, "localhost");
            assert_eq!(site.otherwise.wishes.lifetime, LifetimeWish::Respect);
            let TargetSettings::Http(http) = &loaded.settings.targets[site.fallback.0] else {
                panic!("not HTTP")
            };
            assert_eq!(http.address, Address::Tcp("127.0.0.1".into(), 3000));
        }
        for bad in ["https://a.example", "", "http://", "ftp://a", "a b"] {
            assert!(from_origin(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_folder_becomes_a_site_whatever_its_name() {
        let dir = std::env::temp_dir().join(format!("samovar config \"test\" {}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let loaded = from_folder(&dir);
        std::fs::write(dir.join("file"), "x").unwrap();
        let file = from_folder(&dir.join("file"));
        std::fs::remove_dir_all(&dir).unwrap();
        let loaded = loaded.unwrap();
        let site = &loaded.settings.sites.sites[0];
        assert_eq!(site.otherwise.wishes.lifetime, LifetimeWish::UntilChanged);
        let TargetSettings::Files(files) = &loaded.settings.targets[site.fallback.0] else {
            panic!("not files")
        };
        assert!(files.root.ends_with(dir.file_name().unwrap()));
        assert!(!files.listing);
        assert!(file.unwrap_err().render(false).contains("is a file"));
        let gone = from_folder(&dir).unwrap_err().render(false);
        assert!(gone.contains("cannot be served"), "{gone}");
    }

    #[test]
    fn the_command_line_takes_precedence() {
        let mut loaded = from_origin("http://a.example").unwrap();
        let line = CommandLine {
            listen: vec!["127.0.0.1:0".into(), "unix:/tmp/x".into()],
            admin: Some("off".into()),
            workers: Some(3),
        };
        loaded.apply(&line).unwrap();
        let server = &loaded.settings.server;
        assert_eq!((server.listen.len(), &server.admin, server.workers), (2, &None, Some(3)));
        for (line, hint) in [
            (CommandLine { listen: vec!["8080".into()], ..CommandLine::default() }, "127.0.0.1:8080"),
            (CommandLine { admin: Some("0.0.0.0:9900".into()), ..CommandLine::default() }, "loopback"),
            (CommandLine { workers: Some(0), ..CommandLine::default() }, "1 to 1024"),
        ] {
            let said = loaded.apply(&line).unwrap_err().render(false);
            assert!(said.contains(hint), "{said}");
        }
    }
}
