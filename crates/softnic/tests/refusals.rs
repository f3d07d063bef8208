//! What must fail, fails as the specification says, and nothing is touched.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;

use common::{End, Way, connected, end, join, target, whole};
use fairlane_softnic::{
    Connection, Device, Error, Modify, Operation, QpNumber, ReceiveRequest, Rights, SendRequest,
    Sending, Settings, Sge, State, Status, Target,
};
use fairlane_units::Duration;

/// A connection whose first request must end with `status`; the second one is flushed.
fn refused(request: impl FnOnce(&End, &End) -> SendRequest, status: Status) {
    let (a, b) = (end(), end());
    let (pair, other) = connected(&a, &b, Way::default());
    let request = request(&a, &b);
    a.post(pair, &request);
    assert_eq!(a.wait().status, status, "{request:?}");
    assert_eq!(a.device.state(pair).unwrap(), State::Error);
    a.post(pair, &request);
    assert_eq!(a.wait().status, Status::Flushed);
    if matches!(status, Status::RemoteAccess | Status::RemoteInvalidRequest) {
        assert_eq!(b.device.state(other).unwrap(), State::Error);
    }
}

/// A region of 100 bytes at the other end and one here, with those rights there.
fn regions(a: &End, b: &End, rights: Rights) -> (Vec<Sge>, Target) {
    let (own, there) = (
        a.memory(100),
        b.device.allocate(b.domain, 100, rights).unwrap(),
    );
    (vec![whole(&own)], target(&there))
}

#[test]
fn keys_bounds_and_rights_of_the_other_end_hold() {
    let all = Rights::ALL;
    let operations: [fn(Target) -> Operation; 2] = [Operation::Write, Operation::Read];
    for operation in operations {
        refused(
            |a, b| {
                let (pieces, mut place) = regions(a, b, all);
                place.key ^= 1;
                SendRequest::new(1, operation(place), pieces)
            },
            Status::RemoteAccess,
        );
        for moved in [1, 1 << 40, u64::MAX] {
            refused(
                |a, b| {
                    let (pieces, mut place) = regions(a, b, all);
                    place.address = place.address.wrapping_add(moved);
                    SendRequest::new(1, operation(place), pieces)
                },
                Status::RemoteAccess,
            );
        }
        refused(
            |a, b| {
                let (pieces, place) = regions(a, b, Rights::LOCAL_WRITE);
                SendRequest::new(1, operation(place), pieces)
            },
            Status::RemoteAccess,
        );
    }
    let but_atomic = Rights::LOCAL_WRITE | Rights::REMOTE_READ | Rights::REMOTE_WRITE;
    refused(
        |a, b| {
            let (pieces, place) = regions(a, b, but_atomic);
            let pieces = vec![Sge {
                length: 8,
                ..pieces[0]
            }];
            SendRequest::new(1, Operation::FetchAdd(place, 1), pieces)
        },
        Status::RemoteAccess,
    );
}

#[test]
fn nothing_of_a_refused_write_is_placed() {
    let (a, b) = (end(), end());
    let (pair, _) = connected(&a, &b, Way::default());
    let (from, to) = (a.memory(100_001), b.memory(100_000));
    a.fill(&from, 1);
    a.post(
        pair,
        &SendRequest::write(1, vec![whole(&from)], target(&to)),
    );
    assert_eq!(a.wait().status, Status::RemoteAccess);
    assert!(b.bytes(&to).iter().all(|&byte| byte == 0));
    assert_eq!(b.device.counters().resp_remote_access_errors, 1);
    assert_eq!(a.device.counters().req_remote_access_errors, 1);
}

