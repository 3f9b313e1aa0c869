//! Finding an actor wherever it is exported.

use super::message::WireMessage;
use super::node::Node;
use super::peer::LookupError;
use crate::actor::{Protocol, Recipient, Ref};
use std::future::{Future, poll_fn};
use std::task::Poll;

impl Node {
    /// A reference to the actor that this node exports under `name`, or else one of those that it is connected with:
    /// the one that answers first. Waits as long as an ask does.
    ///
    /// # Errors
    /// [`LookupError`]: that of a node which exports another protocol under the name, if there is one, or of one
    /// that did not answer. [`LookupError::NoSuchName`] when all have answered that they have none.
    pub async fn find<P: Protocol<Message: WireMessage>>(
        &self,
        name: &str,
    ) -> Result<Ref<P>, LookupError> {
        if let Some((_, exported)) = self.shared().exported(name) {
            let own = exported.recipient().downcast_ref::<Recipient<P::Message>>();
            if let Some(own) = own {
                return Ok(Ref::from_recipient(own.clone()));
            }
        }
        let peers = self.peers().into_iter().filter_map(|identity| self.peer(identity.node));
        let mut asked: Vec<_> =
            peers.map(|peer| Some(Box::pin(async move { peer.find::<P>(name).await }))).collect();
        let mut worst = LookupError::NoSuchName(name.to_owned());
        poll_fn(|cx| {
            let mut waits = false;
            for slot in &mut asked {
                let Some(asking) = slot else { continue };
                match asking.as_mut().poll(cx) {
                    Poll::Ready(Ok(found)) => return Poll::Ready(Ok(found)),
                    Poll::Ready(Err(error)) => {
                        *slot = None;
                        if rank(&error) > rank(&worst) {
                            worst = error;
                        }
                    }
                    Poll::Pending => waits = true,
                }
            }
            if waits { Poll::Pending } else { Poll::Ready(Err(worst.clone())) }
        })
        .await
    }
}

/// How much an error says to who searched everywhere.
fn rank(error: &LookupError) -> u8 {
    match error {
        LookupError::NoSuchName(_) => 0,
        LookupError::NodeDown => 1,
        LookupError::Expired => 2,
        LookupError::OtherProtocol { .. } => 3,
    }
}
