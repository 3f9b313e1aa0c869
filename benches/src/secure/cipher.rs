//! Seal and open: both ciphers of the transports, and three libraries by themselves.

use super::{Runner, interleave};
use crate::rows::Row;
use crate::table::{Table, goal, time};
use aws_lc_rs::aead as aws;
use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Nonce, Tag};
use greenroom_transports::secure::aead::{Aead, rust_crypto};
use greenroom_transports::secure::key::Key;
use greenroom_transports::secure::packet::{Opener, Sealer};
use greenroom_transports::secure::wire::{DataHeader, HEADER_BYTES, OVERHEAD_BYTES};
use ring::aead as bare;
use std::hint::black_box;
use std::time::{Duration, Instant};

const KEY: [u8; 32] = [7; 32];
const HEADER: [u8; HEADER_BYTES] = [9; HEADER_BYTES];
/// Bytes of a text, and how many are sealed in one measurement.
const TEXTS: [(usize, u32); 3] = [(64, 20_000), (1_400, 5_000), (16_384, 1_000)];

/// Bytes that are sealed in place: a text, and what a tag is put into.
fn buffer(bytes: usize) -> Vec<u8> {
    vec![3; bytes]
}

/// The time of `n` calls, each with the number of a packet that is new under its key.
fn timed(n: u32, next: &mut u64, mut each: impl FnMut(u64)) -> Duration {
    let clock = Instant::now();
    for _ in 0..n {
        *next += 1;
        each(*next);
    }
    clock.elapsed()
}

fn nonce(number: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&number.to_le_bytes());
    nonce
}

/// A library by itself: how it seals a text, and how it opens one with its tag.
trait Bare: Copy + 'static {
    fn seal(self, number: u64, text: &mut [u8]) -> [u8; 16];
    fn open(self, number: u64, text: &mut [u8], tag: &[u8; 16]) -> bool;
}

