//! TLS 1.3 with a certificate that the server makes and hands to its client.

use super::{Cipher, Failure};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{CipherSuite, ClientConfig, RootCertStore, ServerConfig};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, client};

/// That cipher alone: of two of AES, rustls takes the slower.
fn provider(cipher: Cipher) -> Arc<CryptoProvider> {
    let mut provider = rustls::crypto::ring::default_provider();
    let suite = match cipher {
        Cipher::Aes => CipherSuite::TLS13_AES_128_GCM_SHA256,
        Cipher::ChaCha => CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
    };
    provider.cipher_suites.retain(|it| it.suite() == suite);
    Arc::new(provider)
}

/// Bytes as digits, which go on a command line.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes that the digits stand for.
pub(super) fn unhex(text: &str) -> Result<Vec<u8>, Failure> {
    let digits = |at: usize| u8::from_str_radix(&text[at..at + 2], 16);
    Ok((0..text.len()).step_by(2).map(digits).collect::<Result<_, _>>()?)
}

/// A server's settings, and its certificate in hexadecimal.
pub(super) fn server(cipher: Cipher) -> Result<(ServerConfig, String), Failure> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let certificate = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let text = hex(&certificate);
    let config = ServerConfig::builder_with_provider(provider(cipher))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())?;
    Ok((config, text))
}

/// The settings of a client that trusts that certificate alone.
pub(super) fn client(cipher: Cipher, certificate: &str) -> Result<ClientConfig, Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(unhex(certificate)?))?;
    Ok(ClientConfig::builder_with_provider(provider(cipher))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

pub(super) fn acceptor(cipher: Cipher) -> Result<(TlsAcceptor, String), Failure> {
    let (config, certificate) = server(cipher)?;
    Ok((TlsAcceptor::from(Arc::new(config)), certificate))
}

pub(super) async fn connect(
    stream: TcpStream,
    cipher: Cipher,
    certificate: &str,
) -> Result<client::TlsStream<TcpStream>, Failure> {
    let config = client(cipher, certificate)?;
    let name = ServerName::try_from("localhost")?;
    Ok(TlsConnector::from(Arc::new(config)).connect(name, stream).await?)
}
