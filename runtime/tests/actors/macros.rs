//! What the macros promise their users, on a real system.

use greenroom::{
    Actor, AskError, Context, Down, Event, ExitReason, Handle, HandleAsync, Message, Ref,
    SpawnError, StartError, System, handlers,
};
use std::collections::BTreeMap;
use std::time::Duration;

type Never = Result<(), Box<dyn std::error::Error>>;

/// Takes arguments of all kinds, and tells how it was called.
#[derive(Actor)]
#[actor(mailbox = bounded(64, bytes = "64KiB", full = wait))]
struct Desk {
    notes: Vec<String>,
}

#[handlers]
impl Desk {
    #[start]
    async fn open(first: String, count: usize, cx: &mut Context<Self>) -> Result<Self, StartError> {
        tokio::task::yield_now().await;
        if count == 13 {
            return Err(StartError::new(format!("{} will not have {count}", cx.id())));
        }
        Ok(Self { notes: vec![first; count] })
    }

    #[tell]
    fn note(&mut self, mut text: String, upper: bool) {
        if upper {
            text = text.to_uppercase();
        }
        self.notes.push(text);
    }

    #[tell]
    async fn note_later(&mut self, cx: &mut Context<Self>, text: String) {
        tokio::task::yield_now().await;
        self.notes.push(format!("{text} after {}", cx.incarnation()));
    }

    #[ask]
    fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    // The names that generated code uses too.
    #[ask]
    fn swap(&self, cx: u8, reply: u8, message: u8, arg0: u8) -> [u8; 4] {
        [arg0, message, reply, cx]
    }

    #[ask]
    async fn r#type(&self, r#fn: &'static str) -> String {
        tokio::task::yield_now().await;
        format!("{} {}", r#fn, self.notes.len())
    }

    // The name of the trait method that calls it.
    #[ask]
    fn receive(&self, visit: Box<dyn Fn(&str) -> usize + Send>) -> usize {
        self.notes.iter().map(|note| visit(note)).sum()
    }
}

/// Compiles: an attribute in the body is about the body.
#[greenroom::test]
async fn a_body_has_attributes_of_its_own() {
    #![expect(unused_variables, reason = "it is what the attribute is about")]
    let nothing = 1;
}

#[greenroom::test]
async fn arguments_arrive_in_their_places(system: System) -> Never {
    let desk = system.spawn::<Desk>(("x".to_owned(), 1)).await?;
    desk.note("loud".to_owned(), true).await?;
    desk.note_later("calm".to_owned()).await?;
    assert_eq!(desk.receive(Box::new(str::len)).await?, 1 + 4 + 12);
    assert_eq!(desk.take().await?, ["x", "LOUD", "calm after 0"]);
    assert_eq!(desk.swap(1, 2, 3, 4).await?, [4, 3, 2, 1]);
    assert_eq!(desk.r#type("notes").await?, "notes 0");
    Ok(())
}

#[greenroom::test]
async fn a_start_hook_can_refuse(system: System) {
    let refused = system.spawn::<Desk>((String::new(), 13)).await;
    assert!(matches!(refused, Err(SpawnError::StartFailed(text)) if text.contains("13")));
}

/// Its error is in the answer, or an event.
#[derive(Actor)]
enum Fickle {
    Good,
    Bad,
}

#[derive(Debug, PartialEq)]
struct Refused;

#[handlers]
impl Fickle {
    #[tell]
    fn turn(&mut self) {
        *self = Self::Bad;
    }

    #[ask]
    fn now(&self) -> Result<u8, Refused> {
        if matches!(self, Self::Good) { Ok(1) } else { Err(Refused) }
    }

    #[ask]
    async fn by_alias(&self) -> std::io::Result<u8> {
        tokio::task::yield_now().await;
        self.now().map_err(|_| std::io::Error::other("bad"))
    }

    #[tell]
    fn told(&mut self) -> Result<(), &'static str> {
        Err("told in vain")
    }
}

#[greenroom::test]
async fn errors_of_the_handler_are_flat_in_the_answer(system: System) -> Never {
    let fickle = system.spawn::<Fickle>(Fickle::Good).await?;
    assert_eq!(fickle.now().await.ok(), Some(1));
    assert_eq!(fickle.by_alias().await?, 1);
    fickle.turn().await?;
    assert!(matches!(fickle.now().await, Err(AskError::Failed(Refused))));
    assert!(matches!(fickle.by_alias().await, Err(AskError::Failed(_))));
    Ok(())
}

#[greenroom::test]
async fn errors_of_a_told_handler_are_events(system: System) -> Never {
    let mut events = system.events();
    let fickle = system.spawn::<Fickle>(Fickle::Good).await?;
    fickle.told().await?;
    loop {
        if let Some(Event::TellFailed { actor, handler, error }) = events.next().await {
            assert_eq!((actor, handler, &*error), (fickle.id(), "told", "told in vain"));
            break;
        }
    }
    assert_eq!(fickle.now().await.ok(), Some(1));
    Ok(())
}

/// A generic actor, under a protocol of its own, that restarts.
#[derive(Actor)]
#[actor(restart = transient(1 in "1h"))]
struct Cache<K, V, const SIZE: usize = 2> {
    entries: BTreeMap<K, V>,
}

