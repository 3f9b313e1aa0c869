//! The protocol, without I/O: packets and due timers go in, packets and timers come out.

#[cfg(test)]
pub(super) mod tests;

use super::crowd::Crowd;
use super::id::{Id, Standing};
use super::member::Member;
use super::timers::Timers;
use crate::net::NodeId;
use crate::sync::{Arc, Mutex, planted};
use crate::time::Time;
use bytes::{Buf, BufMut};
use foca::{
    Foca, Header, NoCustomBroadcast, Notification, PeriodicParams, PostcardCodec, State, Timer,
};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::collections::BTreeSet;
use std::num::{NonZeroU8, NonZeroUsize};
use std::time::Duration;

/// Members that are asked to probe one that did not answer, and that news is told at a time.
const HELPERS: usize = 3;
/// How often each piece of news is told.
const TRANSMISSIONS_MAX: u8 = 10;
/// Periods for which a suspect may say that it lives.
const SUSPECT_PERIODS: u32 = 3;
/// Periods between greetings of members that are down, which may be across a partition that is over.
const GREET_DOWN_PERIODS: u32 = 10;
/// Periods between questions for members that were never heard of.
const ASK_PERIODS: u32 = 30;
/// For how long it is remembered that a member is down, unless others need its place. Until then one that was cut off is found
/// again.
const REMEMBER_DOWN: Duration = Duration::from_secs(24 * 3600);
/// How far a generation may be ahead of this node's clock, in milliseconds: 139 years, as clocks that were never set are decades
/// behind. So there is always a later one than somebody has claimed for another.
const AHEAD_MS_MAX: u64 = 1 << 42;
/// Bytes of a packet at most.
const PACKET_BYTES_MAX: usize = 1400;

/// The state of the protocol at one node.
pub(super) struct Swim {
    foca: Foca<Id, Codec, SmallRng, NoCustomBroadcast>,
    table: Arc<Mutex<Table>>,
    members_max: usize,
    period: Duration,
    own: NodeId,
    standing: Standing,
    out: Out,
}

/// The table of members, as far as packets are let in by it.
struct Table {
    /// The nodes that have a place in it.
    nodes: BTreeSet<NodeId>,
    /// For how many it has room.
    room: usize,
    /// Of which generation a member may be now.
    latest: u64,
}

/// What is to be done.
#[derive(Default)]
pub(super) struct Out {
    pub(super) packets: Vec<(Id, Vec<u8>)>,
    pub(super) timers: Vec<(Duration, Timer<Id>)>,
    /// Whether others may be up than before.
    pub(super) changed: bool,
}

impl Swim {
    pub(super) fn new(me: Id, period: Duration, members_max: usize, seed: u64) -> Self {
        let table = Table { nodes: BTreeSet::new(), room: members_max, latest: 0 };
        let (table, own) = (Arc::new(Mutex::new(table)), me.identity.node);
        let standing = Standing::new();
        let inner = PostcardCodec;
        let codec = Codec { inner, table: table.clone(), own, standing: standing.clone() };
        let me = me.standing(standing.clone());
        let foca = Foca::new(me, config(period), SmallRng::seed_from_u64(seed), codec);
        Self { foca, table, members_max, period, own, standing, out: Out::default() }
    }

