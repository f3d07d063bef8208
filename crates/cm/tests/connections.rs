//! Connections as the specification's state diagrams have them, step by step.

mod common;

use common::{Pair, SERVICE, message, peer, rep, req};
use fairlane_cm::{
    Answered, Error, EventKind, Mad, Manager, Message, Reason, Rej, Req, Service, ServiceId,
    Settings, SidrRep, SidrReq, SidrStatus, State, Wait,
};
use fairlane_units::{Duration, Psn, QpNumber};

const NOTHING: [u8; 148] = [0; 148];

#[track_caller]
fn only(mut mads: Vec<Mad>) -> Message {
    assert_eq!(mads.len(), 1);
    message(&mads.remove(0))
}

/// 4.295 s that the peer may take, and twice 1.074 s on the way.
fn answer_in() -> Duration {
    Duration::from_ns((4_096 << 20) + 2 * (4_096 << 18))
}

#[test]
fn what_each_side_says_arrives_at_the_other() {
    let mut pair = Pair::new();
    let (active, passive, heard) = pair.asked();
    let said = req(heard.queue_pair.get());
    assert_eq!(heard.starting_psn, said.starting_psn);
    assert_eq!((heard.responder_resources, heard.initiator_depth), (3, 4));
    assert_eq!((heard.local_id, heard.guid), (active.0, 0xa0));
    pair.accept(passive, &heard);
    pair.settle();
    let EventKind::Replied(rep) = pair.event(0).kind else {
        panic!("no reply");
    };
    assert_eq!(rep.queue_pair, QpNumber::new(500 + passive.0));
    assert_eq!(rep.starting_psn, Psn::new(700 + passive.0));
    // What one may ask for is what the other can answer.
    assert_eq!((rep.responder_resources, rep.initiator_depth), (4, 3));
    assert_eq!(pair.ends[1].state(passive), Some(State::RepSent));
    pair.ends[0].confirm(active, [0; 224]).expect("a reply");
    pair.settle();
    assert_eq!(pair.event(1).kind, EventKind::Established);
    for (end, id) in [(0, active), (1, passive)] {
        assert_eq!(pair.ends[end].state(id), Some(State::Established));
        assert_eq!(pair.ends[end].deadline(), None);
    }
}

#[test]
fn either_side_ends_a_connection() {
    for who in [0, 1] {
        let mut pair = Pair::new();
        let (active, passive) = pair.established();
        let id = [active, passive][who];
        let ended = pair.ends[who].disconnect(id, [7; 220], pair.now);
        ended.expect("it is established");
        pair.settle();
        for end in [0, 1] {
            assert_eq!(pair.event(end).kind, EventKind::Disconnected);
        }
        let begin = pair.now;
        pair.run();
        for end in [0, 1] {
            assert_eq!(pair.event(end).kind, EventKind::Ended);
            assert_eq!(pair.ends[end].connections(), 0);
        }
        assert_eq!(pair.now - begin, Duration::from_ns(2 * (4_096 << 18)));
    }
}

