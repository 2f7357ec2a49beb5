//! What httpd refused or ran by other means than `Require`: rewriting to 403, methods, certificates, scripts. Each closes.
//!
//! Not here: who may by address and password (`access`).

use super::directives::Conf;
use crate::note::Fate;
use crate::spell;
use crate::tree::Directive;
use crate::wanted::{PathSet, Select, Wide};

/// A directive of this kind, if it is one.
pub(super) fn directive(conf: &mut Conf<'_, '_>, d: &Directive, name: &str, select: &Select) -> bool {
    match name {
        "rewritecond" => {
            conf.conditions.push(d.clone());
            conf.breaks(d, "expressions of rewrites are not read: write `rewrite` or `redirect` into a rule");
        }
        "rewriterule" => rewrite(conf, d, select),
        "redirectmatch" => {
            let status = d.arg(0).parse::<u16>().ok().or((d.arg(0) == "gone").then_some(410));
            match status {
                Some(400..) => {
                    let wide = Select::path(Wide::of(d.arg(1), false).paths());
                    conf.close(d, &wide, "httpd refused these requests");
                }
                _ => conf.breaks(
                    d,
                    "expressions of rewrites are not read: write `rewrite` or `redirect` into a rule",
                ),
            }
        }
        "allowoverride" if d.args.iter().all(|a| a.eq_ignore_ascii_case("None")) => {
            conf.carried(d, "Samovar reads no .htaccess");
        }
        "allowoverride" => {
            let text = "Samovar reads no .htaccess: what one guards is open. Write its guards into rules";
            conf.note(d, Fate::Unsafe, text);
        }
        "sslverifyclient" if d.arg(0).eq_ignore_ascii_case("none") => {
            conf.carried(d, "Samovar asks no client for a certificate");
        }
        "sslverifyclient" if d.arg(0).to_ascii_lowercase().starts_with("optional") => {
            conf.note(
                d,
                Fate::Unsafe,
                "Samovar asks no client for a certificate: an application that is told of one must not rely on it",
            );
        }
        "sslverifyclient" => {
            conf.close(d, select, "clients had to show a certificate, and Samovar asks for none")
        }
        "sslrequire" => {
            conf.close(d, select, "a certificate or a condition was asked for, and Samovar asks for none")
        }
        "sslrequiressl" => conf.close(d, select, "it asked for TLS: see docs/tls.md, then take `deny` out"),
        "scriptalias" | "scriptaliasmatch" | "wsgiscriptalias" => {
            let path = PathSet::under(d.arg(0));
            let path = if d.arg(0).starts_with('/') { path } else { PathSet::All };
            conf.close(
                d,
                &Select::path(path),
                "Samovar runs no CGI programs; put the application behind FastCGI or HTTP",
            );
        }
        "sethandler" => match d.arg(0).to_ascii_lowercase().as_str() {
            "none" | "default-handler" => no_scripts(conf, d, select, &[".php".to_owned()]),
            _ => conf.close(
                d,
                select,
                "Samovar has no handler of this name, and would show its files as they are",
            ),
        },
        "addhandler" if ["type-map", "send-as-is"].contains(&d.arg(0)) => {
            conf.left(d, "Samovar has no handler of this name: its files are shown as they are");
        }
        "addhandler" => run(conf, d, select),
        "addtype" if d.arg(0).to_ascii_lowercase().contains("httpd-") => run(conf, d, select),
        "removehandler" | "removetype" => {
            let extensions: Vec<String> = d.args.iter().filter_map(|e| spell::extension(e)).collect();
            no_scripts(conf, d, select, &extensions);
        }
        "php_admin_flag" | "php_flag" if d.arg(0) == "engine" && d.arg(1).eq_ignore_ascii_case("off") => {
            no_scripts(conf, d, select, &[".php".to_owned()]);
        }
        _ => return false,
    }
    true
}

