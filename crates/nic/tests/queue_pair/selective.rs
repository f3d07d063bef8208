//! What is sent again under selective repeat and under go-back-N, and when nothing is.

use super::line::{Line, config, request, selective, target};
use fairlane_transport::{Config, Operation, Packet, Status};
use fairlane_units::Psn;

/// Packets of the message that the tests send.
const PACKETS: u64 = 30;

/// Loses packet 105 once, and those of `also`; returns how many were sent again.
fn sent_again(sender: &Config, receiver: &Config, also: &[u32]) -> u64 {
    let mut line = Line::new(sender, receiver);
    line.ends[0].post(request(1, Operation::Write(target()), PACKETS * 100));
    // The whole message is under way before the first answer comes back.
    let now = line.now;
    let mut lost = also.to_vec();
    lost.push(105);
    while let Some(outgoing) = line.ends[0].packet(now) {
        if !lost.contains(&outgoing.packet.psn.get()) {
            line.ends[1].inbound.push_back(outgoing.packet);
        }
    }
    assert_eq!(line.run(|_, _| false), 0, "no timeout is needed");
    assert_eq!(line.ends[0].completions, [(1, Status::Success)]);
    assert_eq!(
        line.ends[1].placed.len() as u64,
        PACKETS,
        "each packet is placed once"
    );
    line.ends[0].retransmitted
}

#[test]
fn selective_repeat_sends_only_what_is_missing() {
    assert_eq!(sent_again(&selective(), &selective(), &[]), 1);
    assert_eq!(sent_again(&selective(), &selective(), &[107, 108, 120]), 4);
}

#[test]
fn go_back_n_sends_everything_behind_the_gap() {
    assert_eq!(sent_again(&config(), &config(), &[]), PACKETS - 5);
}

#[test]
fn one_selective_end_alone_goes_back() {
    assert_eq!(sent_again(&selective(), &config(), &[]), PACKETS - 5);
    // What the receiver has kept is acknowledged as soon as the gap is filled.
    let again = sent_again(&config(), &selective(), &[]);
    assert!((1..PACKETS - 5).contains(&again), "{again}");
}

#[test]
fn a_lost_first_packet_of_a_write_costs_the_message() {
    // Without its RETH nothing of the message can be placed.
    assert_eq!(sent_again(&selective(), &selective(), &[100]), PACKETS);
}

#[test]
fn a_packet_lost_twice_is_sent_three_times() {
    let mut line = Line::of(&selective());
    line.ends[0].post(request(1, Operation::Write(target()), 500));
    line.ends[0].post(request(2, Operation::Write(target()), 500));
    let mut losses = 2;
    line.run(|_, packet| {
        let lost = packet.psn == Psn::new(102) && losses > 0;
        losses -= u32::from(lost);
        lost
    });
    assert_eq!(line.ends[0].statuses(), [Status::Success; 2]);
    assert_eq!(line.ends[0].retransmitted, 2);
}

/// Sends a message with direct placement; its packets arrive in the order of `order`.
fn reordered(config: &Config, order: impl Fn(&mut Vec<Packet>)) -> (u64, u32) {
    let config = Config {
        direct_placement: true,
        ..config.clone()
    };
    let mut line = Line::of(&config);
    line.ends[0].post(request(1, Operation::Write(target()), PACKETS * 100));
    let now = line.now;
    let sent = std::iter::from_fn(|| line.ends[0].packet(now));
    let mut packets: Vec<_> = sent.map(|outgoing| outgoing.packet).collect();
    order(&mut packets);
    for packet in packets {
        line.ends[1].inbound.push_back(packet);
        line.exchange(|_, _| false);
    }
    let timeouts = line.run(|_, _| false);
    assert_eq!(line.ends[0].completions, [(1, Status::Success)]);
    assert_eq!(
        line.ends[1].placed.len() as u64,
        PACKETS,
        "each packet is placed once"
    );
    (line.ends[0].retransmitted, timeouts)
}

#[test]
fn with_tolerance_direct_placement_repeats_nothing_in_any_order() {
    let config = Config {
        reorder_tolerance: 64,
        ..selective()
    };
    assert_eq!(reordered(&config, |packets| packets.reverse()), (0, 0));
    assert_eq!(reordered(&config, |packets| packets.rotate_left(7)), (0, 0));
}

/// A gap may be a loss or a packet on another path: without tolerance it is taken as a loss.
#[test]
fn without_tolerance_reordering_costs_repeats_and_no_timeouts() {
    let (again, timeouts) = reordered(&selective(), |packets| packets.swap(3, 4));
    assert_eq!((again, timeouts), (1, 0));
}

#[test]
fn a_loss_within_the_tolerance_is_found_by_the_timer() {
    let config = Config {
        reorder_tolerance: 64,
        ..selective()
    };
    let lose = |packets: &mut Vec<Packet>| {
        packets.remove(3);
    };
    assert_eq!(reordered(&config, lose), (1, 1));
}

/// A READ request is one packet, though its response takes eight numbers.
#[test]
fn a_lost_read_is_asked_for_again_as_a_whole_and_once() {
    for reorder_tolerance in 0..4 {
        let mut line = Line::of(&Config {
            reorder_tolerance,
            ..selective()
        });
        line.ends[0].post(request(1, Operation::Read(target()), 800));
        line.ends[0].post(request(2, Operation::Write(target()), PACKETS * 100));
        let now = line.now;
        line.ends[0].packet(now).expect("the READ, which gets lost");
        let sent: Vec<_> = std::iter::from_fn(|| line.ends[0].packet(now)).collect();
        for outgoing in sent {
            let report = line.ends[1].hear(now, &outgoing.packet).expect("a report");
            line.ends[0].hear(now, &report);
            // What is sent again is still on its way when the next report comes.
            let again = std::iter::from_fn(|| line.ends[0].packet(now));
            let again: Vec<_> = again.map(|outgoing| outgoing.packet).collect();
            line.ends[1].inbound.extend(again);
        }
        assert_eq!(line.run(|_, _| false), 0, "no timeout is needed");
        assert_eq!(line.ends[0].statuses(), [Status::Success; 2]);
        assert_eq!(line.ends[0].retransmitted, 1);
        assert_eq!(line.ends[0].placed.len(), 8, "each response is placed once");
    }
}

/// An acknowledgement beyond a READ that isn't finished doesn't count, so that it must be had again.
#[test]
fn a_packet_that_is_kept_is_sent_again_if_its_acknowledgement_was_of_no_use() {
    let mut line = Line::of(&selective());
    line.ends[0].post(request(1, Operation::Read(target()), 100));
    line.ends[0].post(request(2, Operation::Write(target()), 100));
    let now = line.now;
    let read = line.ends[0].packet(now).expect("it was posted").packet;
    let write = line.ends[0].packet(now).expect("it was posted").packet;
    let report = line.ends[1].hear(now, &write).expect("a report");
    line.ends[0].hear(now, &report);
    line.ends[1].hear(now, &read);
    line.ends[1].packet(now).expect("a response that gets lost");
    let timeouts = line.run(|_, _| false);
    assert_eq!(line.ends[0].statuses(), [Status::Success; 2]);
    assert_eq!(timeouts, 1, "the first one repeats the WRITE");
    assert_eq!(line.ends[1].placed.len(), 1);
}
