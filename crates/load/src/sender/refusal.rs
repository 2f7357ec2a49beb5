//! Why TLS with a server failed, in words that say what to do: the library's names of errors are for who maintains it.
//!
//! Every error that the library lists has its sentence here; its enums may grow, and what is new then falls to a general sentence
//! with the library's name in brackets. Pure. Not here: which certificates are trusted ([`super::trust`]).

use rustls::{AlertDescription as Alert, CertificateError as Certificate, Error};

/// What goes at the end of most sentences on certificates.
const UNCHECKED: &str = "or go unchecked with -k";

/// What the server said first, where it was not TLS.
pub(super) fn plain(first: &[u8]) -> Option<&'static str> {
    first
        .starts_with(b"HTTP/")
        .then_some("the server speaks plain HTTP at this port: write http:// in the place of https://")
}

/// The same the other way round: the beginning of a TLS alert or handshake (RFC 8446 §5.1), where a response was due.
pub(super) fn secure(first: &[u8]) -> Option<&'static str> {
    matches!(first, [0x15 | 0x16, 0x03, 0..=4, ..])
        .then_some("the server speaks TLS at this port: write https:// in the place of http://")
}

/// The server went, or said nothing, before the handshake was over.
pub(super) const NO_HANDSHAKE: &str =
    "does the server speak TLS at this port? If it speaks plain HTTP, write http:// in the place of https://";

/// Why a session broke.
pub(super) fn words(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(why) => certificate(why),
        Error::AlertReceived(alert) => alerted(*alert),
        Error::NoCertificatesPresented => {
            format!("the server showed no certificate; give it one, {UNCHECKED}")
        }
        Error::PeerIncompatible(_) => {
            "the server and thirst have no version of TLS (1.2, 1.3), cipher or key exchange in common; look at what the server allows"
                .to_owned()
        }
        Error::InvalidMessage(_) => format!("what the server sent is no TLS; {NO_HANDSHAKE}"),
        Error::NoApplicationProtocol => no_http(),
        Error::UnsupportedNameType => {
            "no certificate can be for a name of this kind; ask the server by a host name or an address".to_owned()
        }
        Error::InappropriateMessage { .. }
        | Error::InappropriateHandshakeMessage { .. }
        | Error::PeerMisbehaved(_)
        | Error::PeerSentOversizedRecord
        | Error::DecryptError => {
            "the server, or something on the way to it, does not keep to TLS; ask it by another client: curl -v URL".to_owned()
        }
        Error::EncryptError
        | Error::FailedToGetCurrentTime
        | Error::FailedToGetRandomBytes
        | Error::HandshakeNotComplete
        | Error::BadMaxFragmentSize
        | Error::InvalidEncryptedClientHello(_)
        | Error::InvalidCertRevocationList(_)
        | Error::InconsistentKeys(_)
        | Error::General(_)
        | Error::Other(_) => general(error),
        _ => general(error),
    }
}

fn general(error: &Error) -> String {
    format!("TLS cannot go on, for a reason that has no sentence here ({error:?})")
}

fn no_http() -> String {
    "the server does not speak HTTP/1.1 over TLS, which is what thirst speaks; allow it there (ALPN http/1.1)"
        .to_owned()
}

