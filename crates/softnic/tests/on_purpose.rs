//! What goes wrong on purpose beside packets: requests that fail, a port that is down, a GID that moves, queues without room, packets that
//! are too large; and that the seed decides.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;

use std::net::IpAddr;
use std::time::Instant;

use common::{End, LONG, Way, address, connected, end, end_at, target, whole};
use fairlane_softnic::{
    AsyncEvent, Binding, Connection, Device, Error, Faults, GidPlace, Modify, Operation, PostError,
    QpNumber, ReceiveRequest, Rights, SendRequest, Sending, Service, State, Status, WindowType,
};
use fairlane_units::Duration;

fn faults(words: &str) -> Option<Faults> {
    Some(words.parse().unwrap())
}

fn next(device: &Device) -> AsyncEvent {
    let start = Instant::now();
    loop {
        if let Some(event) = device.take_async_event() {
            return event;
        }
        assert!(start.elapsed() < LONG);
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

fn state(end: &End, pair: QpNumber) -> State {
    end.device.state(pair).unwrap()
}

#[test]
fn the_request_that_fails_is_the_one_that_was_named_whatever_it_is() {
    for kind in 0..3 {
        let (a, b) = (end(), end());
        a.device
            .set_faults(faults("request=number:4,status:IBV_WC_RETRY_EXC_ERR"));
        let (pair, other) = connected(&a, &b, Way::default());
        let (from, to) = (a.memory(200_000), b.memory(200_000));
        let bytes = a.fill(&from, 5);
        let request = |id| match kind {
            0 => SendRequest::write(id, vec![whole(&from)], target(&to)),
            1 => SendRequest::read(id, vec![whole(&from)], target(&to)),
            _ => SendRequest::write(id, Vec::new(), target(&to)),
        };
        let posted = (1..=6).map(request).collect::<Vec<_>>();
        a.device.post_all(pair, posted).unwrap();
        a.receive(pair, 7, &a.memory(8));
        for (id, status) in [
            (1, Status::Success),
            (2, Status::Success),
            (3, Status::Success),
            (4, Status::RetryExceeded),
            (5, Status::Flushed),
            (6, Status::Flushed),
            (7, Status::Flushed),
        ] {
            let completion = a.wait();
            assert_eq!((completion.id, completion.status), (id, status), "{kind}");
        }
        assert_eq!(state(&a, pair), State::Error);
        // As on hardware, nobody tells the other end.
        assert_eq!(state(&b, other), State::ReadyToSend);
        assert!(kind > 0 || b.bytes(&to) == bytes);
        let counters = a.device.counters();
        assert_eq!(
            (counters.injected_faults, counters.retry_exceeded_err),
            (1, 1)
        );
    }
}

#[test]
fn a_request_without_a_completion_has_one_when_it_fails() {
    let (a, b) = (end(), end());
    a.device
        .set_faults(faults("request=number:2,status:IBV_WC_REM_ACCESS_ERR"));
    let (pair, _) = connected(&a, &b, Way::default());
    for id in 1..=2 {
        let mut send = SendRequest::write(id, Vec::new(), target(&b.memory(8)));
        send.signaled = false;
        a.post(pair, &send);
    }
    let completion = a.wait();
    assert_eq!(
        (completion.id, completion.status),
        (2, Status::RemoteAccess)
    );
}

#[test]
fn every_so_many_requests_one_fails_also_after_a_reset() {
    let (a, b) = (end(), end());
    a.device
        .set_faults(faults("request=every:3,status:IBV_WC_REM_OP_ERR"));
    let (pair, other) = connected(&a, &b, Way::default());
    let to = b.memory(8);
    for round in 0..3 {
        if round > 0 {
            for (end, own) in [(&a, pair), (&b, other)] {
                end.device.modify(own, &Modify::Reset).unwrap();
            }
            common::join((&a, pair), (&b, other), Way::default());
        }
        for status in [Status::Success, Status::Success, Status::RemoteOperation] {
            a.post(pair, &SendRequest::write(1, Vec::new(), target(&to)));
            assert_eq!(a.wait().status, status);
        }
        assert_eq!(state(&a, pair), State::Error);
    }
}

#[test]
fn requests_that_follow_one_that_fails_are_not_carried_out() {
    let (a, b) = (end(), end());
    a.device
        .set_faults(faults("request=every:1,status:IBV_WC_RETRY_EXC_ERR"));
    let (pair, _) = connected(&a, &b, Way::default());
    let (from, to) = (a.memory(8), b.memory(8));
    a.fill(&from, 1);
    let write = |id| SendRequest::write(id, vec![whole(&from)], target(&to));
    a.device
        .post_all(pair, (1..=3).map(write).collect::<Vec<_>>())
        .unwrap();
    let statuses = [1, 2, 3].map(|_| a.wait().status);
    assert_eq!(
        statuses,
        [Status::RetryExceeded, Status::Flushed, Status::Flushed]
    );
    assert_eq!(b.bytes(&to), [0; 8]);
}

#[test]
fn binding_a_window_fails_on_purpose() {
    let a = end();
    a.device
        .set_faults(faults("request=number:1,status:IBV_WC_MW_BIND_ERR"));
    let pair = a.pair();
    let connection = Connection::new(a.device.address(), pair);
    a.connect(pair, &connection, &Sending::default());
    let region = a.memory(64);
    let window = a.device.allocate_window(a.domain, WindowType::One).unwrap();
    let binding = Binding {
        key: fairlane_softnic::Window::next_key(window.key),
        region: region.local_key,
        address: region.address,
        length: 64,
        rights: Rights::REMOTE_READ,
        zero_based: false,
    };
    a.post(
        pair,
        &SendRequest::new(1, Operation::Bind(binding), Vec::new()),
    );
    assert_eq!(a.wait().status, Status::WindowBind);
    assert_eq!(state(&a, pair), State::Error);
}

/// A queue pair for datagrams that takes so many, with numbers from 1 on.
fn datagrams(end: &End, receives: u64) -> QpNumber {
    let mut options = end.options();
    options.service = Service::UnreliableDatagram;
    options.most_receives = options.most_receives.max(receives as u32);
    let pair = end.device.create_queue_pair(&options).unwrap();
    let nobody = Connection::new(end.device.address(), QpNumber::new(0));
    end.connect(pair, &nobody, &Sending::default());
    let to = end.memory(48);
    (1..=receives).for_each(|id| end.receive(pair, id, &to));
    pair
}

fn datagram(id: u64, to: &Device, destination: QpNumber) -> SendRequest {
    let operation = Operation::Datagram {
        address: to.address(),
        destination,
        queue_key: 0,
        immediate: Some(id as u32),
    };
    SendRequest::new(id, operation, Vec::new())
}

#[test]
fn what_only_a_peer_can_say_does_not_happen_to_datagrams() {
    let (a, b) = (end(), end());
    let both =
        "request=number:1,status:IBV_WC_RETRY_EXC_ERR request=number:2,status:IBV_WC_LOC_PROT_ERR";
    a.device.set_faults(faults(both));
    let (pair, other) = (datagrams(&a, 0), datagrams(&b, 3));
    // Together: the first one leaves before the second one fails.
    let all = (1..=3).map(|id| datagram(id, &b.device, other));
    a.device.post_all(pair, all.collect::<Vec<_>>()).unwrap();
    for (id, status) in [
        (1, Status::Success),
        (2, Status::LocalProtection),
        (3, Status::Flushed),
    ] {
        let completion = a.wait();
        assert_eq!((completion.id, completion.status), (id, status));
    }
    // The sending side alone fails, and can be resumed.
    assert_eq!(state(&a, pair), State::SendQueueError);
    let resumed = Modify::ReadyToSend(Sending::default());
    a.device.modify(pair, &resumed).unwrap();
    a.post(pair, &datagram(4, &b.device, other));
    assert_eq!(a.wait().status, Status::Success);
    assert_eq!(
        [b.wait(), b.wait()].map(|own| own.immediate),
        [Some(1), Some(4)]
    );
}

/// Which of so many datagrams arrive at a device with this seed.
fn arrived(from: IpAddr, to: IpAddr, seed: u64) -> (Vec<u32>, u64) {
    const COUNT: u64 = 200;
    let (a, b) = (end_at(from, |_| {}), end_at(to, |_| {}));
    let words = format!("seed={seed} packets=loss:0.3,corrupt:0.1");
    b.device.set_faults(faults(&words));
    let (pair, other) = (datagrams(&a, 0), datagrams(&b, COUNT + 1));
    for id in 1..=COUNT {
        a.post(pair, &datagram(id, &b.device, other));
        assert_eq!(a.wait().status, Status::Success);
    }
    let mut all = Vec::new();
    let quiet = std::time::Duration::from_millis(200);
    while let Some(completion) = b.device.wait(b.queue, quiet).unwrap() {
        all.extend(completion.immediate);
    }
    (all, b.device.counters().injected_faults)
}

#[test]
fn the_seed_and_the_address_decide_which_packets_are_lost() {
    let [a, b, c] = [(); 3].map(|()| address());
    let first = arrived(a, b, 7);
    assert!((80..180).contains(&first.0.len()) && first.1 >= 200 - first.0.len() as u64);
    assert_eq!(first, arrived(a, b, 7));
    assert_ne!(first.0, arrived(a, b, 8).0);
    assert_ne!(first.0, arrived(a, c, 7).0);
}

#[test]
fn a_port_goes_down_and_comes_up_and_what_was_lost_is_sent_again() {
    let (a, b) = (end(), end());
    let way = Way {
        sending: Sending {
            timeout: Some(Duration::from_ms(20)),
            ..Sending::default()
        },
        ..Way::default()
    };
    let (pair, _) = connected(&a, &b, way);
    let to = b.memory(8);
    let write = |id| a.post(pair, &SendRequest::write(id, Vec::new(), target(&to)));
    write(1);
    assert_eq!(a.wait().status, Status::Success);
    // It is down from now on, and not for as long as sending again lasts: 20 ms seven times.
    a.device.set_faults(faults("port=at:0s,down:100ms"));
    assert_eq!(next(&a.device), AsyncEvent::PortError);
    let sent = b.device.counters().rcvd_pkts;
    write(2);
    assert!(!a.device.is_up());
    std::thread::sleep(std::time::Duration::from_millis(30));
    assert_eq!(b.device.counters().rcvd_pkts, sent);
    assert_eq!(next(&a.device), AsyncEvent::PortActive);
    assert!(a.device.is_up());
    assert_eq!(a.wait().status, Status::Success);
    assert_eq!(a.device.counters().link_downed, 1);
    assert_eq!(a.device.take_async_event(), None);
}

#[test]
fn a_port_that_stays_down_ends_connections() {
    let (a, b) = (end(), end());
    let way = Way {
        sending: Sending {
            timeout: Some(Duration::from_ms(1)),
            ..Sending::default()
        },
        ..Way::default()
    };
    let (pair, _) = connected(&a, &b, way);
    // The other end's, whose answers nobody hears.
    b.device.set_faults(faults("port=at:0s"));
    assert_eq!(next(&b.device), AsyncEvent::PortError);
    a.post(
        pair,
        &SendRequest::write(1, Vec::new(), target(&b.memory(8))),
    );
    assert_eq!(a.wait().status, Status::RetryExceeded);
    b.device.set_faults(None);
    assert_eq!(next(&b.device), AsyncEvent::PortActive);
}

#[test]
fn a_gid_moves_and_goes() {
    let a = end();
    assert_eq!(a.device.gid_place(), GidPlace::Usual);
    a.device.set_faults(faults("gid=at:0s,to:5"));
    assert_eq!(next(&a.device), AsyncEvent::GidChange);
    assert_eq!(a.device.gid_place(), GidPlace::At(5));
    a.device.set_faults(faults("gid=at:0s"));
    assert_eq!(next(&a.device), AsyncEvent::GidChange);
    assert_eq!(a.device.gid_place(), GidPlace::Gone);
}

#[test]
fn queues_have_less_room_than_was_granted() {
    let (a, b) = (end(), end());
    // Nobody answers, so that requests stay under way.
    b.device.set_faults(faults("packets=loss:1"));
    a.device.set_faults(faults("queue=send:2,receive:3"));
    let (pair, _) = connected(&a, &b, Way::default());
    let to = b.memory(8);
    let full = |outcome| matches!(outcome, Err(Error::Post(PostError::Full)));
    let write = || SendRequest::write(1, Vec::new(), target(&to));
    assert!((0..2).all(|_| a.device.post_send(pair, write()).is_ok()));
    assert!(full(a.device.post_send(pair, write())));
    let receive = || ReceiveRequest {
        id: 1,
        pieces: Vec::new(),
    };
    assert!((0..3).all(|_| a.device.post_receive(pair, receive()).is_ok()));
    assert!(full(a.device.post_receive(pair, receive())));
    let shared = a.device.create_shared_queue(a.domain, 100, 1).unwrap();
    assert!((0..3).all(|_| a.device.post_shared(shared, receive()).is_ok()));
    assert!(full(a.device.post_shared(shared, receive())));
}

#[test]
fn a_completion_queue_overruns() {
    let (a, b) = (end(), end());
    a.device.set_faults(faults("queue=completion:2"));
    let queue = a.device.create_completion_queue(100).unwrap();
    let mut options = a.options();
    options.send_queue = queue;
    let (pair, other) = (a.device.create_queue_pair(&options).unwrap(), b.pair());
    common::join((&a, pair), (&b, other), Way::default());
    let to = b.memory(8);
    for id in 1..=3 {
        a.post(pair, &SendRequest::write(id, Vec::new(), target(&to)));
    }
    let events = [next(&a.device), next(&a.device)];
    assert!(
        events.contains(&AsyncEvent::QueueError(queue)),
        "{events:?}"
    );
    assert!(events.contains(&AsyncEvent::Fatal(pair)), "{events:?}");
    assert_eq!(state(&a, pair), State::Error);
}

#[test]
fn larger_packets_vanish_or_are_refused() {
    let (a, b) = (end(), end());
    b.device.set_faults(faults("mtu=path:1024"));
    let way = |mtu| Way {
        mtu: Some(mtu),
        sending: Sending {
            timeout: Some(Duration::from_ms(1)),
            retries: 2,
            ..Sending::default()
        },
        ..Way::default()
    };
    let (from, to) = (a.memory(4096), b.memory(4096));
    for (mtu, status) in [(1024, Status::Success), (2048, Status::RetryExceeded)] {
        let (pair, _) = connected(&a, &b, way(mtu));
        let small = SendRequest::write(1, Vec::new(), target(&to));
        a.post(pair, &small);
        assert_eq!(a.wait().status, Status::Success);
        let write = SendRequest::write(2, vec![whole(&from)], target(&to));
        a.post(pair, &write);
        assert_eq!(a.wait().status, status, "{mtu}");
    }
    let usual = b.device.largest_mtu().unwrap();
    assert_eq!(usual, 4096);
    b.device.set_faults(faults("mtu=active:512"));
    assert_eq!(b.device.largest_mtu(), Some(512));
    let pair = b.pair();
    b.device.modify(pair, &Modify::Init(Rights::ALL)).unwrap();
    let mut connection = Connection::new(a.device.address(), pair);
    connection.mtu = 1024;
    let refused = b.device.modify(pair, &Modify::ReadyToReceive(connection));
    assert!(matches!(refused, Err(Error::PathMtu { wanted: 1024, .. })));
    connection.mtu = 512;
    b.device
        .modify(pair, &Modify::ReadyToReceive(connection))
        .unwrap();
}
