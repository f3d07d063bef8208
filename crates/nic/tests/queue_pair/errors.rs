//! Receives that are late, requests that are refused, packets that are lost or come twice.

use super::line::{KEY, Line, config, fetch_add, request, target};
use fairlane_transport::{Config, Extension, Operation, Packet, Receive, Remote, Service, Status};
use fairlane_units::{Bytes, Psn};
use fairlane_wire::{Aeth, NakCode, Opcode, Syndrome};

const fn never(_: usize, _: &Packet) -> bool {
    false
}

const fn syndrome(packet: &Packet) -> Option<Syndrome> {
    match packet.extension {
        Extension::Acknowledge(Aeth { syndrome, .. }) => Some(syndrome),
        _ => None,
    }
}

fn is_rnr(packet: &Packet) -> bool {
    matches!(syndrome(packet), Some(Syndrome::RnrNak { .. }))
}

fn acknowledgement(psn: u32, syndrome: Syndrome) -> Packet {
    Packet {
        opcode: Opcode::RcAcknowledge,
        psn: Psn::new(psn),
        payload: Bytes::ZERO,
        ack_request: false,
        solicited: false,
        selective: false,
        extension: Extension::Acknowledge(Aeth { syndrome, msn: 0 }),
    }
}

#[test]
fn a_send_waits_for_a_late_receive() {
    let mut line = Line::of(&config());
    line.ends[0].post(request(1, Operation::Send, 10));
    line.exchange(never);
    assert_eq!(line.ends[0].completions, []);
    assert!(!line.ends[0].has_packet(), "the responder is left alone");
    line.ends[1].receive(1, 10);
    assert!(line.fire());
    line.exchange(never);
    assert_eq!(line.ends[0].completions, [(1, Status::Success)]);
    assert_eq!(line.ends[0].retransmitted, 1);
}

#[test]
fn the_rnr_retry_limit_counts_retries() {
    let config = Config {
        rnr_retry_limit: 2,
        ..config()
    };
    let mut line = Line::of(&config);
    line.ends[0].post(request(1, Operation::Send, 10));
    line.ends[0].post(request(2, Operation::Send, 10));
    let mut naks = 0;
    line.run(|_, packet| {
        naks += u32::from(is_rnr(packet));
        false
    });
    assert_eq!(naks, 3, "one and two retries");
    assert_eq!(
        line.ends[0].statuses(),
        [Status::RnrRetryExceeded, Status::Flushed]
    );
    assert!(line.ends[0].has_failed());
}

/// An RNR NAK that comes late may find that everything has been acknowledged since.
#[test]
fn a_wait_for_a_receive_ends_even_if_nothing_waits() {
    let mut line = Line::of(&config());
    line.ends[1].receive(1, 10);
    line.ends[0].post(request(1, Operation::Send, 10));
    let now = line.now;
    let packet = line.ends[0].packet(now).expect("it was posted").packet;
    let timer = fairlane_wire::RnrTimer::at_least(config().rnr_timer);
    let reply = line.ends[1].hear(now, &packet).expect("an acknowledgement");
    line.ends[0].hear(now, &acknowledgement(100, Syndrome::RnrNak { timer }));
    line.ends[0].hear(now, &reply);
    assert_eq!(line.ends[0].completions, [(1, Status::Success)]);
    assert!(line.fire());
    line.ends[0].post(request(2, Operation::Write(target()), 10));
    line.run_clean();
    assert_eq!(line.ends[0].statuses(), [Status::Success; 2]);
}