fn certificate(why: &Certificate) -> String {
    #[allow(deprecated, reason = "the library may still say it in its old way")]
    match why {
        Certificate::Expired => format!("its certificate has expired; renew it, {UNCHECKED}"),
        Certificate::ExpiredContext { time, not_after } => {
            let days = time.as_secs().saturating_sub(not_after.as_secs()) / 86_400;
            let since = crate::report::units::many(days, "day");
            format!("its certificate has expired, {since} ago; renew it, {UNCHECKED}")
        }
        Certificate::NotValidYet | Certificate::NotValidYetContext { .. } => {
            format!("its certificate is not valid yet; look at the clocks of both machines, {UNCHECKED}")
        }
        Certificate::UnknownIssuer => {
            format!(
                "its certificate is signed by nobody who is trusted here; name the authority's with --cacert FILE, {UNCHECKED}"
            )
        }
        Certificate::NotValidForName => {
            format!(
                "its certificate is for another name; ask the server by the name it has (--resolve NAME=IP says where that is), {UNCHECKED}"
            )
        }
        Certificate::NotValidForNameContext { expected, presented } => {
            let names: Vec<&str> = presented.iter().map(|name| named(name)).collect();
            let names = if names.is_empty() { "no name".to_owned() } else { names.join(", ") };
            format!(
                "its certificate is for {names}, and not for {}; ask the server by a name it has (--resolve NAME=IP says where that is), {UNCHECKED}",
                expected.to_str()
            )
        }
        Certificate::Revoked => "its certificate has been revoked; give the server another".to_owned(),
        Certificate::BadSignature => {
            format!(
                "its certificate is not signed by the key of who is said to have signed it; name the right authority's with --cacert FILE, {UNCHECKED}"
            )
        }
        Certificate::BadEncoding | Certificate::UnhandledCriticalExtension => {
            format!("its certificate cannot be read as one; make it anew, {UNCHECKED}")
        }
        Certificate::UnsupportedSignatureAlgorithm
        | Certificate::UnsupportedSignatureAlgorithmContext { .. }
        | Certificate::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            format!(
                "its certificate is signed in a way that is no longer taken; make it anew with ECDSA or RSA and SHA-256, {UNCHECKED}"
            )
        }
        Certificate::InvalidPurpose | Certificate::InvalidPurposeContext { .. } => {
            format!(
                "its certificate is not one for servers; make one for them (extendedKeyUsage = serverAuth), {UNCHECKED}"
            )
        }
        Certificate::UnknownRevocationStatus
        | Certificate::ExpiredRevocationList
        | Certificate::ExpiredRevocationListContext { .. }
        | Certificate::InvalidOcspResponse
        | Certificate::ApplicationVerificationFailure => {
            format!("its certificate could not be checked ({why:?}); give the server another, {UNCHECKED}")
        }
        Certificate::Other(other) => other_certificate(&other.0.to_string()),
        _ => other_certificate(&format!("{why:?}")),
    }
}

/// What the library hands through by name from the crate below it, which is no dependency of ours.
fn other_certificate(name: &str) -> String {
    match name {
        "CaUsedAsEndEntity" => {
            format!(
                "its certificate vouches for itself (self-signed); name it with --cacert FILE, {UNCHECKED}"
            )
        }
        "EndEntityUsedAsCa" => {
            format!(
                "its certificate is signed by one that may not sign others; name the authority's with --cacert FILE, {UNCHECKED}"
            )
        }
        "UnsupportedCertVersion" => {
            format!("its certificate is of an old version (X.509 before 3); make it anew, {UNCHECKED}")
        }
        _ => format!(
            "its certificate is not taken, for a reason that has no sentence here ({name}); make it anew, {UNCHECKED}"
        ),
    }
}

/// The library shows names as `DnsName("www.example.org")` or `IpAddress(127.0.0.1)`.
fn named(shown: &str) -> &str {
    let inside = shown.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(shown);
    inside.trim_matches('"')
}

