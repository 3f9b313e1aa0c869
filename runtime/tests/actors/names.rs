//! Names: unique in their system, typed, and free again as soon as anybody can know of the end.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use crate::support::{Builds, LONG, block_on, everywhere, on, soon};
use greenroom::{
    Actor, Context, Event, FindError, Ref, Scheduler, SpawnError, StartError, System, handlers,
};
use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use tokio::sync::mpsc;

#[derive(Actor, Clone)]
#[actor(restart = transient(9 in "1h"))]
struct Book {
    pages: u32,
}

#[handlers]
impl Book {
    #[ask]
    fn pages(&self) -> u32 {
        self.pages
    }
    #[tell]
    fn tear(&mut self) {
        panic!("torn")
    }
    /// Starts a child with a name.
    #[ask]
    fn copy(&mut self, name: String, cx: &mut Context<Self>) -> Result<Ref<Self>, SpawnError> {
        cx.spawn::<Self>(self.clone()).named(name).start()
    }
}

/// Fails at its start, or as it is told.
#[derive(Actor)]
struct Leaf;

#[handlers]
impl Leaf {
    #[start]
    async fn start(grows: bool) -> Result<Self, StartError> {
        tokio::task::yield_now().await;
        if grows { Ok(Self) } else { Err(StartError::new("too cold")) }
    }
    #[tell]
    fn fall(&mut self) {
        panic!("it fell")
    }
    #[tell]
    fn fade(&mut self, cx: &mut Context<Self>) {
        cx.stop();
    }
}

fn no_such(name: &str) -> FindError {
    FindError::NoSuchName(name.to_owned())
}

fn taken<T>(name: &str) -> Result<T, SpawnError> {
    Err(SpawnError::NameTaken(name.to_owned()))
}

#[test]
fn a_named_actor_is_found() {
    everywhere(async |system| {
        assert_eq!(system.find::<Book>("atlas"), Err(no_such("atlas")));
        let atlas = system.spawn::<Book>(Book { pages: 7 }).named("atlas").start().unwrap();
        let found = system.find::<Book>("atlas").unwrap();
        assert_eq!((&found, found.id()), (&atlas, atlas.id()));
        assert_eq!(found.pages().await, Ok(7));
        assert_eq!(system.find::<Book>("Atlas"), Err(no_such("Atlas")));
    });
}

// [G-NAME-1]
#[test]
fn a_name_is_given_once() {
    everywhere(async |system| {
        let atlas = system.spawn::<Book>(Book { pages: 1 }).named("atlas").await.unwrap();
        let second = system.spawn::<Book>(Book { pages: 2 }).named("atlas");
        assert_eq!(second.await, taken("atlas"));
        assert_eq!(system.spawn::<Leaf>(true).named("atlas").start(), taken("atlas"));
        let child = atlas.copy("atlas".to_owned()).await;
        assert!(matches!(
            child,
            Err(greenroom::AskError::Failed(SpawnError::NameTaken(name))) if name == "atlas"
        ));
        assert_eq!(system.find::<Book>("atlas").unwrap().pages().await, Ok(1));
        assert_eq!(system.counts().started, 1);
    });
}

#[test]
fn an_actor_of_another_type_is_not_given_out() {
    on(1, Scheduler::stealing(), async |system| {
        let leaf = system.spawn::<Leaf>(true).named("oak").await.unwrap();
        let error = system.find::<Book>("oak").unwrap_err();
        let FindError::OtherType { name, wanted, found } = &error else { panic!("{error}") };
        assert_eq!(name, "oak");
        assert!(wanted.ends_with("Book") && found.ends_with("Leaf"), "{error}");
        assert_eq!(system.find::<Leaf>("oak"), Ok(leaf));
    });
}

#[test]
fn a_name_is_free_after_every_kind_of_end() {
    type End = fn(&Ref<Leaf>);
    let ends: [End; 5] = [
        |leaf| assert!(leaf.stop()),
        |leaf| assert!(leaf.drain()),
        |leaf| assert!(leaf.kill()),
        |leaf| leaf.fall().try_send().unwrap(),
        |leaf| leaf.fade().try_send().unwrap(),
    ];
    everywhere(async |system| {
        for end in ends {
            let leaf = system.spawn::<Leaf>(true).named("oak").await.unwrap();
            end(&leaf);
            soon(leaf.ended()).await;
            assert_eq!(system.find::<Leaf>("oak"), Err(no_such("oak")));
        }
        for _ in 0..5 {
            let cold = system.spawn::<Leaf>(false).named("oak").await;
            assert!(matches!(cold, Err(SpawnError::StartFailed(_))), "{cold:?}");
            assert_eq!(system.find::<Leaf>("oak"), Err(no_such("oak")));
        }
    });
}

