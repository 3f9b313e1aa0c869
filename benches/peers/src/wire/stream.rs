//! One stream with frames: TCP, bare or under TLS, or QUIC's.

use super::{Cipher, Failure, Times, Work, all, each, tls};
use std::net::SocketAddr;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, BufWriter};
use tokio::net::{TcpListener, TcpStream};

/// Bytes that are read with one call; what is longer is read without this buffer.
const READ: usize = 64 << 10;
/// Bytes that are written with one call: a large message and what stands before it, several times.
const WRITTEN: usize = 256 << 10;

/// Serves one client after the other. With a cipher, under TLS 1.3.
///
/// # Errors
/// What the kernel says.
pub async fn serve(cipher: Option<Cipher>, ready: impl FnOnce(String)) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let Some(cipher) = cipher else {
        ready(address.to_string());
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let (read, write) = stream.into_split();
            // A client that goes ends its service, and nothing else.
            let _ = answer(read, write).await;
        }
    };
    let (acceptor, certificate) = tls::acceptor(cipher)?;
    ready(format!("{address}/{certificate}"));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (read, write) = tokio::io::split(acceptor.accept(stream).await?);
        let _ = answer(read, write).await;
    }
}

/// Takes frames, and sends back those that want an answer, until the client is gone.
pub(super) async fn answer(
    read: impl AsyncRead + Unpin,
    write: impl AsyncWrite + Unpin,
) -> Result<(), Failure> {
    let (mut read, mut write) = (BufReader::with_capacity(READ, read), BufWriter::new(write));
    let mut payload = Vec::new();
    loop {
        let wants_answer = receive(&mut read, &mut payload).await?;
        if wants_answer {
            send(&mut write, &payload, false).await?;
            write.flush().await?;
        }
    }
}

async fn receive(
    read: &mut (impl AsyncRead + Unpin),
    payload: &mut Vec<u8>,
) -> Result<bool, Failure> {
    let len = read.read_u32_le().await?;
    let wants_answer = read.read_u8().await? == 1;
    payload.resize(len.try_into()?, 0);
    read.read_exact(payload).await?;
    Ok(wants_answer)
}

async fn send(
    write: &mut (impl AsyncWrite + Unpin),
    payload: &[u8],
    wants_answer: bool,
) -> Result<(), Failure> {
    write.write_u32_le(payload.len().try_into()?).await?;
    write.write_u8(wants_answer.into()).await?;
    write.write_all(payload).await?;
    Ok(())
}

/// Does so much of the work with the server at that address.
///
/// # Errors
/// What the kernel or the server says.
pub async fn client(
    at: &str,
    cipher: Option<Cipher>,
    work: Work,
    count: usize,
) -> Result<Times, Failure> {
    let (address, certificate) = at.split_once('/').unwrap_or((at, ""));
    let stream = TcpStream::connect(address.parse::<SocketAddr>()?).await?;
    stream.set_nodelay(true)?;
    match cipher {
        Some(cipher) => {
            let (read, write) = tokio::io::split(tls::connect(stream, cipher, certificate).await?);
            talk(read, write, work, count).await
        }
        None => {
            let (read, write) = stream.into_split();
            talk(read, write, work, count).await
        }
    }
}

/// Does so much of the work over a stream whose other end [`answer`]s.
pub(super) async fn talk(
    read: impl AsyncRead + Unpin,
    write: impl AsyncWrite + Unpin,
    work: Work,
    count: usize,
) -> Result<Times, Failure> {
    let mut read = BufReader::new(read);
    let mut write = BufWriter::with_capacity(WRITTEN, write);
    let payload = vec![7; work.bytes()];
    let mut answer = Vec::new();
    let mut ask = async |count: usize| -> Result<(), Failure> {
        for _ in 1..count {
            send(&mut write, &payload, false).await?;
        }
        send(&mut write, &payload, true).await?;
        write.flush().await?;
        receive(&mut read, &mut answer).await?;
        assert_eq!(answer.len(), payload.len(), "the answer is what was sent");
        Ok(())
    };
    match work {
        Work::Ask => each(count, async || ask(1).await).await,
        Work::Tell | Work::Bulk => all(ask(count)).await,
    }
}
