//! A mailbox with room for two: waiting for room, not waiting, and dropping the oldest.
//!
//! ```text
//! cargo run --example 03_bounded_mailbox
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::sync::Arc;

use greenroom::{Actor, System, TellError, handlers};
use tokio::sync::Semaphore;

/// Prints pages, each when it is given a sheet.
#[derive(Actor)]
#[actor(mailbox = bounded(2))]
struct Printer {
    sheets: Arc<Semaphore>,
}

#[handlers]
impl Printer {
    #[start]
    fn start(sheets: Arc<Semaphore>) -> Self {
        Self { sheets }
    }

    /// Prints a page.
    #[tell]
    async fn print(&mut self, page: u32) {
        if let Ok(sheet) = self.sheets.acquire().await {
            sheet.forget();
            println!("printed page {page}");
        }
    }

    /// Answers when all pages told before are printed.
    #[ask]
    fn done(&self) {}
}

/// Shows the latest of what it is told, and can do without the rest.
#[derive(Actor)]
#[actor(mailbox = bounded(1, full = drop_oldest))]
struct Display {
    shown: Vec<u32>,
}

#[handlers]
impl Display {
    /// Waits until it is switched on; meanwhile messages pile up.
    #[start]
    async fn start(switch: Arc<Semaphore>) -> Self {
        if let Ok(on) = switch.acquire().await {
            on.forget();
        }
        Self { shown: Vec::new() }
    }

    /// Shows a number.
    #[tell]
    fn show(&mut self, number: u32) {
        self.shown.push(number);
    }

    /// Returns what was shown.
    #[ask]
    fn shown(&self) -> Vec<u32> {
        self.shown.clone()
    }
}

#[greenroom::main]
async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
    let sheets = Arc::new(Semaphore::new(0));
    let printer = system.spawn::<Printer>(Arc::clone(&sheets)).await?;

    // Without paper the mailbox fills up, and `try_send` hands the message back at once.
    let mut page = 0;
    loop {
        match printer.print(page).try_send() {
            Ok(()) => page += 1,
            Err(TellError::Full(_)) => break,
            Err(error) => return Err(error.into()),
        }
    }
    println!("full after {page} pages");
    assert!(page >= 2);

    // Awaiting waits for room instead: the sender is as fast as the printer and no faster.
    sheets.add_permits(10);
    printer.print(page).await?;
    printer.done().await?;

    // What a mailbox does when it is full can be declared; this one keeps the latest.
    let switch = Arc::new(Semaphore::new(0));
    let display = system.spawn::<Display>(Arc::clone(&switch)).start()?;
    for number in 0..100 {
        display.show(number).tell()?;
    }
    switch.add_permits(1);
    let shown = display.shown().await?;
    println!("of 100 numbers, shown: {shown:?}");
    assert_eq!(shown, [99]);
    Ok(())
}
