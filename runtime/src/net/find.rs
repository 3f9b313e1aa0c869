//! Finding an actor wherever it is exported.

use super::message::WireMessage;
use super::node::Node;
use super::peer::LookupError;
use crate::actor::{Protocol, Recipient, Ref};
use crate::queue::together::Together;

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
        let mut worst = LookupError::NoSuchName(name.to_owned());
        if let Some((_, exported)) = self.shared().exported(name) {
            let own = exported.recipient().downcast_ref::<Recipient<P::Message>>();
            if let Some(own) = own {
                return Ok(Ref::from_recipient(own.clone()));
            }
            worst = LookupError::OtherProtocol {
                name: name.to_owned(),
                wanted: P::Message::MANIFEST.name(),
                found: exported.protocol().to_owned(),
            };
        }
        let peers = self.peers().into_iter().filter_map(|identity| self.peer(identity.node));
        let asked = peers.map(|peer| async move { peer.find::<P>(name).await });
        let mut asked = Together::new(asked);
        while let Some(outcome) = asked.next().await {
            match outcome {
                Ok(found) => return Ok(found),
                Err(error) if rank(&error) > rank(&worst) => worst = error,
                Err(_) => {}
            }
        }
        Err(worst)
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