#[test]
fn a_peer_that_is_gone_answers_as_nobody_does() {
    let address = |end: usize| peer(end).address;
    // A request is refused as for a service that nobody has, once.
    let mut pair = Pair::new();
    let active = pair.connect();
    pair.ends[0].on_gone(address(0), pair.now);
    assert_eq!(pair.ends[0].state(active), Some(State::ReqSent));
    pair.ends[0].on_gone(address(1), pair.now);
    let EventKind::Rejected(rej) = pair.event(0).kind else {
        panic!("no refusal");
    };
    assert_eq!(rej.reason, Reason::INVALID_SERVICE_ID);
    assert_eq!(pair.ends[0].connections(), 0);
    // A connection is over; so is one that is being ended.
    for is_ending in [false, true] {
        let mut pair = Pair::new();
        let (active, _) = pair.established();
        if is_ending {
            let ended = pair.ends[0].disconnect(active, [0; 220], pair.now);
            ended.expect("it is established");
            assert_eq!(pair.said(0).len(), 1);
        }
        for _ in 0..2 {
            pair.ends[0].on_gone(address(1), pair.now);
        }
        assert_eq!(pair.event(0).kind, EventKind::Disconnected);
        assert_eq!(pair.ends[0].state(active), Some(State::TimeWait));
        // There is nobody to say anything to.
        assert_eq!(pair.said(0), Vec::<Mad>::new());
    }
    // Who waits for a decision, or for the last word, is refused.
    let mut pair = Pair::new();
    let (_, passive, _) = pair.asked();
    pair.ends[1].on_gone(address(0), pair.now);
    assert!(matches!(pair.event(1).kind, EventKind::Rejected(_)));
    assert_eq!(pair.ends[1].state(passive), Some(State::Refused));
    let mut pair = Pair::new();
    let (active, passive) = pair.replied();
    pair.ends[0].on_gone(address(1), pair.now);
    pair.ends[1].on_gone(address(0), pair.now);
    for (end, id) in [(0, active), (1, passive)] {
        assert!(matches!(pair.event(end).kind, EventKind::Rejected(_)));
        assert_eq!(pair.ends[end].state(id), Some(State::Refused));
    }
}

#[test]
fn both_may_end_it_at_once() {
    let mut pair = Pair::new();
    let (active, passive) = pair.established();
    for (end, id) in [(0, active), (1, passive)] {
        let ended = pair.ends[end].disconnect(id, [0; 220], pair.now);
        ended.expect("it is established");
    }
    pair.settle();
    for end in [0, 1] {
        assert_eq!(pair.event(end).kind, EventKind::Disconnected);
    }
}

#[test]
fn a_request_is_repeated_as_often_as_it_says_and_then_given_up() {
    let mut pair = Pair::new();
    let active = pair.connect();
    let first = pair.said(0);
    let Message::Req(sent) = message(&first[0]) else {
        panic!("no REQ");
    };
    assert_eq!(sent.cm_retries, 15);
    for _ in 0..15 {
        assert_eq!(pair.fire(0), answer_in());
        assert_eq!(pair.said(0), first, "the very same MAD");
    }
    assert_eq!(pair.fire(0), answer_in());
    assert_eq!(pair.event(0).kind, EventKind::Unreachable);
    let Message::Rej(rej) = only(pair.said(0)) else {
        panic!("no REJ");
    };
    assert_eq!((rej.reason, rej.remote_id), (Reason::TIMEOUT, 0));
    assert_eq!((rej.local_id, rej.guid()), (active.0, Some(0xa0)));
    assert_eq!(
        (pair.ends[0].connections(), pair.ends[0].deadline()),
        (0, None)
    );
    // The passive side, which has been slow, hears of it.
    pair.hear(1, &first[0]);
    pair.requested();
    pair.hear(1, &Message::Rej(rej).emit(1).expect("it fits"));
    assert!(
        matches!(pair.event(1).kind, EventKind::Rejected(rej) if rej.reason == Reason::TIMEOUT)
    );
}

#[test]
fn a_reply_is_repeated_and_then_given_up() {
    let mut pair = Pair::new();
    let (_, passive, req) = pair.asked();
    pair.accept(passive, &req);
    let first = pair.said(1);
    for _ in 0..15 {
        assert_eq!(pair.fire(1), answer_in());
        assert_eq!(pair.said(1), first);
    }
    pair.fire(1);
    assert_eq!(pair.event(1).kind, EventKind::Unreachable);
    // The active side had the reply all the time, and its application wakes up now.
    let refusal = pair.said(1);
    pair.hear(0, &first[0]);
    let EventKind::Replied(_) = pair.event(0).kind else {
        panic!("no reply");
    };
    pair.hear(0, &refusal[0]);
    assert!(
        matches!(pair.event(0).kind, EventKind::Rejected(rej) if rej.reason == Reason::TIMEOUT)
    );
}

