//! Shared queues of receives, keys that are invalidated, unreliable services, memory of the application.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;

use common::{End, Way, connected, end, join, pattern, target, whole};
use fairlane_softnic::{
    Connection, Device, Operation, QpNumber, ReceiveRequest, Rights, SendRequest, Sending, Service,
    Sge, Status,
};

#[test]
fn queue_pairs_share_receives_in_the_order_of_arrival() {
    let (a, b) = (end(), end());
    let shared = b.device.create_shared_queue(b.domain, 100, 1).unwrap();
    let mut options = b.options();
    options.shared = Some(shared);
    let pairs: Vec<QpNumber> = (0..3)
        .map(|_| {
            let (own, other) = (a.pair(), b.device.create_queue_pair(&options).unwrap());
            join((&a, own), (&b, other), Way::default());
            own
        })
        .collect();
    let to = b.memory(30 * 16);
    for id in 0..30 {
        let pieces = vec![Sge::of(&to, id * 16, 16)];
        b.device
            .post_shared(shared, ReceiveRequest { id, pieces })
            .unwrap();
    }
    for round in 0..30_u64 {
        let mut send = SendRequest::send(round, Vec::new());
        send.inline = Some(round.to_le_bytes().to_vec());
        a.post(pairs[round as usize % 3], &send);
        assert_eq!((a.wait().status, b.wait().id), (Status::Success, round));
        let bytes = b.bytes(&to);
        assert_eq!(bytes[round as usize * 16..][..8], round.to_le_bytes());
    }
    let own = b.device.post_receive(
        QpNumber::new(2),
        ReceiveRequest {
            id: 1,
            pieces: Vec::new(),
        },
    );
    assert!(own.is_err());
}

#[test]
fn a_send_invalidates_a_key_that_may_be() {
    let (a, b) = (end(), end());
    let (pair, other) = connected(&a, &b, Way::default());
    let to = b.memory(64);
    let from = a.memory(64);
    a.post(
        pair,
        &SendRequest::write(1, vec![whole(&from)], target(&to)),
    );
    assert_eq!(a.wait().status, Status::Success);
    b.receive(other, 2, &b.memory(0));
    let invalidate = Operation::SendInvalidate(to.remote_key);
    a.post(pair, &SendRequest::new(3, invalidate, Vec::new()));
    assert_eq!(
        (a.wait().status, b.wait().invalidated),
        (Status::Success, Some(to.remote_key))
    );
    a.post(
        pair,
        &SendRequest::write(4, vec![whole(&from)], target(&to)),
    );
    assert_eq!(a.wait().status, Status::RemoteAccess);
}

/// A queue pair of a service at an end.
fn of(end: &End, service: Service, queue_key: u32) -> QpNumber {
    let mut options = end.options();
    (options.service, options.queue_key) = (service, queue_key);
    end.device.create_queue_pair(&options).unwrap()
}

#[test]
fn unreliable_connections_write_and_send() {
    let (a, b) = (end(), end());
    let service = Service::UnreliableConnection;
    let (pair, other) = (of(&a, service, 0), of(&b, service, 0));
    join((&a, pair), (&b, other), Way::default());
    let (from, to) = (a.memory(50_000), b.memory(50_000));
    let bytes = a.fill(&from, 5);
    b.receive(other, 7, &b.memory(0));
    let write = Operation::WriteImmediate(target(&to), 3);
    a.post(pair, &SendRequest::new(1, write, vec![whole(&from)]));
    assert_eq!(
        (a.wait().status, b.wait().immediate),
        (Status::Success, Some(3))
    );
    assert!(b.bytes(&to) == bytes);
    let read = SendRequest::read(2, vec![whole(&from)], target(&to));
    assert!(a.device.post_send(pair, &read).is_err());
}

fn datagram(to: &Device, destination: QpNumber, queue_key: u32) -> Operation {
    Operation::Datagram {
        address: to.address(),
        destination,
        queue_key,
        immediate: Some(9),
    }
}

#[test]
fn datagrams_tell_who_sent_them() {
    let (a, b) = (end(), end());
    let service = Service::UnreliableDatagram;
    let (pair, other) = (of(&a, service, 1), of(&b, service, 0x1234));
    let nobody = Connection::new(a.device.address(), QpNumber::new(0));
    a.connect(pair, &nobody, &Sending::default());
    b.connect(other, &nobody, &Sending::default());
    let (from, to) = (a.memory(1000), b.memory(1040));
    let bytes = a.fill(&from, 5);
    for id in [1, 2] {
        b.receive(other, id, &to);
    }
    for (id, key) in [(1, 0x1234), (2, 0x1235), (3, 0x1234)] {
        let send = SendRequest::new(id, datagram(&b.device, other, key), vec![whole(&from)]);
        a.post(pair, &send);
        assert_eq!(a.wait().status, Status::Success);
    }
    for id in [1, 2] {
        let received = b.wait();
        assert_eq!(
            (received.id, received.length, received.immediate),
            (id, 1040, Some(9))
        );
        assert_eq!(received.source, Some((a.device.address(), pair)));
    }
    assert_eq!(b.bytes(&to)[40..], bytes);
    let header = &b.bytes(&to)[20..40];
    assert_eq!(
        (header[0], &header[12..16]),
        (0x45, &a.device.address().octets()[..])
    );
    assert_eq!(b.device.counters().rx_dropped, 1);
}

#[test]
#[expect(unsafe_code, reason = "memory of the application is known by address")]
fn memory_of_the_application_is_used_in_place() {
    let (a, b) = (end(), end());
    let (pair, _) = connected(&a, &b, Way::default());
    let mut bytes = pattern(10_000, 1);
    let copy = bytes.clone();
    let place = (bytes.as_mut_ptr(), bytes.len());
    // SAFETY: the bytes live until the region is deregistered, and nothing else touches them before.
    let from = unsafe { a.device.register(a.domain, place, 0x1000, Rights::NONE) }.unwrap();
    let to = b.memory(10_000);
    assert_eq!(from.address, 0x1000);
    a.post(
        pair,
        &SendRequest::write(1, vec![whole(&from)], target(&to)),
    );
    assert_eq!(a.wait().status, Status::Success);
    a.device.deregister(&from).unwrap();
    assert!(b.bytes(&to) == copy && bytes == copy);
}
