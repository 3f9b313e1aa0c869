//! What a connection asks of its socket.

use std::net::Ipv4Addr;
use std::sync::Arc;

use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};

use super::{Arrival, KEEPALIVE};
use crate::kv::shared::{Limits, Shared};

#[tokio::test]
async fn the_kernel_looks_after_silent_clients() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
    let shared = Arc::new(Shared::new(Limits::default(), address, 1, 1, "none".to_owned()));
    let arrival = Arrival::new(accepted.unwrap().0, &shared).unwrap();
    let socket = SockRef::from(&arrival.stream);
    assert!(socket.keepalive().unwrap());
    assert_eq!(socket.tcp_keepalive_time().unwrap(), KEEPALIVE);
    drop(client);
}
