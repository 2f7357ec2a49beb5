//! TLS at the front: certificates by the name that the client asks for, and the stream above which everything else works
//! as it does without.
//!
//! Not here: which sites there are (`config`), what is said over the stream (`samovar_hot`, `pipeline`).

use crate::config::Certificate;
use crate::operator_files;
use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ProducesTickets, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use samovar_hot::Wire;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// What a TLS listener needs, made anew with each configuration: connections that are there keep what they began with.
///
/// # Errors
/// In words: which file, what is wrong with it, what to do.
pub fn acceptor(certificates: &[Certificate]) -> Result<Option<Arc<ServerConfig>>, String> {
    if certificates.is_empty() {
        return Ok(None);
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut names = Names::default();
    for certificate in certificates {
        names.add(certificate, Arc::new(read(certificate, &provider)?));
    }
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("set up TLS: {error}"))?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(names));
    // Of HTTP/1.0, too: a client that offers nothing else would be turned away.
    config.alpn_protocols = vec![b"http/1.1".to_vec(), b"http/1.0".to_vec()];
    config.ticketer = tickets()?;
    Ok(Some(Arc::new(config)))
}

/// One for the life of the process, so that clients resume their sessions after a reload, on any core.
fn tickets() -> Result<Arc<dyn ProducesTickets>, String> {
    static TICKETS: OnceLock<Arc<dyn ProducesTickets>> = OnceLock::new();
    if let Some(tickets) = TICKETS.get() {
        return Ok(Arc::clone(tickets));
    }
    let new = aws_lc_rs::Ticketer::new().map_err(|error| format!("set up TLS session tickets: {error}"))?;
    Ok(Arc::clone(TICKETS.get_or_init(|| new)))
}

fn read(certificate: &Certificate, provider: &CryptoProvider) -> Result<CertifiedKey, String> {
    let Certificate { site, chain, key, .. } = certificate;
    let about = |path: &Path, what: &str, hint: &str| {
        format!("certificate of site \"{site}\": {}: {what}\nhint: {hint}", path.display())
    };
    let bytes = |path: &Path| {
        operator_files::read(path, operator_files::CERTIFICATE_MAX_BYTES)
            .map_err(|e| about(path, &e.to_string(), "is the path right, and may this user read it?"))
    };
    let no_chain = "it holds no certificate in PEM (`-----BEGIN CERTIFICATE-----`)";
    let chain_hint =
        "name the file with the certificate and those that lead to its root, the site's own first";
    let chain_pem = bytes(chain)?;
    let all: Result<Vec<CertificateDer<'static>>, _> = CertificateDer::pem_slice_iter(&chain_pem).collect();
    let all = all.map_err(|error| about(chain, &error.to_string(), chain_hint))?;
    if all.is_empty() {
        return Err(about(chain, no_chain, chain_hint));
    }
    let key_hint = "name the file with the private key, without a pass phrase, in `certificate_key`";
    let private = PrivateKeyDer::from_pem_slice(&bytes(key)?)
        .map_err(|error| about(key, &format!("it holds no private key in PEM: {error}"), key_hint))?;
    CertifiedKey::from_der(all, private, provider).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => about(
            key,
            &format!("the key is not that of {}", chain.display()),
            "name the key made with the certificate",
        ),
        error => about(chain, &error.to_string(), chain_hint),
    })
}

/// Which certificate answers to which name (RFC 6066 §3).
#[derive(Debug, Default)]
struct Names {
    exact: HashMap<String, Arc<CertifiedKey>>,
    /// By what follows the star, the dot included.
    wildcards: Vec<(String, Arc<CertifiedKey>)>,
    /// For a client that names nobody, or somebody unknown: that of a default site, else the first.
    otherwise: Option<(bool, Arc<CertifiedKey>)>,
}

impl Names {
    fn add(&mut self, certificate: &Certificate, key: Arc<CertifiedKey>) {
        for host in &certificate.hosts {
            let host = host.to_ascii_lowercase();
            match host.strip_prefix('*') {
                Some(tail) => self.wildcards.push((tail.to_owned(), Arc::clone(&key))),
                None => {
                    self.exact.entry(host).or_insert_with(|| Arc::clone(&key));
                }
            }
        }
        if self.otherwise.as_ref().is_none_or(|(default, _)| !default && certificate.default) {
            self.otherwise = Some((certificate.default, key));
        }
    }