#[test]
fn refusals_end_in_the_status_that_says_why() {
    let elsewhere = Remote {
        key: 99,
        ..target()
    };
    let (remote, add) = (elsewhere, 1);
    let cases = [
        (
            request(1, Operation::Write(elsewhere), 250),
            Status::RemoteAccess,
        ),
        (
            request(1, Operation::Read(elsewhere), 250),
            Status::RemoteAccess,
        ),
        (
            request(1, Operation::FetchAdd { remote, add }, 8),
            Status::RemoteAccess,
        ),
        (
            request(1, Operation::SendInvalidate(99), 10),
            Status::RemoteAccess,
        ),
        (
            request(1, Operation::Send, 201),
            Status::RemoteInvalidRequest,
        ),
    ];
    for (wrong, status) in cases {
        let mut line = Line::of(&config());
        line.ends[1].receive(1, 200);
        line.ends[1].receive(2, 200);
        line.ends[0].post(request(0, Operation::Write(target()), 10));
        line.ends[0].post(wrong);
        line.ends[0].post(request(2, Operation::Write(target()), 10));
        line.run_clean();
        let expected = [(0, Status::Success), (1, status), (2, Status::Flushed)];
        assert_eq!(line.ends[0].completions, expected, "{wrong:?}");
        assert!(line.ends[1].has_failed());
        let first = line.ends[1].received.first().map(|end| end.status);
        let too_long = status == Status::RemoteInvalidRequest;
        let end = if too_long {
            Status::LocalLength
        } else {
            Status::Flushed
        };
        assert_eq!(first, Some(end));
        assert_eq!(line.ends[1].received.len(), 2, "every receive ends");
    }
}

#[test]
fn a_receive_whose_memory_is_closed_is_the_fault_of_the_responder() {
    let mut line = Line::of(&config());
    let closed = Receive {
        id: 1,
        length: Bytes::new(200),
        closed: true,
    };
    line.ends[1].post_receive(closed);
    line.ends[1].receive(2, 200);
    line.ends[0].post(request(0, Operation::Send, 10));
    line.run_clean();
    let expected = [(0, Status::RemoteOperation)];
    assert_eq!(line.ends[0].completions, expected);
    let ends = line.ends[1].received.iter();
    let ends: Vec<_> = ends.map(|end| (end.id, end.status)).collect();
    let expected = [(1, Status::LocalProtection), (2, Status::Flushed)];
    assert_eq!(ends, expected);
}

#[test]
fn more_reads_than_the_responder_has_resources_for_are_refused() {
    let few = Config {
        max_destination_reads: 1,
        ..config()
    };
    let mut line = Line::new(&config(), &few);
    line.ends[0].post(request(1, Operation::Read(target()), 300));
    line.ends[0].post(request(2, Operation::Read(target()), 300));
    let now = line.now;
    while let Some(read) = line.ends[0].packet(now) {
        line.ends[1].inbound.push_back(read.packet);
    }
    line.run_clean();
    let expected = [(1, Status::Success), (2, Status::RemoteInvalidRequest)];
    assert_eq!(line.ends[0].completions, expected);
}

#[test]
fn a_failing_responder_is_reported_and_unknown_naks_too() {
    let codes = [
        (NakCode::RemoteOperational, Status::RemoteOperation),
        (NakCode::InvalidRdRequest, Status::RemoteInvalidRequest),
    ];
    for (code, status) in codes {
        let mut line = Line::of(&config());
        line.ends[0].post(request(1, Operation::Write(target()), 10));
        let now = line.now;
        line.ends[0].packet(now);
        line.ends[0].hear(now, &acknowledgement(100, Syndrome::Nak(code)));
        assert_eq!(line.ends[0].completions, [(1, status)]);
    }
}

/// The NAK takes its turn behind the responses that are owed, also if the application asks for ERR.
#[test]
fn a_refusal_behind_a_read_is_not_lost() {
    for asked in [false, true] {
        let mut line = Line::of(&config());
        let elsewhere = Remote {
            key: 99,
            ..target()
        };
        line.ends[0].post(request(1, Operation::Read(target()), 300));
        line.ends[0].post(request(2, Operation::Write(elsewhere), 10));
        let now = line.now;
        while let Some(outgoing) = line.ends[0].packet(now) {
            line.ends[1].hear(now, &outgoing.packet);
        }
        assert!(line.ends[1].has_failed());
        if asked {
            line.ends[1].fail();
        }
        line.exchange(never);
        let expected = [(1, Status::Success), (2, Status::RemoteAccess)];
        assert_eq!(line.ends[0].completions, expected);
    }
}

