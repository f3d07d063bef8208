//! Objects: what they hold, what they say of themselves, and what goes with them.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;

use common::{End, Way, connected, end, target, whole};
use fairlane_softnic::{
    Adjustment, Completion, Done, Error, Limits, Modify, Operation, Psn, QpNumber, Rights,
    SendRequest, Service, State, Status,
};
use fairlane_units::{Duration, TenantId};

fn writes(a: &End, b: &End, pair: QpNumber, ids: std::ops::Range<u64>) {
    let to = b.memory(8);
    for id in ids {
        a.post(pair, &SendRequest::write(id, Vec::new(), target(&to)));
    }
}

/// What is in a queue, after everything posted has ended.
fn polled(end: &End) -> Vec<Completion> {
    let mut all = Vec::new();
    while end.device.poll(end.queue, 100, &mut all).unwrap() > 0 {}
    all
}

#[test]
fn a_completion_queue_grows_and_shrinks_to_what_is_in_it() {
    let (a, b) = (end(), end());
    let (pair, _) = connected(&a, &b, Way::default());
    a.device.resize_completion_queue(a.queue, 3).unwrap();
    // What is posted ends as flushed at once.
    a.device.modify(pair, &Modify::Error).unwrap();
    writes(&a, &b, pair, 0..3);
    assert!(a.device.resize_completion_queue(a.queue, 2).is_err());
    a.device.resize_completion_queue(a.queue, 5).unwrap();
    writes(&a, &b, pair, 3..5);
    assert_eq!(
        (0..5).map(|_| a.wait().id).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4]
    );
    assert!(a.device.resize_completion_queue(a.queue, 0).is_err());
    a.device.resize_completion_queue(a.queue, 1).unwrap();
}

#[test]
fn completions_go_with_their_queue_pair() {
    let (a, b) = (end(), end());
    let (first, _) = connected(&a, &b, Way::default());
    let (second, _) = connected(&a, &b, Way::default());
    for pair in [first, second, first] {
        a.device.modify(pair, &Modify::Error).unwrap();
        writes(&a, &b, pair, 0..2);
    }
    a.device.destroy_queue_pair(first).unwrap();
    let left = polled(&a);
    assert!(left.len() == 2 && left.iter().all(|one| one.pair == second));
    writes(&a, &b, second, 0..2);
    a.device.modify(second, &Modify::Reset).unwrap();
    assert_eq!(polled(&a), []);
}

#[test]
fn a_queue_pair_says_what_it_is() {
    let (a, b) = (end(), end());
    let pair = a.pair();
    let fresh = a.device.query(pair).unwrap();
    assert_eq!(
        (fresh.state, fresh.connection, fresh.sending),
        (State::Reset, None, None)
    );
    let (pair, other) = connected(&a, &b, Way::default());
    let (from, to) = (a.memory(5 * 4096), b.memory(5 * 4096));
    a.post(
        pair,
        &SendRequest::write(1, vec![whole(&from)], target(&to)),
    );
    assert_eq!(a.wait().status, Status::Success);
    let own = a.device.query(pair).unwrap();
    assert_eq!((own.state, own.rights), (State::ReadyToSend, Rights::ALL));
    assert_eq!(own.options.most_requests, a.options().most_requests);
    let connection = own.connection.unwrap();
    assert_eq!((connection.number, connection.mtu), (other, 4096));
    assert_eq!(own.sending.unwrap().first, Psn::new(0xff_fff0));
    assert_eq!(own.sends, Psn::new(0xff_fff0).advance(5));
    assert_eq!(own.expects, Psn::new(77));
    assert_eq!(b.device.query(other).unwrap().expects, own.sends);
    a.device
        .modify(pair, &Modify::SendQueueDrain { tell: false })
        .unwrap();
    assert!(!a.device.query(pair).unwrap().draining);
}

