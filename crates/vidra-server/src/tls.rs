//! TLS: the certificate of the service, which can be renewed while it runs.

mod certificate;

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

use crate::config_file::read_config_file;
use certificate::Certificate;

/// The ALPN name of HTTP/2.
pub(crate) const HTTP2: &[u8] = b"h2";

/// A certificate and its key. Clones share them, so they can be renewed while the service runs.
#[derive(Clone)]
pub struct Tls(Arc<ArcSwap<Loaded>>);

struct Loaded {
    config: Arc<ServerConfig>,
    certificate: Option<Certificate>,
}

impl Tls {
    /// Reads a certificate chain and its private key, both as PEM. `http2` offers HTTP/2 by ALPN. The log
    /// names the serial number and the expiry of the certificate.
    pub fn from_files(certificates: &Path, key: &Path, http2: bool) -> Result<Self, String> {
        Ok(Self(Arc::new(ArcSwap::from_pointee(load(certificates, key, http2)?))))
    }

    /// Reads the files again, for new connections. On an error nothing changes.
    pub fn renew(&self, certificates: &Path, key: &Path, http2: bool) -> Result<(), String> {
        self.0.store(Arc::new(load(certificates, key, http2)?));
        Ok(())
    }

    /// When the certificate expires, in Unix time; `None` if it does not say.
    pub(crate) fn expires(&self) -> Option<i64> {
        self.0.load().certificate.as_ref().map(|certificate| certificate.expires.as_second())
    }

    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        TlsAcceptor::from(Arc::clone(&self.0.load().config)).accept(stream).await
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

fn load(certificates: &Path, key: &Path, http2: bool) -> Result<Loaded, String> {
    let unreadable = |file: &Path, why: &dyn fmt::Display| format!("{}: {why}", file.display());
    let read = |file: &Path| read_config_file(file).map_err(|error| unreadable(file, &error));
    let chain = CertificateDer::pem_slice_iter(&read(certificates)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| unreadable(certificates, &error))?;
    let Some(first) = chain.first() else {
        return Err(unreadable(certificates, &"holds no certificate"));
    };
    let certificate = Certificate::parse(first);
    let private =
        PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|error| unreadable(key, &error))?;
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
    match &certificate {
        Some(Certificate { serial, expires }) => {
            tracing::info!(serial, %expires, "certificate loaded");
        }
        None => tracing::warn!("certificate loaded, but its expiry cannot be read"),
    }
    Ok(Loaded { config: Arc::new(config), certificate })
}
