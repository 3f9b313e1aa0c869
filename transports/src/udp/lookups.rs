//! Names that are being looked up, each once, and some at a time.
//!
//! The system looks a name up on a thread, and gives up when it likes: whoever waits for that is gone by then, and the thread
//! is not. So there is a limit to those that are under way, and a name has its turn only if somebody still waits for it. The
//! names that the owner gives and those that others tell have limits of their own.

use super::names::Request;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::task::JoinSet;

/// Names that are looked up at a time.
const AT_ONCE_MAX: usize = 64;
/// Names that wait for their turn.
const WAITING_MAX: usize = 4096;

/// The addresses of a name, or why there are none.
pub(super) type Found = Result<Vec<SocketAddr>, String>;

type Resolver = fn(String) -> Pin<Box<dyn Future<Output = Found> + Send>>;

/// See the [module](self).
pub(super) struct Lookups {
    resolver: Resolver,
    at_once: usize,
    /// Who waits for which name.
    requests: BTreeMap<String, Vec<Request>>,
    /// Those names of these whose turn has not come.
    waiting: VecDeque<String>,
    under_way: JoinSet<(String, Found)>,
}

impl Lookups {
    /// By the system.
    pub(super) fn new() -> Self {
        Self::by(resolve, AT_ONCE_MAX)
    }

    fn by(resolver: Resolver, at_once: usize) -> Self {
        let (requests, waiting) = (BTreeMap::new(), VecDeque::new());
        Self { resolver, at_once, requests, waiting, under_way: JoinSet::new() }
    }

    /// Looks up nothing any more. Returns those who wait.
    pub(super) fn end(&mut self) -> impl Iterator<Item = Request> + use<> {
        let ended = std::mem::replace(self, Self::new());
        ended.requests.into_values().flatten()
    }

    /// Has the name of a request looked up, or waits for that with others; gives it back if too many names wait.
    pub(super) fn add(&mut self, request: Request) -> Result<(), Request> {
        if let Some(requests) = self.requests.get_mut(&request.host) {
            requests.retain(is_awaited);
            requests.push(request);
            return Ok(());
        }
        if self.waiting.len() >= WAITING_MAX {
            let requests = &mut self.requests;
            self.waiting.retain(|name| keep_if_awaited(requests, name));
        }
        if self.waiting.len() >= WAITING_MAX {
            return Err(request);
        }
        self.waiting.push_back(request.host.clone());
        self.requests.insert(request.host.clone(), vec![request]);
        Ok(())
    }

    /// A name that was looked up, and those who wait for it.
    pub(super) fn poll_found(&mut self, cx: &mut Context<'_>) -> Poll<(Vec<Request>, Found)> {
        loop {
            self.begin();
            match ready!(self.under_way.poll_join_next(cx)) {
                Some(Ok((name, found))) => {
                    let requests = self.requests.remove(&name).unwrap_or_default();
                    return Poll::Ready((requests, found));
                }
                // Nothing in there panics: it was cancelled, with the runtime.
                Some(Err(_)) => {}
                None => return Poll::Pending,
            }
        }
    }

    /// Lets names have their turn.
    fn begin(&mut self) {
        while crate::planted!("lookups-unbounded": self.under_way.len() < self.at_once => true)
            && let Some(name) = self.waiting.pop_front()
        {
            if keep_if_awaited(&mut self.requests, &name) {
                let found = (self.resolver)(name.clone());
                self.under_way.spawn(async move { (name, found.await) });
            }
        }
    }
}

fn is_awaited(request: &Request) -> bool {
    !request.done.is_closed()
}

/// Whether somebody waits for a name; if not, it is forgotten.
fn keep_if_awaited(requests: &mut BTreeMap<String, Vec<Request>>, name: &str) -> bool {
    let kept = requests.get(name).is_some_and(|requests| requests.iter().any(is_awaited));
    if !kept {
        requests.remove(name);
    }
    kept
}

/// By the system.
fn resolve(host: String) -> Pin<Box<dyn Future<Output = Found> + Send>> {
    Box::pin(async move {
        let found = tokio::net::lookup_host(host).await;
        found.map(Iterator::collect).map_err(|error| error.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::By;
    use greenroom::net::{ConnectError, Identity};
    use std::task::Waker;
    use tokio::sync::oneshot;

    type Outcome = oneshot::Receiver<Result<Identity, ConnectError>>;

    fn request(host: &str) -> (Request, Outcome) {
        let (done, outcome) = oneshot::channel();
        let address = format!("udp:{host}").parse().unwrap();
        (Request { address, host: host.to_owned(), key: None, by: By::Others, done }, outcome)
    }

    /// No server answers.
    fn silence(_: String) -> Pin<Box<dyn Future<Output = Found> + Send>> {
        Box::pin(std::future::pending())
    }

    fn nowhere(host: String) -> Pin<Box<dyn Future<Output = Found> + Send>> {
        Box::pin(std::future::ready(Err(host)))
    }

    fn run<R>(work: impl Future<Output = R>) -> R {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
    }

    async fn found(lookups: &mut Lookups) -> (Vec<Request>, Found) {
        std::future::poll_fn(|cx| lookups.poll_found(cx)).await
    }

    // [UDP-79]
    #[test]
    fn names_whose_servers_are_silent_take_few_threads_and_little_memory() {
        run(async {
            let mut lookups = Lookups::by(silence, AT_ONCE_MAX);
            let mut cx = Context::from_waker(Waker::noop());
            for name in 0..100_000 {
                // Whoever waits has given up at once.
                let added = lookups.add(request(&format!("x{name}.invalid:7")).0);
                assert!(added.is_ok(), "those that nobody waits for make room");
                assert!(lookups.poll_found(&mut cx).is_pending());
                assert_eq!(lookups.under_way.len(), 0);
            }
            let waiting: Vec<_> = (0..100).map(|name| request(&format!("y{name}:7"))).collect();
            let (requests, _outcomes): (Vec<_>, Vec<_>) = waiting.into_iter().unzip();
            for request in requests {
                assert!(lookups.add(request).is_ok());
                assert!(lookups.poll_found(&mut cx).is_pending());
            }
            assert_eq!(lookups.under_way.len(), AT_ONCE_MAX);
            let mut kept = Vec::new();
            let refused = (0..2 * WAITING_MAX).find(|name| {
                let (request, outcome) = request(&format!("z{name}:7"));
                kept.push(outcome);
                lookups.add(request).is_err()
            });
            assert_eq!(refused, Some(WAITING_MAX - (100 - AT_ONCE_MAX)));
            assert_eq!(lookups.requests.len(), WAITING_MAX + AT_ONCE_MAX);
        });
    }

    // [UDP-73] [UDP-79]
    #[test]
    fn a_name_is_looked_up_once_for_all_who_wait_for_it_and_then_anew() {
        run(async {
            let mut lookups = Lookups::by(nowhere, 1);
            let (mut outcomes, names) = (Vec::new(), ["a:7", "b:7", "a:7", "b:7", "a:7"]);
            for host in names {
                let (request, outcome) = request(host);
                outcomes.push(outcome);
                assert!(lookups.add(request).is_ok());
            }
            for (host, count) in [("a:7", 3), ("b:7", 2)] {
                let (requests, at) = found(&mut lookups).await;
                assert_eq!((requests.len(), at), (count, Err(host.to_owned())));
            }
            let (again, _outcome) = request("a:7");
            assert!(lookups.add(again).is_ok());
            assert_eq!(found(&mut lookups).await.0.len(), 1);
        });
    }
}
