//! A server that cannot go on says so.

use super::*;
use std::net::Ipv4Addr;

/// Starts a server, ends a shard, and lets so many actors come and go.
async fn failed_after(comings: usize) -> String {
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let settings = Settings { listen, workers: 1, shards: Some(2), ..Settings::default() };
    let mut server = Server::start(settings).await.unwrap();
    let shard = server.system.find::<ShardActor>("shard-1").unwrap();
    shard.kill();
    shard.ended().await;
    for _ in 0..comings {
        server.system.spawn::<Broker>(Arc::clone(&server.shared)).await.unwrap().kill();
    }
    let failed = tokio::time::timeout(Duration::from_secs(100), server.failed()).await;
    let reason = failed.expect("it cannot go on");
    server.shutdown(Duration::from_secs(100)).await.unwrap();
    reason
}

#[greenroom::test]
async fn the_end_of_a_shard_is_told_with_its_reason() {
    assert_eq!(failed_after(0).await, "a shard killed");
}

#[greenroom::test]
async fn the_end_of_a_shard_is_not_missed_among_others() {
    // More than a stream of events keeps.
    assert_eq!(failed_after(1_500).await, "a shard has ended");
}
