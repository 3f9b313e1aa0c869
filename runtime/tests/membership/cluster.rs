//! Nodes of a simulated world that take part in a cluster.

use greenroom::net::membership::{MemberEvent, Members, Membership};
use greenroom::net::{Identity, Incarnation, Loopback, Node, NodeId};
use greenroom::sim::{self, World};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// The time between two probes, which is what times are counted in.
pub(crate) const PERIOD: Duration = Duration::from_secs(1);

/// What one node was told of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    Up,
    Down,
}

/// Which node was told what, of which node, and of which run of that.
pub(crate) type Told = (usize, What, usize, u64);

pub(crate) struct Cluster {
    pub(crate) world: World,
    pub(crate) network: Loopback,
    pub(crate) nodes: Vec<sim::Node>,
    shared: Rc<Shared>,
}

#[derive(Default)]
struct Shared {
    told: RefCell<Vec<Told>>,
    members: RefCell<BTreeMap<usize, Members>>,
}

pub(crate) fn place(node: usize) -> String {
    format!("node-{node}")
}

/// Later runs have smaller numbers: their order says nothing.
pub(crate) fn identity(node: usize, life: u64) -> Identity {
    let number = u64::try_from(node).unwrap() + 1;
    Identity { node: NodeId(number * 7919), incarnation: Incarnation(1_000_000 - life) }
}

impl Cluster {
    /// So many nodes, of which all know the first one or two.
    pub(crate) fn new(seed: u64, size: usize) -> Self {
        let mut world = World::new(seed);
        let network = Loopback::new();
        let shared = Rc::new(Shared::default());
        let start = |index| start(&mut world, &network, &shared, index);
        let nodes = (0..size).map(start).collect();
        Self { world, network, nodes, shared }
    }

    pub(crate) fn run(&mut self, periods: u32) {
        self.world.run_for(PERIOD * periods);
    }

    /// What was told since the last call, in order.
    pub(crate) fn told(&self) -> Vec<Told> {
        self.shared.told.take()
    }

    /// What `nodes` were told of `other`, in order, for each of them.
    pub(crate) fn told_of(&self, other: usize) -> BTreeMap<usize, Vec<(What, u64)>> {
        let mut all = BTreeMap::<_, Vec<_>>::new();
        for (node, what, whom, life) in self.told() {
            assert_eq!(whom, other, "{node} was told {what:?}");
            all.entry(node).or_default().push((what, life));
        }
        all
    }

    pub(crate) fn members(&self, node: usize) -> Members {
        self.shared.members.borrow()[&node].clone()
    }

    /// Whether each of `nodes` knows of exactly those.
    pub(crate) fn agree(&self, nodes: &[usize]) -> bool {
        let lives = nodes.iter().map(|&node| identity(node, self.nodes[node].incarnation()));
        let mut wanted: Vec<_> = lives.collect();
        wanted.sort();
        nodes.iter().all(|&node| {
            let members = self.members(node).members();
            members.iter().map(|member| member.identity).eq(wanted.iter().copied())
        })
    }

    /// Whatever one of the groups says does not reach the other.
    pub(crate) fn part(&self, one: &[usize], other: &[usize]) {
        for (a, b) in pairs(one, other) {
            self.network.sever(&place(a), &place(b));
        }
    }

    pub(crate) fn mend(&self, one: &[usize], other: &[usize]) {
        for (a, b) in pairs(one, other) {
            self.network.mend(&place(a), &place(b));
        }
    }
}

fn pairs(one: &[usize], other: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    one.iter().flat_map(|&a| other.iter().map(move |&b| (a, b)))
}

fn start(world: &mut World, network: &Loopback, shared: &Rc<Shared>, index: usize) -> sim::Node {
    let (network, shared) = (network.clone(), Rc::clone(shared));
    let boot = move |node: sim::Node| {
        let (network, shared) = (network.clone(), Rc::clone(&shared));
        async move {
            let transport = network.node(&place(index), identity(index, node.incarnation()));
            let membership = Membership::at(transport.address()).period(PERIOD);
            let membership = membership
                .seed(format!("loopback:{}", place(0)).parse().unwrap())
                .seed(format!("loopback:{}", place(1)).parse().unwrap());
            let here = Node::start(&node.system(), transport).unwrap();
            let members = membership.start(&here).unwrap();
            let mut events = members.subscribe();
            shared.members.borrow_mut().insert(index, members);
            while let Some(event) = events.next().await {
                let (what, member) = match event {
                    MemberEvent::Up(member) => (What::Up, member),
                    MemberEvent::Down(member) => (What::Down, member),
                    other => panic!("{other:?}"),
                };
                let whom = usize::try_from(member.identity.node.0 / 7919 - 1).unwrap();
                let life = 1_000_000 - member.identity.incarnation.0;
                assert_eq!(member.address.place(), place(whom));
                shared.told.borrow_mut().push((index, what, whom, life));
            }
        }
    };
    world.node(place(index)).boot(boot).start()
}
