//! A node of the loopback whose links are wrapped, so that a test sees or changes what goes through them.

use greenroom::net::{Address, Connecting, Identity, Link, LoopbackNode, Transport};
use std::task::{Context, Poll, ready};

/// Makes of a link one that does what a test wants.
type Wrap = Box<dyn Fn(Box<dyn Link>) -> Box<dyn Link> + Send + Sync>;

/// See the [module](self).
pub(crate) struct Wrapped {
    node: LoopbackNode,
    wrap: Wrap,
}

impl Wrapped {
    pub(crate) fn new<L: Link>(
        node: LoopbackNode,
        wrap: impl Fn(Box<dyn Link>) -> L + Send + Sync + 'static,
    ) -> Self {
        Self { node, wrap: Box::new(move |link| Box::new(wrap(link))) }
    }
}

impl Transport for Wrapped {
    fn identity(&self) -> Identity {
        self.node.identity()
    }

    fn connect(&self, to: &Address) -> Connecting {
        self.node.connect(to)
    }

    fn poll_link(&self, cx: &mut Context<'_>) -> Poll<Option<Box<dyn Link>>> {
        Poll::Ready(ready!(self.node.poll_link(cx)).map(&self.wrap))
    }

    fn close(&self) {
        self.node.close();
    }
}