#[test]
fn the_rights_of_a_queue_pair_hold_too() {
    let (a, b) = (end(), end());
    let (pair, other) = (a.pair(), b.pair());
    let to_b = Connection::new(b.device.address(), other);
    a.connect(pair, &to_b, &Sending::default());
    let reading = Modify::Init(Rights::REMOTE_READ);
    b.device.modify(other, &reading).unwrap();
    let to_a = Connection::new(a.device.address(), pair);
    b.device
        .modify(other, &Modify::ReadyToReceive(to_a))
        .unwrap();
    let (pieces, place) = regions(&a, &b, Rights::ALL);
    a.post(pair, &SendRequest::read(1, pieces.clone(), place));
    assert_eq!(a.wait().status, Status::Success);
    a.post(pair, &SendRequest::write(2, pieces, place));
    assert_eq!(a.wait().status, Status::RemoteAccess);
}

#[test]
fn local_memory_needs_a_key_and_rights_too() {
    let wrong = |a: &End, b: &End| {
        let (mut pieces, place) = regions(a, b, Rights::ALL);
        pieces[0].key ^= 1;
        (pieces, place)
    };
    let write = |a: &End, b: &End| {
        let (pieces, place) = wrong(a, b);
        SendRequest::write(1, pieces, place)
    };
    refused(write, Status::LocalProtection);
    let read = |a: &End, b: &End| {
        let (pieces, place) = wrong(a, b);
        SendRequest::read(1, pieces, place)
    };
    refused(read, Status::LocalProtection);
    let unwritable = |a: &End, b: &End| {
        let (_, place) = regions(a, b, Rights::ALL);
        let own = a.device.allocate(a.domain, 100, Rights::NONE).unwrap();
        SendRequest::read(1, vec![whole(&own)], place)
    };
    refused(unwritable, Status::LocalProtection);
    let foreign = |a: &End, b: &End| {
        let (_, place) = regions(a, b, Rights::ALL);
        let domain = a.device.allocate_domain().unwrap();
        let own = a.device.allocate(domain, 100, Rights::ALL).unwrap();
        SendRequest::write(1, vec![whole(&own)], place)
    };
    refused(foreign, Status::LocalProtection);
}

#[test]
fn a_send_that_is_too_long_ends_both_ends() {
    let (a, b) = (end(), end());
    let (pair, other) = connected(&a, &b, Way::default());
    let (from, to) = (a.memory(10_001), b.memory(10_000));
    b.receive(other, 5, &to);
    b.receive(other, 6, &to);
    a.post(pair, &SendRequest::send(1, vec![whole(&from)]));
    assert_eq!(a.wait().status, Status::RemoteInvalidRequest);
    let ended = [b.wait(), b.wait()].map(|ended| (ended.id, ended.status));
    assert_eq!(ended, [(5, Status::LocalLength), (6, Status::Flushed)]);
}

#[test]
fn a_send_waits_for_a_receive() {
    let (a, b) = (end(), end());
    let (pair, other) = connected(&a, &b, Way::default());
    let (from, to) = (a.memory(20_000), b.memory(20_000));
    let bytes = a.fill(&from, 2);
    a.post(pair, &SendRequest::send(1, vec![whole(&from)]));
    let early = a
        .device
        .wait(a.queue, std::time::Duration::from_millis(20))
        .unwrap();
    assert_eq!(early, None);
    b.receive(other, 5, &to);
    assert_eq!(
        (a.wait().status, b.wait().status),
        (Status::Success, Status::Success)
    );
    assert_eq!(b.bytes(&to), bytes);
    assert!(b.device.counters().send_rnr_err > 0 && a.device.counters().rcvd_rnr_err > 0);
}

#[test]
fn a_send_gives_up_without_receives() {
    let (a, b) = (end(), end());
    let sending = Sending {
        rnr_retries: Some(2),
        ..Sending::default()
    };
    let way = Way {
        sending,
        ..Way::default()
    };
    let (pair, other) = connected(&a, &b, way);
    a.post(pair, &SendRequest::send(1, vec![whole(&a.memory(5))]));
    assert_eq!(a.wait().status, Status::RnrRetryExceeded);
    assert_eq!(b.device.counters().send_rnr_err, 3);
    assert_eq!(b.device.state(other).unwrap(), State::ReadyToSend);
}