    /// What others say. Those who come take the places of those who have been down for longest, and for a period, by the
    /// `timers` that would have had these forgotten later.
    pub(super) fn packet(
        &mut self,
        packet: &[u8],
        now: Time,
        wall_ms: u64,
        timers: &mut Timers,
    ) -> Result<(), foca::Error> {
        self.table.lock().latest = wall_ms.saturating_add(AHEAD_MS_MAX);
        let taken = self.take_in(packet);
        if !had_no_room(&taken) {
            return taken;
        }
        let len = self.table.lock().nodes.len();
        let Some(crowd) = Crowd::of(packet, |node| self.knows(node)) else { return taken };
        let newcomers = crowd.named.iter().filter(|node| !self.knows(**node)).count();
        // Or a member that names others up and down would have as many come as it names.
        let kept = planted!("membership-churns": self.period => Duration::ZERO);
        let removable = timers.removals_by(now.after(REMEMBER_DOWN.saturating_sub(kept)));
        let spare = self.down_but(&crowd.named, &removable);
        // A packet that is refused costs nobody a place, and neither does one of which nothing comes in after all.
        let are_too_many = len + newcomers > self.members_max + spare.len();
        if planted!("membership-refused-evicts": are_too_many => false) {
            return taken;
        }
        self.table.lock().room = len + newcomers;
        let taken = self.take_in(&crowd.packet);
        let mut table = self.table.lock();
        table.room = self.members_max;
        let over = table.nodes.len().saturating_sub(self.members_max);
        drop(table);
        for removal in timers.take_removals(over, &spare) {
            // It never fails: nothing is sent by it.
            let _ = self.foca.handle_timer(removal, &mut self.out);
        }
        self.count();
        taken
    }

    fn take_in(&mut self, packet: &[u8]) -> Result<(), foca::Error> {
        let taken = self.foca.handle_data(packet, &mut self.out);
        self.count();
        taken
    }

    /// Whether a node has a place in the table, or is this one.
    pub(super) fn knows(&self, node: NodeId) -> bool {
        node == self.own || self.table.lock().nodes.contains(&node)
    }

    /// Who is down of `those`, but for who is named and this node, which takes nobody's place.
    fn down_but(&self, named: &BTreeSet<NodeId>, those: &BTreeSet<NodeId>) -> BTreeSet<NodeId> {
        let all = self.foca.iter_membership_state();
        let down = all.filter(|member| member.state() == State::Down);
        let nodes = down.map(|member| member.id().identity.node);
        let is_spare = |node: &NodeId| *node != self.own && !named.contains(node);
        nodes.filter(|node| is_spare(node) && those.contains(node)).collect()
    }

    /// A period is over: a node that was declared down more than once in it takes part anew.
    pub(super) fn next_period(&mut self) {
        if self.standing.next_period()
            && let Some(next) = foca::Identity::renew(self.foca.identity())
        {
            // As in `greet`.
            let _ = self.foca.change_identity(next, &mut self.out);
        }
    }

    /// A timer is due.
    pub(super) fn tick(&mut self, timer: Timer<Id>) {
        // An error means that timers came late, and the protocol has got over it.
        let _ = self.foca.handle_timer(timer, &mut self.out);
        self.count();
    }

    /// Greets somebody who may not know this node.
    pub(super) fn greet(&mut self, whom: Id) {
        // An error would be one of putting a packet into bytes: nothing is sent then.
        let _ = self.foca.announce(whom, &mut self.out);
    }

    /// Tells others that this node goes.
    pub(super) fn leave(&mut self) {
        // As in `greet`.
        let _ = self.foca.leave_cluster(&mut self.out);
    }

    /// Who is up.
    pub(super) fn up(&self) -> impl Iterator<Item = Member> {
        self.foca.iter_members().map(|member| member.id().member())
    }

    /// What is to be done since the last call.
    pub(super) fn take(&mut self) -> Out {
        std::mem::take(&mut self.out)
    }

    /// Takes note of who has a place in the table now. What this node was before it took part anew may be in it, and has none.
    fn count(&self) {
        let all = || self.foca.iter_membership_state().map(|member| member.id().identity.node);
        let own = planted!("membership-own-counts": Some(self.own) => None);
        let others = || all().filter(move |node| Some(*node) != own);
        let nodes = &mut self.table.lock().nodes;
        if others().count() != nodes.len() {
            *nodes = others().collect();
        }
    }
}

/// Whether a packet was refused because it names more nodes than there is room for.
fn had_no_room(taken: &Result<(), foca::Error>) -> bool {
    let Err(foca::Error::Decode(error)) = taken else { return false };
    matches!(error.downcast_ref::<CodecError>(), Some(CodecError::TooMany(_)))
}