/// IBTA 9.7.5.1.3: a NAK beyond a READ whose response is missing asks for it again. Here the
/// responder has failed and is silent.
#[test]
fn a_refusal_beyond_a_lost_read_response_is_no_end_of_the_read() {
    let mut line = Line::of(&config());
    let elsewhere = Remote {
        key: 99,
        ..target()
    };
    line.ends[0].post(request(1, Operation::Read(target()), 10));
    line.ends[0].post(request(2, Operation::Write(elsewhere), 10));
    line.run(|_, packet| packet.opcode == Opcode::RcReadResponseOnly);
    let expected = [(1, Status::RetryExceeded), (2, Status::Flushed)];
    assert_eq!(line.ends[0].completions, expected);
}

#[test]
fn timeouts_end_at_the_retry_limit() {
    let mut line = Line::of(&config());
    line.ends[0].post(request(1, Operation::Write(target()), 10));
    let timeouts = line.run(|_, _| true);
    assert_eq!(
        (timeouts, line.ends[0].sent),
        (4, 4),
        "once and three retries"
    );
    assert_eq!(line.ends[0].completions, [(1, Status::RetryExceeded)]);
}

#[test]
fn a_lost_read_response_is_asked_for_from_there_on() {
    let mut line = Line::of(&config());
    line.ends[0].post(request(1, Operation::Read(target()), 500));
    let (mut lost, mut asked) = (false, Vec::new());
    line.run(|from, packet| {
        if from == 0 {
            asked.push(packet.psn.get());
        }
        let this = packet.psn == Psn::new(102) && from == 1 && !lost;
        lost |= this;
        this
    });
    assert_eq!(asked, [100, 102]);
    assert_eq!(line.ends[0].completions, [(1, Status::Success)]);
    assert_eq!(line.ends[0].placed.len(), 5);
}

#[test]
fn a_repeated_atomic_is_answered_and_not_carried_out_again() {
    let mut line = Line::of(&config());
    line.ends[1].memory.value = 40;
    line.ends[0].post(fetch_add(1, 2));
    let mut lost = false;
    line.run(|from, _| {
        let this = from == 1 && !lost;
        lost |= this;
        this
    });
    assert_eq!(line.ends[0].completions, [(1, Status::Success)]);
    assert_eq!(
        (line.ends[1].memory.value, line.ends[1].memory.executed),
        (42, 1)
    );
    let result = fairlane_transport::Placement::Result {
        id: 1,
        original: 40,
    };
    assert_eq!(line.ends[0].placed, [result]);
}

/// Repeats hold resources of their own, or a late duplicate would end the connection.
#[test]
fn a_repeated_read_takes_no_resources_from_new_ones() {
    let config = Config {
        max_reads: 1,
        max_destination_reads: 1,
        ..config()
    };
    let mut line = Line::of(&config);
    line.ends[0].post(request(1, Operation::Read(target()), 100));
    let now = line.now;
    let first = line.ends[0].packet(now).expect("it was posted").packet;
    line.ends[1].inbound.push_back(first);
    line.exchange(never);
    line.ends[0].post(request(2, Operation::Read(target()), 100));
    let second = line.ends[0].packet(now).expect("it was posted").packet;
    line.ends[1].hear(now, &first);
    line.ends[1].hear(now, &second);
    line.run_clean();
    assert_eq!(line.ends[0].statuses(), [Status::Success; 2]);
}

/// A packet of an earlier connection may be acknowledged before the first one of this.
#[test]
fn acknowledgements_before_the_first_packet_are_ignored() {
    let mut line = Line::of(&config());
    line.ends[0].post(request(1, Operation::Write(target()), 10));
    let now = line.now;
    line.ends[0].packet(now);
    for stray in [99, 98, 101, 102] {
        line.ends[0].hear(now, &acknowledgement(stray, Syndrome::ACK));
        let access = Syndrome::Nak(NakCode::RemoteAccess);
        line.ends[0].hear(now, &acknowledgement(stray, access));
    }
    assert_eq!(line.ends[0].completions, []);
    line.ends[0].hear(now, &acknowledgement(100, Syndrome::ACK));
    assert_eq!(line.ends[0].completions, [(1, Status::Success)]);
}

