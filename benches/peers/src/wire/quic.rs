//! QUIC by quinn: a stream for each message, datagrams, or one stream with frames.

use super::{
    Beside, Cipher, FAR_MTU, FETCH, Failure, LARGE, NEAR_MTU, SOCKET_BYTES, Times, Use, Work, all,
    each, of_arrivals, stream, tls,
};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    ClientConfig, Connection, Endpoint, EndpointConfig, MtuDiscoveryConfig, RecvStream, SendStream,
    ServerConfig, TransportConfig,
};
use rustls::quic::Suite;
use socket2::SockRef;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// QUIC's first packets are under AES, whatever comes after.
fn initial() -> Option<Suite> {
    rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256.tls13()?.quic_suite()
}

/// Packets grow to that length by discovery: before the client's address is proved, quinn sends none that is longer
/// than three of the client's first ones.
fn transport(mtu: u16) -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(mtu);
    config
        .max_concurrent_uni_streams(10_000_u32.into())
        .stream_receive_window((16_u32 << 20).into())
        .receive_window((64_u32 << 20).into())
        .send_window(64 << 20)
        .datagram_receive_buffer_size(Some(64 << 20))
        .datagram_send_buffer_size(64 << 20)
        .mtu_discovery_config(Some(discovery));
    Arc::new(config)
}

fn endpoint(server: Option<ServerConfig>, mtu: u16) -> Result<Endpoint, Failure> {
    let mut config = EndpointConfig::default();
    config.max_udp_payload_size(mtu)?;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    SockRef::from(&socket).set_recv_buffer_size(SOCKET_BYTES)?;
    SockRef::from(&socket).set_send_buffer_size(SOCKET_BYTES)?;
    let runtime = quinn::default_runtime().ok_or("no runtime")?;
    Ok(Endpoint::new(config, server, socket, runtime)?)
}

/// Serves one client after the other, in datagrams of so many bytes at most.
///
/// # Errors
/// What the kernel or TLS says.
pub async fn serve(
    cipher: Cipher,
    uses: Use,
    mtu: u16,
    ready: impl FnOnce(String),
) -> Result<(), Failure> {
    let (config, certificate) = tls::server(cipher)?;
    let suite = initial().ok_or("no suite for first packets")?;
    let config = QuicServerConfig::with_initial(Arc::new(config), suite)?;
    let mut config = ServerConfig::with_crypto(Arc::new(config));
    config.transport_config(transport(mtu));
    let endpoint = endpoint(Some(config), mtu)?;
    ready(format!("{}/{certificate}", endpoint.local_addr()?));
    while let Some(incoming) = endpoint.accept().await {
        let Ok(connection) = incoming.await else { continue };
        if uses == Use::Framed {
            answer_framed(&connection).await;
        } else {
            answer(&connection).await;
        }
    }
    Ok(())
}

/// Takes what comes until the client is gone. An empty question is how many datagrams have come.
async fn answer(connection: &Connection) {
    let arrived = Arc::new(AtomicU64::new(0));
    let questions = async {
        while let Ok((send, receive)) = connection.accept_bi().await {
            tokio::spawn(answer_one(send, receive, Arc::clone(&arrived)));
        }
    };
    let streams = async {
        while let Ok(mut receive) = connection.accept_uni().await {
            let mut buffer = vec![0; LARGE];
            while let Ok(Some(_)) = receive.read(&mut buffer).await {}
        }
    };
    let datagrams = async {
        while connection.read_datagram().await.is_ok() {
            arrived.fetch_add(1, Ordering::Relaxed);
        }
    };
    tokio::join!(questions, streams, datagrams);
}

async fn answer_framed(connection: &Connection) {
    if let Ok((send, receive)) = connection.accept_bi().await {
        // A client that goes ends its service, and nothing else.
        let _ = stream::answer(receive, send).await;
    }
}