#[test]
fn who_ends_what_the_peer_has_given_up_gets_an_answer() {
    let mut pair = Pair::new();
    let (active, passive) = pair.replied();
    pair.ends[0].confirm(active, [0; 224]).expect("a reply");
    // Neither that nor the refusal after the last repetition arrives.
    pair.said(0);
    for _ in 0..16 {
        pair.fire(1);
        pair.said(1);
    }
    assert_eq!(pair.event(1).kind, EventKind::Unreachable);
    assert_eq!(pair.ends[1].state(passive), Some(State::Refused));
    let ended = pair.ends[0].disconnect(active, [0; 220], pair.now);
    ended.expect("it is established");
    pair.settle();
    assert_eq!(pair.event(0).kind, EventKind::Disconnected);
    assert_eq!(pair.events(1), []);
}

#[test]
fn word_of_readiness_that_was_lost_is_said_again() {
    let mut pair = Pair::new();
    let (active, _) = pair.replied();
    pair.ends[0].confirm(active, [9; 224]).expect("a reply");
    let lost = pair.said(0);
    pair.fire(1);
    pair.settle();
    assert_eq!(pair.event(1).kind, EventKind::Established);
    assert_eq!(pair.events(0), [], "a repeated reply is no event");
    assert_eq!(lost.len(), 1);
}

#[test]
fn a_request_that_comes_twice_is_one() {
    let mut pair = Pair::new();
    pair.connect();
    let sent = pair.said(0).remove(0);
    pair.hear(1, &sent);
    pair.hear(1, &sent);
    let (passive, req) = pair.requested();
    assert!(pair.said(1).is_empty(), "nothing to say yet");
    pair.accept(passive, &req);
    let reply = pair.said(1);
    pair.hear(1, &sent);
    assert_eq!(pair.said(1), reply, "the reply may have been lost");
    pair.hear(0, &reply[0]);
    assert!(matches!(pair.event(0).kind, EventKind::Replied(_)));
    pair.hear(0, &reply[0]);
    assert!(pair.events(0).is_empty() && pair.said(0).is_empty());
}

#[test]
fn who_takes_long_asks_for_time() {
    let mut pair = Pair::new();
    let (_, passive, req) = pair.asked();
    let minute = Wait::new(24).expect("below 32");
    pair.ends[1].extend(passive, minute).expect("a request");
    let sent = pair.said(1).remove(0);
    let Message::Mra(mra) = message(&sent) else {
        panic!("no MRA");
    };
    assert_eq!((mra.message, mra.timeout), (Answered::Req, minute));
    pair.hear(0, &sent);
    let extended = Duration::from_ns((4_096 << 24) + 2 * (4_096 << 18));
    let deadline = pair.ends[0].deadline().expect("it waits");
    assert_eq!(deadline - pair.now, extended);
    // Saying it again and again doesn't keep the peer waiting for ever.
    pair.now += Duration::from_us(1);
    pair.hear(0, &sent);
    assert_eq!(pair.ends[0].deadline(), Some(deadline));
    pair.fire(0);
    let again = pair.said(0).remove(0);
    pair.hear(1, &again);
    assert_eq!(
        pair.said(1),
        [sent],
        "it is said again to a repeated request"
    );
    pair.accept(passive, &req);
    pair.settle();
    assert!(matches!(pair.event(0).kind, EventKind::Replied(_)));
}

