//! Messages that are told with a deadline.

use crate::asks::expired::Silent;
use crate::asks::oracle::{NO_TIME, SHORT};
use crate::support::{LONG, everywhere, poll_once, soon};
use greenroom::sim::Explore;
use greenroom::{
    Actor, Context, DeadLetterReason, HandleAsync, Message, Pool, Ref, TellError, TellWithin,
    handlers,
};
use std::time::Duration;
use tokio::sync::oneshot;

/// Draws what it is told, one after the other.
#[derive(Actor)]
#[actor(mailbox = bounded(3))]
struct Screen {
    drawn: Vec<u32>,
    silent: Option<Ref<Silent>>,
}

#[handlers]
impl Screen {
    #[start]
    fn start(silent: Option<Ref<Silent>>) -> Self {
        Self { drawn: Vec::new(), silent }
    }
    #[tell]
    fn draw(&mut self, frame: u32) {
        self.drawn.push(frame);
    }
    #[tell]
    async fn draw_slowly(&mut self, frame: u32) {
        tokio::task::yield_now().await;
        self.drawn.push(frame);
    }
    /// Keeps the others waiting.
    #[ask]
    async fn hold(&mut self, gate: oneshot::Receiver<()>) {
        let _ = gate.await;
    }
    /// Keeps the others waiting for exactly so long.
    #[tell]
    async fn sleep(&mut self, time: Duration) {
        if let Some(silent) = &self.silent {
            let _ = silent.never().within(time).await;
        }
    }
    #[ask]
    fn drawn(&self) -> Vec<u32> {
        self.drawn.clone()
    }
    #[tell]
    async fn tell_remaining(
        &mut self,
        tell: oneshot::Sender<[Duration; 2]>,
        cx: &mut Context<Self>,
    ) {
        let before = cx.remaining();
        tokio::task::yield_now().await;
        let _ = tell.send([before, cx.remaining()]);
    }
}

/// Unlike `Screen`, without a bound.
#[derive(Actor, Default)]
struct Board {
    notes: u32,
}

#[handlers]
impl Board {
    #[ask]
    async fn hold(&mut self, gate: oneshot::Receiver<()>) {
        let _ = gate.await;
    }
    #[ask]
    fn notes(&self) -> u32 {
        self.notes
    }
}

#[derive(Debug, Message)]
struct Note;

impl HandleAsync<Note> for Board {
    async fn handle(&mut self, Note: Note, _cx: &mut Context<Self>) {
        tokio::task::yield_now().await;
        self.notes += 1;
    }
}

/// Sends by the way of that number.
async fn send<M: Message>(tell: TellWithin<'_, M>, way: u32) -> Result<(), TellError<M>> {
    match way {
        0 => tell.await,
        1 => tell.try_send(),
        _ => tell.tell(),
    }
}

// [G-DEADLINE-2]
#[test]
fn a_message_that_expires_before_its_handler_begins_is_reported() {
    everywhere(async |system| {
        let screen = system.spawn::<Screen>(None).await.unwrap();
        let board = system.spawn::<Board>(Board::default()).await.unwrap();
        let mut letters = system.dead_letters();
        let mut sent = 0;
        // The clock that counts is that of a slice, which may be late: so once is not always enough.
        while system.counts().dead_expired < 12 {
            for way in 0..3 {
                let [(gate, closed), (other_gate, other_closed)] =
                    [(); 2].map(|()| oneshot::channel());
                let mut holds = screen.hold(closed).within(LONG).into_future();
                assert!(poll_once(&mut holds).is_pending());
                let mut board_holds = board.hold(other_closed).within(LONG).into_future();
                assert!(poll_once(&mut board_holds).is_pending());
                send(screen.draw(1).within(NO_TIME), way).await.unwrap();
                send(screen.draw_slowly(2).within(SHORT / 20), way).await.unwrap();
                send(board.tell(Note).within(NO_TIME), way).await.unwrap();
                send(board.tell(Note).within(LONG), way).await.unwrap();
                sent += 4;
                tokio::time::sleep(SHORT / 10).await;
                gate.send(()).unwrap();
                other_gate.send(()).unwrap();
                soon(holds).await.unwrap();
                soon(board_holds).await.unwrap();
                // Each round finds an empty mailbox.
                soon(screen.drawn().into_future()).await.unwrap();
            }
        }
        let drawn = screen.drawn().await.unwrap().len() as u64;
        let notes = u64::from(board.notes().await.unwrap());
        let expired = system.counts().dead_expired;
        assert_eq!(drawn + notes + expired, sent, "one end for each message");
        for _ in 0..expired {
            let letter = soon(letters.next()).await.unwrap();
            assert_eq!(letter.reason, DeadLetterReason::Expired);
            let is_screens =
                letter.actor == screen.id() && letter.message.ends_with("ScreenMessage");
            let is_boards = letter.actor == board.id() && letter.message.ends_with("Note");
            assert!(is_screens || is_boards, "{letter:?}");
        }
    });
}