#[test]
fn a_peer_that_is_gone_is_given_up() {
    let (a, b) = (end(), end());
    let sending = Sending {
        timeout: Some(Duration::from_ms(2)),
        retries: 3,
        ..Sending::default()
    };
    let way = Way {
        sending,
        ..Way::default()
    };
    let (pair, other) = connected(&a, &b, way);
    let (from, to) = (a.memory(100), b.memory(100));
    b.device.destroy_queue_pair(other).unwrap();
    for id in [1, 2] {
        a.post(
            pair,
            &SendRequest::write(id, vec![whole(&from)], target(&to)),
        );
    }
    a.receive(pair, 3, &from);
    let mut ended = [a.wait(), a.wait(), a.wait()].map(|ended| (ended.id, ended.status));
    // Requests end in their order; receives between them or not.
    assert_eq!(ended[0].0, 1);
    ended.sort_by_key(|ended| ended.0);
    let expected = [
        (1, Status::RetryExceeded),
        (2, Status::Flushed),
        (3, Status::Flushed),
    ];
    assert_eq!(ended, expected);
    let counters = a.device.counters();
    assert_eq!(
        (counters.retry_exceeded_err, counters.local_ack_timeout_err),
        (1, 4)
    );
    // What was sent last may be read later than it was given up.
    while b.device.counters().rx_dropped < 4 {}
}

#[test]
fn a_reset_queue_pair_connects_again() {
    let (a, b) = (end(), end());
    let (pair, other) = connected(&a, &b, Way::default());
    let (from, to) = (a.memory(100), b.memory(100));
    let mut place = target(&to);
    place.key ^= 1;
    a.post(pair, &SendRequest::write(1, vec![whole(&from)], place));
    assert_eq!(a.wait().status, Status::RemoteAccess);
    a.device.modify(pair, &Modify::Reset).unwrap();
    b.device.modify(other, &Modify::Reset).unwrap();
    join((&a, pair), (&b, other), Way::default());
    a.post(
        pair,
        &SendRequest::write(2, vec![whole(&from)], target(&to)),
    );
    assert_eq!(a.wait().status, Status::Success);
}

#[test]
fn states_and_room_are_checked() {
    let a = end();
    let mut options = a.options();
    (
        options.most_requests,
        options.most_receives,
        options.most_pieces,
    ) = (2, 1, 1);
    let pair = a.device.create_queue_pair(&options).unwrap();
    let own = a.memory(8);
    let receive = || ReceiveRequest {
        id: 1,
        pieces: vec![whole(&own)],
    };
    let send = SendRequest::send(1, vec![whole(&own)]);
    let rts = Modify::ReadyToSend(Sending::default());
    assert!(matches!(
        a.device.post_receive(pair, receive()),
        Err(Error::Post(_))
    ));
    assert!(matches!(
        a.device.modify(pair, &rts),
        Err(Error::Transition(_))
    ));
    a.device.modify(pair, &Modify::Init(Rights::ALL)).unwrap();
    a.device.post_receive(pair, receive()).unwrap();
    assert!(matches!(
        a.device.post_receive(pair, receive()),
        Err(Error::Post(_))
    ));
    let nobody = Connection::new([127, 1, 1, 1].into(), QpNumber::new(9));
    let odd = Modify::ReadyToReceive(Connection {
        mtu: 1000,
        ..nobody
    });
    assert!(matches!(
        a.device.modify(pair, &odd),
        Err(Error::Invalid(..))
    ));
    a.device
        .modify(pair, &Modify::ReadyToReceive(nobody))
        .unwrap();
    assert!(matches!(
        a.device.post_send(pair, send.clone()),
        Err(Error::Post(_))
    ));
    a.device.modify(pair, &rts).unwrap();
    let pieces = SendRequest::send(1, vec![whole(&own); 2]);
    assert!(matches!(
        a.device.post_send(pair, pieces),
        Err(Error::Invalid(..))
    ));
    a.post(pair, &send);
    a.post(pair, &send);
    assert!(matches!(
        a.device.post_send(pair, send),
        Err(Error::Post(_))
    ));
    a.device.modify(pair, &Modify::Error).unwrap();
    let ended = [a.wait(), a.wait(), a.wait()];
    assert!(ended.iter().all(|ended| ended.status == Status::Flushed));
}

