//! Completion channels and asynchronous events.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;

use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use common::{End, LONG, Way, connected, end, end_with, target, whole};
use fairlane_softnic::{
    Arm, AsyncEvent, Channel, Error, Faults, Modify, PacketFaults, QpNumber, ReceiveRequest,
    Rights, SendRequest, Sending, State, Status,
};

/// Whether a descriptor is readable within a time.
fn readable(descriptor: RawFd, most: Duration) -> bool {
    let mut one = libc::pollfd {
        fd: descriptor,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: it is one descriptor, on the stack.
    #[expect(unsafe_code, reason = "poll is what applications use")]
    let count = unsafe { libc::poll(&raw mut one, 1, most.as_millis() as i32) };
    count == 1
}

/// An end whose queue tells a channel, and that is armed.
fn armed(arm: Arm) -> (End, Channel, RawFd) {
    let end = end();
    let channel = end.device.create_channel().unwrap();
    end.device.set_channel(end.queue, Some(channel)).unwrap();
    end.device.arm(end.queue, arm).unwrap();
    let descriptor = end.device.descriptor(channel).unwrap();
    (end, channel, descriptor)
}

fn send(end: &End, pair: QpNumber, solicited: bool) {
    let mut request = SendRequest::send(1, Vec::new());
    request.solicited = solicited;
    end.post(pair, &request);
    assert_eq!(end.wait().status, Status::Success);
}

#[test]
fn a_queue_tells_once_each_time_it_is_armed() {
    let (a, (b, channel, descriptor)) = (end(), armed(Arm::Any));
    let (pair, other) = connected(&a, &b, Way::default());
    for id in 0..4 {
        b.receive(other, id, &b.memory(0));
    }
    assert!(!readable(descriptor, Duration::ZERO));
    send(&a, pair, false);
    assert!(readable(descriptor, LONG));
    send(&a, pair, false);
    assert_eq!(b.device.take_event(channel).unwrap(), Some(b.queue));
    assert!(!readable(descriptor, Duration::from_millis(20)));
    assert_eq!(b.device.take_event(channel).unwrap(), None);
    // What is there already isn't told of.
    b.device.arm(b.queue, Arm::Any).unwrap();
    assert!(!readable(descriptor, Duration::from_millis(20)));
    send(&a, pair, false);
    let told = b.device.wait_event(channel, Some(LONG)).unwrap();
    assert_eq!(told, Some(b.queue));
    for id in 0..3 {
        assert_eq!(b.wait().id, id);
    }
}

#[test]
fn solicited_events_come_for_solicited_completions_and_failures() {
    let (a, (b, channel, descriptor)) = (end(), armed(Arm::Solicited));
    let (pair, other) = connected(&a, &b, Way::default());
    for id in 0..5 {
        b.receive(other, id, &b.memory(0));
    }
    send(&a, pair, false);
    assert!(!readable(descriptor, Duration::from_millis(20)));
    send(&a, pair, true);
    assert!(readable(descriptor, LONG));
    assert_eq!(b.device.take_event(channel).unwrap(), Some(b.queue));
    // Who has asked for any isn't told of less.
    b.device.arm(b.queue, Arm::Any).unwrap();
    b.device.arm(b.queue, Arm::Solicited).unwrap();
    send(&a, pair, false);
    assert!(b.device.wait_event(channel, Some(LONG)).unwrap().is_some());
    b.device.arm(b.queue, Arm::Solicited).unwrap();
    b.device.modify(other, &Modify::Error).unwrap();
    assert!(b.device.wait_event(channel, Some(LONG)).unwrap().is_some());
}

#[test]
fn who_polls_only_some_is_told_of_the_rest() {
    let (a, (b, channel, descriptor)) = (end(), armed(Arm::Any));
    let (pair, other) = connected(&a, &b, Way::default());
    for id in 0..4 {
        b.receive(other, id, &b.memory(0));
        send(&a, pair, false);
    }
    let told = || b.device.wait_event(channel, Some(LONG)).unwrap();
    let poll = |most| b.device.take(b.queue, most, &mut Vec::new()).unwrap();
    let arm = |arm| b.device.arm(b.queue, arm).unwrap();
    assert_eq!(told(), Some(b.queue));
    // Armed before: one event, which is all until it is armed again.
    arm(Arm::Any);
    assert_eq!(poll(1), 1);
    assert_eq!(poll(1), 1);
    assert_eq!(told(), Some(b.queue));
    assert_eq!(b.device.take_event(channel).unwrap(), None);
    // Armed after; nobody has asked for an event by those that are left.
    arm(Arm::Solicited);
    assert!(!readable(descriptor, Duration::ZERO));
    arm(Arm::Any);
    assert_eq!(told(), Some(b.queue));
    // Who takes all is told of nothing.
    arm(Arm::Any);
    assert_eq!(told(), Some(b.queue));
    assert_eq!(poll(4), 2);
    arm(Arm::Any);
    assert_eq!(poll(4), 0);
    assert!(!readable(descriptor, Duration::ZERO));
}

#[test]
fn a_queue_that_goes_takes_its_events_along() {
    let (a, (b, channel, descriptor)) = (end(), armed(Arm::Any));
    let (pair, other) = connected(&a, &b, Way::default());
    b.receive(other, 1, &b.memory(0));
    send(&a, pair, false);
    assert!(readable(descriptor, LONG));
    assert!(matches!(
        b.device.destroy_channel(channel),
        Err(Error::Busy(_))
    ));
    b.device.destroy_queue_pair(other).unwrap();
    b.device.destroy_completion_queue(b.queue).unwrap();
    assert!(!readable(descriptor, Duration::ZERO));
    assert_eq!(b.device.take_event(channel).unwrap(), None);
    b.device.destroy_channel(channel).unwrap();
    assert!(b.device.take_event(channel).is_err() && b.device.descriptor(channel).is_err());
}

#[test]
fn a_queue_without_channel_cannot_be_armed() {
    let a = end();
    assert!(a.device.arm(a.queue, Arm::Any).is_err());
    let channel = a.device.create_channel().unwrap();
    let start = Instant::now();
    let waited = a
        .device
        .wait_event(channel, Some(Duration::from_millis(30)));
    assert_eq!(waited.unwrap(), None);
    assert!(start.elapsed() >= Duration::from_millis(30));
}

#[test]
fn a_device_without_thread_waits_for_events_too() {
    let a = end();
    let b = end_with(|settings| settings.thread = false);
    let channel = b.device.create_channel().unwrap();
    b.device.set_channel(b.queue, Some(channel)).unwrap();
    b.device.arm(b.queue, Arm::Any).unwrap();
    let (pair, other) = connected(&a, &b, Way::default());
    b.receive(other, 1, &b.memory(0));
    a.post(pair, &SendRequest::send(1, Vec::new()));
    assert!(b.device.wait_event(channel, Some(LONG)).unwrap().is_some());
}

/// The next asynchronous event.
fn next(end: &End) -> AsyncEvent {
    assert!(readable(end.device.async_descriptor(), LONG));
    end.device.take_async_event().unwrap()
}

#[test]
fn failures_of_the_responder_are_told() {
    let (a, b) = (end(), end());
    let (pair, other) = connected(&a, &b, Way::default());
    let (from, to) = (a.memory(64), b.memory(64));
    let mut wrong = target(&to);
    wrong.key ^= 1;
    a.post(pair, &SendRequest::write(1, vec![whole(&from)], wrong));
    assert_eq!(a.wait().status, Status::RemoteAccess);
    assert_eq!(next(&b), AsyncEvent::AccessError(other));
    let (pair, other) = connected(&a, &b, Way::default());
    b.receive(other, 1, &b.memory(8));
    a.post(pair, &SendRequest::send(2, vec![whole(&from)]));
    assert_eq!(a.wait().status, Status::RemoteInvalidRequest);
    assert_eq!(next(&b), AsyncEvent::RequestError(other));
    assert_eq!(
        (a.device.take_async_event(), b.device.take_async_event()),
        (None, None)
    );
    assert!(!readable(b.device.async_descriptor(), Duration::ZERO));
}

#[test]
fn a_packet_before_ready_to_send_establishes() {
    let (a, b) = (end(), end());
    let (pair, other) = (a.pair(), b.pair());
    let mut connection = fairlane_softnic::Connection::new(a.device.address(), pair);
    connection.mtu = 1024;
    for modify in [
        Modify::Init(Rights::ALL),
        Modify::ReadyToReceive(connection),
    ] {
        b.device.modify(other, &modify).unwrap();
    }
    connection = fairlane_softnic::Connection::new(b.device.address(), other);
    connection.mtu = 1024;
    a.connect(pair, &connection, &Sending::default());
    let to = b.memory(8);
    for id in 0..2 {
        a.post(pair, &SendRequest::write(id, Vec::new(), target(&to)));
        assert_eq!(a.wait().status, Status::Success);
    }
    assert_eq!(next(&b), AsyncEvent::Established(other));
    assert_eq!(b.device.take_async_event(), None);
}

#[test]
fn the_end_of_draining_is_told_if_asked_for() {
    let (a, b) = (end(), end());
    let (pair, _) = connected(&a, &b, Way::default());
    let (from, to) = (a.memory(1 << 20), b.memory(1 << 20));
    a.post(
        pair,
        &SendRequest::write(1, vec![whole(&from)], target(&to)),
    );
    a.device
        .modify(pair, &Modify::SendQueueDrain { tell: true })
        .unwrap();
    assert_eq!(next(&a), AsyncEvent::Drained(pair));
    assert_eq!(a.wait().status, Status::Success);
    let all = Sending::default();
    a.device.modify(pair, &Modify::ReadyToSend(all)).unwrap();
    a.device
        .modify(pair, &Modify::SendQueueDrain { tell: false })
        .unwrap();
    assert_eq!(a.device.take_async_event(), None);
}

#[test]
fn a_shared_queue_tells_of_its_limit_once_and_of_a_pair_that_fails() {
    let (a, b) = (end(), end());
    let shared = b.device.create_shared_queue(b.domain, 8, 1).unwrap();
    let mut options = b.options();
    options.shared = Some(shared);
    let (pair, other) = (a.pair(), b.device.create_queue_pair(&options).unwrap());
    common::join((&a, pair), (&b, other), Way::default());
    let receive = |id| {
        let pieces = Vec::new();
        b.device.post_shared(shared, ReceiveRequest { id, pieces })
    };
    (0..4).for_each(|id| receive(id).unwrap());
    b.device.modify_shared_queue(shared, None, Some(3)).unwrap();
    send(&a, pair, false);
    assert_eq!(b.device.take_async_event(), None);
    send(&a, pair, false);
    assert_eq!(next(&b), AsyncEvent::LimitReached(shared));
    assert_eq!(b.device.query_shared_queue(shared).unwrap().limit, 0);
    send(&a, pair, false);
    assert_eq!(b.device.take_async_event(), None);
    // A limit that is reached already is told at once.
    b.device.modify_shared_queue(shared, None, Some(2)).unwrap();
    assert_eq!(next(&b), AsyncEvent::LimitReached(shared));
    b.device.modify(other, &Modify::Error).unwrap();
    assert_eq!(next(&b), AsyncEvent::LastReceive(other));
    b.device.destroy_queue_pair(other).unwrap();
    assert!(b.device.modify_shared_queue(shared, Some(0), None).is_err());
    assert!(
        b.device
            .modify_shared_queue(shared, Some(4), Some(5))
            .is_err()
    );
    b.device.modify_shared_queue(shared, Some(2), None).unwrap();
    receive(9).unwrap();
    assert!(receive(10).is_err());
}

#[test]
fn a_queue_without_room_is_told_of_and_its_pairs_fail() {
    let (a, b) = (end(), end());
    let small = a.device.create_completion_queue(2).unwrap();
    let mut options = a.options();
    options.send_queue = small;
    let (pair, other) = (a.device.create_queue_pair(&options).unwrap(), b.pair());
    common::join((&a, pair), (&b, other), Way::default());
    let to = b.memory(8);
    for id in 0..3 {
        // The third may find the queue pair failed already.
        drop(
            a.device
                .post_send(pair, SendRequest::write(id, Vec::new(), target(&to))),
        );
    }
    assert_eq!(next(&a), AsyncEvent::QueueError(small));
    assert_eq!(next(&a), AsyncEvent::Fatal(pair));
    assert_eq!(a.device.state(pair).unwrap(), State::Error);
    a.device.modify(pair, &Modify::Reset).unwrap();
    assert_eq!(a.device.take_async_event(), None);
}

#[test]
fn a_read_that_has_begun_ends_before_it_is_drained_and_nothing_else_begins() {
    const LENGTH: usize = 16 << 20;
    let (a, b) = (end(), end());
    let (pair, _) = connected(&a, &b, Way::default());
    let (to, from) = (a.memory(LENGTH), b.memory(LENGTH));
    let read = |id| SendRequest::read(id, vec![whole(&to)], target(&from));
    // Until it is drained, nothing comes to the responder.
    let packets = PacketFaults {
        loss: 1.0,
        ..PacketFaults::default()
    };
    b.device.set_faults(Some(Faults::of_packets(0, packets)));
    a.post(pair, &read(1));
    let drain = Modify::SendQueueDrain { tell: true };
    a.device.modify(pair, &drain).unwrap();
    assert!(a.device.query(pair).unwrap().draining);
    b.device.set_faults(None);
    a.post(pair, &read(2));
    a.post(
        pair,
        &SendRequest::write(3, vec![whole(&to)], target(&from)),
    );
    assert_eq!(next(&a), AsyncEvent::Drained(pair));
    let mut ended = Vec::new();
    assert_eq!(a.device.take(a.queue, 9, &mut ended).unwrap(), 1);
    assert_eq!((ended[0].id, ended[0].status), (1, Status::Success));
    assert!(!a.device.query(pair).unwrap().draining);
    let resume = Modify::ReadyToSend(Sending::default());
    a.device.modify(pair, &resume).unwrap();
    for id in [2, 3] {
        let completion = a.wait();
        assert_eq!((completion.id, completion.status), (id, Status::Success));
    }
}
