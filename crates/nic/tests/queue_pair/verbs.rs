//! What queue pairs do where everything goes well, and what they refuse.

use super::line::{Line, config, fetch_add, request, target};
use fairlane_transport::{Config, Operation, Remote, Service, Status, WorkRequest};
use fairlane_units::{Bytes, Psn, QpNumber};

fn datagram() -> Operation {
    Operation::Datagram {
        destination: QpNumber::new(9),
        queue_key: 0,
        immediate: Some(5),
    }
}

fn with(service: Service) -> Config {
    Config {
        service,
        ..config()
    }
}

#[test]
fn every_operation_of_a_reliable_connection_completes() {
    let mut line = Line::of(&config());
    line.ends[1].receive(1, 1000);
    line.ends[1].receive(2, 1000);
    line.ends[1].receive(3, 1000);
    line.ends[1].memory.value = 40;
    let operations = [
        request(1, Operation::Write(target()), 250),
        request(2, Operation::SendImmediate(11), 250),
        request(3, Operation::WriteImmediate(target(), 12), 0),
        request(4, Operation::Read(target()), 250),
        fetch_add(5, 2),
        request(6, Operation::SendInvalidate(super::line::KEY), 100),
    ];
    operations
        .into_iter()
        .for_each(|request| line.ends[0].post(request));
    line.run_clean();
    assert_eq!(line.ends[0].statuses(), [Status::Success; 6]);
    assert_eq!(line.ends[1].memory.value, 42);
    let ends: Vec<_> = line.ends[1]
        .received
        .iter()
        .map(|end| (end.id, end.length.get(), end.immediate, end.invalidated))
        .collect();
    let expected = [
        (1, 250, Some(11), None),
        (2, 0, Some(12), None),
        (3, 100, None, Some(super::line::KEY)),
    ];
    assert_eq!(ends, expected);
}

#[test]
fn unsignalled_requests_are_silent_unless_they_fail() {
    let mut line = Line::of(&config());
    let quiet = |id, operation| WorkRequest {
        signaled: false,
        ..request(id, operation, 10)
    };
    line.ends[0].post(quiet(1, Operation::Write(target())));
    line.run_clean();
    assert_eq!(line.ends[0].completions, []);
    let elsewhere = Remote {
        key: 99,
        ..target()
    };
    line.ends[0].post(quiet(2, Operation::Write(elsewhere)));
    line.run_clean();
    assert_eq!(line.ends[0].completions, [(2, Status::RemoteAccess)]);
}

#[test]
fn a_fence_waits_for_reads_before_it() {
    let mut line = Line::of(&config());
    line.ends[0].post(request(1, Operation::Read(target()), 300));
    line.ends[0].post(WorkRequest {
        fence: true,
        ..request(2, Operation::Write(target()), 10)
    });
    let now = line.now;
    let read = line.ends[0].packet(now).expect("the READ");
    assert!(line.ends[0].packet(now).is_none(), "the fence holds");
    line.ends[1].inbound.push_back(read.packet);
    line.run_clean();
    assert_eq!(line.ends[0].statuses(), [Status::Success; 2]);
}

#[test]
fn no_more_reads_are_under_way_than_allowed() {
    let config = Config {
        max_reads: 2,
        ..config()
    };
    let mut line = Line::of(&config);
    (0..5).for_each(|id| line.ends[0].post(request(id, Operation::Read(target()), 10)));
    let now = line.now;
    let sent = std::iter::from_fn(|| line.ends[0].packet(now)).count();
    assert_eq!(sent, 2);
}

#[test]
fn acknowledgements_come_every_so_many_packets_and_at_the_end() {
    for (interval, expected) in [(1, 10), (4, 3), (5, 2), (1000, 1)] {
        let config = Config {
            ack_interval: interval,
            ..config()
        };
        let mut line = Line::of(&config);
        line.ends[0].post(request(1, Operation::Write(target()), 1000));
        let mut replies = 0;
        line.exchange(|from, _| {
            replies += usize::from(from == 1);
            false
        });
        assert_eq!(replies, expected, "every {interval} packets");
    }
}

#[test]
fn sqd_ends_what_has_begun_and_begins_nothing() {
    let mut line = Line::of(&config());
    line.ends[0].post(request(1, Operation::Write(target()), 250));
    line.ends[0].post(request(2, Operation::Write(target()), 250));
    let now = line.now;
    let first = line.ends[0].packet(now).expect("it has begun");
    line.ends[0].drain();
    let reply = line.ends[1].hear(now, &first.packet);
    assert_eq!(reply, None);
    assert!(!line.ends[0].is_drained(), "a message is half sent");
    line.exchange(|_, _| false);
    assert!(line.ends[0].is_drained());
    assert_eq!(line.ends[0].completions, [(1, Status::Success)]);
    line.ends[0].resume();
    line.run_clean();
    assert_eq!(line.ends[0].completions[1], (2, Status::Success));
}

#[test]
fn a_message_half_sent_and_acknowledged_is_not_drained() {
    let config = Config {
        ack_interval: 1,
        ..config()
    };
    let mut line = Line::of(&config);
    line.ends[0].post(request(1, Operation::Write(target()), 250));
    let now = line.now;
    let first = line.ends[0].packet(now).expect("it has begun");
    let reply = line.ends[1]
        .hear(now, &first.packet)
        .expect("an acknowledgement");
    line.ends[0].hear(now, &reply);
    assert!(!line.ends[0].is_drained());
}

#[test]
fn state_err_flushes_everything() {
    let mut line = Line::of(&config());
    line.ends[0].post(request(1, Operation::Send, 10));
    line.ends[0].receive(7, 10);
    line.ends[0].fail();
    line.ends[0].post(request(2, Operation::Send, 10));
    line.ends[0].receive(8, 10);
    line.run_clean();
    assert_eq!(
        line.ends[0].completions,
        [(1, Status::Flushed), (2, Status::Flushed)]
    );
    let receives: Vec<_> = line.ends[0]
        .received
        .iter()
        .map(|r| (r.id, r.status))
        .collect();
    assert_eq!(receives, [(7, Status::Flushed), (8, Status::Flushed)]);
}

#[test]
fn datagrams_need_a_receive_that_is_long_enough() {
    let mut line = Line::of(&with(Service::UnreliableDatagram));
    line.ends[1].receive(1, 50);
    line.ends[1].receive(2, 50);
    line.ends[0].post(request(1, datagram(), 50));
    line.ends[0].post(request(2, datagram(), 51));
    line.ends[0].post(request(3, datagram(), 50));
    line.run_clean();
    assert_eq!(line.ends[0].statuses(), [Status::Success; 3]);
    let ends: Vec<_> = line.ends[1]
        .received
        .iter()
        .map(|end| (end.id, end.status))
        .collect();
    assert_eq!(ends, [(1, Status::Success), (2, Status::LocalLength)]);
}

#[test]
fn a_lost_packet_loses_its_unreliable_message_and_the_receive_is_used_again() {
    let mut line = Line::of(&with(Service::UnreliableConnection));
    line.ends[1].receive(1, 500);
    line.ends[0].post(request(1, Operation::Send, 300));
    line.ends[0].post(request(2, Operation::SendImmediate(2), 250));
    let second = Psn::new(101);
    line.run(|_, packet| packet.psn == second);
    assert_eq!(line.ends[0].statuses(), [Status::Success; 2]);
    let ends: Vec<_> = line.ends[1]
        .received
        .iter()
        .map(|end| (end.id, end.immediate))
        .collect();
    assert_eq!(ends, [(1, Some(2))]);
    assert_eq!(line.ends[1].received[0].length, Bytes::new(250));
}
