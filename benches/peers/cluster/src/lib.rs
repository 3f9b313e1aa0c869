//! An actor of ractor that is asked and told from another process, by `ractor_cluster`: over one TCP stream, not encrypted.

use greenroom_peers::wire::{Failure, Times, Work, all, each};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call, pg};
use ractor_cluster::node::NodeServerSessionInformation;
use ractor_cluster::{
    IncomingEncryptionMode, NetworkStream, NodeEventSubscription, NodeServer, NodeServerMessage,
    RactorClusterMessage, client_connect,
};
use std::sync::Mutex;
use tokio::net::TcpListener;

/// What both nodes know.
const COOKIE: &str = "greenroom";
/// Where the actor is to be found.
const GROUP: &str = "echo";

#[derive(RactorClusterMessage)]
enum Mail {
    Tell(Vec<u8>),
    #[rpc]
    Ask(Vec<u8>, RpcReplyPort<Vec<u8>>),
}

/// Answers with what it was asked.
struct Echo;

impl Actor for Echo {
    type Msg = Mail;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, me: ActorRef<Mail>, _args: ()) -> Result<(), ActorProcessingErr> {
        pg::join(GROUP.to_owned(), vec![me.get_cell()]);
        Ok(())
    }

    async fn handle(
        &self,
        _me: ActorRef<Mail>,
        mail: Mail,
        _state: &mut (),
    ) -> Result<(), ActorProcessingErr> {
        match mail {
            Mail::Tell(payload) => drop(payload),
            Mail::Ask(payload, reply) => reply.send(payload)?,
        }
        Ok(())
    }
}

/// Says once that the other node's actors are known here.
struct Ready(Mutex<Option<tokio::sync::oneshot::Sender<()>>>);

impl NodeEventSubscription for Ready {
    fn node_session_opened(&self, _session: NodeServerSessionInformation) {}

    fn node_session_disconnected(&self, _session: NodeServerSessionInformation) {}

    fn node_session_authenicated(&self, _session: NodeServerSessionInformation) {}

    fn node_session_ready(&self, _session: NodeServerSessionInformation) {
        let told = self.0.lock().map(|mut told| told.take());
        if let Ok(Some(told)) = told {
            // Nobody waits any more.
            let _ = told.send(());
        }
    }
}

/// A node of that name; where it listens by itself, nobody connects.
async fn node(name: &str) -> Result<ActorRef<NodeServerMessage>, Failure> {
    let server = NodeServer::new(
        0,
        COOKIE.to_owned(),
        name.to_owned(),
        "localhost".to_owned(),
        Some(IncomingEncryptionMode::Raw),
        None,
    );
    Ok(Actor::spawn(None, server, ()).await?.0)
}

/// Serves one node after the other.
///
/// # Errors
/// What the kernel or the node says.
pub async fn serve(ready: impl FnOnce(String)) -> Result<(), Failure> {
    let server = node("server").await?;
    Actor::spawn(None, Echo, ()).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    ready(listener.local_addr()?.to_string());
    loop {
        let (stream, peer_addr) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let local_addr = stream.local_addr()?;
        let stream = Box::new(NetworkStream::Raw { peer_addr, local_addr, stream });
        server.cast(NodeServerMessage::ConnectionOpened { stream, is_server: true })?;
    }
}

/// Does so much of the work with the node at that address.
///
/// # Errors
/// What the kernel or the nodes say.
pub async fn client(at: &str, work: Work, count: usize) -> Result<Times, Failure> {
    let client = node("client").await?;
    let (told, ready) = tokio::sync::oneshot::channel();
    let subscription = Box::new(Ready(Mutex::new(Some(told))));
    client.cast(NodeServerMessage::SubscribeToEvents { id: "ready".to_owned(), subscription })?;
    client_connect(&client, at).await?;
    ready.await?;
    let echo = pg::get_members(&GROUP.to_owned()).pop().ok_or("nobody is in the group")?;
    let echo: ActorRef<Mail> = echo.into();
    let payload = vec![7; work.bytes()];
    let ask = async |count: usize| -> Result<(), Failure> {
        for _ in 1..count {
            echo.cast(Mail::Tell(payload.clone()))?;
        }
        let answer = call!(echo, |reply| Mail::Ask(payload.clone(), reply))?;
        assert_eq!(answer.len(), payload.len(), "the answer is what was sent");
        Ok(())
    };
    match work {
        Work::Ask => each(count, async || ask(1).await).await,
        Work::Tell | Work::Bulk => all(ask(count)).await,
    }
}