#[test]
fn data_that_cant_be_read_ends_its_own_request() {
    let mut line = Line::of(&config());
    line.ends[0].post(request(1, Operation::Write(target()), 250));
    line.ends[0].post(request(2, Operation::Write(target()), 10));
    line.ends[0].post(request(3, Operation::Write(target()), 10));
    let now = line.now;
    for _ in 0..3 {
        let packet = line.ends[0]
            .packet(now)
            .expect("of the first request")
            .packet;
        line.ends[1].inbound.push_back(packet);
    }
    line.ends[0].packet(now).expect("of the second request");
    line.ends[0].on_local_error(2);
    assert!(!line.ends[0].has_failed(), "the first is on its way");
    line.exchange(never);
    let expected = [
        (1, Status::Success),
        (2, Status::LocalProtection),
        (3, Status::Flushed),
    ];
    assert_eq!(line.ends[0].completions, expected);
    assert!(line.ends[0].has_failed());
}

/// An unreliable connection that has sent the first of two WRITEs when request `id` can't be read.
fn in_send_queue_error(id: u64) -> Line {
    let config = Config {
        service: Service::UnreliableConnection,
        ..config()
    };
    let mut line = Line::of(&config);
    line.ends[0].post(request(1, Operation::Write(target()), 10));
    line.ends[0].post(request(2, Operation::Write(target()), 10));
    let now = line.now;
    line.ends[0].packet(now).expect("it was posted");
    line.ends[0].on_local_error(id);
    line
}

#[test]
fn an_unreliable_queue_pair_goes_to_sqe_and_comes_back() {
    let mut line = in_send_queue_error(1);
    line.ends[0].settle();
    let expected = [(1, Status::LocalProtection), (2, Status::Flushed)];
    assert_eq!(line.ends[0].completions, expected);
    assert!(line.ends[0].sends_no_more());
    line.ends[0].resume();
    line.ends[0].post(request(3, Operation::Write(target()), 10));
    line.run_clean();
    assert_eq!(line.ends[0].completions[2], (3, Status::Success));
    assert_eq!(line.ends[1].placed.len(), 1);
}

#[test]
fn what_had_ended_before_sqe_is_left_is_still_reported() {
    let mut line = in_send_queue_error(2);
    line.ends[0].resume();
    line.ends[0].settle();
    let expected = [(1, Status::Success), (2, Status::LocalProtection)];
    assert_eq!(line.ends[0].completions, expected);
}

/// A READ of more packets than half the circle of PSNs can't be told from an old one.
#[test]
fn a_read_beyond_the_limits_is_refused() {
    let mut line = Line::of(&config());
    line.ends[0].post(request(1, Operation::Read(target()), 300));
    let now = line.now;
    let mut packet = line.ends[0].packet(now).expect("it was posted").packet;
    if let Extension::Remote { length, .. } = &mut packet.extension {
        *length = Bytes::new(u64::from(u32::MAX));
    }
    let nak = line.ends[1].hear(now, &packet).expect("a refusal");
    let refused = Syndrome::Nak(NakCode::InvalidRequest);
    assert_eq!(syndrome(&nak), Some(refused));
}

/// What comes early is placed before a key is invalidated, or not at all.
#[test]
fn a_write_that_began_early_ends_with_its_key() {
    let mut line = Line::of(&super::line::selective());
    line.ends[1].receive(1, 10);
    line.ends[0].post(request(1, Operation::SendInvalidate(KEY), 10));
    line.ends[0].post(request(2, Operation::Write(target()), 250));
    let now = line.now;
    let packets: Vec<_> = std::iter::from_fn(|| line.ends[0].packet(now)).collect();
    line.ends[1].hear(now, &packets[1].packet);
    assert_eq!(
        line.ends[1].placed.len(),
        1,
        "the first packet of the WRITE"
    );
    let nak = line.ends[1]
        .hear(now, &packets[0].packet)
        .expect("a refusal");
    assert_eq!(nak.psn, Psn::new(101));
    line.ends[1].hear(now, &packets[2].packet);
    assert_eq!(
        line.ends[1].placed.len(),
        2,
        "the SEND and nothing more of the WRITE"
    );
    line.ends[0].hear(now, &nak);
    let expected = [(1, Status::Success), (2, Status::RemoteAccess)];
    assert_eq!(line.ends[0].completions, expected);
}

