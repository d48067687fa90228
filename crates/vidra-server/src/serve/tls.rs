//! TLS.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The ALPN name of HTTP/2.
pub(super) const HTTP2: &[u8] = b"h2";

/// A certificate and its key. Clones share them, so they can be renewed while the service runs.
#[derive(Clone)]
pub struct Tls(Arc<ArcSwap<ServerConfig>>);

impl Tls {
    /// Reads a certificate chain and its private key, both as PEM. `http2` offers HTTP/2 by ALPN.
    pub fn from_files(certificates: &Path, key: &Path, http2: bool) -> Result<Self, String> {
        Ok(Self(Arc::new(ArcSwap::from_pointee(config(certificates, key, http2)?))))
    }

    /// Reads the files again, for new connections. On an error nothing changes.
    pub fn renew(&self, certificates: &Path, key: &Path, http2: bool) -> Result<(), String> {
        self.0.store(Arc::new(config(certificates, key, http2)?));
        Ok(())
    }

    pub(super) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        TlsAcceptor::from(self.0.load_full()).accept(stream).await
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

fn config(certificates: &Path, key: &Path, http2: bool) -> Result<ServerConfig, String> {
    let unreadable = |file: &Path, why: &dyn fmt::Display| format!("{}: {why}", file.display());
    let chain = CertificateDer::pem_file_iter(certificates)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unreadable(certificates, &error))?;
    if chain.is_empty() {
        return Err(unreadable(certificates, &"holds no certificate"));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| unreadable(certificates, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    if http2 {
        config.alpn_protocols.insert(0, HTTP2.to_vec());
    }
    Ok(config)
}