    fn of(&self, name: Option<&str>) -> Option<Arc<CertifiedKey>> {
        let named = name.and_then(|name| {
            let name = name.to_ascii_lowercase();
            let covers = |tail: &str| name.len() > tail.len() && name.ends_with(tail);
            let wild = || {
                let fitting = self.wildcards.iter().filter(|(tail, _)| covers(tail));
                fitting.max_by_key(|(tail, _)| tail.len()).map(|(_, key)| Arc::clone(key))
            };
            self.exact.get(&name).cloned().or_else(wild)
        });
        named.or_else(|| self.otherwise.as_ref().map(|(_, key)| Arc::clone(key)))
    }
}

impl ResolvesServerCert for Names {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.of(hello.server_name())
    }
}

/// How a handshake failed.
pub enum Failed {
    /// Anything that a client can meet: no common version, no trust in our certificate, silence.
    Handshake,
    /// The client speaks plain HTTP; the stream, to tell it so.
    PlainHttp(TcpStream),
}

/// The handshake.
///
/// # Errors
/// See [`Failed`].
pub async fn accept(config: Arc<ServerConfig>, stream: TcpStream) -> Result<Tls, Failed> {
    // Told by its first byte: a handshake begins with 0x16, a method with a letter.
    let mut first = [0];
    match stream.peek(&mut first).await {
        Ok(1) if first[0].is_ascii_uppercase() => return Err(Failed::PlainHttp(stream)),
        Ok(1) => {}
        _ => return Err(Failed::Handshake),
    }
    TlsAcceptor::from(config)
        .accept(stream)
        .await
        .map(|stream| Tls { stream, says_goodbye: true })
        .map_err(|_| Failed::Handshake)
}

/// A TLS stream that says goodbye when it is dropped, and takes the other's silent end for an end: bodies have lengths of
/// their own, so nothing can be cut short by it unseen.
pub struct Tls {
    stream: TlsStream<TcpStream>,
    /// Not where an answer broke off: it would vouch for what was sent.
    says_goodbye: bool,
}

impl AsyncRead for Tls {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_read(cx, buf) {
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(())),
            polled => polled,
        }
    }
}

impl Wire for Tls {
    fn break_off(&mut self, reset: bool) {
        self.says_goodbye = false;
        self.stream.get_mut().0.break_off(reset);
    }

    fn unsent_bytes(&self) -> Option<u64> {
        self.stream.get_ref().0.unsent_bytes()
    }

    /// The session's state and keys, a buffer for what comes (measured with 3,000 that waited).
    fn own_bytes(&self) -> usize {
        9_600
    }
}

impl AsyncWrite for Tls {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl Drop for Tls {
    /// `close_notify` (RFC 8446 §6.1), as far as the socket takes it at once.
    fn drop(&mut self) {
        if !self.says_goodbye {
            return;
        }
        let (socket, session) = self.stream.get_mut();
        session.send_close_notify();
        let mut wire = Vec::new();
        while session.wants_write() && session.write_tls(&mut wire).is_ok_and(|bytes| bytes > 0) {}
        let _gone = socket.try_write(&wire);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_their_certificates() {
        let key = |_: &str| {
            // Told apart by address alone.
            let provider = aws_lc_rs::default_provider();
            let pem = include_bytes!("../../tests/tls/a.key");
            let private = PrivateKeyDer::from_pem_slice(pem).unwrap();
            let signing = provider.key_provider.load_private_key(private).unwrap();
            Arc::new(CertifiedKey::new(Vec::new(), signing))
        };
        let mut names = Names::default();
        let certificate = |hosts: &[&str], default| Certificate {
            site: "s".into(),
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            default,
            chain: "c".into(),
            key: "k".into(),
        };
        let (first, wild, wilder, default) = (key("1"), key("2"), key("3"), key("4"));
        names.add(&certificate(&["A.example", "b.example"], false), Arc::clone(&first));
        names.add(&certificate(&["*.example"], false), Arc::clone(&wild));
        names.add(&certificate(&["*.deep.example"], false), Arc::clone(&wilder));
        for (name, want) in [
            (Some("a.example"), &first),
            (Some("B.EXAMPLE"), &first),
            (Some("c.example"), &wild),
            (Some("x.deep.example"), &wilder),
            (Some(".example"), &first),
            (Some("example"), &first),
            (Some("other.test"), &first),
            (None, &first),
        ] {
            assert!(Arc::ptr_eq(&names.of(name).unwrap(), want), "{name:?}");
        }
        names.add(&certificate(&[], true), Arc::clone(&default));
        names.add(&certificate(&[], true), key("5"));
        assert!(Arc::ptr_eq(&names.of(None).unwrap(), &default), "a default site's goes before the first");
        assert!(Arc::ptr_eq(&names.of(Some("c.example")).unwrap(), &wild));
        assert!(Names::default().of(Some("a")).is_none());
    }
}
