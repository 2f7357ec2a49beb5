//! Names that are never served, and names of scripts.
//!
//! Judged by the name alone, without regard to case. Only names that were *asked for* are judged: a link that
//! leads to a dot name inside the root is served under its own name (Kubernetes' `..data` folders).

/// Script sources: served by their handler or not at all.
const SOURCES: [&str; 13] =
    [".php", ".phtml", ".php5", ".phar", ".cgi", ".pl", ".py", ".rb", ".asp", ".aspx", ".jsp", ".inc", ".sh"];

/// What editors and careful people leave behind beside the real file.
const BACKUPS: [&str; 5] = ["~", ".bak", ".orig", ".swp", ".swo"];

/// Configuration of other servers and of this one, by its whole name.
const CONFIGURATION: [&str; 3] = ["web.config", ".htaccess", "samovar.toml"];

/// Private keys by their whole name, as `ssh-keygen` gives it.
const KEYS: [&str; 6] = ["id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk"];

/// Stores of private keys. What is text, and may as well be a certificate, is known by what it holds (`secret`).
const KEY_STORES: [&str; 5] = [".p12", ".pfx", ".jks", ".keystore", ".ppk"];

/// Never served under any setting. `top` says that the name lies directly in the root, where `.well-known`
/// is public by purpose (RFC 8615 §3).
pub(super) fn is_hidden(name: &[u8], top: bool) -> bool {
    if name.first() == Some(&b'.') {
        return !(top && name == b".well-known");
    }
    CONFIGURATION.iter().chain(&KEYS).any(|whole| name.eq_ignore_ascii_case(whole.as_bytes()))
        || KEY_STORES.iter().any(|suffix| has_suffix(name, suffix))
        || BACKUPS.iter().any(|suffix| has_suffix(name, suffix))
        || (name.len() > 1 && name.first() == Some(&b'#') && name.last() == Some(&b'#'))
}

/// The source of a script, which must not be shown.
pub(super) fn is_source(name: &[u8]) -> bool {
    SOURCES.iter().any(|suffix| has_suffix(name, suffix))
}

/// The handler, as it is written in the configuration, that takes files of this name.
pub(super) fn handler<'a>(name: &[u8], handlers: &[&'a str]) -> Option<&'a str> {
    handlers.iter().copied().find(|suffix| !suffix.is_empty() && has_suffix(name, suffix))
}

/// `name` is something followed by `suffix`, in any case.
fn has_suffix(name: &[u8], suffix: &str) -> bool {
    let suffix = suffix.as_bytes();
    match name.len().checked_sub(suffix.len()) {
        Some(stem) if stem > 0 => name.get(stem..).is_some_and(|end| end.eq_ignore_ascii_case(suffix)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_names_and_configuration_are_hidden_in_any_case() {
        for name in
            [".env", ".git", ".", "..", "...", ".HTACCESS", "Web.Config", "WEB.CONFIG", ".well-known2"]
        {
            assert!(is_hidden(name.as_bytes(), true), "{name}");
        }
        assert!(!is_hidden(b".well-known", true));
        assert!(is_hidden(b".well-known", false), "only in the root");
        assert!(is_hidden(b".Well-Known", true), "RFC 8615 writes it in lower case");
    }

    #[test]
    fn keys_and_our_own_configuration_are_hidden() {
        for name in
            ["samovar.toml", "Samovar.TOML", "id_rsa", "id_ed25519", "a.p12", "a.PFX", "a.jks", "a.ppk"]
        {
            assert!(is_hidden(name.as_bytes(), false), "{name}");
        }
        for name in ["id_rsa.pub", "samovar.html", "cargo.toml", "a.key", "a.pem", ".p12x"] {
            assert!(!is_hidden(name.as_bytes(), false) || name.starts_with('.'), "{name}");
        }
    }

    #[test]
    fn what_editors_leave_is_hidden() {
        for name in ["a.php~", "a.BAK", "conf.orig", "a.swp", "a.swo", "#a.html#"] {
            assert!(is_hidden(name.as_bytes(), false), "{name}");
        }
        for name in ["a~b", "bak", "original", "#a", "#", "a#", "web.configs", "a.html", "~user"] {
            assert!(!is_hidden(name.as_bytes(), false), "{name}");
        }
    }

    #[test]
    fn sources_and_handlers_go_by_the_last_extension() {
        for name in ["a.php", "A.PHP", "b.c.Phtml", "x.inc", "run.sh", "p.aspx", "a.html.py"] {
            assert!(is_source(name.as_bytes()), "{name}");
        }
        for name in ["a.php.jpg", "php", "a.phps", "inc", "a.shx"] {
            assert!(!is_source(name.as_bytes()), "{name}");
        }
        assert_eq!(handler(b"INDEX.PHP", &[".cgi", ".php"]), Some(".php"));
        assert_eq!(handler(b"a.php.txt", &[".php"]), None);
        assert_eq!(handler(b"a.txt", &[""]), None, "an empty extension takes nothing");
    }
}
