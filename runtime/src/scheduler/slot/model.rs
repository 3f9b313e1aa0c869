//! loom: what an owner puts in, and displaces, meets a thief: each word is taken out once, by who sees what it stands for.

use super::Slot;
use crate::sync::{Arc, UnsafeCell, thread};

const WORDS: usize = 2;

struct Shop {
    slot: Slot,
    /// What each word stands for: that of 1 at 0.
    goods: [UnsafeCell<usize>; WORDS],
}

// SAFETY: that goods are the one's alone who has their word is what loom checks.
unsafe impl Send for Shop {}
// SAFETY: as above.
unsafe impl Sync for Shop {}

impl Shop {
    /// Makes something, and puts it in; the word that this displaces.
    fn offer(&self, word: usize) -> Option<usize> {
        // SAFETY: nobody has the word yet, which loom checks.
        self.goods[word - 1].with_mut(|goods| unsafe { *goods = word });
        self.slot.put(word)
    }

    /// Uses up what a word stands for, which is there.
    fn consume(&self, word: usize) -> usize {
        // SAFETY: the one's alone who took the word out, which loom checks.
        self.goods[word - 1].with_mut(|goods| unsafe {
            assert_eq!(*goods, word);
            *goods = 0;
        });
        1
    }
}

#[test]
fn each_word_is_taken_out_once_with_what_it_stands_for() {
    loom::model(|| {
        let shop = Arc::new(Shop {
            slot: Slot::new(),
            goods: std::array::from_fn(|_| UnsafeCell::new(0)),
        });
        let thieves = Arc::clone(&shop);
        let thief =
            thread::spawn(move || thieves.slot.take().map_or(0, |word| thieves.consume(word)));
        let displaced = (1..=WORDS).filter_map(|word| shop.offer(word)).collect::<Vec<_>>();
        let own = displaced.into_iter().chain(shop.slot.take());
        let own: usize = own.map(|word| shop.consume(word)).sum();
        assert_eq!(own + thief.join().expect("no panic"), WORDS);
        assert!(shop.slot.is_empty());
    });
}
