//! The transport over simulated devices, by the real clock: what every transport promises holds there, too.

#[path = "../../tests/by_pairs/mod.rs"]
mod by_pairs;

use super::{Settings, Udp};
use crate::link::Time;
use crate::rdma::Rdma;
use crate::rdma::carrier::{Failure, QueuePairs, Turn};
use crate::rdma::sim::{Fabric, SimDevice, Weather};
use crate::rdma::verbs::{OpenError, Verbs};
use crate::secure::identity::Identity;
use crate::secure::key::Key;
use crate::station::Station;
use greenroom::net::{Drive, Transport, transport_conforms};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::{Context, Waker};
use std::time::Duration;

type Open = Box<dyn FnMut() -> Result<SimDevice, OpenError>>;

/// Two nodes' devices, which stay in the thread that runs both.
struct Ground {
    fabric: Fabric,
    pairs: Vec<QueuePairs<SimDevice, Open>>,
}

thread_local! {
    static GROUND: RefCell<Option<Ground>> = const { RefCell::new(None) };
}

fn on_the_ground<R>(act: impl FnOnce(&mut Ground) -> R) -> R {
    GROUND.with_borrow_mut(|ground| act(ground.as_mut().expect("it was laid")))
}

/// The turn of the node with that number.
struct OnThisThread(usize);

impl Turn for OnThisThread {
    fn receive(&mut self, station: &Mutex<Station>, cx: &mut Context<'_>, now: Time) {
        on_the_ground(|ground| {
            // Each node's clock begins at its first turn.
            ground.fabric.advance(now.max(ground.fabric.now()));
            ground.pairs[self.0].receive(station, cx, now);
        });
    }

    fn send(&mut self, station: &Mutex<Station>, cx: &mut Context<'_>, now: Time) {
        on_the_ground(|ground| ground.pairs[self.0].send(station, cx, now));
    }

    fn send_last(&mut self, station: &Mutex<Station>, now: Time) {
        on_the_ground(|ground| ground.pairs[self.0].send_last(station, now));
    }

    fn is_sending(&mut self, station: &Mutex<Station>, now: Time) -> bool {
        on_the_ground(|ground| {
            ground.fabric.advance(ground.fabric.now() + Duration::from_micros(10));
            ground.pairs[self.0].is_sending(station, now)
        })
    }

    fn failure(&self) -> Failure {
        on_the_ground(|ground| ground.pairs[self.0].failure())
    }
}

/// Someone has a turn when something happens in the fabric, whose time goes on with turns alone.
fn until(now: Duration, until: Option<Duration>) -> Option<Duration> {
    let event = on_the_ground(|ground| {
        let wait = |at: Time| now + at.since(ground.fabric.now());
        ground.fabric.next_event().map(wait)
    });
    until.into_iter().chain(event).min()
}

/// A node whose device is on a new ground if it is the first of two.
fn node(weather: &Weather, at: usize, settings: Settings) -> Udp {
    if at == 0 {
        let fabric = Fabric::new(7, weather.clone());
        GROUND.set(Some(Ground { fabric, pairs: Vec::new() }));
    }
    let settings = settings.rdma(Rdma::auto());
    let udp = Udp::bind(settings, "127.0.0.1:0".parse().expect("an address")).expect("a socket");
    on_the_ground(|ground| {
        let host = ground.fabric.host();
        let open = Box::new(move || host.open("sim0", 1, 0)) as Open;
        ground.pairs.push(QueuePairs::new(open, Duration::ZERO));
    });
    // Instead of a device of this machine's, which was not opened yet.
    udp.shared.driver.lock().pairs = Some(Box::new(OnThisThread(at)));
    udp
}

// [RDMA-42] [RDMA-45]
#[test]
fn by_simulated_devices_it_conforms() {
    let late = Duration::from_micros(100);
    let bad = Weather { jitter: late, completion_jitter: late, ..Weather::fair() };
    for weather in [Weather::fair(), bad] {
        transport_conforms(|| by_pairs::two(until, |at, settings| node(&weather, at, settings)));
    }
}