// [G-NAME-1]
#[test]
fn a_name_is_free_when_the_end_is_announced() {
    everywhere(async |system| {
        let mut events = system.events();
        for _ in 0..50 {
            let leaf = system.spawn::<Leaf>(true).named("oak").await.unwrap();
            leaf.stop();
            loop {
                match soon(events.next()).await.unwrap() {
                    Event::Ended { actor, .. } if actor == leaf.id() => break,
                    _ => {}
                }
            }
            assert_eq!(system.find::<Leaf>("oak"), Err(no_such("oak")));
        }
    });
}

// [G-RESTART-3]
#[test]
fn a_name_outlives_restarts() {
    everywhere(async |system| {
        let atlas = system.spawn::<Book>(Book { pages: 3 }).named("atlas").await.unwrap();
        for _ in 0..5 {
            atlas.tear().await.unwrap();
            let found = system.find::<Book>("atlas").unwrap();
            assert_eq!(found.pages().await, Ok(3));
            assert_eq!(found, atlas);
        }
        assert_eq!(system.counts().restarts, 5);
    });
}

#[test]
fn a_childs_name_is_the_systems_too() {
    everywhere(async |system| {
        let atlas = system.spawn::<Book>(Book { pages: 4 }).await.unwrap();
        let copy = atlas.copy("copy".to_owned()).await.unwrap();
        assert_eq!(system.find::<Book>("copy"), Ok(copy.clone()));
        atlas.stop();
        soon(atlas.ended()).await;
        // Children end before their parents do.
        assert_eq!(system.find::<Book>("copy"), Err(no_such("copy")));
        assert!(copy.is_closed());
    });
}

#[test]
fn each_system_has_names_of_its_own() {
    on(1, Scheduler::locked(), async |one| {
        on_another(async |other| {
            one.spawn::<Book>(Book { pages: 1 }).named("atlas").await.unwrap();
            assert_eq!(other.find::<Book>("atlas"), Err(no_such("atlas")));
            other.spawn::<Book>(Book { pages: 2 }).named("atlas").await.unwrap();
            assert_eq!(one.find::<Book>("atlas").unwrap().pages().await, Ok(1));
            assert_eq!(other.find::<Book>("atlas").unwrap().pages().await, Ok(2));
        })
        .await;
    });
}

async fn on_another(test: impl AsyncFn(&System)) {
    let system = System::builder().workers(1).own();
    test(&system).await;
    system.shutdown(LONG).await.unwrap();
}

#[test]
fn a_system_that_ended_keeps_no_name() {
    on(1, Scheduler::locked(), async |system| {
        system.spawn::<Book>(Book { pages: 1 }).named("atlas").await.unwrap();
        system.shutdown(LONG).await.unwrap();
        assert_eq!(system.find::<Book>("atlas"), Err(no_such("atlas")));
        let late = system.spawn::<Book>(Book { pages: 2 }).named("atlas").await;
        assert_eq!(late, Err(SpawnError::Closed));
        assert_eq!(system.find::<Book>("atlas"), Err(no_such("atlas")));
    });
}

// [G-NAME-1]
#[test]
fn of_those_who_want_a_name_at_once_one_gets_it() {
    everywhere(async |system| {
        for _ in 0..20 {
            let threads: Vec<_> = (0..4)
                .map(|pages| {
                    let system = system.clone();
                    thread::spawn(move || {
                        block_on(async { system.spawn::<Book>(Book { pages }).named("one").await })
                    })
                })
                .collect();
            let outcomes: Vec<_> = threads.into_iter().map(|it| it.join().unwrap()).collect();
            let mut won = outcomes.iter().filter_map(|outcome| outcome.as_ref().ok());
            let winner = won.next().unwrap();
            assert_eq!(won.next(), None);
            let lost = outcomes.iter().filter(|&outcome| *outcome == taken("one")).count();
            assert_eq!(lost, 3);
            assert_eq!(system.find::<Book>("one").as_ref(), Ok(winner));
            winner.stop();
            soon(winner.ended()).await;
        }
    });
}

