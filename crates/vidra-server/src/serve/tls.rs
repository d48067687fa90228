//! Encryption of what callers and the service say to each other.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// What HTTP/2 is called when callers and the service agree on what they speak.
pub(super) const HTTP2: &[u8] = b"h2";

/// A certificate and its key. Clones share them, so that they can be renewed while connections come.
#[derive(Clone)]
pub struct Tls(Arc<RwLock<Arc<ServerConfig>>>);

impl Tls {
    /// Reads a chain of certificates and its private key, both as PEM. With `http2` it is offered to
    /// callers.
    pub fn from_files(certificates: &Path, key: &Path, http2: bool) -> Result<Self, String> {
        Ok(Self(Arc::new(RwLock::new(config(certificates, key, http2)?))))
    }

    /// Reads them again. Connections that are there stay as they are; on an error so does everything.
    pub fn renew(&self, certificates: &Path, key: &Path, http2: bool) -> Result<(), String> {
        let renewed = config(certificates, key, http2)?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = renewed;
        Ok(())
    }

    pub(super) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let config = Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner));
        TlsAcceptor::from(config).accept(stream).await
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

fn config(certificates: &Path, key: &Path, http2: bool) -> Result<Arc<ServerConfig>, String> {
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
    Ok(Arc::new(config))
}
