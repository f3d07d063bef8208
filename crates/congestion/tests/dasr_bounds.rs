//! Direct apportioning: what holds after any sequence of packets, and what a single sender does.

use fairlane_congestion::dasr::{
    Data, Declared, DestinationId, Load, Mode, Params, Part, Peer, Receiver, Sender,
};
use fairlane_congestion::scope::{Grant, Share};
use fairlane_congestion::{Parameters, Rule};
use fairlane_units::{Bytes, Duration, HostId, Rate, TenantId, Time};
use proptest::prelude::*;

use crate::common::incast::{STAR, WIRE, at};

const LINE: Rate = STAR.line_rate;
const PAYLOAD: Bytes = Bytes::new(1000);

fn tenants() -> [(TenantId, f64); 3] {
    [(0, 1.0), (1, 2.5), (7, 0.25)].map(|(tenant, weight)| (TenantId::new(tenant), weight))
}

fn peer(tenant: u32, host: u32) -> Peer {
    Peer {
        tenant: TenantId::new(tenant),
        host: HostId::new(host),
        line_rate: LINE,
    }
}

fn data(part: Part, demand: Option<u16>) -> Data {
    Data {
        via: 0,
        wire: WIRE,
        part,
        demand,
        backlog: demand.map(|units| u32::from(units) * 100),
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Data(Peer, Part, Option<u16>),
    Close(Peer),
    Wait(u64),
    Deadline,
}

fn step() -> impl Strategy<Value = Step> {
    let peers = || (0_u32..9, 0_u32..40).prop_map(|(tenant, host)| peer(tenant, host));
    let parts = prop_oneof![
        Just(Part::First),
        Just(Part::Middle),
        Just(Part::Last),
        Just(Part::Only),
        Just(Part::Other),
    ];
    prop_oneof![
        8 => (peers(), parts, any::<Option<u16>>())
            .prop_map(|(peer, part, demand)| Step::Data(peer, part, demand)),
        1 => peers().prop_map(Step::Close),
        3 => (0_u64..3000).prop_map(Step::Wait),
        1 => Just(Step::Deadline),
    ]
}

fn mode() -> impl Strategy<Value = Mode> {
    let dividing = Mode::ALL.into_iter().filter(|mode| mode.divides());
    proptest::sample::select(dividing.collect::<Vec<Mode>>())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn shares_never_exceed_the_link_nor_rows_their_bound(
        mode in mode(),
        eta in 0.5..=1.0,
        rows in 1_u32..40,
        steps in proptest::collection::vec(step(), 1..200),
    ) {
        let params = Params { eta, draining: 0.98 * eta, rows, ..Params::of(mode) };
        let mut receiver = Receiver::new(&params, &STAR, &tenants());
        let divided = LINE.scale(eta);
        let mut now = at(1.0);
        for step in steps {
            match step {
                Step::Data(peer, part, demand) => {
                    receiver.on_data(now, peer, data(part, demand));
                }
                Step::Close(peer) => receiver.close(now, peer.tenant, peer.host),
                Step::Wait(ns) => now += Duration::from_ns(ns),
                Step::Deadline => if let Some(due) = receiver.deadline() {
                    now = now.max(due);
                    receiver.on_deadline(now);
                    prop_assert!(receiver.deadline().is_none_or(|next| next > now));
                },
            }
            // Without share no row can do: the least is a bit per second.
            let least = Rate::from_bps(receiver.senders() as u64);
            prop_assert!(receiver.apportioned() <= divided + least, "{}", receiver.apportioned());
            // Each of four kinds of tenants has at least one.
            prop_assert!(receiver.senders() <= rows.max(4) as usize);
            let pushes = std::iter::from_fn(|| receiver.poll_push(now)).count();
            prop_assert!(pushes <= receiver.senders());
        }
        // Everybody is forgotten after a silence: the least share of this line takes 10 ms for a packet.
        for _ in 0..20_000 {
            let Some(due) = receiver.deadline() else {
                break;
            };
            receiver.on_deadline(due);
            while receiver.poll_push(due).is_some() {}
        }
        prop_assert_eq!(receiver.senders(), 0);
        prop_assert_eq!(receiver.deadline(), None);
    }

    #[test]
    fn the_link_is_used_as_far_as_demands_go(
        mode in mode(),
        demands in proptest::collection::vec((0_u32..9, 1_u16..), 1..28),
    ) {
        let params = Params::of(mode);
        let mut receiver = Receiver::new(&params, &STAR, &tenants());
        for (host, &(tenant, demand)) in (0..).zip(&demands) {
            receiver.on_data(at(1.0), peer(tenant, host), data(Part::First, Some(demand)));
        }
        let parts: f64 = demands.iter().map(|&(_, demand)| f64::from(demand) / 65535.0).sum();
        let heeded = !matches!(mode, Mode::Count | Mode::Weighted);
        let wanted = if heeded { LINE.scale(parts) } else { LINE };
        // The link drains the bursts of those that have just joined.
        let part = receiver.apportioned().as_f64() / wanted.min(LINE.scale(0.98)).as_f64();
        prop_assert!(part > 0.999, "{part}");
    }
}

#[test]
fn whoever_finds_no_room_is_told_the_least_and_waits() {
    let params = Params {
        rows: 8,
        ..Params::of(Mode::DemandAware)
    };
    // Three tenants, and all others together, have two rows each.
    let mut receiver = Receiver::new(&params, &STAR, &tenants());
    let first = data(Part::First, Some(u16::MAX));
    for host in 0..3 {
        receiver.on_data(at(1.0), peer(0, host), first);
    }
    assert_eq!((receiver.senders(), receiver.turned_away()), (2, 1));
    // Another tenant has what is its own.
    let share = receiver.on_data(at(1.0), peer(1, 9), first);
    assert!(share.of(LINE) > LINE / 2);
    let share = receiver.on_data(at(1.0), peer(0, 2), first);
    assert_eq!(share, Share::LEAST);
    receiver.on_data(at(1.1), peer(0, 0), data(Part::Last, Some(0)));
    let share = receiver.on_data(at(1.2), peer(0, 2), data(Part::Middle, Some(u16::MAX)));
    assert!(share.of(LINE) > LINE / 10);
}

#[test]
fn a_sender_that_is_not_heard_is_told_of_its_share() {
    let mut receiver = Receiver::new(&Params::of(Mode::DemandAware), &STAR, &[]);
    let first = data(Part::First, Some(u16::MAX));
    receiver.on_data(at(0.0), peer(0, 1), first);
    receiver.on_data(at(0.2), peer(0, 2), first);
    assert_eq!(receiver.poll_push(at(0.2)), None);
    // Half a round trip after it was heard.
    let due = receiver.deadline().expect("somebody must be told");
    assert!(due >= at(0.5) && due < at(0.7), "{due}");
    receiver.on_deadline(due);
    let push = receiver.poll_push(due).expect("its share has halved");
    assert_eq!(push.peer.host, HostId::new(1));
    assert!(push.share.of(LINE) <= LINE / 2);
    assert_eq!(receiver.poll_push(due), None);
}

#[test]
fn silence_ends_after_four_round_trips_or_packet_times() {
    for (others, least, most) in [(1_u32, 4.0, 4.3), (60, 8.6, 9.2)] {
        let mut receiver = Receiver::new(&Params::of(Mode::DemandAware), &STAR, &[]);
        for host in 0..=others {
            receiver.on_data(at(0.0), peer(0, host), data(Part::First, Some(u16::MAX)));
        }
        let mut now = Time::ZERO;
        while receiver.senders() > 0 {
            now = receiver.deadline().expect("somebody is to leave");
            receiver.on_deadline(now);
            while receiver.poll_push(now).is_some() {}
        }
        // Who is told of its share may take four packet times of that.
        assert!((at(least)..at(most)).contains(&now), "{now}");
    }
}

#[test]
fn demand_that_changes_with_every_packet_is_heeded_now_and_then() {
    let mut receiver = Receiver::new(&Params::of(Mode::DemandAware), &STAR, &[]);
    let mut now = at(0.0);
    receiver.on_data(now, peer(0, 1), data(Part::First, Some(u16::MAX)));
    receiver.on_data(now, peer(0, 2), data(Part::First, Some(29_000)));
    let (mut changes, mut before) = (0, receiver.share(peer(0, 1)));
    for packet in 0..1000 {
        now += WIRE.serialization(LINE / 65_535 * 29_000);
        let demand = if packet % 3 == 0 { 20_000 } else { 29_000 };
        receiver.on_data(now, peer(0, 2), data(Part::Middle, Some(demand)));
        let share = receiver.share(peer(0, 1));
        changes += u32::from(share != before);
        before = share;
    }
    // 79 round trips.
    assert!((79..=8 * 79).contains(&changes), "{changes}");
}

/// A card that has so much to send to each of some receivers.
fn card(receivers: u32, payload: u64) -> (Sender, Vec<DestinationId>) {
    let mut sender = Sender::new(&Params::of(Mode::DemandAware), &STAR);
    let ids: Vec<DestinationId> = (0..receivers)
        .map(|host| sender.open(at(0.0), TenantId::new(0), HostId::new(host), &STAR))
        .collect();
    for &id in &ids {
        sender.on_posted(id, Bytes::new(payload));
    }
    (sender, ids)
}

fn share(rate: Rate) -> Grant {
    Grant::Share(Share::from_rate(rate, LINE))
}

/// Sends as much as may leave, back to back from `now` on; how many packets.
fn burst(sender: &mut Sender, id: DestinationId, now: Time) -> u64 {
    let (mut now, mut count) = (now, 0);
    while let Some(due) = sender.available(now, id, PAYLOAD) {
        if due > now + WIRE.serialization(LINE) {
            break;
        }
        now = now.max(due);
        sender.on_sent(now, id, (WIRE, PAYLOAD));
        count += 1;
    }
    count
}

#[test]
fn a_sender_begins_with_half_a_product_at_line_rate() {
    let (mut sender, ids) = card(1, 1_000_000);
    assert_eq!((sender.rate(ids[0]), sender.share(ids[0])), (LINE, None));
    assert_eq!(burst(&mut sender, ids[0], at(0.0)), 15);
}

#[test]
fn a_window_without_shares_follows_the_rate_of_controllers() {
    let mut sender = Sender::new(&Params::of(Mode::Window), &STAR);
    let id = sender.open(at(0.0), TenantId::new(0), HostId::new(0), &STAR);
    sender.on_posted(id, Bytes::new(1_000_000));
    assert_eq!(burst(&mut sender, id, at(0.0)), 15);
    sender.on_share(at(1.0), id, Grant::Free);
    // One and a half products of 30.1 KB may be in flight, and at a tenth of the rate a tenth of that: not even what is.
    assert_eq!(burst(&mut sender, id, at(2.0)), 46 - 15);
    sender.set_limit(id, LINE / 10);
    sender.on_acknowledged(id, PAYLOAD * 40);
    assert_eq!(sender.available(at(20.0), id, PAYLOAD), None);
    sender.on_acknowledged(id, PAYLOAD * 2);
    assert_eq!(burst(&mut sender, id, at(21.0)), 1);
}

#[test]
fn loads_count_as_what_changed_them_would() {
    let (mut one, ids) = card(1, 0);
    let (mut other, _) = card(1, 0);
    let load = |in_flight, backlog| Load {
        in_flight: Bytes::new(in_flight),
        backlog: Bytes::new(backlog),
    };
    let id = ids[0];
    one.on_posted(id, Bytes::new(9000));
    one.on_sent(at(1.0), id, (WIRE, PAYLOAD));
    one.on_acknowledged(id, Bytes::new(600));
    one.on_rewound(id, Bytes::new(400));
    other.on_load(id, Load::default(), load(0, 9000));
    other.on_sent(at(1.0), id, (WIRE, PAYLOAD));
    other.on_rewound(id, Bytes::ZERO);
    other.on_load(id, load(1000, 8000), load(0, 8400));
    assert_eq!(one.declare(id), other.declare(id));
    let available = |sender: &mut Sender| sender.available(at(2.0), id, PAYLOAD);
    assert_eq!(available(&mut one), available(&mut other));
}

#[test]
fn a_share_moves_the_next_packet_from_the_last_departure() {
    let (mut sender, ids) = card(1, 1_000_000);
    sender.on_share(at(0.0), ids[0], share(LINE / 100));
    sender.on_sent(at(1.0), ids[0], (WIRE, PAYLOAD));
    sender.on_acknowledged(ids[0], PAYLOAD);
    let slow = sender.available(at(1.1), ids[0], PAYLOAD);
    assert!(slow > Some(at(1.0) + WIRE.serialization(LINE / 100)));
    assert!(sender.on_share(at(1.2), ids[0], share(LINE / 2)));
    let fast = sender
        .available(at(1.2), ids[0], PAYLOAD)
        .expect("one may go");
    let exact = at(1.0) + WIRE.serialization(LINE / 2);
    assert!(
        fast >= exact && fast < exact + Duration::from_ns(1),
        "{fast}"
    );
    assert!(!sender.on_share(at(1.3), ids[0], share(LINE / 2)));
}

#[test]
fn the_window_is_one_and_a_half_of_the_share_but_a_packet_at_least() {
    for (part, packets) in [(2, 23), (10, 5), (28, 2), (64, 1)] {
        let (mut sender, ids) = card(1, 1_000_000);
        sender.on_share(at(0.0), ids[0], share(LINE / part));
        let mut now = at(0.0);
        let mut count = 0;
        while let Some(due) = sender.available(now, ids[0], PAYLOAD) {
            now = now.max(due);
            sender.on_sent(now, ids[0], (WIRE, PAYLOAD));
            // It has been heard since it began, so the first burst is no limit.
            sender.on_share(now, ids[0], share(LINE / part));
            count += 1;
        }
        assert_eq!(count, packets, "a share of a {part}th");
    }
}

/// Sends for 100 round trips as the share and the window let it, while acknowledgements come back at `carried`; what it declares then,
/// as a part of its line.
fn declared_behind(carried: Rate, allowed: Rate) -> f64 {
    let (mut sender, ids) = card(1, 100_000_000);
    let id = ids[0];
    let mut arrivals = std::collections::VecDeque::new();
    let (mut now, mut busy_until, mut said) = (at(0.0), at(0.0), 0);
    sender.on_share(now, id, share(allowed));
    while now < at(100.0) {
        let due = sender.available(now, id, PAYLOAD);
        let reply = arrivals.front().copied();
        match (due, reply) {
            (due, Some(reply)) if due.is_none_or(|due| due.max(now) >= reply) => {
                arrivals.pop_front();
                now = reply;
                sender.on_acknowledged(id, PAYLOAD);
                sender.on_share(now, id, share(allowed));
            }
            (Some(due), _) => {
                now = now.max(due);
                sender.on_sent(now, id, (WIRE, PAYLOAD));
                said = sender.declare(id).demand;
                busy_until = now.max(busy_until) + WIRE.serialization(carried);
                arrivals.push_back(busy_until + STAR.base_rtt);
            }
            (None, None) => unreachable!("one packet may always be in flight"),
            (None, Some(_)) => unreachable!("a reply is taken if nothing may leave"),
        }
    }
    f64::from(said) / f64::from(u16::MAX)
}

#[test]
fn a_sender_that_waits_for_its_window_declares_what_it_gets() {
    for part in [3, 5, 9] {
        let found = declared_behind(LINE / 2 / part, LINE / 2) * 2.0 * part as f64;
        assert!((1.0..1.1).contains(&found), "a {part}th: {found}");
    }
    // It can't be told from bursts of others in front of the receiver, or isn't there.
    for rate in [LINE / 2, LINE] {
        assert_eq!(declared_behind(rate, LINE / 2), 1.0, "{rate}");
    }
}

#[test]
fn an_idle_sender_forgets_its_share_when_its_receiver_has_forgotten_it() {
    let idle = |after: f64| {
        let (mut sender, ids) = card(1, 1_000_000);
        sender.on_share(at(0.0), ids[0], share(LINE / 2));
        sender.on_sent(at(0.0), ids[0], (WIRE, PAYLOAD));
        sender.on_acknowledged(ids[0], PAYLOAD);
        let sent = burst(&mut sender, ids[0], at(after));
        (sent, sender.share(ids[0]).is_some())
    };
    // Pacing at half the line lets one go; later all of a first burst goes.
    assert_eq!(idle(3.9), (1, true));
    assert_eq!(idle(4.1), (15, false));
}

#[test]
fn a_sender_that_comes_back_has_no_more_than_a_first_burst_under_way() {
    let (mut sender, ids) = card(1, 1_000_000);
    sender.on_share(at(0.0), ids[0], share(LINE));
    assert_eq!(burst(&mut sender, ids[0], at(0.5)), 15);
    sender.on_share(at(0.9), ids[0], share(LINE));
    assert!(burst(&mut sender, ids[0], at(1.0)) > 10);
}

#[test]
fn a_sender_that_comes_back_may_have_more_under_way_than_a_stranger() {
    let params = Params {
        first_burst: 0.25,
        return_burst: 0.75,
        ..Params::of(Mode::DemandAware)
    };
    let mut sender = Sender::new(&params, &STAR);
    let id = sender.open(at(0.0), TenantId::new(0), HostId::new(0), &STAR);
    sender.on_posted(id, Bytes::new(1_000_000));
    // A bandwidth-delay product is 30 packets.
    assert_eq!(burst(&mut sender, id, at(0.0)), 7);
    sender.on_acknowledged(id, PAYLOAD * 7);
    sender.on_share(at(1.0), id, share(LINE));
    assert_eq!(burst(&mut sender, id, at(2.0)), 22);
    // Forgotten, it is a stranger again.
    sender.on_acknowledged(id, PAYLOAD * 22);
    assert_eq!(burst(&mut sender, id, at(20.0)), 7);
}

#[test]
fn after_a_loss_packets_go_one_by_one_until_something_is_heard() {
    let (mut sender, ids) = card(1, 1_000_000);
    let sent = burst(&mut sender, ids[0], at(0.0));
    sender.on_rewound(ids[0], PAYLOAD * sent);
    assert_eq!(burst(&mut sender, ids[0], at(250.0)), 1);
    sender.on_share(at(251.0), ids[0], Grant::Free);
    assert!(burst(&mut sender, ids[0], at(251.0)) > 20);
}

#[test]
fn demand_is_what_could_be_used() {
    let (mut sender, ids) = card(3, 1_000_000);
    let units = |part: f64| (part * 65535.0).ceil() as u16;
    let demand = |sender: &mut Sender, id| sender.declare(id).demand;
    // Nobody knows a share: each could have a third.
    assert!(demand(&mut sender, ids[0]).abs_diff(units(1.0 / 3.0)) <= 1);
    // Two are held to a tenth by their receivers.
    sender.on_share(at(0.0), ids[0], share(LINE / 10));
    sender.on_share(at(0.0), ids[1], share(LINE / 10));
    assert!(demand(&mut sender, ids[2]).abs_diff(units(0.8)) <= 3);
    assert!(demand(&mut sender, ids[0]).abs_diff(units(0.45)) <= 3);
    sender.set_limit(ids[2], LINE / 20);
    assert_eq!(demand(&mut sender, ids[2]), units(0.05));
    assert!(demand(&mut sender, ids[0]).abs_diff(units(0.85)) <= 3);
    // The last packet says that nothing follows.
    sender.on_sent(at(1.0), ids[0], (WIRE, Bytes::new(1_000_000)));
    let nothing = Declared {
        demand: 0,
        backlog: 0,
    };
    assert_eq!(sender.declare(ids[0]), nothing);
    sender.on_rewound(ids[0], PAYLOAD);
    assert_eq!(sender.declare(ids[0]).backlog, 1000);
    assert!(demand(&mut sender, ids[0]) > 0);
}

#[test]
fn a_card_remembers_so_many_receivers_that_it_has_no_queue_pairs_to() {
    let params = Params::of(Mode::DemandAware);
    let mut sender = Sender::new(&params, &STAR);
    let open = |sender: &mut Sender, host| {
        sender.open(at(1.0), TenantId::new(0), HostId::new(host), &STAR)
    };
    let ids: Vec<DestinationId> = (0..1200).map(|host| open(&mut sender, host)).collect();
    for (step, &id) in ids.iter().enumerate() {
        sender.on_share(at(step as f64), id, share(LINE / 7));
        sender.on_sent(at(step as f64), id, (WIRE, PAYLOAD));
    }
    for &id in &ids[..1100] {
        let in_flight = Load {
            in_flight: PAYLOAD,
            ..Load::default()
        };
        sender.close(id, in_flight);
    }
    // The latest 1,024 are remembered.
    assert_eq!(sender.destinations(), 100 + 1024);
    for (host, known) in [(0, false), (75, false), (76, true), (1099, true)] {
        let id = open(&mut sender, host);
        assert_eq!(sender.share(id).is_some(), known, "{host}");
        sender.close(id, Load::default());
    }
}

#[test]
fn defaults_satisfy_their_limits_and_others_do_not() {
    let broken = |params: &Params| {
        let limits = params.limits().into_iter();
        let broken = |rule: Rule| match rule {
            Rule::Within { value, low, high } => !(low..=high).contains(&value),
            Rule::Count { value, low, high } => !(low..=high).contains(&value),
            Rule::Holds { holds, .. } => !holds,
            _ => false,
        };
        let keys = limits.filter(|limit| broken(limit.rule));
        keys.map(|limit| limit.key).collect::<Vec<_>>()
    };
    let usual = Params::of(Mode::DemandAware);
    assert!(broken(&usual).is_empty());
    let eta = Params { eta: 0.9, ..usual };
    assert_eq!(broken(&eta), ["draining"]);
    let tolerance = Params {
        tolerance: 0.06,
        ..usual
    };
    assert_eq!(broken(&tolerance), ["tolerance"]);
    let nothing = Params {
        rows: 0,
        window: 0.5,
        first_burst: -1.0,
        headroom: f64::NAN,
        ..usual
    };
    let keys = ["window", "first_burst", "headroom", "rows"];
    assert_eq!(broken(&nothing), keys);
}

proptest! {
    /// Packets that leave late, since others have the port, cost a destination nothing of its share if they are late by a packet time
    /// at most, and never bring it more than a packet.
    #[test]
    fn what_a_port_is_late_is_made_up_for(
        part in 2..65_u64,
        most in prop::sample::select(vec![1.0, 1.5]),
        late in prop::collection::vec(0.0..1.0_f64, 20..200),
    ) {
        let (mut sender, ids) = card(1, 1 << 30);
        let id = ids[0];
        sender.on_share(at(0.0), id, share(LINE / part));
        // To the share's resolution.
        let interval = WIRE.serialization(sender.rate(id));
        let mut left = vec![at(1.0)];
        sender.on_sent(left[0], id, (WIRE, PAYLOAD));
        for late in late {
            let now = left[left.len() - 1];
            let due = sender.paced(id).max(now);
            let waited = Duration::from_ps((interval.as_ps() as f64 * late * most) as u64);
            sender.on_sent(due + waited, id, (WIRE, PAYLOAD));
            // The one before arrives, so that one is in flight.
            sender.on_acknowledged(id, PAYLOAD);
            left.push(due + waited);
        }
        let packets = left.len() as u64 - 1;
        if most <= 1.0 {
            let last = left[0] + interval.saturating_mul(packets + 1);
            prop_assert!(left[left.len() - 1] <= last, "{left:?}");
        }
        for (at, &from) in left.iter().enumerate() {
            for (count, &to) in (0..).zip(&left[at..]).skip(1) {
                prop_assert!(to - from >= interval.saturating_mul(count - 1), "{left:?}");
            }
        }
    }
}
