//! What queue pairs do, byte for byte, between two devices of a process.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;

use std::sync::atomic::{AtomicBool, Ordering};

use common::{LONG, Way, connected, end, end_with, target, whole};
use fairlane_softnic::{Done, Operation, Rights, SendRequest, Sge, Status};

const SIZES: [usize; 9] = [0, 1, 3, 4096, 4097, 70_000, 1 << 17, (1 << 20) + 5, 8 << 20];

#[test]
fn writes_of_every_size_arrive_whole() {
    let (a, b) = (end(), end());
    let (pair, _) = connected(&a, &b, Way::default());
    for (id, size) in (0..).zip(SIZES) {
        let (from, to) = (a.memory(size), b.memory(size + 1));
        let bytes = a.fill(&from, id);
        a.post(
            pair,
            &SendRequest::write(id, vec![whole(&from)], target(&to)),
        );
        let completion = a.wait();
        assert_eq!((completion.id, completion.status), (id, Status::Success));
        assert_eq!(completion.done, Done::Write);
        let arrived = b.bytes(&to);
        assert!(
            arrived[..size] == bytes && arrived[size] == 0,
            "{size} bytes"
        );
    }
    assert_eq!(b.device.counters().rx_icrc_encapsulated, 0);
}

#[test]
fn a_null_region_gives_zeros_takes_everything_and_is_closed_to_others() {
    let (a, b) = (end(), end());
    let (pair, _) = connected(&a, &b, Way::default());
    let null = a.device.allocate_null(a.domain).unwrap();
    let far = Sge {
        address: u64::MAX - (1 << 21),
        length: 1 << 20,
        key: null.local_key,
    };
    let to = b.memory(1 << 20);
    let bytes = b.fill(&to, 1);
    a.post(pair, &SendRequest::read(1, vec![far], target(&to)));
    assert_eq!(a.wait().status, Status::Success);
    assert_eq!(b.bytes(&to), bytes);
    a.post(pair, &SendRequest::write(2, vec![far], target(&to)));
    assert_eq!(a.wait().status, Status::Success);
    assert!(b.bytes(&to).iter().all(|byte| *byte == 0));
    assert!(a.device.reregister(&null, None, Some(Rights::ALL)).is_err());
    let its = b.device.allocate_null(b.domain).unwrap();
    let mut closed = target(&its);
    for key in [its.local_key, its.remote_key] {
        closed.key = key;
        let (pair, _) = connected(&a, &b, Way::default());
        a.post(
            pair,
            &SendRequest::write(3, vec![whole(&a.memory(8))], closed),
        );
        assert_eq!(a.wait().status, Status::RemoteAccess);
    }
    a.device.deregister(&null).unwrap();
    assert!(a.device.deregister(&null).is_err());
}

#[test]
fn reads_of_every_size_arrive_whole() {
    let (a, b) = (end(), end());
    let (pair, _) = connected(&a, &b, Way::default());
    for (id, size) in (0..).zip(SIZES) {
        let (to, from) = (a.memory(size), b.memory(size));
        let bytes = b.fill(&from, id);
        a.post(
            pair,
            &SendRequest::read(id, vec![whole(&to)], target(&from)),
        );
        let completion = a.wait();
        assert_eq!((completion.id, completion.status), (id, Status::Success));
        assert_eq!(
            (completion.done, completion.length),
            (Done::Read, size as u64)
        );
        assert!(a.bytes(&to) == bytes, "{size} bytes");
    }
}

#[test]
fn sends_of_every_size_fill_their_receives() {
    let (a, b) = (end(), end());
    let (pair, other) = connected(&a, &b, Way::default());
    for (id, size) in (0..).zip(SIZES) {
        let (from, to) = (a.memory(size), b.memory(size + 1));
        let bytes = a.fill(&from, id);
        b.receive(other, 100 + id, &to);
        a.post(pair, &SendRequest::send(id, vec![whole(&from)]));
        assert_eq!(a.wait().id, id);
        let received = b.wait();
        assert_eq!((received.id, received.status), (100 + id, Status::Success));
        assert_eq!(
            (received.done, received.length),
            (Done::Receive, size as u64)
        );
        let arrived = b.bytes(&to);
        assert!(
            arrived[..size] == bytes && arrived[size] == 0,
            "{size} bytes"
        );
    }
}

#[test]
fn atomics_return_what_was_there() {
    let (a, b) = (end(), end());
    let (pair, _) = connected(&a, &b, Way::default());
    let (results, word) = (a.memory(8), b.memory(8));
    b.device.write(&word, 0, &7_u64.to_ne_bytes()).unwrap();
    let steps = [
        (Operation::FetchAdd(target(&word), 5), 7, 12),
        (Operation::CompareSwap(target(&word), 12, 99), 12, 99),
        (Operation::CompareSwap(target(&word), 12, 1), 99, 99),
        (Operation::FetchAdd(target(&word), u64::MAX), 99, 98),
    ];
    for (operation, original, after) in steps {
        a.post(pair, &SendRequest::new(1, operation, vec![whole(&results)]));
        assert_eq!(a.wait().status, Status::Success);
        assert_eq!(a.bytes(&results), u64::to_ne_bytes(original));
        assert_eq!(b.bytes(&word), u64::to_ne_bytes(after));
    }
}

