//! Threads that wait for completions make the device go on, one at a time, and the device's own when they are gone.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::{End, LONG, Set, Way, connected, end, end_with, target, whole};
use fairlane_softnic::{QpNumber, SendRequest, Status};

fn write(a: &End, b: &End, pair: QpNumber) {
    let (from, to) = (a.memory(64), b.memory(64));
    let bytes = a.fill(&from, 3);
    a.post(
        pair,
        &SendRequest::write(1, vec![whole(&from)], target(&to)),
    );
    assert_eq!(a.wait().status, Status::Success);
    assert_eq!(b.bytes(&to), bytes);
}

#[test]
fn who_waits_is_told_whoever_makes_the_device_go_on() {
    for thread in [true, false] {
        let (a, b) = (end(), end_with(|settings| settings.thread = thread));
        let (pair, other) = connected(&a, &b, Way::default());
        let more = b.device.create_completion_queue(64).unwrap();
        let mut options = b.options();
        options.receive_queue = more;
        let second = b.device.create_queue_pair(&options).unwrap();
        let first = a.pair();
        common::join((&a, first), (&b, second), Way::default());
        let own = (&b, other, b.queue);
        let its = (&b, second, more);
        for (end, pair, _) in [own, its] {
            for id in 0..20 {
                end.receive(pair, id, &end.memory(8));
            }
        }
        std::thread::scope(|scope| {
            for (end, _, queue) in [own, its] {
                scope.spawn(move || {
                    for id in 0..20 {
                        let one = end.device.wait(queue, LONG).unwrap().unwrap();
                        assert_eq!((one.id, one.status), (id, Status::Success));
                    }
                });
            }
            // First what the one waits for, then what the other one does.
            for number in 0..40 {
                let to = if number < 20 { first } else { pair };
                a.post(to, &SendRequest::send(9, Vec::new()));
                assert_eq!(a.wait().status, Status::Success);
            }
        });
    }
}

#[test]
fn the_devices_thread_takes_over_when_nobody_waits_any_more() {
    let (a, b) = (end(), end());
    let (pair, _) = connected(&a, &b, Way::default());
    for most in [
        Duration::ZERO,
        Duration::from_millis(1),
        Duration::from_millis(30),
    ] {
        assert_eq!(b.device.wait(b.queue, most).unwrap(), None);
        write(&a, &b, pair);
    }
}

#[test]
fn requests_of_others_leave_while_one_waits() {
    let (a, b) = (end(), end());
    let (pair, _) = connected(&a, &b, Way::default());
    let idle = a.device.create_completion_queue(1).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                let none = a.device.wait(idle, Duration::from_secs(1)).unwrap();
                assert_eq!(none, None);
            }
        });
        let _done = Set(&done);
        let start = Instant::now();
        for _ in 0..50 {
            write(&a, &b, pair);
        }
        // That each waited until the other thread looked again by itself would take longer.
        assert!(start.elapsed() < Duration::from_secs(20));
    });
}

#[test]
fn packets_for_who_polls_and_then_looks_into_memory_do_not_wait_for_its_next_poll() {
    const ROUNDS: u64 = 400;
    // Less than the thread leaves the device alone after a poll.
    const SOON: Duration = Duration::from_micros(150);
    let (a, b) = (end(), end());
    let (pair, _) = connected(&a, &b, Way::default());
    let (from, to) = (a.memory(8), b.memory(8));
    let (mut soon, mut completions) = (0, Vec::new());
    for round in 1..=ROUNDS {
        a.device.write(&from, 0, &round.to_ne_bytes()).unwrap();
        let polled = b.device.poll(b.queue, 1, &mut completions);
        assert_eq!(polled.unwrap(), 0);
        let start = Instant::now();
        a.post(
            pair,
            &SendRequest::write(round, vec![whole(&from)], target(&to)),
        );
        while b.bytes(&to) != round.to_ne_bytes() {
            assert!(start.elapsed() < LONG);
            std::hint::spin_loop();
        }
        soon += u64::from(start.elapsed() < SOON);
        assert_eq!(a.wait().status, Status::Success);
    }
    // On a busy machine many are late for other reasons.
    assert!(soon > ROUNDS / 20, "{soon} of {ROUNDS}");
}
