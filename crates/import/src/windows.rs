//! Paths of Windows: what they become on a machine that has no drives.
//!
//! `%SystemDrive%\inetpub\wwwroot` and `C:\cache` name nothing here. Each becomes a path below `/FILL-IN`, so that the file
//! stays whole, `samovar check` tells of the missing folder, and a search for `FILL-IN` finds every such place.

/// What stands for a folder of Windows.
pub(crate) fn filled(path: &str) -> String {
    let mut out = String::from("/FILL-IN");
    for part in path.split(['\\', '/']).filter(|part| !part.is_empty() && *part != "." && *part != "..") {
        let ok = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
        let part: String = part.trim_end_matches(':').trim_matches('%').chars().map(ok).take(60).collect();
        if !part.is_empty() && out.len() < 300 {
            out.push('/');
            out.push_str(&part);
        }
    }
    out
}

/// Whether a path is one of Windows.
pub(crate) fn is_windows(path: &str) -> bool {
    let drive = matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    drive || path.starts_with('%') || path.contains('\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_to_fill_in_keep_their_shape() {
        assert_eq!(filled("%SystemDrive%\\inetpub\\wwwroot"), "/FILL-IN/SystemDrive/inetpub/wwwroot");
        assert_eq!(filled("C:\\cache\\store1"), "/FILL-IN/C/cache/store1");
        assert!(is_windows("C:/htdocs") && is_windows("%windir%") && !is_windows("/srv/www"));
    }
}