/// Of a key that lives as long as the program, so that runners can share it.
#[derive(Clone, Copy)]
struct RustCrypto(&'static ChaCha20Poly1305);

impl Bare for RustCrypto {
    fn seal(self, number: u64, text: &mut [u8]) -> [u8; 16] {
        let nonce = Nonce::from(nonce(number));
        self.0.encrypt_inout_detached(&nonce, &HEADER, text.into()).expect("it is short").into()
    }

    fn open(self, number: u64, text: &mut [u8], tag: &[u8; 16]) -> bool {
        let nonce = Nonce::from(nonce(number));
        self.0.decrypt_inout_detached(&nonce, &HEADER, text.into(), &Tag::from(*tag)).is_ok()
    }
}

#[derive(Clone, Copy)]
struct Ring(&'static bare::LessSafeKey);

impl Bare for Ring {
    fn seal(self, number: u64, text: &mut [u8]) -> [u8; 16] {
        let nonce = bare::Nonce::assume_unique_for_key(nonce(number));
        let tag = self.0.seal_in_place_separate_tag(nonce, bare::Aad::from(HEADER), text);
        tag.expect("it is short").as_ref().try_into().expect("a tag has 16 bytes")
    }

    fn open(self, number: u64, text: &mut [u8], tag: &[u8; 16]) -> bool {
        let nonce = bare::Nonce::assume_unique_for_key(nonce(number));
        let tag = bare::Tag::from(*tag);
        self.0.open_in_place_separate_tag(nonce, bare::Aad::from(HEADER), tag, text, 0..).is_ok()
    }
}

#[derive(Clone, Copy)]
struct AwsLc(&'static aws::LessSafeKey);

impl Bare for AwsLc {
    fn seal(self, number: u64, text: &mut [u8]) -> [u8; 16] {
        let nonce = aws::Nonce::assume_unique_for_key(nonce(number));
        let tag = self.0.seal_in_place_separate_tag(nonce, aws::Aad::from(HEADER), text);
        tag.expect("it is short").as_ref().try_into().expect("a tag has 16 bytes")
    }

    /// It opens only what has its tag behind it.
    fn open(self, number: u64, text: &mut [u8], _tag: &[u8; 16]) -> bool {
        let nonce = aws::Nonce::assume_unique_for_key(nonce(number));
        self.0.open_in_place(nonce, aws::Aad::from(HEADER), text).is_ok()
    }
}

/// The cipher that the transports have without the feature `ring`.
#[derive(Clone, Copy)]
struct Ours(&'static rust_crypto::ChaCha);

impl Bare for Ours {
    fn seal(self, number: u64, text: &mut [u8]) -> [u8; 16] {
        self.0.seal(number, &HEADER, text)
    }

    fn open(self, number: u64, text: &mut [u8], tag: &[u8; 16]) -> bool {
        self.0.open(number, &HEADER, text, tag).is_ok()
    }
}

/// Sealing and opening by one library. `has_tag`: whether what is opened ends with its tag.
fn both(bytes: usize, n: u32, who: &'static str, library: impl Bare, has_tag: bool) -> [Runner; 2] {
    let (mut text, mut next) = (buffer(bytes), 0);
    let seal = Runner::new(format!("seal {bytes}"), who, n, move |n| {
        timed(n, &mut next, |number| {
            black_box(library.seal(number, black_box(&mut text)));
        })
    });
    let (mut sealed, mut opened, mut next) = (buffer(bytes), Vec::new(), 0);
    let tag = library.seal(1, &mut sealed);
    if has_tag {
        sealed.extend(tag);
    }
    let open = Runner::new(format!("open {bytes}"), who, n, move |n| {
        timed(n, &mut next, |_| {
            opened.clear();
            opened.extend_from_slice(&sealed);
            assert!(library.open(1, black_box(&mut opened), &tag), "it was sealed so");
        })
    });
    [seal, open]
}

/// Data packets as lanes have them.
fn packets(bytes: usize, n: u32) -> [Runner; 2] {
    const INDEX: u32 = 5;
    let key = || Key::new(KEY);
    let mut packet = buffer(bytes + OVERHEAD_BYTES);
    let (mut sealer, mut next) = (Sealer::new(&key(), 0, INDEX, 0), 0);
    let seal = Runner::new(format!("seal {bytes}"), "greenroom", n, move |n| {
        timed(n, &mut next, |_| {
            sealer.seal(black_box(&mut packet)).expect("there is room");
        })
    });
    // Each number opens once, so a few packets are sealed before, outside of the time: few, since what is opened is in
    // the cache for the others, too.
    let (mut sealer, mut opener) = (Sealer::new(&key(), 0, INDEX, 0), Opener::new(&key()));
    let mut packets = vec![buffer(bytes + OVERHEAD_BYTES); 8];
    let mut opened = Vec::new();
    let open = Runner::new(format!("open {bytes}"), "greenroom", n, move |n| {
        let mut took = Duration::ZERO;
        for _ in 0..n.div_ceil(8) {
            for packet in &mut packets {
                sealer.seal(packet).expect("there is room");
            }
            let clock = Instant::now();
            for packet in &packets {
                opened.clear();
                opened.extend_from_slice(packet);
                let header = DataHeader::decode(&opened).expect("it is a data packet");
                opener.open(&header, black_box(&mut opened)).expect("it was sealed so");
            }
            took += clock.elapsed();
        }
        took
    });
    [seal, open]
}

fn contestants() -> (RustCrypto, Ring, AwsLc, Ours) {
    let ring = bare::UnboundKey::new(&bare::CHACHA20_POLY1305, &KEY).expect("it has the length");
    let aws = aws::UnboundKey::new(&aws::CHACHA20_POLY1305, &KEY).expect("it has the length");
    (
        RustCrypto(Box::leak(Box::new(ChaCha20Poly1305::new(&KEY.into())))),
        Ring(Box::leak(Box::new(bare::LessSafeKey::new(ring)))),
        AwsLc(Box::leak(Box::new(aws::LessSafeKey::new(aws)))),
        Ours(Box::leak(Box::new(rust_crypto::ChaCha::new(&Key::new(KEY))))),
    )
}

/// Sealing a text of that length may take at most that much of the time of `ring`.
const GOAL_BYTES: usize = 64;
const GOAL: f64 = 1.2;

/// Who is measured, each with the one that it is compared with.
const WHO: [(&str, &str); 5] = [
    ("greenroom", "ring"),
    ("ring", "ring"),
    ("greenroom-rust", "chacha20poly1305"),
    ("chacha20poly1305", "chacha20poly1305"),
    ("aws-lc-rs", "ring"),
];

/// Those that are not ours.
pub(super) const PEERS: [&str; 3] = ["ring", "chacha20poly1305", "aws-lc-rs"];

/// Measures all of them.
pub(super) fn table(rounds: usize, rows: &mut Vec<Row>) -> Table {
    let (rust_crypto, ring, aws, ours) = contestants();
    let mut table = Table::new(&["bytes", "who", "seal", "ratio", "open", "ratio"]);
    for (bytes, n) in TEXTS {
        eprintln!("secure: {bytes} bytes");
        let mut runners: Vec<Runner> = [
            packets(bytes, n),
            both(bytes, n, "ring", ring, false),
            both(bytes, n, "greenroom-rust", ours, false),
            both(bytes, n, "chacha20poly1305", rust_crypto, false),
            both(bytes, n, "aws-lc-rs", aws, true),
        ]
        .into_iter()
        .flatten()
        .collect();
        interleave(rounds, &mut runners);
        let found: Vec<_> = runners.into_iter().map(|one| (one.who, one.finish(rows))).collect();
        let of = |who: &str| {
            let mut own = found.iter().filter(|(other, _)| *other == who).map(|(_, nanos)| *nanos);
            [own.next(), own.next()].map(Option::unwrap_or_default)
        };
        for (who, base) in WHO {
            let (own, base) = (of(who), of(base));
            let mut cells = [0, 1].map(|at| [time(own[at]), format!("{:.2}", own[at] / base[at])]);
            if (who, bytes) == ("greenroom", GOAL_BYTES) {
                cells[0][1] = goal(own[0] / base[0], GOAL);
            }
            let named = [bytes.to_string(), who.to_owned()];
            table.row(named.into_iter().chain(cells.into_iter().flatten()));
        }
    }
    table
}
