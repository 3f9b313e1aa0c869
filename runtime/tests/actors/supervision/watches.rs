//! Who learns of an end, and how often.

use crate::supervision::family::{Member, OneForAll, company};
use crate::supervision::patient::*;
use crate::support::{everywhere, soon};
use greenroom::{Actor, Context, Down, ExitReason, Ref, System, handlers};
use tokio::sync::mpsc;

/// Writes down the ends of others.
#[derive(Actor)]
struct Watcher {
    diary: Diary,
}

#[handlers]
impl Watcher {
    #[start]
    fn start(diary: Diary) -> Self {
        Self { diary }
    }
    #[ask]
    fn watch_patient(&mut self, patient: Ref<Patient<ThreeInAnHour>>, cx: &mut Context<Self>) {
        cx.watch(&patient, Self::down);
    }
    #[ask]
    fn watch(&mut self, child: Ref<Child>, cx: &mut Context<Self>) {
        cx.watch(&child, Self::down);
    }
    #[ask]
    fn watch_and_unwatch(&mut self, child: Ref<Child>, cx: &mut Context<Self>) {
        let watch = cx.watch(&child, Self::down);
        cx.unwatch(watch);
    }
    #[ask]
    fn watch_own_child(&mut self, cx: &mut Context<Self>) -> Ref<Child> {
        let child = cx.spawn::<Child>(self.diary.clone()).start().expect("it starts");
        cx.watch(&child, Self::down);
        child
    }
    #[down]
    fn down(&mut self, down: Down) {
        let _ = self.diary.send(Entry::Down(down.reason));
    }
    #[ask]
    fn is_done(&self) -> bool {
        true
    }
}

async fn watcher(system: &System) -> (Ref<Watcher>, Diary, mpsc::UnboundedReceiver<Entry>) {
    let (diary, entries) = mpsc::unbounded_channel();
    let watcher = system.spawn::<Watcher>(diary.clone()).await.expect("it starts");
    (watcher, diary, entries)
}

/// Entries that are ends of others.
fn downs(entries: &mut mpsc::UnboundedReceiver<Entry>) -> Vec<ExitReason> {
    let down = |entry| if let Entry::Down(reason) = entry { Some(reason) } else { None };
    all(entries).into_iter().filter_map(down).collect()
}

// [G-WATCH-1]
#[test]
fn a_watcher_is_told_once() {
    everywhere(async |system| {
        let (watcher, diary, mut entries) = watcher(system).await;
        let mut expected = Vec::new();
        for _ in 0..20 {
            for (end, reason) in [
                (Ref::stop as fn(&Ref<Child>) -> bool, ExitReason::Stopped),
                (Ref::drain, ExitReason::Drained),
                (Ref::kill, ExitReason::Killed),
            ] {
                let child = system.spawn::<Child>(diary.clone()).await.unwrap();
                watcher.watch(child.clone()).await.unwrap();
                end(&child);
                soon(child.ended()).await;
                expected.push(reason);
            }
        }
        assert!(watcher.is_done().await.unwrap());
        // Each end is told before `ended` returns, and a turn takes ends before messages.
        assert_eq!(downs(&mut entries), expected);
    });
}

// [G-WATCH-1]
#[test]
fn whoever_watches_the_dead_is_told_at_once() {
    everywhere(async |system| {
        let (watcher, diary, mut entries) = watcher(system).await;
        let child = system.spawn::<Child>(diary).await.unwrap();
        child.stop();
        soon(child.ended()).await;
        for _ in 0..5 {
            watcher.watch(child.clone()).await.unwrap();
        }
        crate::support::until(|| entries.len() >= 5 + 2).await;
        assert!(watcher.is_done().await.unwrap());
        assert_eq!(downs(&mut entries), vec![ExitReason::NoActor; 5]);
    });
}

// [G-WATCH-1]
#[test]
fn watches_that_overlap_the_end_are_answered_once() {
    everywhere(async |system| {
        let (watcher, diary, mut entries) = watcher(system).await;
        for _ in 0..100 {
            let child = system.spawn::<Child>(diary.clone()).await.unwrap();
            child.kill();
            watcher.watch(child).await.unwrap();
        }
        let mut downs = 0;
        while downs < 100 {
            let entry = soon(entries.recv()).await.unwrap();
            downs += u32::from(matches!(entry, Entry::Down(_)));
        }
        assert!(watcher.is_done().await.unwrap());
        assert!(self::downs(&mut entries).is_empty());
    });
}