#[test]
fn a_refusal_says_why_and_is_repeated_to_who_has_not_heard_it() {
    let mut pair = Pair::new();
    pair.connect();
    let request = pair.said(0).remove(0);
    pair.hear(1, &request);
    let (passive, _) = pair.requested();
    let mut said = NOTHING;
    said[..4].copy_from_slice(b"busy");
    let refused = pair.ends[1].reject(passive, Reason::CONSUMER, said, pair.now);
    refused.expect("a request");
    let lost = pair.said(1);
    pair.hear(1, &request);
    assert_eq!(pair.said(1), lost);
    pair.hear(0, &lost[0]);
    let EventKind::Rejected(rej) = pair.event(0).kind else {
        panic!("no refusal");
    };
    assert_eq!((rej.reason, rej.message), (Reason::CONSUMER, Answered::Req));
    assert_eq!(&rej.private_data[..5], b"busy\0");
    assert_eq!(pair.events(1), []);
    pair.run();
    assert_eq!(pair.ends.each_ref().map(Manager::connections), [0, 0]);
}

#[test]
fn the_active_side_may_refuse_a_reply() {
    let mut pair = Pair::new();
    let (active, _) = pair.replied();
    let refused = pair.ends[0].reject(active, Reason::CONSUMER, NOTHING, pair.now);
    refused.expect("a reply");
    pair.settle();
    let EventKind::Rejected(rej) = pair.event(1).kind else {
        panic!("no refusal");
    };
    assert_eq!((rej.reason, rej.message), (Reason::CONSUMER, Answered::Rep));
}

