//! Which certificates are trusted: those of the system, those of a file, or all of them when that is asked for.
//!
//! Not here: sessions.

use std::sync::Arc;

use crate::plan::Trust;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Where systems keep the certificates they trust.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

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
        Trust::File(path) => builder.with_root_certificates(roots(path)?).with_no_client_auth(),
        Trust::System => {
            let known = std::env::var_os("SSL_CERT_FILE").map(std::path::PathBuf::from);
            let known =
                known.or_else(|| SYSTEM.iter().map(std::path::PathBuf::from).find(|path| path.exists()));
            let path = known.ok_or(
                "this system has no file of trusted certificates that we know of: name one with --cacert FILE, or go without with -k",
            )?;
            builder.with_root_certificates(roots(&path)?).with_no_client_auth()
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn roots(path: &std::path::Path) -> Result<RootCertStore, String> {
    let shown = path.display();
    let found = CertificateDer::pem_file_iter(path)
        .map_err(|error| format!("cannot read certificates from `{shown}`: {error}"))?;
    let mut store = RootCertStore::empty();
    for certificate in found {
        let certificate =
            certificate.map_err(|error| format!("cannot read a certificate of `{shown}`: {error}"))?;
        // Old ones in the file of a system may be of a kind that is no longer taken; others will do.
        let _ = store.add(certificate);
    }
    if store.is_empty() { Err(format!("`{shown}` holds no certificate")) } else { Ok(store) }
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