// [G-WATCH-1]
#[test]
fn whoever_unwatches_is_not_told() {
    everywhere(async |system| {
        let (watcher, diary, mut entries) = watcher(system).await;
        for _ in 0..20 {
            let child = system.spawn::<Child>(diary.clone()).await.unwrap();
            watcher.watch_and_unwatch(child.clone()).await.unwrap();
            child.stop();
            soon(child.ended()).await;
        }
        assert!(watcher.is_done().await.unwrap());
        assert!(downs(&mut entries).is_empty());
    });
}

#[test]
fn a_parent_learns_of_a_childs_end_by_its_watch() {
    everywhere(async |system| {
        let (watcher, _diary, mut entries) = watcher(system).await;
        let child = watcher.watch_own_child().await.unwrap();
        child.hang().await.unwrap();
        child.kill();
        loop {
            match soon(entries.recv()).await.unwrap() {
                Entry::Down(reason) => break assert_eq!(reason, ExitReason::Killed),
                entry => assert_eq!(entry, ChildStarted),
            }
        }
    });
}

// [G-RESTART-4]
#[test]
fn a_parent_that_watches_learns_of_too_many_restarts() {
    everywhere(async |system| {
        let (diary, mut entries) = mpsc::unbounded_channel();
        let (patient, _entries) = patient::<ThreeInAnHour>(system).await;
        let watcher = system.spawn::<Watcher>(diary).await.unwrap();
        watcher.watch_patient(patient.clone()).await.unwrap();
        fail_times(&patient, 3).await;
        patient.panic().await.unwrap();
        let Some(Entry::Down(ExitReason::TooManyRestarts { .. })) = soon(entries.recv()).await
        else {
            panic!("it is told why")
        };
    });
}

// [G-WATCH-1]
#[test]
fn whoever_learns_of_an_end_can_ask_for_no_other() {
    everywhere(async |system| {
        let mut events = system.events();
        for round in 0..200 {
            let (diary, _entries) = mpsc::unbounded_channel();
            let child = system.spawn::<Child>(diary).await.unwrap();
            child.stop();
            if round % 2 == 0 {
                soon(child.ended()).await;
            } else {
                crate::support::exit_of(&child, &mut events).await;
            }
            assert!(!child.stop() && !child.drain() && !child.kill(), "round {round}");
        }
    });
}

/// Watches a member of a supervised company.
#[derive(Actor)]
struct Onlooker {
    downs: mpsc::UnboundedSender<Down>,
}

#[handlers]
impl Onlooker {
    #[start]
    fn start(downs: mpsc::UnboundedSender<Down>) -> Self {
        Self { downs }
    }
    #[ask]
    fn watch(&mut self, member: Ref<Member>, cx: &mut Context<Self>) {
        cx.watch(&member, Self::down);
    }
    #[down]
    fn down(&mut self, down: Down) {
        let _ = self.downs.send(down);
    }
}

// [G-WATCH-1]
#[test]
fn a_restart_by_the_supervisor_is_no_end() {
    everywhere(async |system| {
        let (sender, mut downs) = mpsc::unbounded_channel();
        let onlooker = system.spawn::<Onlooker>(sender).await.unwrap();
        let company = company::<OneForAll>(system, 2, |plan| plan).await;
        let [watched, other] = &company.members[..] else { panic!("two members") };
        onlooker.watch(watched.clone()).await.unwrap();
        for incarnation in 1..=5 {
            let falls = if incarnation % 2 == 0 { watched } else { other };
            falls.panic().await.unwrap();
            crate::support::until_async(async || {
                company.incarnations().await == [Some(incarnation); 2]
            })
            .await;
        }
        assert!(downs.try_recv().is_err());
        assert_eq!(company.boss.remove(watched.clone()).await, Ok(true));
        let down = soon(downs.recv()).await.unwrap();
        assert_eq!((down.actor, down.reason), (watched.id(), ExitReason::Stopped));
        company.close().await;
        onlooker.drain();
        soon(onlooker.ended()).await;
        assert!(downs.try_recv().is_err(), "once");
    });
}
