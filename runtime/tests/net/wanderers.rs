//! Histories of three nodes that hand references on to each other while connections break, in simulated worlds.

use greenroom::net::{Export, Identity, Incarnation, Loopback, Node, NodeId};
use greenroom::sim::World;
use greenroom::{Actor, Ref, System, TellError, handlers};
use std::time::Duration;

const EPOCHS: u64 = 3;
const MESSAGES: u64 = 30;
const NAMES: [&str; 3] = ["home", "here", "there"];
const PAIRS: [(usize, usize); 3] = [(0, 1), (0, 2), (1, 2)];

/// Lives at `home`, is exported by nobody, and notes who told it what.
#[derive(Actor)]
#[actor(mailbox = bounded(3))]
struct Receiver {
    seen: Vec<(u64, u32, u64)>,
}

#[handlers(wire = "test.receiver/1")]
impl Receiver {
    #[tell]
    fn told(&mut self, epoch: u64, sender: u32, number: u64) {
        self.seen.push((epoch, sender, number));
    }
}

#[derive(greenroom::Message)]
#[message(reply = Vec<(u64, u32, u64)>)]
struct History;

impl greenroom::Handle<History> for Receiver {
    fn handle(&mut self, _: History, _: &mut greenroom::Context<Self>) -> Vec<(u64, u32, u64)> {
        self.seen.clone()
    }
}

/// Tells whomever it is sent, and sends that one on.
#[derive(Actor)]
struct Sender {
    number: u32,
    accepted: u64,
}

#[handlers(wire = "test.sender/1")]
impl Sender {
    #[tell]
    async fn burst(&mut self, epoch: u64, to: Ref<Receiver>) {
        for number in 0..MESSAGES {
            match to.told(epoch, self.number, number).await {
                Ok(()) => self.accepted += 1,
                Err(TellError::Closed(_)) => return,
                Err(error) => panic!("{error}"),
            }
        }
    }
    #[tell]
    async fn pass(&mut self, epoch: u64, to: Ref<Receiver>, on: Ref<Self>) {
        // Told or not: the other one may be gone by now.
        let _ = on.burst(epoch, to).await;
    }
    #[ask]
    fn accepted(&self) -> u64 {
        self.accepted
    }
}

struct Outcome {
    seen: Vec<(u64, u32, u64)>,
    accepted: u64,
    reported: u64,
    trace: u64,
}

fn node(system: &System, network: &Loopback, index: usize) -> Node {
    let identity = Identity { node: NodeId(index as u64), incarnation: Incarnation(7) };
    Node::start(system, network.node(NAMES[index], identity)).unwrap()
}

fn history(seed: u64) -> Outcome {
    let mut world = World::new(seed);
    let places: Vec<_> = NAMES.iter().map(|name| world.node(*name).start()).collect();
    let clock = world.clock();
    let network = Loopback::new().frames_max(1 + world.pick(6));
    let breaks: Vec<Vec<u64>> =
        (1..EPOCHS).map(|_| PAIRS.map(|_| 3 + world.pick(90) as u64).to_vec()).collect();
    let (seen, accepted) = world.run(async {
        let systems: Vec<_> = places.iter().map(greenroom::sim::Node::system).collect();
        let nodes: Vec<_> = (0..3).map(|index| node(&systems[index], &network, index)).collect();
        let receiver = systems[0].spawn::<Receiver>(Receiver { seen: Vec::new() }).await.unwrap();
        let mut senders = Vec::new();
        for (index, number) in [(1, 1), (2, 2)] {
            let sender = Sender { number, accepted: 0 };
            let sender = systems[index].spawn::<Sender>(sender).await.unwrap();
            nodes[index].export("sender", Export::of(&sender)).unwrap();
            senders.push(sender);
        }
        for epoch in 0..EPOCHS {
            for (one, other) in PAIRS {
                let address = format!("loopback:{}", NAMES[other]).parse().unwrap();
                nodes[one].connect(&address).await.unwrap();
            }
            let [here, there] = [1, 2].map(|index| nodes[0].peer(NodeId(index)).unwrap());
            let (first, second) = (
                here.find::<Sender>("sender").await.unwrap(),
                there.find::<Sender>("sender").await.unwrap(),
            );
            if let Some(breaks) = breaks.get(usize::try_from(epoch).unwrap()) {
                for ((one, other), frames) in PAIRS.into_iter().zip(breaks) {
                    network.cut_after(NAMES[one], NAMES[other], *frames);
                }
            }
            // The second is told by way of the first, and by nobody else.
            let _ = first.pass(epoch, receiver.clone(), second).await;
            let _ = first.burst(epoch, receiver.clone()).await;
            clock.sleep(Duration::from_secs(1)).await;
            if epoch + 1 < EPOCHS {
                let peers: Vec<_> =
                    [here, there].into_iter().chain(nodes[1].peer(NodeId(2))).collect();
                for (one, other) in PAIRS {
                    network.cut(NAMES[one], NAMES[other]);
                }
                for peer in peers {
                    peer.ended().await;
                }
                clock.sleep(Duration::from_secs(1)).await;
            }
        }
        let mut accepted = 0;
        for sender in &senders {
            accepted += sender.accepted().await.unwrap();
        }
        (receiver.ask(History).await.unwrap(), accepted)
    });
    let counts = places.iter().map(|place| place.system().counts());
    let reported = counts
        .map(|counts| counts.dead_stopped + counts.maybe_delivered + counts.undelivered)
        .sum();
    Outcome { seen, accepted, reported, trace: world.trace_hash() }
}

#[test]
fn references_that_are_handed_on_keep_the_promises() {
    let seeds = std::env::var("GREENROOM_NET_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    let mut whole = 0;
    for seed in 0..seeds.unwrap_or(if cfg!(sanitized) { 20 } else { 100 }) {
        let Outcome { seen, accepted, reported, .. } = history(seed);
        let mut next = [[0; 3]; EPOCHS as usize];
        for (epoch, sender, number) in &seen {
            // [G-REMOTE-1] [G-REMOTE-2] [G-REMOTE-3] [G-REMOTE-9]: each once, in order, without holes.
            let next = &mut next[usize::try_from(*epoch).unwrap()][*sender as usize];
            assert_eq!(number, next, "seed {seed}: sender {sender} in epoch {epoch}");
            *next += 1;
        }
        assert_eq!(next[EPOCHS as usize - 1][1..], [MESSAGES; 2], "seed {seed}: nothing broke");
        whole += usize::from(next[0][1..] == [MESSAGES; 2]);
        // [G-REMOTE-7]
        let handled = seen.len() as u64;
        assert!(
            handled + reported >= accepted,
            "seed {seed}: {handled} + {reported} of {accepted}"
        );
    }
    assert!(whole > 0, "some first epoch lasts");
}

#[test]
fn a_seed_repeats_its_history() {
    let (one, other) = (history(5), history(5));
    assert_eq!((one.trace, one.seen), (other.trace, other.seen));
}