#[test]
fn finding_goes_on_while_names_come_and_go() {
    on(2, Scheduler::stealing(), async |system| {
        let over = Arc::new(AtomicBool::new(false));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (system, over) = (system.clone(), Arc::clone(&over));
                thread::spawn(move || {
                    while !over.load(Ordering::SeqCst) {
                        // Whoever is found may end meanwhile, and then says so.
                        if let Ok(book) = system.find::<Book>("brief") {
                            let pages = block_on(book.pages().within(LONG).into_future());
                            assert!(pages.is_err() || pages == Ok(9), "{pages:?}");
                        }
                        thread::yield_now();
                    }
                })
            })
            .collect();
        for _ in 0..100 {
            let book = system.spawn::<Book>(Book { pages: 9 }).named("brief").await.unwrap();
            assert_eq!(book.pages().await, Ok(9));
            book.stop();
            soon(book.ended()).await;
        }
        over.store(true, Ordering::SeqCst);
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// Starts a child with a name when it is too late for that.
#[derive(Actor)]
struct Elder {
    heir: mpsc::UnboundedSender<Result<Ref<Leaf>, SpawnError>>,
}

#[handlers]
impl Elder {
    #[stop]
    fn stop(&mut self, cx: &mut Context<Self>) {
        let heir = cx.spawn::<Leaf>(true).named("heir").start();
        self.heir.send(heir).unwrap();
    }
}

#[test]
fn a_refused_spawn_leaves_no_name_behind() {
    everywhere(async |system| {
        let over = Arc::new(AtomicBool::new(false));
        let seeker = {
            let (system, over) = (system.clone(), Arc::clone(&over));
            thread::spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    assert_eq!(system.find::<Leaf>("heir"), Err(no_such("heir")));
                    thread::yield_now();
                }
            })
        };
        for _ in 0..50 {
            let (heir, mut told) = mpsc::unbounded_channel();
            let elder = system.spawn::<Elder>(Elder { heir }).await.unwrap();
            elder.stop();
            assert_eq!(soon(told.recv()).await, Some(Err(SpawnError::Closed)));
        }
        over.store(true, Ordering::SeqCst);
        seeker.join().unwrap();
        system.spawn::<Leaf>(true).named("heir").await.unwrap();
    });
}

// [G-NAME-2]
#[test]
fn of_those_who_find_or_spawn_at_once_one_spawns() {
    everywhere(async |system| {
        for round in 1..=20 {
            let threads: Vec<_> = (0..4)
                .map(|pages| {
                    let system = system.clone();
                    thread::spawn(move || {
                        block_on(system.find_or_spawn::<Book>("one", Book { pages })).unwrap()
                    })
                })
                .collect();
            let books: Vec<_> = threads.into_iter().map(|it| it.join().unwrap()).collect();
            assert!(books.iter().all(|book| *book == books[0]));
            let pages = books[0].pages().await.unwrap();
            assert!(pages < 4);
            assert_eq!(system.counts().started, round, "one is started in each round");
            books[0].stop();
            soon(books[0].ended()).await;
        }
    });
}

// [G-NAME-2]
#[test]
fn find_or_spawn_waits_for_the_end_of_one_that_is_ending() {
    everywhere(async |system| {
        let first = system.find_or_spawn::<Book>("one", Book { pages: 1 }).await.unwrap();
        for pages in 2..20 {
            let old = system.find_or_spawn::<Book>("one", Book { pages: 0 }).await.unwrap();
            assert_eq!(old.pages().await, Ok(pages - 1));
            old.stop();
            let new = soon(system.find_or_spawn::<Book>("one", Book { pages })).await.unwrap();
            assert_ne!(new, old);
            assert_eq!(new.pages().await, Ok(pages));
        }
        assert!(first.is_closed());
    });
}

#[test]
fn find_or_spawn_says_why_there_is_no_actor() {
    everywhere(async |system| {
        let _leaf = system.spawn::<Leaf>(true).named("oak").await.unwrap();
        assert_eq!(system.find_or_spawn::<Book>("oak", Book { pages: 1 }).await, taken("oak"));
        let cold = system.find_or_spawn::<Leaf>("elm", false).await;
        assert!(matches!(cold, Err(SpawnError::StartFailed(_))), "{cold:?}");
        assert_eq!(system.find::<Leaf>("elm"), Err(no_such("elm")));
        assert!(system.find_or_spawn::<Leaf>("elm", true).await.is_ok());
        system.shutdown(LONG).await.unwrap();
        let late = system.find_or_spawn::<Leaf>("elm", true).await;
        assert_eq!(late, Err(SpawnError::Closed));
    });
}
