//! Shared queues of receives, keys that are invalidated, unreliable services, memory of the application.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;

use common::{End, LONG, Way, connected, end, end_with, join, pattern, target, whole};
use fairlane_softnic::{
    Connection, Device, Modify, Operation, QpNumber, ReceiveRequest, Rights, SendRequest, Sending,
    Service, Sge, State, Status,
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
    assert!(a.device.post_send(pair, read).is_err());
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
    let counters = b.device.counters();
    assert_eq!(counters.rx_dropped, 1);
    assert_eq!(
        (counters.duplicate_request, counters.out_of_seq_request),
        (0, 0)
    );
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

/// A queue pair for datagrams that is ready.
fn ready(end: &End, queue_key: u32) -> QpNumber {
    let pair = of(end, Service::UnreliableDatagram, queue_key);
    let nobody = Connection::new(end.device.address(), QpNumber::new(0));
    end.connect(pair, &nobody, &Sending::default());
    pair
}

#[test]
fn datagrams_behind_flushed_ones_go_to_their_own_device() {
    let (a, others) = (end(), [end(), end(), end()]);
    let pair = ready(&a, 0);
    let peers = others.each_ref().map(|other| ready(other, 1));
    let from = a.memory(8);
    let to = |at: usize| datagram(&others[at].device, peers[at], 1);
    let mut requests = [0, 1, 2].map(|at| SendRequest::new(at as u64, to(at), vec![whole(&from)]));
    requests[0].pieces[0].key ^= 1;
    a.device.post_sends(pair, requests).unwrap();
    let ended = [a.wait(), a.wait(), a.wait()].map(|ended| ended.status);
    let expected = [Status::LocalProtection, Status::Flushed, Status::Flushed];
    assert_eq!(ended, expected);
    assert_eq!(a.device.state(pair).unwrap(), State::SendQueueError);
    let resume = Modify::ReadyToSend(Sending::default());
    a.device.modify(pair, &resume).unwrap();
    for (at, other) in others.iter().enumerate() {
        other.receive(peers[at], 7, &other.memory(48));
        let send = SendRequest::new(3, to(at), vec![whole(&from)]);
        a.post(pair, &send);
        assert_eq!(a.wait().status, Status::Success);
        let received = other.device.wait(other.queue, LONG).unwrap();
        assert_eq!(received.map(|ended| ended.status), Some(Status::Success));
    }
}

#[test]
fn a_datagram_that_a_shared_receive_is_too_short_for_ends_it_alone() {
    let (a, b) = (end(), end());
    let shared = b.device.create_shared_queue(b.domain, 4, 1).unwrap();
    let mut options = b.options();
    (options.service, options.shared) = (Service::UnreliableDatagram, Some(shared));
    let other = b.device.create_queue_pair(&options).unwrap();
    let nobody = Connection::new(b.device.address(), QpNumber::new(0));
    b.connect(other, &nobody, &Sending::default());
    let pair = ready(&a, 0);
    let from = a.memory(100);
    for (room, status) in [
        (100, Status::LocalLength),
        (139, Status::LocalLength),
        (140, Status::Success),
    ] {
        let pieces = vec![whole(&b.memory(room))];
        b.device
            .post_shared(shared, ReceiveRequest { id: 1, pieces })
            .unwrap();
        let to = datagram(&b.device, other, 0);
        a.post(pair, &SendRequest::new(2, to, vec![whole(&from)]));
        assert_eq!(
            (a.wait().status, b.wait().status),
            (Status::Success, status)
        );
        assert_eq!(b.device.state(other).unwrap(), State::ReadyToSend);
    }
}

#[test]
fn a_queue_pair_that_goes_in_the_middle_of_a_message_gives_its_receive_back() {
    let (a, b) = (end(), end_with(|settings| settings.thread = false));
    let shared = b.device.create_shared_queue(b.domain, 1, 1).unwrap();
    let mut options = b.options();
    options.shared = Some(shared);
    let (from, to) = (a.memory(8 << 20), b.memory(8 << 20));
    let before = b.device.live();
    for goes in [Modify::Reset, Modify::Error] {
        let (pair, other) = (a.pair(), b.device.create_queue_pair(&options).unwrap());
        join((&a, pair), (&b, other), Way::default());
        let pieces = vec![whole(&to)];
        b.device
            .post_shared(shared, ReceiveRequest { id: 1, pieces })
            .unwrap();
        a.post(pair, &SendRequest::send(1, vec![whole(&from)]));
        let first = b.device.query(other).unwrap().expects;
        while b.device.query(other).unwrap().expects == first {
            assert_eq!(b.device.poll(b.queue, 1, &mut Vec::new()).unwrap(), 0);
        }
        b.device.modify(other, &goes).unwrap();
        b.device.destroy_queue_pair(other).unwrap();
        a.device.destroy_queue_pair(pair).unwrap();
        assert_eq!(b.device.live(), before);
    }
}