/// The only answer of the passive side to a request.
#[track_caller]
fn refused_with(pair: &mut Pair, req: Req) -> Reason {
    pair.ends[0].connect(peer(1), req, pair.now).expect("room");
    pair.settle();
    match pair.event(0).kind {
        EventKind::Rejected(rej) => rej.reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_nobody_waits_for_is_refused() {
    let mut pair = Pair::new();
    let elsewhere = Req {
        service_id: ServiceId(5),
        ..req(1)
    };
    assert_eq!(
        refused_with(&mut pair, elsewhere),
        Reason::INVALID_SERVICE_ID
    );
    let strange = Req {
        service: Service::ReliableDatagram,
        ..req(1)
    };
    assert_eq!(
        refused_with(&mut pair, strange),
        Reason::INVALID_SERVICE_TYPE
    );
    pair.ends[1].unlisten(SERVICE);
    assert_eq!(refused_with(&mut pair, req(1)), Reason::INVALID_SERVICE_ID);
    assert_eq!(pair.ends[1].connections(), 0, "refusals cost no memory");
}

#[test]
fn requests_beyond_the_backlog_are_refused_until_others_are_decided() {
    let mut pair = Pair::new();
    (0..4).for_each(|_| {
        pair.connect();
    });
    pair.settle();
    let waiting = pair.events(1);
    assert_eq!(waiting.len(), 4);
    assert_eq!(refused_with(&mut pair, req(90)), Reason::NO_RESOURCES);
    let EventKind::Requested(_, first) = &waiting[0].kind else {
        panic!("no request");
    };
    pair.accept(waiting[0].connection, first);
    let refused = pair.ends[1].reject(waiting[1].connection, Reason::CONSUMER, NOTHING, pair.now);
    refused.expect("a request");
    pair.ends[1].destroy(waiting[2].connection, pair.now);
    pair.settle();
    pair.events(0);
    for _ in 0..3 {
        pair.asked();
    }
    assert_eq!(refused_with(&mut pair, req(91)), Reason::NO_RESOURCES);
}

#[test]
fn requests_of_a_listener_that_is_gone_are_not_in_the_next_ones_backlog() {
    let mut pair = Pair::new();
    let (_, old, _) = pair.asked();
    pair.ends[1].unlisten(SERVICE);
    pair.ends[1].listen(SERVICE, 1).expect("it is free");
    pair.asked();
    pair.ends[1].destroy(old, pair.now);
    pair.settle();
    pair.events(0);
    assert_eq!(refused_with(&mut pair, req(90)), Reason::NO_RESOURCES);
}

#[test]
fn a_manager_has_so_many_connections_and_no_more() {
    let mut pair = Pair::with(|settings| Settings {
        connections: 3,
        ..settings
    });
    for _ in 0..3 {
        pair.connect();
        pair.settle();
        let (passive, _) = pair.requested();
        let refused = pair.ends[1].reject(passive, Reason::CONSUMER, NOTHING, pair.now);
        refused.expect("a request");
        pair.settle();
    }
    pair.events(0);
    // Refusals are kept to be repeated, but make room.
    assert_eq!(pair.ends[1].connections(), 3);
    for _ in 0..3 {
        pair.asked();
    }
    assert_eq!(pair.ends[1].connections(), 3);
    assert_eq!(
        pair.ends[0].connect(peer(1), req(99), pair.now),
        Err(Error::Full)
    );
    pair.ends[0] = Manager::new(Settings::new(0xa0));
    assert_eq!(refused_with(&mut pair, req(99)), Reason::NO_RESOURCES);
}

#[test]
fn a_peer_that_has_begun_anew_ends_what_it_has_forgotten() {
    let mut pair = Pair::new();
    let (_, passive) = pair.established();
    let used = pair.queue_pairs;
    // The active side's process is another one now, whose first queue pair has the same number.
    pair.ends[0] = Manager::new(Settings {
        first_id: 77,
        ..Settings::new(0xa0)
    });
    assert_eq!(refused_with(&mut pair, req(used)), Reason::STALE_CONNECTION);
    assert_eq!(pair.event(1).kind, EventKind::Disconnected);
    assert_eq!(pair.ends[1].state(passive), Some(State::TimeWait));
    // The next attempt finds nothing in its way.
    pair.ends[0]
        .connect(peer(1), req(used), pair.now)
        .expect("room");
    pair.settle();
    pair.requested();
}

#[test]
fn a_passive_side_that_has_begun_anew_is_found_out() {
    let mut pair = Pair::new();
    let (active, passive) = pair.replied();
    pair.ends[0].confirm(active, [0; 224]).expect("a reply");
    pair.settle();
    pair.event(1);
    pair.ends[1] = Manager::new(Settings {
        first_id: 9_000,
        ..Settings::new(0xa1)
    });
    pair.ends[1].listen(SERVICE, 4).expect("it is free");
    // The same queue pair is offered for another connection.
    let (_, again, second) = pair.asked();
    let accepted = pair.ends[1].accept(again, rep(&second, 500 + passive.0), pair.now);
    accepted.expect("a request");
    pair.settle();
    let events = pair.events(0);
    assert!(matches!(&events[0].kind, EventKind::Disconnected));
    assert!(
        matches!(&events[1].kind, EventKind::Rejected(rej) if rej.reason == Reason::STALE_CONNECTION)
    );
    assert!(
        matches!(pair.event(1).kind, EventKind::Rejected(rej) if rej.reason == Reason::STALE_CONNECTION)
    );
}

#[test]
fn a_connection_whose_peer_is_gone_ends_nevertheless() {
    let mut pair = Pair::new();
    let (active, _) = pair.established();
    pair.ends[1] = Manager::new(Settings::new(0xa1));
    let ended = pair.ends[0].disconnect(active, [0; 220], pair.now);
    ended.expect("it is established");
    pair.settle();
    assert_eq!(pair.event(0).kind, EventKind::Disconnected);
    // The same without any answer.
    let mut pair = Pair::new();
    let (active, _) = pair.established();
    let ended = pair.ends[0].disconnect(active, [0; 220], pair.now);
    ended.expect("it is established");
    let first = pair.said(0);
    for _ in 0..15 {
        assert_eq!(pair.fire(0), answer_in());
        assert_eq!(pair.said(0), first);
    }
    pair.fire(0);
    assert_eq!(pair.event(0).kind, EventKind::Disconnected);
    pair.fire(0);
    assert_eq!(pair.event(0).kind, EventKind::Ended);
}

#[test]
fn packets_ahead_of_the_word_that_the_peer_is_ready_establish_the_connection() {
    let mut pair = Pair::new();
    let (active, passive) = pair.replied();
    pair.ends[0].confirm(active, [0; 224]).expect("a reply");
    pair.ends[1]
        .communication_established(passive)
        .expect("it waits");
    assert_eq!(pair.event(1).kind, EventKind::Established);
    pair.settle();
    assert_eq!(pair.events(1), [], "once");
}

#[test]
fn what_is_given_up_is_over_for_both() {
    // Before the reply, as either; after it; established.
    for step in 0..4 {
        let mut pair = Pair::new();
        let active = pair.connect();
        pair.settle();
        let (passive, req) = pair.requested();
        if step >= 2 {
            pair.accept(passive, &req);
            pair.settle();
            pair.event(0);
        }
        if step == 3 {
            pair.ends[0].confirm(active, [0; 224]).expect("a reply");
            pair.settle();
            pair.event(1);
        }
        let (who, id) = if step == 1 { (1, passive) } else { (0, active) };
        pair.ends[who].destroy(id, pair.now);
        pair.settle();
        let last = pair.event(1 - who).kind;
        assert_eq!(
            matches!(last, EventKind::Disconnected),
            step == 3,
            "{last:?}"
        );
        assert_eq!(
            matches!(last, EventKind::Rejected(_)),
            step != 3,
            "{last:?}"
        );
        pair.run();
        assert_eq!(pair.events(who), [], "who gives up hears no more");
        assert_eq!(pair.ends.each_ref().map(Manager::connections), [0, 0]);
    }
}

#[test]
fn calls_that_make_no_sense_are_errors() {
    let mut pair = Pair::new();
    let (active, passive) = pair.established();
    assert_eq!(pair.ends[0].confirm(active, [0; 224]), Err(Error::State));
    let again = pair.ends[1].accept(passive, rep(&req(1), 1), pair.now);
    assert_eq!(again, Err(Error::State));
    let refused = pair.ends[1].reject(passive, Reason::CONSUMER, NOTHING, pair.now);
    assert_eq!(refused, Err(Error::State));
    assert_eq!(
        pair.ends[1].disconnect(active, [0; 220], pair.now),
        Err(Error::Unknown)
    );
    assert_eq!(pair.ends[1].listen(SERVICE, 1), Err(Error::InUse));
    let wide = Req {
        queue_pair: QpNumber::new(1 << 24),
        ..req(1)
    };
    let refused = pair.ends[0].connect(peer(1), wide, pair.now);
    assert!(matches!(refused, Err(Error::Malformed(_))));
    assert_eq!(pair.ends[0].connections(), 1, "nothing is left of it");
}

#[test]
fn nobody_else_can_end_a_connection() {
    let mut pair = Pair::new();
    let (active, passive) = pair.established();
    let (peer_of_passive, remote_pair) = pair.ends[1].peer(passive).expect("known");
    assert_eq!(peer_of_passive, peer(0));
    let dreq = |local_id, pair| {
        let dreq = fairlane_cm::Dreq {
            local_id,
            remote_id: passive.0,
            remote_pair: pair,
            private_data: [0; 220],
        };
        Message::Dreq(dreq).emit(3).expect("it fits")
    };
    let own_pair = QpNumber::new(500 + passive.0);
    // Another sender, another name, another queue pair.
    let strange = [
        (peer(5), dreq(active.0, own_pair)),
        (peer(0), dreq(active.0 + 1, own_pair)),
        (peer(0), dreq(active.0, remote_pair)),
    ];
    let rej = Rej::new((active.0, passive.0), Answered::Other, Reason::TIMEOUT);
    let rej = Message::Rej(rej).emit(3).expect("it fits");
    let strange = strange.into_iter().chain([(peer(5), rej)]);
    for (from, mad) in strange {
        pair.ends[1].on_mad(from, &mad, pair.now).expect("a MAD");
        assert_eq!(pair.events(1), []);
    }
    let right = dreq(active.0, own_pair);
    pair.ends[1]
        .on_mad(peer(0), &right, pair.now)
        .expect("a MAD");
    assert_eq!(pair.event(1).kind, EventKind::Disconnected);
}

#[test]
fn a_service_of_datagrams_is_found() {
    let mut pair = Pair::new();
    let question = |service_id| SidrReq {
        request_id: 0,
        partition_key: 0xffff,
        service_id,
        private_data: [3; 216],
    };
    let id = pair.ends[0]
        .ask(peer(1), question(SERVICE), pair.now)
        .expect("room");
    let sent = pair.said(0).remove(0);
    pair.hear(1, &sent);
    pair.hear(1, &sent);
    let event = pair.event(1);
    let EventKind::Asked(from, heard) = event.kind else {
        panic!("no question");
    };
    assert_eq!((from, heard.private_data), (peer(0), [3; 216]));
    let answer = SidrRep {
        request_id: 0,
        status: SidrStatus::VALID,
        queue_pair: QpNumber::new(44),
        service_id: heard.service_id,
        queue_key: 0x0123_4567,
        private_data: [4; 136],
    };
    pair.ends[1]
        .answer(event.connection, answer, pair.now)
        .expect("a question");
    let lost = pair.said(1);
    pair.hear(1, &sent);
    assert_eq!(pair.said(1), lost, "it is answered again");
    pair.hear(0, &lost[0]);
    let event = pair.event(0);
    assert_eq!(event.connection, id);
    let EventKind::Resolved(answer) = event.kind else {
        panic!("no answer");
    };
    assert_eq!(
        (answer.queue_pair.get(), answer.queue_key),
        (44, 0x0123_4567)
    );
    pair.run();
    assert_eq!(pair.ends.each_ref().map(Manager::connections), [0, 0]);

    pair.ends[0]
        .ask(peer(1), question(ServiceId(4)), pair.now)
        .expect("room");
    pair.settle();
    let EventKind::Resolved(answer) = pair.event(0).kind else {
        panic!("no answer");
    };
    assert_eq!(answer.status, SidrStatus::UNSUPPORTED);

    pair.ends[0]
        .ask(peer(1), question(SERVICE), pair.now)
        .expect("room");
    for _ in 0..16 {
        pair.said(0);
        pair.fire(0);
    }
    assert_eq!(pair.event(0).kind, EventKind::Unreachable);
}

#[test]
fn who_asks_what_it_is_talking_to_gets_an_answer() {
    let mut manager = Manager::new(Settings::new(1));
    let mut get = [0; 256];
    get[..4].copy_from_slice(&[1, 7, 2, 1]);
    (get[15], get[17]) = (9, 1);
    let now = fairlane_units::Time::from_ns(0);
    manager.on_mad(peer(0), &get, now).expect("a MAD");
    let answer = manager.poll_transmit().expect("an answer").mad;
    assert_eq!(answer[..4], [1, 7, 2, 0x81]);
    assert_eq!((answer[15], answer[17]), (9, 1));
    assert_eq!(answer[24..32], [1, 2, 0, 0, 0, 0, 0, 20]);
}

#[test]
fn a_late_refusal_of_one_copy_does_not_end_what_another_copy_has_begun() {
    let mut pair = Pair::new();
    (0..4).for_each(|_| {
        pair.connect();
    });
    pair.settle();
    let waiting = pair.events(1);
    let active = pair.connect();
    let request = pair.said(0).remove(0);
    pair.hear(1, &request);
    let late = pair.said(1).remove(0);
    pair.ends[1].destroy(waiting[0].connection, pair.now);
    pair.hear(1, &request);
    let (passive, req) = pair.requested();
    pair.accept(passive, &req);
    pair.settle();
    pair.events(0);
    pair.ends[0].confirm(active, [0; 224]).expect("a reply");
    pair.settle();
    assert_eq!(pair.event(1).kind, EventKind::Established);
    pair.hear(0, &late);
    assert_eq!(pair.ends[0].state(active), Some(State::Established));
}
