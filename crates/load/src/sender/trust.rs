//! Which certificates are trusted: those of the system, those of a file, or all of them when that is asked for.
//!
//! Not here: sessions.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use crate::plan::Trust;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Where systems keep the certificates they trust.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// No file of certificates is larger.
const MOST_BYTES: u64 = 16 << 20;

/// The settings of all sessions of a run.
///
/// # Errors
/// A sentence for the person at the command line.
pub fn config(trust: &Trust) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?;
    let mut config = match trust {
        Trust::Everyone => {
            let blind = Arc::new(Blind(provider));
            builder.dangerous().with_custom_certificate_verifier(blind).with_no_client_auth()
        }
        Trust::File(path) => {
            let certificates = certificates(path)?;
            let roots = Arc::new(roots(path, &certificates)?);
            let usual = WebPkiServerVerifier::builder_with_provider(roots, provider)
                .build()
                .map_err(|error| format!("`{}`: {error}", path.display()))?;
            let named = Arc::new(Named { usual, certificates });
            builder.dangerous().with_custom_certificate_verifier(named).with_no_client_auth()
        }
        Trust::System => {
            let known = std::env::var_os("SSL_CERT_FILE").map(std::path::PathBuf::from);
            let known =
                known.or_else(|| SYSTEM.iter().map(std::path::PathBuf::from).find(|path| path.exists()));
            let path = known.ok_or(
                "this system has no file of trusted certificates that we know of: name one with --cacert FILE, or go without with -k",
            )?;
            builder.with_root_certificates(roots(&path, &certificates(&path)?)?).with_no_client_auth()
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let shown = path.display();
    let cannot = |error: std::io::Error| format!("cannot read certificates from `{shown}`: {error}");
    // A whole system's are 200 KB; `/dev/zero` would fill the memory.
    let mut pem = Vec::new();
    File::open(path).map_err(cannot)?.take(MOST_BYTES + 1).read_to_end(&mut pem).map_err(cannot)?;
    if pem.len() as u64 > MOST_BYTES {
        return Err(format!("cannot read certificates from `{shown}`: it is larger than 16 MiB"));
    }
    let found = CertificateDer::pem_slice_iter(&pem);
    found.map(|one| one.map_err(|error| format!("cannot read a certificate of `{shown}`: {error}"))).collect()
}

fn roots(path: &Path, certificates: &[CertificateDer<'static>]) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    for certificate in certificates {
        // Old ones in the file of a system may be of a kind that is no longer taken; others will do.
        let _ = store.add(certificate.clone());
    }
    if store.is_empty() { Err(format!("`{}` holds no certificate", path.display())) } else { Ok(store) }
}

/// Believes a server that one of these certificates vouches for, or that shows one of them itself: what people make with
/// one line of openssl vouches for itself, and is refused as the certificate of a server otherwise.
#[derive(Debug)]
struct Named {
    usual: Arc<WebPkiServerVerifier>,
    certificates: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Named {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.certificates.iter().any(|named| named == end_entity) {
            verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
            return Ok(ServerCertVerified::assertion());
        }
        self.usual.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

/// Believes everyone who says so; signatures are still checked, as that costs the same and is part of the load.
#[derive(Debug)]
struct Blind(Arc<CryptoProvider>);

impl ServerCertVerifier for Blind {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
