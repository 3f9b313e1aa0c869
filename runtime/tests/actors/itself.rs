//! `async` methods that give themselves to the context.

use greenroom::{Actor, Context, Down, Ref, System, handlers};
use std::time::Duration;
use tokio::sync::mpsc;

type Never = Result<(), Box<dyn std::error::Error>>;

/// Comes back to its own methods in every way that there is, and says so each time.
#[derive(Actor)]
struct Walker<T: Send + 'static> {
    steps: mpsc::UnboundedSender<(&'static str, T)>,
    mark: T,
    left: u32,
}

#[handlers]
impl<T: Send + Clone + 'static> Walker<T> {
    #[start]
    fn start(
        steps: mpsc::UnboundedSender<(&'static str, T)>,
        mark: T,
        cx: &mut Context<Self>,
    ) -> Self {
        cx.after(Duration::ZERO, Self::poll);
        Self { steps, mark, left: 2 }
    }

    /// Names itself.
    #[local]
    async fn poll(&mut self, cx: &mut Context<Self>) {
        tokio::task::yield_now().await;
        self.say("poll");
        self.left -= 1;
        if self.left > 0 {
            cx.after(Duration::ZERO, Self::poll);
        } else {
            self.go_on(cx).await;
        }
    }

    /// Has no role, and is on the way from one that has to itself.
    async fn go_on(&mut self, cx: &mut Context<Self>) {
        tokio::task::yield_now().await;
        if self.left > 0 {
            cx.after(Duration::ZERO, Self::poll);
        } else {
            self.left = 2;
            cx.pipe(async { (2, 1) }, Self::there);
        }
    }

    /// Names one that names it.
    #[local]
    async fn there(&mut self, (mut from, to): (u8, u8), cx: &mut Context<Self>) {
        from -= 1;
        assert_eq!(from, to);
        self.say("there");
        cx.pipe(std::future::ready(from), Self::back);
    }

    #[local]
    #[expect(unused_mut, reason = "a lint that is expected is one of the body")]
    async fn back(&mut self, mut to: u8, cx: &mut Context<Self>) {
        tokio::task::yield_now().await;
        self.say("back");
        self.left -= 1;
        if self.left > 0 {
            cx.pipe(async move { (to + 1, to) }, Self::there);
        } else {
            cx.stop();
        }
    }

    fn say(&self, step: &'static str) {
        let _ = self.steps.send((step, self.mark.clone()));
    }
}

#[greenroom::test]
async fn an_async_method_sets_its_own_timer_again(system: System) -> Never {
    let (steps, mut taken) = mpsc::unbounded_channel();
    let walker = system.spawn::<Walker<String>>((steps, "mark".to_owned())).await?;
    walker.ended().await;
    for expected in ["poll", "poll", "there", "back", "there", "back"] {
        assert_eq!(taken.recv().await, Some((expected, "mark".to_owned())));
    }
    assert_eq!(taken.recv().await, None);
    Ok(())
}

/// Watches one after the other.
#[derive(Actor)]
struct Heir {
    line: Vec<Ref<Self>>,
}

#[handlers]
impl Heir {
    #[tell]
    async fn inherit(&mut self, cx: &mut Context<Self>) {
        let next = self.line.pop();
        tokio::task::yield_now().await;
        match next {
            Some(next) => drop(cx.watch(&next, Self::bereaved)),
            None => cx.stop(),
        }
    }

    #[down]
    async fn bereaved(&mut self, _down: Down, cx: &mut Context<Self>) {
        cx.after(Duration::ZERO, Self::inherit);
    }
}

#[greenroom::test]
async fn a_handler_leads_back_to_itself_by_a_watch(system: System) -> Never {
    let first = system.spawn::<Heir>(Heir { line: Vec::new() }).await?;
    let second = system.spawn::<Heir>(Heir { line: Vec::new() }).await?;
    let heir = system.spawn::<Heir>(Heir { line: vec![first.clone(), second.clone()] }).await?;
    heir.inherit().await?;
    second.inherit().await?;
    first.inherit().await?;
    heir.ended().await;
    Ok(())
}