#[test]
fn all_are_posted_or_none() {
    let (a, b) = (end(), end());
    let mut options = a.options();
    (options.most_requests, options.most_pieces) = (3, 1);
    let pair = a.device.create_queue_pair(&options).unwrap();
    join((&a, pair), (&b, b.pair()), Way::default());
    let (own, to) = (a.memory(8), b.memory(8));
    let write = |id| SendRequest::write(id, vec![whole(&own)], target(&to));
    let wrong = SendRequest::write(9, vec![whole(&own); 2], target(&to));
    let full = a.device.post_all(pair, [0, 1, 2, 3].map(write));
    assert!(matches!(full, Err(Error::Post(_))), "{full:?}");
    let invalid = a.device.post_all(pair, [write(4), write(5), wrong]);
    assert!(matches!(invalid, Err(Error::Invalid(..))), "{invalid:?}");
    a.device.post_all(pair, [6, 7, 8].map(write)).unwrap();
    let ended = [a.wait(), a.wait(), a.wait()];
    assert_eq!(
        ended.map(|ended| (ended.id, ended.status)),
        [6, 7, 8].map(|id| (id, Status::Success))
    );
}

#[test]
fn a_completion_queue_that_overflows_ends_its_queue_pairs() {
    let (a, b) = (end(), end());
    let queue = a.device.create_completion_queue(2).unwrap();
    let mut options = a.options();
    options.send_queue = queue;
    let (pair, other) = (a.device.create_queue_pair(&options).unwrap(), b.pair());
    join((&a, pair), (&b, other), Way::default());
    let (from, to) = (a.memory(100), b.memory(100));
    for id in 0..3 {
        a.post(
            pair,
            &SendRequest::write(id, vec![whole(&from)], target(&to)),
        );
    }
    while a.device.state(pair).unwrap() != State::Error {
        std::thread::yield_now();
    }
    let mut polled = Vec::new();
    assert_eq!(a.device.poll(queue, 9, &mut polled).unwrap(), 2);
    assert!(matches!(
        a.device.poll(queue, 9, &mut polled),
        Err(Error::Overrun)
    ));
    assert_eq!(a.device.counters().cq_overrun, 1);
}

#[test]
fn what_is_used_is_not_destroyed_and_what_is_gone_is_unknown() {
    let a = end();
    let shared = a.device.create_shared_queue(a.domain, 4, 1).unwrap();
    let mut options = a.options();
    options.shared = Some(shared);
    let pair = a.device.create_queue_pair(&options).unwrap();
    let region = a.memory(8);
    assert!(matches!(
        a.device.destroy_completion_queue(a.queue),
        Err(Error::Busy(_))
    ));
    assert!(matches!(
        a.device.destroy_shared_queue(shared),
        Err(Error::Busy(_))
    ));
    assert!(matches!(
        a.device.free_domain(a.domain),
        Err(Error::Busy(_))
    ));
    a.device.destroy_queue_pair(pair).unwrap();
    assert!(matches!(
        a.device.destroy_queue_pair(pair),
        Err(Error::Unknown(_))
    ));
    a.device.deregister(&region).unwrap();
    assert!(matches!(
        a.device.deregister(&region),
        Err(Error::Unknown(_))
    ));
    assert!(matches!(
        a.device.free_domain(a.domain),
        Err(Error::Busy(_))
    ));
    a.device.destroy_shared_queue(shared).unwrap();
    a.device.destroy_completion_queue(a.queue).unwrap();
    a.device.free_domain(a.domain).unwrap();
    assert!(a.device.create_queue_pair(&options).is_err());
}

#[test]
fn an_address_has_one_device() {
    let a = end();
    let error = Device::open(Settings::new(a.device.address())).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("4791") && text.contains("hint: another device"),
        "{text}"
    );
    let error = Device::open(Settings::new([192, 0, 2, 1].into())).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("hint: use an address of a local interface")
    );
}
