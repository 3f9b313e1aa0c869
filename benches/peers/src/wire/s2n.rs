//! QUIC by s2n-quic: a stream for each message, datagrams, or one stream with frames. Its cipher is AES-128-GCM.

use super::tls::{hex, unhex};
use super::{
    Beside, FAR_MTU, FETCH, Failure, LARGE, NEAR_MTU, SOCKET_BYTES, Times, Use, Work, all, each,
    of_arrivals, stream,
};
use bytes::Bytes;
use s2n_quic::client::Connect;
use s2n_quic::connection::{BidirectionalStreamAcceptor, Handle, ReceiveStreamAcceptor};
use s2n_quic::provider::datagram::default::{Endpoint, Receiver, Sender};
use s2n_quic::provider::io::tokio::{Builder, Provider as Io};
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::tls::s2n_tls;
use s2n_quic::stream::BidirectionalStream;
use s2n_quic::{Client, Connection, Server};
use std::future::poll_fn;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

/// What stands before a datagram on IPv4, which s2n-quic counts with it.
const HEADERS: u16 = 28;
/// Datagrams that wait to be sent.
const SENDS: usize = 4096;
/// Datagrams that wait to be read.
const RECEIVES: usize = 1 << 20;

/// Offloads of the kernel are on by default. Packets grow to their length by discovery.
fn io(mtu: u16) -> Result<Io, Failure> {
    let at = (Ipv4Addr::LOCALHOST, 0).into();
    let io = Builder::default().with_receive_address(at)?.with_max_mtu(mtu + HEADERS)?;
    Ok(io.with_send_buffer_size(SOCKET_BYTES)?.with_recv_buffer_size(SOCKET_BYTES)?.build()?)
}

fn limits() -> Result<Limits, Failure> {
    Ok(Limits::new()
        .with_max_open_local_unidirectional_streams(10_000)?
        .with_max_open_remote_unidirectional_streams(10_000)?
        .with_unidirectional_data_window(16 << 20)?
        .with_bidirectional_remote_data_window(16 << 20)?
        .with_data_window(64 << 20)?
        .with_max_send_buffer_size(16 << 20)?)
}

fn datagrams() -> Result<Endpoint, Failure> {
    let builder = Endpoint::builder().with_send_capacity(SENDS)?;
    Ok(builder.with_recv_capacity(RECEIVES)?.build()?)
}

/// Serves one client after the other, in datagrams of so many bytes at most.
///
/// # Errors
/// What the kernel or TLS says.
pub async fn serve(uses: Use, mtu: u16, ready: impl FnOnce(String)) -> Result<(), Failure> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let certificate = made.cert.pem();
    let key = made.signing_key.serialize_pem();
    let tls = s2n_tls::Server::builder().with_certificate(&certificate, &key)?.build()?;
    let builder = Server::builder().with_tls(tls)?.with_io(io(mtu)?)?.with_limits(limits()?)?;
    let mut server = builder.with_datagram(datagrams()?)?.start()?;
    ready(format!("{}/{}", server.local_addr()?, hex(certificate.as_bytes())));
    while let Some(connection) = server.accept().await {
        if uses == Use::Framed {
            answer_framed(connection).await;
        } else {
            answer(connection).await;
        }
    }
    Ok(())
}

async fn answer_framed(mut connection: Connection) {
    if let Ok(Some(stream)) = connection.accept_bidirectional_stream().await {
        let (receive, send) = stream.split();
        // A client that goes ends its service, and nothing else.
        let _ = stream::answer(receive, send).await;
    }
}

/// Takes what comes until the client is gone.
async fn answer(connection: Connection) {
    let (handle, acceptor) = connection.split();
    let (questions, streams) = acceptor.split();
    let arrived = Arc::new(AtomicU64::new(0));
    let (questions, datagrams) =
        (answer_all(questions, &arrived), take_datagrams(handle, &arrived));
    tokio::join!(questions, take_streams(streams), datagrams);
}

async fn answer_all(mut questions: BidirectionalStreamAcceptor, arrived: &Arc<AtomicU64>) {
    while let Ok(Some(stream)) = questions.accept_bidirectional_stream().await {
        tokio::spawn(answer_one(stream, Arc::clone(arrived)));
    }
}

/// An empty question is how many datagrams have come.
async fn answer_one(mut stream: BidirectionalStream, arrived: Arc<AtomicU64>) {
    let mut is_empty = true;
    while let Ok(Some(chunk)) = stream.receive().await {
        is_empty = false;
        let answer = if chunk == FETCH { Bytes::from_static(&[7; LARGE]) } else { chunk };
        if stream.send(answer).await.is_err() {
            break;
        }
    }
    if is_empty {
        let arrived = arrived.load(Ordering::Relaxed);
        let _ = stream.send(Bytes::copy_from_slice(&arrived.to_le_bytes())).await;
    }
    let _ = stream.finish();
}

async fn take_streams(mut streams: ReceiveStreamAcceptor) {
    while let Ok(Some(mut stream)) = streams.accept_receive_stream().await {
        while let Ok(Some(_)) = stream.receive().await {}
    }
}