fn alerted(alert: Alert) -> String {
    match alert {
        Alert::ProtocolVersion => {
            "the server speaks neither TLS 1.2 nor 1.3, which thirst does; allow one of them there".to_owned()
        }
        Alert::HandshakeFailure | Alert::InsufficientSecurity => {
            "the server refused the handshake: no cipher or key exchange in common, or no certificate for this name; look at its log"
                .to_owned()
        }
        Alert::CertificateRequired
        | Alert::NoCertificate
        | Alert::BadCertificate
        | Alert::UnsupportedCertificate
        | Alert::CertificateRevoked
        | Alert::CertificateExpired
        | Alert::CertificateUnknown
        | Alert::UnknownCA
        | Alert::AccessDenied => {
            "the server wants a certificate of the client, and thirst has none to show; ask it at a place where none is wanted".to_owned()
        }
        Alert::UnrecognisedName => {
            "the server has no site of this name; ask it by a name it has (--resolve NAME=IP says where that is)".to_owned()
        }
        Alert::NoApplicationProtocol => no_http(),
        Alert::CloseNotify | Alert::UserCanceled => "the server ended the handshake; look at its log".to_owned(),
        other => format!("the server broke the handshake off (alert {}); look at its log", u8::from(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::{ServerName, UnixTime};
    use rustls::{InvalidMessage, OtherError, PeerIncompatible, PeerMisbehaved};
    use std::sync::Arc;
    use std::time::Duration;

    /// An error that shows itself by a name, as those of the crate below do.
    #[derive(Debug)]
    struct Named(&'static str);

    impl std::fmt::Display for Named {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.0)
        }
    }

    impl std::error::Error for Named {}

    #[test]
    fn what_people_meet_is_said_in_words_with_what_to_do() {
        let other = |name| Error::InvalidCertificate(Certificate::Other(OtherError(Arc::new(Named(name)))));
        let certificate = Error::InvalidCertificate;
        let at = |days: u64| UnixTime::since_unix_epoch(Duration::from_secs(days * 86_400));
        let wrong_name = Certificate::NotValidForNameContext {
            expected: ServerName::try_from("other.example.org").unwrap(),
            presented: vec!["DnsName(\"www.example.org\")".to_owned(), "IpAddress(127.0.0.1)".to_owned()],
        };
        for (error, says, mend) in [
            (other("CaUsedAsEndEntity"), "vouches for itself", "--cacert FILE"),
            (other("EndEntityUsedAsCa"), "may not sign others", "--cacert FILE"),
            (other("UnsupportedCertVersion"), "old version", "make it anew"),
            (certificate(Certificate::UnknownIssuer), "nobody who is trusted", "--cacert FILE"),
            (certificate(Certificate::Expired), "has expired", "-k"),
            (
                certificate(Certificate::ExpiredContext { time: at(12), not_after: at(9) }),
                "has expired, 3 days ago",
                "renew it",
            ),
            (certificate(Certificate::NotValidYet), "not valid yet", "clocks"),
            (certificate(Certificate::NotValidForName), "another name", "--resolve"),
            (
                certificate(wrong_name),
                "for www.example.org, 127.0.0.1, and not for other.example.org",
                "--resolve",
            ),
            (certificate(Certificate::InvalidPurpose), "not one for servers", "serverAuth"),
            (certificate(Certificate::BadSignature), "not signed by the key", "--cacert"),
            (certificate(Certificate::BadEncoding), "cannot be read", "make it anew"),
            (certificate(Certificate::Revoked), "revoked", "another"),
            (Error::InvalidMessage(InvalidMessage::InvalidContentType), "no TLS", "http://"),
            (Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon), "in common", "allows"),
            (Error::AlertReceived(Alert::ProtocolVersion), "neither TLS 1.2 nor 1.3", "allow one"),
            (Error::AlertReceived(Alert::HandshakeFailure), "refused the handshake", "log"),
            (Error::AlertReceived(Alert::CertificateRequired), "certificate of the client", "none is wanted"),
            (Error::AlertReceived(Alert::UnrecognisedName), "no site of this name", "--resolve"),
            (Error::AlertReceived(Alert::InternalError), "alert 80", "log"),
            (Error::PeerMisbehaved(PeerMisbehaved::TooMuchEarlyDataReceived), "keep to TLS", "curl -v"),
            (Error::NoCertificatesPresented, "no certificate", "-k"),
        ] {
            let said = words(&error);
            assert!(said.contains(says) && said.contains(mend), "{error:?}: {said}");
            // Two capitals in a word are a name of the library's, but for those people know.
            let is_theirs = |word: &&str| {
                let known = [
                    "TLS",
                    "HTTP",
                    "NAME",
                    "IP",
                    "FILE",
                    "SHA",
                    "ECDSA",
                    "RSA",
                    "ALPN",
                    "URL",
                    "X",
                    "extendedKeyUsage",
                ];
                let letters = word.trim_matches(|c: char| !c.is_ascii_alphabetic());
                letters.bytes().filter(u8::is_ascii_uppercase).count() > 1
                    && !known.iter().any(|known| letters.contains(known))
            };
            assert_eq!(said.split([' ', '/']).find(is_theirs), None, "{said}");
        }
    }

    #[test]
    fn what_has_no_sentence_keeps_its_name() {
        let said = words(&Error::General("odd".to_owned()));
        assert!(said.contains("odd"), "{said}");
        assert!(other_certificate("CertDistrusted").contains("(CertDistrusted)"));
    }

    #[test]
    fn the_other_protocol_is_known_by_its_first_bytes() {
        assert!(plain(b"HTTP/1.1 400 Bad Request\r\n").is_some_and(|said| said.contains("write http://")));
        assert!(plain(b"\x16\x03\x03").is_none());
        assert!(secure(b"\x15\x03\x01\0\x02\x02\x46").is_some_and(|said| said.contains("write https://")));
        assert!(secure(b"HTTP/1.1").is_none() && secure(b"\x15").is_none());
    }
}
