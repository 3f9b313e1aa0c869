//! Those who manage the singers, and those who publish.

use super::choir::{Choir, List, Singer};
use super::{Arc, DEEDS, MANAGERS, NOTES, PUBLISHERS, SINGERS, World, mpsc};
use greenroom::{Ref, System};
use parking_lot::Mutex;

/// The singers of the moment; others may still be there.
type Slots = Arc<Mutex<Vec<Ref<Singer>>>>;

/// What each of them has.
#[derive(Clone)]
pub(super) struct Other {
    pub(super) system: System,
    pub(super) choir: Arc<Choir>,
    /// Dropped when one is done.
    pub(super) _is_there: mpsc::Sender<()>,
}

impl Other {
    pub(super) async fn slots(&self) -> Slots {
        let mut slots = Vec::new();
        for _ in 0..SINGERS {
            let singer = self.new_singer().await;
            self.choir.join(List::Topic, &singer);
            self.choir.join(List::Group, &singer);
            slots.push(singer);
        }
        Arc::new(Mutex::new(slots))
    }

    /// Sends them all, each on its own.
    pub(super) fn send_all(&self, world: &mut World, slots: &Slots) {
        for _ in 0..MANAGERS {
            let deeds = (0..DEEDS).map(|_| [world.pick(SINGERS), world.pick(22), world.pick(4)]);
            let deeds = deeds.collect();
            world.spawn(self.clone().manage(Arc::clone(slots), deeds));
        }
        for me in 0..PUBLISHERS {
            let deeds = (0..NOTES).map(|_| [world.pick(3), world.pick(6)]).collect();
            world.spawn(self.clone().publish(me, deeds));
        }
    }

    async fn new_singer(&self) -> Ref<Singer> {
        self.system.spawn::<Singer>(Arc::clone(&self.choir)).await.unwrap()
    }

    async fn manage(self, slots: Slots, deeds: Vec<[usize; 3]>) {
        for [place, deed, pause] in deeds {
            let singer = slots.lock()[place].clone();
            if deed < 4 || singer.is_closed() {
                let new = self.new_singer().await;
                self.choir.join(List::Topic, &new);
                slots.lock()[place] = new;
            } else {
                self.deal_with(&singer, deed);
            }
            pause_for(pause).await;
        }
    }

    fn deal_with(&self, singer: &Ref<Singer>, deed: usize) {
        let choir = &self.choir;
        match deed {
            4..=6 => choir.join(List::Group, singer),
            7 | 8 => choir.leave(List::Group, singer),
            9 | 10 => choir.join(List::Topic, singer),
            11 | 12 => choir.leave(List::Topic, singer),
            13 | 14 => choir.sent(singer.fall().tell().is_ok()),
            15 => choir.sent(singer.go().tell().is_ok()),
            16 | 17 => choir.sent(singer.change(true).tell().is_ok()),
            18 => choir.sent(singer.change(false).tell().is_ok()),
            end => {
                let is_asked = match end {
                    19 => singer.stop(),
                    20 => singer.drain(),
                    _ => singer.kill(),
                };
                assert!(is_asked, "it accepted mail");
                choir.ask_to_end(singer);
            }
        }
    }

    async fn publish(self, me: usize, deeds: Vec<[usize; 2]>) {
        for (number, [way, pause]) in (0..).zip(deeds) {
            let (choir, note) = (&self.choir, (me, number));
            if me == 0 {
                let told = choir.group.broadcast(|singer| singer.hear(note));
                choir.tell(List::Group, note, told);
            } else if way > 0 {
                choir.tell(List::Topic, note, choir.topic.publish(note));
            } else {
                choir.begin_to_tell(note);
                let told = choir.topic.publish_to_all(note).await;
                choir.has_told(note, told);
            }
            pause_for(pause).await;
        }
    }
}

async fn pause_for(turns: usize) {
    for _ in 0..turns {
        tokio::task::yield_now().await;
    }
}
