//! Serving without a file: a folder or a URL becomes a configuration text, and that is understood as any other.
//!
//! So there is one way in, rules can be added to it live, and `samovar` can show what it runs by.

use super::diag::{Code, Diagnostic};
use super::net::parse_origin_url;
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
            assert_eq!(site.canonical_host, "", "the client's own");
            assert_eq!(site.otherwise.wishes.lifetime, LifetimeWish::Respect);
            let TargetSettings::Http(http) = &loaded.settings.targets[site.fallback.0] else {
                panic!("not HTTP")
            };
            assert_eq!(http.places[0].address, Address::Tcp("127.0.0.1".into(), 3000));
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
}
