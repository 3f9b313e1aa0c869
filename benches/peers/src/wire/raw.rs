//! Bare datagrams: no cipher, no order, no second try. The least that a question can cost by UDP.

use super::{Failure, SMALL, Times, Work, each};
use tokio::net::UdpSocket;

/// Sends every datagram back.
///
/// # Errors
/// What the kernel says.
pub async fn serve(ready: impl FnOnce(String)) -> Result<(), Failure> {
    let socket = UdpSocket::bind("127.0.0.1:0").await?;
    ready(socket.local_addr()?.to_string());
    let mut buffer = vec![0; 2 * SMALL];
    loop {
        let (len, from) = socket.recv_from(&mut buffer).await?;
        socket.send_to(&buffer[..len], from).await?;
    }
}

/// Asks so many questions.
///
/// # Errors
/// What the kernel says; and for other work than asking, which datagrams alone cannot do.
pub async fn client(at: &str, work: Work, count: usize) -> Result<Times, Failure> {
    if work != Work::Ask {
        return Err("bare datagrams are only asked with".into());
    }
    let socket = UdpSocket::bind("127.0.0.1:0").await?;
    socket.connect(at).await?;
    let mut buffer = vec![7; SMALL];
    each(count, async || {
        socket.send(&buffer).await?;
        socket.recv(&mut buffer).await?;
        Ok(())
    })
    .await
}