async fn take_datagrams(handle: Handle, arrived: &AtomicU64) {
    let read = || {
        poll_fn(|cx| {
            let read = handle.datagram_mut(|from: &mut Receiver| from.poll_recv_datagram(cx));
            read.map_or(Poll::Ready(false), |datagram| datagram.map(|it| it.is_ok()))
        })
    };
    while read().await {
        arrived.fetch_add(1, Ordering::Relaxed);
    }
}

/// Does so much of the work with the server at that address.
///
/// # Errors
/// What the kernel or the server says.
pub async fn client(at: &str, uses: Use, work: Work, count: usize) -> Result<Times, Failure> {
    let (_client, mut connection) = connect(at, NEAR_MTU).await?;
    let payload = Bytes::from(vec![7; work.bytes()]);
    if uses == Use::Framed {
        let (receive, send) = connection.open_bidirectional_stream().await?.split();
        return stream::talk(receive, send, work, count).await;
    }
    match work {
        Work::Ask => each(count, async || ask(&mut connection, &payload).await).await,
        Work::Tell if uses == Use::Datagrams => {
            let from = connection.clone();
            let send = async {
                for _ in 0..count {
                    send_datagram(&from, payload.clone()).await?;
                }
                Ok(())
            };
            of_arrivals(count, send, async || arrived(&mut connection).await).await
        }
        Work::Tell => {
            all(async {
                for _ in 0..count {
                    let mut stream = connection.open_send_stream().await?;
                    stream.send(payload.clone()).await?;
                    stream.finish()?;
                }
                ask(&mut connection, &payload).await
            })
            .await
        }
        // One stream, which is the fastest.
        Work::Bulk => {
            all(async {
                let mut stream = connection.open_send_stream().await?;
                for _ in 0..count {
                    stream.send(payload.clone()).await?;
                }
                stream.close().await?;
                ask(&mut connection, &payload).await
            })
            .await
        }
    }
}

/// The client has to live as long as its connection.
async fn connect(at: &str, mtu: u16) -> Result<(Client, Handle), Failure> {
    let (address, certificate) = at.split_once('/').ok_or("no certificate")?;
    let certificate = String::from_utf8(unhex(certificate)?)?;
    let tls = s2n_tls::Client::builder().with_certificate(certificate)?.build()?;
    let builder = Client::builder().with_tls(tls)?.with_io(io(mtu)?)?.with_limits(limits()?)?;
    let client = builder.with_datagram(datagrams()?)?.start()?;
    let address: SocketAddr = address.parse()?;
    let connect = Connect::new(address).with_server_name("localhost");
    let connection = client.connect(connect).await?.handle();
    Ok((client, connection))
}

/// Asks so many questions of so many bytes of each asker over a far path, with other work beside them.
///
/// # Errors
/// What the kernel or the server says.
pub async fn beside(at: &str, count: usize, bytes: usize, what: Beside) -> Result<Times, Failure> {
    let (_client, connection) = connect(at, FAR_MTU).await?;
    let payload = Bytes::from(vec![7; bytes]);
    let fetch = async || fetch(&mut connection.clone()).await;
    let other = super::other_work(what, flow(connection.clone()), fetch);
    super::beside(count, async || ask(&mut connection.clone(), &payload).await, other).await
}

async fn flow(mut connection: Handle) -> Result<(), Failure> {
    let mut stream = connection.open_send_stream().await?;
    loop {
        stream.send(Bytes::from_static(&[7; LARGE])).await?;
    }
}

async fn send_datagram(connection: &Handle, mut payload: Bytes) -> Result<(), Failure> {
    poll_fn(|cx| {
        let sent =
            connection.datagram_mut(|to: &mut Sender| to.poll_send_datagram(&mut payload, cx))?;
        sent.map_err(|error| error.to_string().into())
    })
    .await
}

async fn fetch(connection: &mut Handle) -> Result<(), Failure> {
    let answer = question(connection, &Bytes::from_static(FETCH)).await?;
    assert_eq!(answer.len(), LARGE, "the answer is large");
    Ok(())
}

async fn ask(connection: &mut Handle, payload: &Bytes) -> Result<(), Failure> {
    let answer = question(connection, payload).await?;
    assert_eq!(answer.len(), payload.len(), "the answer is what was sent");
    Ok(())
}

/// How many datagrams have arrived.
async fn arrived(connection: &mut Handle) -> Result<u64, Failure> {
    let answer = question(connection, &Bytes::new()).await?;
    Ok(u64::from_le_bytes(answer.as_slice().try_into()?))
}

async fn question(connection: &mut Handle, payload: &Bytes) -> Result<Vec<u8>, Failure> {
    let mut stream = connection.open_bidirectional_stream().await?;
    if !payload.is_empty() {
        stream.send(payload.clone()).await?;
    }
    stream.finish()?;
    let mut answer = Vec::new();
    while let Some(chunk) = stream.receive().await? {
        answer.extend_from_slice(&chunk);
    }
    Ok(answer)
}
