//! A cache that goes on answering while it fetches.
//!
//! ```text
//! cargo run --example 16_interleave
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use greenroom::{Actor, Interleaved, System, handlers};

/// Pages by address. Up to eight are fetched at a time; a ninth holds the mailbox.
#[derive(Actor)]
#[actor(interleave = 8)]
struct Cache {
    pages: BTreeMap<String, String>,
    fetched: u32,
}

#[handlers]
impl Cache {
    /// Without `self`: what it has of the cache it has in `cx.with`, and not across the fetch.
    #[ask]
    #[interleave]
    async fn page(cx: &mut Interleaved<Self>, address: String) -> String {
        if let Some(page) = cx.with(|me, _| me.pages.get(&address).cloned()) {
            return page;
        }
        let page = fetch(&address).await;
        cx.with(|me, _| {
            me.fetched += 1;
            // Another question may have fetched it meanwhile: the first page stays.
            me.pages.entry(address).or_insert(page).clone()
        })
    }
    /// Answered at once, however many are being fetched.
    #[ask]
    fn fetched(&self) -> u32 {
        self.fetched
    }
}

/// Stands for a slow network.
async fn fetch(address: &str) -> String {
    tokio::time::sleep(Duration::from_millis(50)).await;
    format!("the page at {address}")
}

#[greenroom::main]
async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
    let cache = Cache { pages: BTreeMap::new(), fetched: 0 };
    let cache = system.spawn::<Cache>(cache).await?;

    let began = Instant::now();
    let questions: Vec<_> = ["a", "b", "c", "d"]
        .map(|address| {
            let cache = cache.clone();
            tokio::spawn(async move { cache.page(address.to_owned()).await })
        })
        .into_iter()
        .collect();
    // The fetches are under way, and the cache has time for this.
    println!("{} pages so far", cache.fetched().await?);
    for question in questions {
        println!("{}", question.await??);
    }
    println!("four fetches of 50 ms took {} ms", began.elapsed().as_millis());
    assert_eq!(cache.fetched().await?, 4);

    assert_eq!(cache.page("a".to_owned()).await?, "the page at a");
    assert_eq!(cache.fetched().await?, 4, "it was there");
    Ok(())
}