impl foca::Runtime<Id> for Out {
    fn notify(&mut self, _: Notification<'_, Id>) {
        self.changed = true;
    }

    fn send_to(&mut self, to: Id, data: &[u8]) {
        self.packets.push((to, data.to_vec()));
    }

    fn submit_after(&mut self, event: Timer<Id>, after: Duration) {
        self.timers.push((after, event));
    }
}

fn config(period: Duration) -> foca::Config {
    let count = |count: usize| NonZeroUsize::new(count).expect("the counts are above zero");
    let now_and_then = |periods: u32, members: usize| {
        Some(PeriodicParams { frequency: period * periods, num_members: count(members) })
    };
    foca::Config {
        probe_period: period,
        probe_rtt: period / 2,
        num_indirect_probes: count(HELPERS),
        max_transmissions: NonZeroU8::new(TRANSMISSIONS_MAX).expect("it is above zero"),
        suspect_to_down_after: period * SUSPECT_PERIODS,
        remove_down_after: Some(REMEMBER_DOWN),
        max_packet_size: count(PACKET_BYTES_MAX),
        notify_down_members: true,
        periodic_announce: now_and_then(ASK_PERIODS, 1),
        periodic_announce_to_down_members: now_and_then(GREET_DOWN_PERIODS, HELPERS),
        periodic_gossip: Some(PeriodicParams {
            frequency: period / 5,
            num_members: count(HELPERS),
        }),
    }
}

/// Packets in bytes, of which those are refused that name more nodes than there is room for.
struct Codec {
    inner: PostcardCodec,
    table: Arc<Mutex<Table>>,
    /// This node, of which others speak, too, and which takes no place.
    own: NodeId,
    /// Hears what it is taken for.
    standing: Standing,
}

/// Why a packet is not understood.
#[derive(Debug, thiserror::Error)]
enum CodecError {
    #[error("malformed: {0}")]
    Malformed(#[from] postcard::Error),
    #[error("more members than the {0} that there is room for")]
    TooMany(usize),
    #[error("a member of a time to come")]
    TooLate,
}

impl Codec {
    fn admit(&self, id: &Id) -> Result<(), CodecError> {
        let node = id.identity.node;
        let mut table = self.table.lock();
        if id.is_after(table.latest) {
            return Err(CodecError::TooLate);
        }
        if node == self.own {
            self.standing.hear(id);
            return Ok(());
        }
        let is_full = table.nodes.len() >= table.room;
        if planted!("membership-unbounded": is_full => false) && !table.nodes.contains(&node) {
            return Err(CodecError::TooMany(table.room));
        }
        table.nodes.insert(node);
        Ok(())
    }
}

impl foca::Codec<Id> for Codec {
    type Error = CodecError;

    fn encode_header(&mut self, header: &Header<Id>, into: impl BufMut) -> Result<(), CodecError> {
        Ok(self.inner.encode_header(header, into)?)
    }

    fn decode_header(&mut self, from: impl Buf) -> Result<Header<Id>, CodecError> {
        let header: Header<Id> = self.inner.decode_header(from)?;
        self.admit(&header.src)?;
        // What is said to the member that this node is taken for, if it is another one, is for nobody.
        if header.dst.identity.node == self.own {
            self.admit(&header.dst)?;
        }
        Ok(header)
    }

    fn encode_member(
        &mut self,
        member: &foca::Member<Id>,
        into: impl BufMut,
    ) -> Result<(), CodecError> {
        Ok(self.inner.encode_member(member, into)?)
    }

    fn decode_member(&mut self, from: impl Buf) -> Result<foca::Member<Id>, CodecError> {
        let member: foca::Member<Id> = self.inner.decode_member(from)?;
        self.admit(member.id())?;
        Ok(member)
    }
}