/// Scripts of a handler that is not there.
fn run(conf: &mut Conf<'_, '_>, d: &Directive, select: &Select) {
    let extensions: Vec<String> = d.args.iter().skip(1).filter_map(|e| spell::extension(e)).collect();
    let inner = Select::extensions(extensions.clone());
    match select.both(&inner).filter(|_| !extensions.is_empty()) {
        Some(inner) => {
            conf.close(d, &inner, "Samovar has no handler of this name, and would show its files as they are")
        }
        None => conf.left(d, "Samovar has no handler of this name: its files are shown as they are"),
    }
}

/// Where scripts are not run they are not shown either, as a handler is of a whole site.
fn no_scripts(conf: &mut Conf<'_, '_>, d: &Directive, select: &Select, extensions: &[String]) {
    match select.both(&Select::extensions(extensions.to_vec())) {
        Some(inner) if !select.is_all() && !extensions.is_empty() => {
            conf.close(d, &inner, "scripts did not run here, and a handler would run them in the whole site");
        }
        _ => conf.left(d, "a handler holds for a whole site"),
    }
}

/// `RewriteRule PATTERN - [F]`: conditions narrow it, so without them it closes more, not less.
fn rewrite(conf: &mut Conf<'_, '_>, d: &Directive, select: &Select) {
    let conditions = std::mem::take(&mut conf.conditions);
    let flags: Vec<String> =
        d.arg(2).trim_matches(['[', ']']).split(',').map(|flag| flag.trim().to_ascii_lowercase()).collect();
    let status = |flag: &String| flag.strip_prefix("r=")?.parse::<u16>().ok();
    let refuses = flags.iter().any(|f| ["f", "forbidden", "g", "gone"].contains(&f.as_str()))
        || flags.iter().filter_map(status).any(|status| status >= 400);
    if !refuses {
        conf.breaks(d, "expressions of rewrites are not read: write `rewrite` or `redirect` into a rule");
        return;
    }
    let flags_of = |c: &Directive| c.arg(2).to_ascii_lowercase();
    // Nobody is kept out who asks for pages.
    let only_trace = |c: &Directive| {
        let letters = c.arg(1).to_ascii_uppercase().replace(['^', '$', '(', ')'], "");
        c.arg(0) == "%{REQUEST_METHOD}" && letters.split('|').all(|m| m == "TRACE" || m == "TRACK")
    };
    if conditions.iter().any(|c| only_trace(c) && !flags_of(c).contains("or")) {
        conf.left(d, "TRACE goes no further than Samovar");
        return;
    }
    let fold = |text: &str| text.split([',', '[', ']']).any(|f| f == "nc" || f == "nocase");
    let pattern = d.arg(0);
    let base = match &select.path {
        PathSet::Under(path) | PathSet::Exact(path) => path.trim_end_matches('/'),
        _ => "",
    };
    let quoted: String = base
        .chars()
        .flat_map(|c| if c.is_ascii_alphanumeric() || c == '/' { vec![c] } else { vec!['\\', c] })
        .collect();
    // In a folder's section what is compared begins behind the folder.
    let pattern = match pattern.strip_prefix('^') {
        Some("") => String::new(),
        Some(rest) if !rest.starts_with(['/', '\\', '(', '[', '.']) => format!("^{quoted}/{rest}"),
        Some(rest) if !rest.starts_with('/') => rest.to_owned(),
        _ => pattern.to_owned(),
    };
    let mut wide = match pattern.strip_prefix('!') {
        Some(_) => PathSet::All,
        None => Wide::of(&pattern, fold(&d.arg(2).to_ascii_lowercase())).paths(),
    };
    let alone = !conditions.iter().any(|c| flags_of(c).contains("or"));
    if wide == PathSet::All && alone {
        let of_path =
            |c: &&Directive| c.arg(0) == "%{REQUEST_URI}" && !c.arg(1).starts_with(['!', '=', '-', '<', '>']);
        if let Some(c) = conditions.iter().find(of_path) {
            wide = Wide::of(c.arg(1), fold(&flags_of(c))).paths();
        }
    }
    let closed = select.both(&Select::path(wide)).unwrap_or_else(|| select.clone());
    conf.close(d, &closed, "httpd refused these requests");
}
