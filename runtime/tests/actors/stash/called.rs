//! A timer's call that waits lets mail in, and what was stashed before is mail before all other.

use crate::support::{LONG, everywhere, soon};
use greenroom::{Actor, Context, handlers};
use std::time::Duration;
use tokio::sync::oneshot;

const MILLISECOND: Duration = Duration::from_millis(1);

/// Opens in the first call of its timer, which takes longer than it is to the next.
#[derive(Actor)]
#[actor(stash = 8)]
struct Shelf {
    is_open: bool,
    read: Vec<u32>,
    gate: Option<(oneshot::Sender<()>, oneshot::Receiver<()>)>,
    at_the_end: Option<oneshot::Sender<Vec<u32>>>,
}

#[handlers]
impl Shelf {
    #[start]
    fn start(
        gate: (oneshot::Sender<()>, oneshot::Receiver<()>),
        at_the_end: oneshot::Sender<Vec<u32>>,
    ) -> Self {
        Self { is_open: false, read: Vec::new(), gate: Some(gate), at_the_end: Some(at_the_end) }
    }
    #[stop]
    fn stop(&mut self) {
        let read = std::mem::take(&mut self.read);
        self.at_the_end.take().unwrap().send(read).unwrap();
    }
    #[tell]
    #[stash(while = !self.is_open)]
    fn read(&mut self, page: u32) {
        self.read.push(page);
    }
    #[tell]
    fn begin(&mut self, cx: &mut Context<Self>) {
        cx.every(MILLISECOND, Self::call);
    }
    #[local]
    async fn call(&mut self, cx: &mut Context<Self>) {
        let Some((entered, goes_on)) = self.gate.take() else { return };
        self.is_open = true;
        cx.unstash();
        entered.send(()).unwrap();
        goes_on.await.unwrap();
        tokio::time::sleep(MILLISECOND * 5).await;
    }
}

/// [G-STASH-1], [G-STOP-2]
#[test]
fn what_was_stashed_comes_before_mail_that_a_call_lets_in() {
    for newer in [&[2, 3][..], &[]] {
        everywhere(async |system| {
            let ((entered, has_entered), (go_on, goes_on)) =
                (oneshot::channel(), oneshot::channel());
            let (at_the_end, read) = oneshot::channel();
            let shelf = system.spawn::<Shelf>(((entered, goes_on), at_the_end)).await.unwrap();
            shelf.read(0).await.unwrap();
            shelf.read(1).await.unwrap();
            shelf.begin().await.unwrap();
            soon(has_entered).await.unwrap();
            for &page in newer {
                shelf.read(page).await.unwrap();
            }
            shelf.drain();
            go_on.send(()).unwrap();
            soon(shelf.ended()).await;
            assert_eq!(soon(read).await.unwrap(), [&[0, 1], newer].concat());
            system.shutdown(LONG).await.unwrap();
        });
    }
}