/// The MSN has 24 bits on the wire.
#[test]
fn the_message_count_wraps() {
    let mut line = Line::of(&config());
    let write = Packet {
        opcode: Opcode::RcWriteOnly,
        extension: Extension::Remote {
            remote: target(),
            length: Bytes::ZERO,
            immediate: None,
        },
        ..acknowledgement(0, Syndrome::ACK)
    };
    let now = line.now;
    for number in 0..1 << 24 {
        let psn = Psn::new(100 + number);
        line.ends[1].hear(now, &Packet { psn, ..write });
        line.ends[1].placed.clear();
    }
    line.ends[0].post(request(1, Operation::Read(target()), 10));
    let read = line.ends[0].packet(now).expect("it was posted").packet;
    line.ends[1].hear(now, &read);
    let response = line.ends[1].packet(now).expect("it was asked for");
    let Extension::Acknowledge(aeth) = response.packet.extension else {
        panic!("a response has an AETH");
    };
    assert_eq!(aeth.msn, 1);
}

/// Without an answer the requester would learn nothing but that its retries are used up.
#[test]
fn a_read_whose_key_is_gone_when_it_is_repeated_is_refused() {
    let mut line = Line::of(&config());
    line.ends[0].post(request(1, Operation::Read(target()), 10));
    let mut lost = false;
    line.exchange(|from, _| {
        let this = from == 1 && !lost;
        lost |= this;
        this
    });
    line.ends[1].memory.invalid = true;
    line.run_clean();
    assert_eq!(line.ends[0].completions, [(1, Status::RemoteAccess)]);
    assert!(!line.ends[1].has_failed());
}

#[test]
fn nothing_behind_data_that_cant_be_read_is_sent_while_earlier_packets_are_repeated() {
    let config = super::line::selective();
    let mut line = Line::of(&config);
    line.ends[0].post(request(1, Operation::Write(target()), 300));
    line.ends[0].post(request(2, Operation::Write(target()), 10));
    line.ends[0].post(request(3, Operation::Write(target()), 10));
    let now = line.now;
    for number in 0..3 {
        let packet = line.ends[0].packet(now).expect("of the first request");
        if number != 1 {
            line.ends[1].inbound.push_back(packet.packet);
        }
    }
    line.ends[0].packet(now).expect("of the second request");
    line.ends[0].on_local_error(2);
    line.run_clean();
    let expected = [
        (1, Status::Success),
        (2, Status::LocalProtection),
        (3, Status::Flushed),
    ];
    assert_eq!(line.ends[0].completions, expected);
    assert_eq!(line.ends[0].sent, 5, "the lost packet is sent again");
    assert_eq!(line.ends[1].placed.len(), 3);
}

#[test]
fn what_is_still_to_be_answered_is_not_answered_twice_when_it_is_asked_for_again() {
    let mut line = Line::of(&config());
    line.ends[0].post(request(1, Operation::Read(target()), 500));
    let now = line.now;
    let read = line.ends[0].packet(now).expect("it was posted").packet;
    line.ends[1].hear(now, &read);
    let first = line.ends[1].packet(now).expect("a response").packet;
    line.ends[1].packet(now).expect("a response that gets lost");
    line.ends[0].hear(now, &first);
    line.fire();
    let again = line.ends[0].packet(line.now).expect("a repeat").packet;
    assert_eq!(again.psn, Psn::new(101));
    line.ends[1].hear(line.now, &again);
    line.exchange(never);
    assert_eq!(line.ends[0].completions, [(1, Status::Success)]);
    assert_eq!(line.ends[1].sent, 2 + 4);
}