#[test]
fn rights_and_keys_change_while_it_works() {
    let (a, b) = (end(), end());
    let (pair, other) = connected(&a, &b, Way::default());
    let (from, to) = (a.memory(8), b.memory(8));
    let change = Adjustment {
        rights: Some(Rights::REMOTE_READ),
        rnr_timer: Some(Duration::from_us(10)),
        ..Adjustment::default()
    };
    b.device.adjust(other, &change).unwrap();
    let own = b.device.query(other).unwrap();
    assert_eq!(own.connection.unwrap().rnr_timer, Duration::from_us(10));
    a.post(pair, &SendRequest::read(1, vec![whole(&from)], target(&to)));
    assert_eq!(a.wait().status, Status::Success);
    a.post(
        pair,
        &SendRequest::write(2, vec![whole(&from)], target(&to)),
    );
    assert_eq!(a.wait().status, Status::RemoteAccess);
    // Of another partition, nothing comes.
    let (pair, other) = connected(&a, &b, Way::default());
    let partition = Some(TenantId::new(0x8001));
    b.device
        .adjust(
            other,
            &Adjustment {
                partition,
                ..Adjustment::default()
            },
        )
        .unwrap();
    let dropped = b.device.counters().rx_dropped;
    writes(&a, &b, pair, 0..1);
    while b.device.counters().rx_dropped == dropped {}
    assert!(b.device.adjust(QpNumber::new(1), &change).is_err());
}

#[test]
fn a_receive_says_that_a_write_ended_it() {
    let (a, b) = (end(), end());
    let (pair, other) = connected(&a, &b, Way::default());
    let (from, to) = (a.memory(100), b.memory(100));
    for id in 0..2 {
        b.receive(other, id, &b.memory(100));
    }
    let write = Operation::WriteImmediate(target(&to), 3);
    a.post(pair, &SendRequest::new(1, write, vec![whole(&from)]));
    a.post(
        pair,
        &SendRequest::new(2, Operation::SendImmediate(4), vec![whole(&from)]),
    );
    let [first, second] = [b.wait(), b.wait()];
    assert_eq!(
        (first.done, first.length, first.immediate),
        (Done::ReceiveWrite, 100, Some(3))
    );
    assert_eq!(
        (second.done, second.length, second.immediate),
        (Done::Receive, 100, Some(4))
    );
}

#[test]
fn what_is_above_a_limit_is_refused() {
    let (a, all) = (end(), Limits::ALL);
    let limit = |result: Result<(), Error>| matches!(result, Err(Error::Limit { .. }));
    let change: [fn(&mut fairlane_softnic::QueuePairOptions); 4] = [
        |options| options.most_requests = Limits::ALL.requests + 1,
        |options| options.most_receives = Limits::ALL.receives + 1,
        |options| options.most_pieces = Limits::ALL.pieces + 1,
        |options| options.most_inline = Limits::ALL.inline + 1,
    ];
    for change in change {
        let mut options = a.options();
        change(&mut options);
        assert!(limit(a.device.create_queue_pair(&options).map(drop)));
    }
    let mut largest = a.options();
    (largest.most_requests, largest.most_receives) = (all.requests, all.receives);
    (largest.most_pieces, largest.most_inline) = (all.pieces, all.inline);
    largest.service = Service::UnreliableConnection;
    a.device.create_queue_pair(&largest).unwrap();
    let device = &a.device;
    assert!(limit(
        device
            .create_completion_queue(all.completions + 1)
            .map(drop)
    ));
    assert!(limit(
        device.resize_completion_queue(a.queue, all.completions + 1)
    ));
    let shared = |receives, pieces| device.create_shared_queue(a.domain, receives, pieces);
    assert!(limit(shared(all.receives + 1, 1).map(drop)));
    assert!(limit(shared(1, all.pieces + 1).map(drop)));
    let shared = shared(all.receives, all.pieces).unwrap();
    assert!(limit(device.modify_shared_queue(
        shared,
        Some(all.receives + 1),
        None
    )));
    largest.most_requests = u32::MAX;
    let message = device.create_queue_pair(&largest).unwrap_err().to_string();
    assert!(message.contains("\nhint: "), "{message}");
}