/// A device that is open until it is dropped.
struct Held {
    _device: Arc<()>,
    /// How often it still says that not all has left.
    is_sending: Arc<AtomicU32>,
}

impl Turn for Held {
    fn receive(&mut self, _: &Mutex<Station>, _: &mut Context<'_>, _: Time) {}

    fn send(&mut self, _: &Mutex<Station>, _: &mut Context<'_>, _: Time) {}

    fn send_last(&mut self, _: &Mutex<Station>, _: Time) {}

    fn is_sending(&mut self, _: &Mutex<Station>, _: Time) -> bool {
        let again = |times: u32| times.checked_sub(1);
        self.is_sending.fetch_update(Relaxed, Relaxed, again).is_ok()
    }

    fn failure(&self) -> Failure {
        Failure::default()
    }
}

/// An actor that asks would wait for as long as a device is being opened, and hold up its worker.
#[test]
fn who_asks_what_failed_does_not_wait_for_a_turn() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    let runtime = runtime.expect("a runtime");
    let _inside = runtime.enter();
    let settings = Settings::new(Identity::new(Key::new([9; 32]))).rdma(Rdma::auto());
    let udp = Udp::bind(settings, "127.0.0.1:0".parse().expect("an address")).expect("a socket");
    let turn = udp.shared.driver.lock();
    let (said, hears) = std::sync::mpsc::channel();
    let asks = udp.clone();
    std::thread::spawn(move || said.send(asks.rdma_failure()));
    let heard = hears.recv_timeout(Duration::from_secs(100));
    drop(turn);
    assert!(heard.is_ok());
}

/// Whoever still has the transport holds no memory of the device's, and can ask why it was not used.
// [RDMA-9]
#[test]
fn the_device_is_closed_when_the_transport_has_ended() {
    let ends: [fn(&Udp); 2] = [Transport::depart, |udp| {
        udp.close();
        let driven = udp.drive(&mut Context::from_waker(Waker::noop()), Duration::ZERO);
        assert!(matches!(driven, Drive::Ended));
    }];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    let runtime = runtime.expect("a runtime");
    let _inside = runtime.enter();
    for end in ends {
        let settings = Settings::new(Identity::new(Key::new([9; 32]))).rdma(Rdma::auto());
        let udp =
            Udp::bind(settings, "127.0.0.1:0".parse().expect("an address")).expect("a socket");
        let device = Arc::new(());
        let held = Held { _device: Arc::clone(&device), is_sending: Arc::default() };
        let failure = udp.shared.driver.lock().pairs.replace(Box::new(held));
        let failure = failure.expect("there are devices or none").failure();
        failure.set(Some("what it said last".to_owned()));
        end(&udp);
        assert_eq!(Arc::strong_count(&device), 1, "it is open");
        assert_eq!(udp.rdma_failure().as_deref(), Some("what it said last"));
    }
}

/// A queue pair that is closed throws away what has not left.
// [RDMA-9]
#[test]
fn what_was_sent_leaves_before_the_device_is_closed() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    let runtime = runtime.expect("a runtime");
    let _inside = runtime.enter();
    let settings = Settings::new(Identity::new(Key::new([9; 32]))).rdma(Rdma::auto());
    let udp = Udp::bind(settings, "127.0.0.1:0".parse().expect("an address")).expect("a socket");
    let (device, is_sending) = (Arc::new(()), Arc::new(AtomicU32::new(u32::MAX)));
    let held = Held { _device: Arc::clone(&device), is_sending: Arc::clone(&is_sending) };
    udp.shared.driver.lock().pairs = Some(Box::new(held));
    udp.depart();
    assert!(is_sending.load(Relaxed) < u32::MAX, "it was waited for");
    assert_eq!(Arc::strong_count(&device), 1, "for ever");
}