// [G-DEADLINE-2]
#[test]
fn in_time_it_is_a_message_like_any_other() {
    everywhere(async |system| {
        let screen = system.spawn::<Screen>(None).await.unwrap();
        for round in 0..10 {
            screen.draw(4 * round).within(LONG).await.unwrap();
            screen.draw(4 * round + 1).await.unwrap();
            let sent = screen.draw_slowly(4 * round + 2).within(LONG);
            soon(sent.into_future()).await.unwrap();
            screen.draw(4 * round + 3).within(Duration::MAX).await.unwrap();
        }
        assert_eq!(screen.drawn().await, Ok((0..40).collect()), "in order");
        let (tell, told) = oneshot::channel();
        screen.tell_remaining(tell).within(LONG).await.unwrap();
        let [before, after] = soon(told).await.unwrap();
        assert!(before <= LONG && after <= before && !after.is_zero(), "{before:?}, {after:?}");
        screen.stop();
        soon(screen.ended()).await;
        let refused = screen.draw(1).within(LONG).await;
        assert!(matches!(refused, Err(TellError::Closed(ScreenMessage::Draw { frame: 1 }))));
        assert_eq!(system.counts().dead_expired, 0);
    });
}

// [G-DEADLINE-2] [G-DELIVERY-2]
#[test]
fn a_message_that_finds_no_room_in_time_comes_back() {
    everywhere(async |system| {
        let screen = system.spawn::<Screen>(None).await.unwrap();
        let (gate, closed) = oneshot::channel();
        let mut holds = screen.hold(closed).within(LONG).into_future();
        assert!(poll_once(&mut holds).is_pending());
        // The first to come may be the last to have room: the hold gives up its own when it begins.
        let mut fills = 0;
        while fills < 3 {
            match screen.draw(1).within(LONG).try_send() {
                Ok(()) => fills += 1,
                Err(_) => tokio::task::yield_now().await,
            }
        }
        let late = screen.draw(2).within(SHORT).await;
        let message = match late {
            Err(error @ TellError::Expired(_)) => error.into_message(),
            other => panic!("{other:?}"),
        };
        assert!(matches!(message, ScreenMessage::Draw { frame: 2 }));
        let waiting = soon(screen.draw(3).within(LONG).into_future());
        let opened = async {
            tokio::task::yield_now().await;
            gate.send(()).unwrap();
        };
        let (sent, ()) = tokio::join!(waiting, opened);
        sent.unwrap();
        soon(holds).await.unwrap();
        let drawn = screen.drawn().await.unwrap();
        assert_eq!(drawn.iter().max(), Some(&3), "{drawn:?}");
        assert!(!drawn.contains(&2), "{drawn:?}");
    });
}

// [G-DEADLINE-2]
#[test]
fn by_the_worlds_time_it_expires_or_does_not() {
    Explore::new().seeds(100).run(|world| {
        let workers = 1 + world.pick(3);
        let pooled = world.pick(2) == 1;
        let node = world.node("one").settings(move |builder| builder.workers(workers));
        let system = node.start().system();
        // Told with 300 ms at zero, it expires while the screen sleeps until 200, 400 or 600 ms, or does not;
        // the rare paths of a world take far less.
        let naps = 1 + u32::try_from(world.pick(3)).unwrap();
        world.run(async {
            let silent = system.spawn::<Silent>(Silent).await.unwrap();
            let screen: Ref<Screen> = if pooled {
                let pool = Pool::<Screen>::of(1, move || Some(silent.clone()));
                let pool = system.spawn::<Pool<Screen>>(pool).await.unwrap();
                pool.api()
            } else {
                system.spawn::<Screen>(Some(silent)).await.unwrap()
            };
            screen.sleep(Duration::from_millis(200) * naps).await.unwrap();
            screen.draw(1).within(Duration::from_millis(300)).await.unwrap();
            screen.draw(2).await.unwrap();
            let drawn = screen.drawn().await.unwrap();
            let expires = naps > 1;
            assert_eq!(drawn, if expires { vec![2] } else { vec![1, 2] });
            assert_eq!(system.counts().dead_expired, u64::from(expires));
        });
    });
}
