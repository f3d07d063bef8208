//! Messages arrive completely, once and in order over a channel that loses packets both ways.

use std::collections::VecDeque;

use fairlane_transport::{
    Config, Operation, Packet, Received, Remote, Requester, Responder, Source, Status, Unchecked,
    WorkRequest,
};
use fairlane_units::{Bytes, Duration, Psn, Time};
use proptest::prelude::*;

fn post(requester: &mut Requester, config: &Config, id: u64, size: u64) {
    let operation = Operation::Write(Remote::default());
    requester.post(config, WorkRequest::new(id, operation, Bytes::new(size)));
}

fn hear(responder: &mut Responder, config: &Config, now: Time, packet: &Packet) -> Received {
    responder.on_packet(config, now, packet, &mut Unchecked, &mut Unchecked)
}

/// Runs `sizes` over a channel of `latency` that loses what `lost` says; returns completed ids.
fn run(config: &Config, sizes: &[u64], initial: u32, mut lost: impl FnMut() -> bool) -> Vec<u64> {
    let (mut requester, mut responder) = (
        Requester::new(config, Psn::new(initial)),
        Responder::new(config, Psn::new(initial)),
    );
    for (id, &size) in (0..).zip(sizes) {
        post(&mut requester, config, id, size);
    }
    let (mut data, mut replies) = (VecDeque::new(), VecDeque::new());
    let (mut now, mut message, mut placed) = (Time::ZERO, 0usize, 0u64);
    let mut completed = Vec::new();
    while !requester.is_idle() {
        now += Duration::from_us(1);
        if let Some(outgoing) = requester.poll_transmit(config, now).filter(|_| !lost()) {
            data.push_back((now + Duration::from_us(5), outgoing));
        }
        while data.front().is_some_and(|&(at, _)| at <= now) {
            let (_, outgoing) = data.pop_front().expect("checked");
            let received = hear(&mut responder, config, now, &outgoing.packet);
            if !received.placed.is_zero() {
                let Source::Request { offset, .. } = outgoing.source else {
                    panic!("a WRITE carries its data");
                };
                assert_eq!(offset.get(), placed, "placed in order");
                placed += received.placed.get();
            }
            if received.messages > 0 {
                assert_eq!(placed, sizes[message], "complete means every byte");
                (message, placed) = (message + 1, 0);
            }
            // Without answers to duplicates a lost acknowledgement of the last packet is final.
            let reply_lost = config.ack_duplicates && lost();
            if let Some(reply) = received.reply.filter(|_| !reply_lost) {
                replies.push_back((now + Duration::from_us(5), reply));
            }
        }
        while replies.front().is_some_and(|&(at, _)| at <= now) {
            let (_, reply) = replies.pop_front().expect("checked");
            requester.on_reply(config, now, &reply);
        }
        if requester.deadline().is_some_and(|at| at <= now) {
            requester.on_timeout(config, now);
        }
        while let Some(completion) = requester.poll_completion() {
            assert_eq!(completion.status, Status::Success);
            completed.push(completion.id);
        }
    }
    assert_eq!(message, sizes.len(), "the receiver has every message");
    completed
}

fn config() -> Config {
    Config {
        mtu: Bytes::new(100),
        ack_timeout: Some(Duration::from_us(50)),
        nak_interval: Duration::from_us(30),
        retry_limit: u32::MAX,
        ..Config::default()
    }
}

proptest! {
    #[test]
    fn every_message_completes_once_in_order(
        sizes in prop::collection::vec(0u64..2_000, 1..8),
        initial in prop_oneof![Just(0u32), Just((1 << 24) - 3), 0u32..1 << 24],
        losses in prop::collection::vec(any::<u8>(), 1..200),
        rate in 0u8..80,
        ack_duplicates in any::<bool>(),
    ) {
        let mut draws = losses.iter().cycle();
        let mut rounds = 0u32;
        // The pattern repeats; a slowly growing offset keeps it from losing the same packet forever.
        let lost = || {
            rounds += 1;
            let draw = draws.next().copied().unwrap_or(0).wrapping_add((rounds / 97) as u8);
            draw < rate
        };
        let config = Config { ack_duplicates, ..config() };
        let completed = run(&config, &sizes, initial, lost);
        prop_assert_eq!(completed, (0..sizes.len() as u64).collect::<Vec<_>>());
    }
}

#[test]
fn without_loss_nothing_is_sent_twice() {
    let config = config();
    let mut requester = Requester::new(&config, Psn::new(0));
    post(&mut requester, &config, 1, 1_050);
    let packets = std::iter::from_fn(|| requester.poll_transmit(&config, Time::ZERO)).count();
    assert_eq!((packets, requester.retransmitted()), (11, 0));
    assert_eq!(requester.bytes_in_flight(), Bytes::new(1_050));
}

#[test]
fn the_retry_limit_ends_in_an_error_and_flushes_the_rest() {
    let config = Config {
        retry_limit: 2,
        ..config()
    };
    let mut requester = Requester::new(&config, Psn::new(0));
    post(&mut requester, &config, 1, 10);
    post(&mut requester, &config, 2, 10);
    let mut sent = 0;
    while !requester.is_idle() {
        sent += std::iter::from_fn(|| requester.poll_transmit(&config, Time::ZERO)).count();
        let at = requester.deadline().expect("packets are outstanding");
        requester.on_timeout(&config, at);
    }
    assert_eq!(sent, 6, "once and two retries");
    let ends: Vec<_> = std::iter::from_fn(|| requester.poll_completion())
        .map(|c| c.status)
        .collect();
    assert_eq!(ends, [Status::RetryExceeded, Status::Flushed]);
}

#[test]
fn one_nak_per_gap_and_interval() {
    let config = config();
    let mut requester = Requester::new(&config, Psn::new(5));
    let mut responder = Responder::new(&config, Psn::new(5));
    post(&mut requester, &config, 1, 500);
    let segments: Vec<_> =
        std::iter::from_fn(|| requester.poll_transmit(&config, Time::ZERO)).collect();
    let at = |us| Time::ZERO + Duration::from_us(us);
    let naks = |responder: &mut Responder, us| {
        segments[1..]
            .iter()
            .filter_map(|s| hear(responder, &config, at(us), &s.packet).reply)
            .count()
    };
    assert_eq!(naks(&mut responder, 1), 1);
    assert_eq!(naks(&mut responder, 20), 0);
    assert_eq!(naks(&mut responder, 31), 1);
}