#[handlers(api = CacheApi)]
impl<K: Ord + Clone + Send + 'static, V, const SIZE: usize> Cache<K, V, SIZE>
where
    V: Send + Clone + 'static,
{
    #[start]
    fn start(first: Option<(K, V)>) -> Self {
        Self { entries: first.into_iter().collect() }
    }

    #[ask]
    fn put(&mut self, key: K, value: V) -> Result<Option<V>, (K, V)> {
        if self.entries.len() == SIZE {
            Err((key, value))
        } else {
            Ok(self.entries.insert(key, value))
        }
    }

    #[ask]
    async fn get(&mut self, key: K) -> Option<V> {
        tokio::task::yield_now().await;
        self.entries.get(&key).cloned()
    }

    #[tell]
    fn merge(&mut self, others: Vec<Self>) {
        self.entries.extend(others.into_iter().flat_map(|other| other.entries));
    }

    #[tell]
    fn fall(&mut self) {
        panic!("as told");
    }
}

#[greenroom::test]
async fn generic_actors_keep_their_arguments_for_a_restart(system: System) -> Never {
    let cache = system.spawn::<Cache<u8, String>>(Some((1, "one".to_owned()))).await?;
    let api: Ref<CacheApi<u8, String, 2>> = cache.api();
    assert_eq!(api.id(), cache.id());
    assert!(matches!(api.put(2, "two".to_owned()).await, Ok(None)));
    assert!(matches!(api.put(3, "three".to_owned()).await, Err(AskError::Failed((3, _)))));
    let other = Cache { entries: BTreeMap::from([(9, "nine".to_owned())]) };
    cache.merge(vec![other]).await?;
    assert_eq!(api.get(9).await?.as_deref(), Some("nine"));
    cache.fall().await?;
    assert_eq!(api.get(9).await?, None);
    assert_eq!(api.get(1).await?.as_deref(), Some("one"));
    Ok(())
}

/// A message for [`Switch`] that is written by hand.
#[derive(Message)]
#[message(reply = usize)]
struct Measure<T: Send + 'static>(Vec<T>);

#[derive(Message)]
struct Wait;

/// An actor with handlers by macro and by hand, and hooks that report what becomes of it.
#[derive(Actor)]
struct Switch {
    report: tokio::sync::mpsc::UnboundedSender<String>,
}

#[handlers]
impl Switch {
    #[ask]
    fn is_on(&self) -> bool {
        true
    }

    #[tell]
    fn watch(&mut self, other: Ref<Self>, cx: &mut Context<Self>) {
        cx.watch(&other, Self::other_down);
        cx.after(Duration::from_millis(1), Self::tick);
        cx.pipe(std::future::ready(7), Self::piped);
    }

    #[down]
    fn other_down(&mut self, down: Down, _cx: &mut Context<Self>) {
        self.say(format!("down {}", down.reason));
    }

    #[local]
    fn tick(&mut self) {
        self.say("tick".to_owned());
    }

    #[local]
    async fn piped(&mut self, number: u8, cx: &mut Context<Self>) {
        self.say(format!("piped {number} {}", cx.incarnation()));
    }

    #[stop]
    async fn end(&mut self, cx: &mut Context<Self>, reason: ExitReason) -> Result<(), String> {
        tokio::task::yield_now().await;
        self.say(format!("{reason} {}", cx.incarnation()));
        Err("an event, too".to_owned())
    }

    fn say(&self, text: String) {
        self.report.send(text).expect("the test listens");
    }
}

impl Handle<Measure<u8>> for Switch {
    fn handle(&mut self, message: Measure<u8>, _cx: &mut Context<Self>) -> usize {
        message.0.len()
    }
}

impl HandleAsync<Wait> for Switch {
    async fn handle(&mut self, _message: Wait, _cx: &mut Context<Self>) {
        tokio::task::yield_now().await;
    }
}

#[greenroom::test]
async fn handlers_by_hand_stand_beside_the_macro(system: System) -> Never {
    let (report, _reports) = tokio::sync::mpsc::unbounded_channel();
    let switch = system.spawn::<Switch>(Switch { report }).await?;
    assert_eq!(switch.ask(Measure(vec![1, 2])).await?, 2);
    switch.tell(Wait).await?;
    switch.ask(Wait).await?;
    assert!(switch.is_on().await?);
    Ok(())
}

#[greenroom::test]
async fn hooks_and_callbacks_are_called(system: System) -> Never {
    let (report, mut reports) = tokio::sync::mpsc::unbounded_channel();
    let first = system.spawn::<Switch>(Switch { report: report.clone() }).await?;
    let second = system.spawn::<Switch>(Switch { report }).await?;
    first.watch(second.clone()).await?;
    let mut early = [reports.recv().await, reports.recv().await].map(Option::unwrap_or_default);
    early.sort();
    assert_eq!(early, ["piped 7 0", "tick"]);
    second.stop();
    assert_eq!(reports.recv().await.as_deref(), Some("stopped 0"));
    assert_eq!(reports.recv().await.as_deref(), Some("down stopped"));
    Ok(())
}

#[greenroom::test]
async fn messages_print_their_name() {
    assert_eq!(format!("{:?}", FickleMessage::Turn {}), "Turn { .. }");
    assert_eq!(
        format!("{:?}", DeskMessage::Note { text: String::new(), upper: true }),
        "Note { .. }"
    );
}