#[test]
fn immediates_inline_data_and_pieces_come_as_posted() {
    let (a, b) = (end(), end());
    let (pair, other) = connected(&a, &b, Way::default());
    let (from, to) = (a.memory(10_000), b.memory(10_000));
    let bytes = a.fill(&from, 3);
    let pieces = vec![
        Sge::of(&from, 5000, 5000),
        Sge::of(&from, 0, 0),
        Sge::of(&from, 1, 4999),
    ];
    b.receive(other, 1, &b.memory(0));
    let write = Operation::WriteImmediate(target(&to), 0xabcd_0123);
    a.post(pair, &SendRequest::new(1, write, pieces));
    let received = b.wait();
    assert_eq!(
        (received.immediate, received.length),
        (Some(0xabcd_0123), 9999)
    );
    let arrived = b.bytes(&to);
    assert!(arrived[..5000] == bytes[5000..] && arrived[5000..9999] == bytes[1..5000]);
    assert_eq!(a.wait().done, Done::Write);

    b.receive(other, 2, &to);
    let mut inline = SendRequest::new(2, Operation::SendImmediate(5), Vec::new());
    inline.inline = Some(b"taken along".to_vec());
    inline.solicited = true;
    a.post(pair, &inline);
    let received = b.wait();
    assert_eq!(
        (received.immediate, received.length, received.solicited),
        (Some(5), 11, true)
    );
    assert_eq!(b.bytes(&to)[..11], *b"taken along");
}

#[test]
fn unsignaled_requests_complete_in_silence_and_make_room() {
    let (a, b) = (end(), end());
    let (pair, _) = connected(&a, &b, Way::default());
    let (from, to) = (a.memory(64), b.memory(64));
    for round in 0..2000 {
        let mut request = SendRequest::write(round, vec![whole(&from)], target(&to));
        request.signaled = round % 64 == 63;
        a.post(pair, &request);
        if request.signaled {
            assert_eq!(a.wait().id, round);
        }
    }
}

#[test]
fn a_queue_pair_can_talk_to_itself() {
    let a = end();
    let pair = a.pair();
    let connection = fairlane_softnic::Connection::new(a.device.address(), pair);
    a.connect(pair, &connection, &fairlane_softnic::Sending::default());
    let (from, to) = (a.memory(100_000), a.memory(100_000));
    let bytes = a.fill(&from, 8);
    a.post(
        pair,
        &SendRequest::write(4, vec![whole(&from)], target(&to)),
    );
    assert_eq!(a.wait().status, Status::Success);
    assert_eq!(a.bytes(&to), bytes);
}

#[test]
fn it_works_without_segmentation_coalescing_and_thread() {
    let plain = |settings: &mut fairlane_softnic::Settings| {
        (settings.segmentation, settings.coalescing, settings.thread) = (false, false, false);
    };
    let (a, b) = (end_with(plain), end_with(plain));
    let (pair, _) = connected(&a, &b, Way::default());
    let (from, to) = (a.memory(1 << 20), b.memory(1 << 20));
    let bytes = a.fill(&from, 8);
    a.post(
        pair,
        &SendRequest::write(4, vec![whole(&from)], target(&to)),
    );
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert_eq!(b.device.poll(b.queue, 1, &mut Vec::new()).unwrap(), 0);
            }
        });
        let ended = a.device.wait(a.queue, LONG).unwrap();
        done.store(true, Ordering::Relaxed);
        assert_eq!(ended.map(|ended| ended.status), Some(Status::Success));
    });
    assert_eq!(b.bytes(&to), bytes);
}

#[test]
fn a_thousand_queue_pairs_work_at_once() {
    let (a, b) = (end(), end());
    let pairs: Vec<_> = (0..1000)
        .map(|_| connected(&a, &b, Way::default()).0)
        .collect();
    let (from, to) = (a.memory(1000 * 5000), b.memory(1000 * 5000));
    let bytes = a.fill(&from, 1);
    for (id, pair) in (0..).zip(&pairs) {
        let mut place = target(&to);
        place.address += id * 5000;
        let piece = Sge::of(&from, id * 5000, 5000);
        a.post(*pair, &SendRequest::write(id, vec![piece], place));
    }
    let mut ended: Vec<u64> = (0..1000).map(|_| a.wait().id).collect();
    ended.sort_unstable();
    assert_eq!(ended, (0..1000).collect::<Vec<_>>());
    assert!(b.bytes(&to) == bytes);
}

#[test]
fn who_waits_without_thread_lets_others_post() {
    let a = end_with(|settings| settings.thread = false);
    let pair = a.pair();
    let connection = fairlane_softnic::Connection::new(a.device.address(), pair);
    a.connect(pair, &connection, &fairlane_softnic::Sending::default());
    let (from, to) = (a.memory(8), a.memory(8));
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| a.wait());
        std::thread::sleep(std::time::Duration::from_millis(20));
        let write = SendRequest::write(4, vec![whole(&from)], target(&to));
        a.post(pair, &write);
        assert_eq!(waiter.join().unwrap().id, 4);
    });
}
