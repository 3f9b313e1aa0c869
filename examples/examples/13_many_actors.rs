//! A theatre with many actors: found by name, by key, as a group, and behind one reference.
//!
//! ```text
//! cargo run --example 13_many_actors
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::time::Duration;

use greenroom::{Actor, Context, Group, Items, Keyed, Pool, Ref, Routing, System, Topic, handlers};

/// What a guest has booked; one actor for each guest.
#[derive(Actor)]
struct Guest {
    name: String,
    seats: u32,
}

#[handlers]
impl Guest {
    #[start]
    fn start(name: String) -> Self {
        println!("{name} is thought of");
        Self { name, seats: 0 }
    }
    #[tell]
    fn book(&mut self, seats: u32) {
        self.seats += seats;
    }
    #[ask]
    fn seats(&self) -> u32 {
        self.seats
    }
    #[stop]
    fn stop(&mut self) {
        println!("{} is forgotten, and {} seats with them", self.name, self.seats);
    }
}

/// Prints tickets, some at a time.
#[derive(Actor)]
#[actor(mailbox = bounded(8))]
struct Printer;

#[handlers]
impl Printer {
    #[start]
    fn start() -> Self {
        Self
    }
    #[ask]
    async fn print(&mut self, ticket: u32) -> String {
        tokio::time::sleep(Duration::from_millis(2)).await;
        format!("ticket {ticket}")
    }
}

/// Hears every announcement, and goes home when there are no more for a while.
#[derive(Actor)]
struct Usher {
    heard: usize,
}

#[handlers]
impl Usher {
    #[start]
    fn start(arrivals: Items<&'static str>, cx: &mut Context<Self>) -> Self {
        cx.attach(arrivals, Self::greet);
        cx.receive_timeout(Duration::from_secs(2), Self::go_home);
        Self { heard: 0 }
    }
    #[tell]
    fn announce(&mut self, _text: &'static str) {
        self.heard += 1;
    }
    #[ask]
    fn heard(&self) -> usize {
        self.heard
    }
    #[local]
    fn greet(&mut self, guest: &'static str) {
        println!("good evening, {guest}");
    }
    #[local]
    fn go_home(&mut self, cx: &mut Context<Self>) {
        cx.stop();
    }
}

/// A key leads to an actor, which is there when it is needed.
async fn by_key(system: &System) -> Result<(), Box<dyn std::error::Error>> {
    let guests: Keyed<String, Guest> = system.keyed(|name: &String| name.clone());
    let guests = guests.idle(Duration::from_secs(1));
    let ann = guests.get("Ann".to_owned())?; // nothing has started yet
    ann.book(2).await?;
    assert_eq!(ann.seats().await?, 2);
    // Asked seldom enough, she ends in between; then it is a new Ann, who had not saved her seats.
    while ann.seats().await? > 0 {
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    Ok(())
}

/// Four printers, called like one.
async fn by_pool(system: &System) -> Result<(), Box<dyn std::error::Error>> {
    let printers = Pool::of(4, || ()).routing(Routing::least_loaded());
    let printers: Ref<Pool<Printer>> = system.spawn::<Pool<Printer>>(printers).await?;
    println!("{}", printers.print(17).await?);
    Ok(())
}

/// A group is told, or asked, as a whole; a topic reaches all who subscribed.
async fn together(system: &System) -> Result<(), Box<dyn std::error::Error>> {
    let ushers: Group<Usher> = system.group("ushers");
    let announcements: Topic<&'static str> = system.topic("announcements");
    for name in ["left", "right"] {
        let (arrivals, items) = Items::bounded(4);
        let usher = system.find_or_spawn::<Usher>(name, items).await?;
        ushers.join(&usher);
        announcements.subscribe(&usher, |usher, text| usher.announce(text));
        arrivals.emit("Ann").await?;
    }
    let published = announcements.publish("the doors are open");
    assert_eq!(published.told, 2);
    assert_eq!(ushers.broadcast(|usher| usher.announce("the doors close")).told, 2);
    assert_eq!(ushers.first(|usher| usher.heard()).await?, 2);
    for usher in ushers.members() {
        usher.ended().await;
    }
    assert_eq!(ushers.members(), []);
    Ok(())
}

#[greenroom::main]
async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
    by_key(&system).await?;
    by_pool(&system).await?;
    together(&system).await
}