async fn answer_one(mut send: SendStream, mut receive: RecvStream, arrived: Arc<AtomicU64>) {
    let Ok(mut answer) = receive.read_to_end(LARGE).await else { return };
    if answer.is_empty() {
        answer.extend(arrived.load(Ordering::Relaxed).to_le_bytes());
    }
    if answer == FETCH {
        answer = vec![7; LARGE];
    }
    if send.write_all(&answer).await.is_ok() {
        let _ = send.finish();
    }
}

/// Does so much of the work with the server at that address.
///
/// # Errors
/// What the kernel or the server says.
pub async fn client(
    at: &str,
    cipher: Cipher,
    uses: Use,
    work: Work,
    count: usize,
) -> Result<Times, Failure> {
    let connection = connect(at, cipher, NEAR_MTU).await?;
    let payload = vec![7; work.bytes()];
    if uses == Use::Framed {
        let (send, receive) = connection.open_bi().await?;
        return stream::talk(receive, send, work, count).await;
    }
    match work {
        Work::Ask => each(count, async || ask(&connection, &payload).await).await,
        Work::Tell if uses == Use::Datagrams => {
            let send = async {
                for _ in 0..count {
                    connection.send_datagram_wait(payload.clone().into()).await?;
                }
                Ok(())
            };
            of_arrivals(count, send, async || arrived(&connection).await).await
        }
        Work::Tell => {
            all(async {
                for _ in 0..count {
                    let mut send = connection.open_uni().await?;
                    send.write_all(&payload).await?;
                    send.finish()?;
                }
                ask(&connection, &payload).await
            })
            .await
        }
        // One stream, which is the fastest.
        Work::Bulk => {
            all(async {
                let mut send = connection.open_uni().await?;
                for _ in 0..count {
                    send.write_all(&payload).await?;
                }
                send.finish()?;
                send.stopped().await?;
                ask(&connection, &payload).await
            })
            .await
        }
    }
}

async fn connect(at: &str, cipher: Cipher, mtu: u16) -> Result<Connection, Failure> {
    let (address, certificate) = at.split_once('/').ok_or("no certificate")?;
    let config = tls::client(cipher, certificate)?;
    let suite = initial().ok_or("no suite for first packets")?;
    let config = QuicClientConfig::with_initial(Arc::new(config), suite)?;
    let mut config = ClientConfig::new(Arc::new(config));
    config.transport_config(transport(mtu));
    let endpoint = endpoint(None, mtu)?;
    let address: SocketAddr = address.parse()?;
    Ok(endpoint.connect_with(config, address, "localhost")?.await?)
}

/// Asks so many questions of so many bytes of each asker over a far path, with other work beside them.
///
/// # Errors
/// What the kernel or the server says.
pub async fn beside(at: &str, count: usize, bytes: usize, what: Beside) -> Result<Times, Failure> {
    let connection = connect(at, Cipher::Aes, FAR_MTU).await?;
    let payload = vec![7; bytes];
    let other = super::other_work(what, flow(&connection), async || fetch(&connection).await);
    super::beside(count, async || ask(&connection, &payload).await, other).await
}

async fn flow(connection: &Connection) -> Result<(), Failure> {
    let mut send = connection.open_uni().await?;
    loop {
        send.write_all(&[7; LARGE]).await?;
    }
}

async fn fetch(connection: &Connection) -> Result<(), Failure> {
    let answer = question(connection, FETCH).await?;
    assert_eq!(answer.len(), LARGE, "the answer is large");
    Ok(())
}

async fn ask(connection: &Connection, payload: &[u8]) -> Result<(), Failure> {
    let answer = question(connection, payload).await?;
    assert_eq!(answer.len(), payload.len(), "the answer is what was sent");
    Ok(())
}

/// How many datagrams have arrived.
async fn arrived(connection: &Connection) -> Result<u64, Failure> {
    let answer = question(connection, &[]).await?;
    Ok(u64::from_le_bytes(answer.as_slice().try_into()?))
}

async fn question(connection: &Connection, payload: &[u8]) -> Result<Vec<u8>, Failure> {
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(payload).await?;
    send.finish()?;
    Ok(receive.read_to_end(LARGE).await?)
}
