//! Direct apportioning in virtual time: what it promises.

use fairlane_congestion::dasr::{Mode, Params};
use fairlane_units::{Bytes, Rate, TenantId};
use proptest::prelude::*;

use crate::common::incast::{Flow, Net, STAR, Says, WIRE, at, fair, in_rtts, rtts};

fn cases(count: u32) -> ProptestConfig {
    ProptestConfig {
        cases: count,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// So many endless senders that begin within a round trip.
fn crowd(count: usize) -> Vec<Flow> {
    (0..count)
        .map(|at_once| Flow::endless(at(at_once as f64 * 0.31 % 1.0)))
        .collect()
}

/// Rates that fill the link of `params`, of senders with these limits.
fn max_min(limits: &[Rate]) -> Vec<Rate> {
    let mut sorted: Vec<f64> = limits.iter().map(|rate| rate.as_f64()).collect();
    sorted.sort_by(f64::total_cmp);
    let mut left = fair(limits.len()).as_f64() * limits.len() as f64;
    let mut level = f64::INFINITY;
    for (full, &limit) in sorted.iter().enumerate() {
        let open = left / (sorted.len() - full) as f64;
        if limit > open {
            level = open;
            break;
        }
        left -= limit;
    }
    let rate = |limit: &Rate| Rate::from_bps(limit.as_f64().min(level) as u64);
    limits.iter().map(rate).collect()
}

/// A packet in parts of what the link carries in 200 round trips: by so much equal rates differ, as packets are counted whole.
fn one_packet() -> f64 {
    WIRE.as_f64() / STAR.line_rate.bytes_in(rtts(200.0)).as_f64()
}

/// Goodput of each sender over 200 round trips after 100, in parts of what the link carries.
fn goodputs(params: &Params, tenants: &[(TenantId, f64)], flows: &[Flow], loss: f64) -> Vec<f64> {
    let mut net = Net::new(params, tenants, flows, loss);
    net.run(at(100.0));
    let before = net.arrived.clone();
    net.run(at(300.0));
    let most = STAR.line_rate.bytes_in(rtts(200.0)).as_f64() / 1.048;
    let gained = net.arrived.iter().zip(before);
    gained.map(|(is, was)| (is - was) as f64 / most).collect()
}

proptest! {
    #![proptest_config(cases(48))]

    /// k joins: the first burst of each, and what they and those who were there send at shares that are out of date. Those
    /// live for a round trip, the time that the first bursts stand in the queue, and a packet time.
    #[test]
    fn joins_queue_their_first_bursts_and_a_logarithm(
        (n, k) in (1_usize..25, 1_usize..17),
        spread in prop_oneof![Just(0.0), 0.0..1.0],
    ) {
        let mut flows = crowd(n);
        let joins = (0..k).map(|one| Flow::endless(at(150.0 + spread * one as f64 / k as f64)));
        flows.extend(joins);
        let mut net = Net::new(&Params::of(Mode::DemandAware), &[], &flows, 0.0);
        net.run(at(145.0));
        net.queue = Bytes::ZERO;
        net.run(at(150.0));
        let before = net.queue.as_f64();
        net.run(at(250.0));
        let (line, wire) = (STAR.line_rate.as_f64() / 8.0, WIRE.as_f64());
        let (bursts, all) = (k as f64 * STAR.bdp.as_f64() / 2.0, (n + k) as f64);
        let feedback = STAR.base_rtt.as_secs_f64() + (bursts + all * wire) / line;
        let stale = line * (all / n as f64).ln() * feedback;
        let bound = before + bursts + stale + all * wire;
        prop_assert!(net.queue.as_f64() <= bound, "{} of {bound}", net.queue);
        // All but one burst come while the link carries that.
        let least = 14.0 * wire * (k - 1) as f64 * 0.9;
        prop_assert!(spread > 0.0 || net.queue.as_f64() >= least, "{} of {least}", net.queue);
    }

    /// A packet is 1048 bytes, of which 28 fit into a round trip.
    #[test]
    fn whoever_joins_has_its_share_after_two_round_trips(
        n in 2_usize..=28,
        phase in 0.0..1.0,
        mode in prop_oneof![Just(Mode::Count), Just(Mode::Weighted), Just(Mode::DemandAware)],
    ) {
        let start = at(150.0 + phase);
        let mut flows = crowd(n - 1);
        flows.push(Flow::endless(start));
        let mut net = Net::new(&Params::of(mode), &[], &flows, 0.0);
        net.run(at(200.0));
        let settled = net.settled(start, |_| Some(fair(n)), 0.1);
        let took = in_rtts(settled.saturating_since(start));
        prop_assert!((0.9..=2.0).contains(&took), "{took} round trips");
    }

    #[test]
    fn after_a_leave_the_others_have_their_shares_within_two_round_trips(
        n in 2_usize..=28,
        size in 100_000_u64..400_000,
    ) {
        let mut flows = crowd(n);
        flows[n - 1].bytes = size;
        let mut net = Net::new(&Params::of(Mode::DemandAware), &[], &flows, 0.0);
        net.run(at(3000.0));
        prop_assert!(net.finished[n - 1].is_some());
        let left = net.last_departure[n - 1];
        let others = |sender| (sender < n - 1).then(|| fair(n - 1));
        let took = in_rtts(net.settled(left, others, 0.1).saturating_since(left));
        // For n above 10 nobody's share changes by a tenth.
        prop_assert!(took <= 2.0 && (n > 10 || took >= 0.9), "{took} round trips");
    }

    #[test]
    fn senders_that_cannot_use_their_part_leave_it_to_others(
        limits in proptest::collection::vec(prop_oneof![Just(1.0), 0.02..0.2], 2..20),
        phase in 0.0..1.0,
    ) {
        let limits: Vec<Rate> = limits.iter().map(|&part| STAR.line_rate.scale(part)).collect();
        let last = limits.len() - 1;
        let start = at(150.0 + phase);
        let mut flows = crowd(limits.len());
        flows[last].start = start;
        for (flow, &limit) in flows.iter_mut().zip(&limits) {
            flow.limit = limit;
        }
        let rates = max_min(&limits);
        let mut net = Net::new(&Params::of(Mode::DemandAware), &[], &flows, 0.0);
        net.run(at(200.0));
        let settled = net.settled(start, |sender| Some(rates[sender]), 0.1);
        let took = in_rtts(settled.saturating_since(start));
        prop_assert!(took <= 2.0, "{took} round trips");
    }

    #[test]
    fn lost_acknowledgements_delay_shares_but_stop_nobody(n in 2_usize..=28, phase in 0.0..1.0) {
        let start = at(150.0 + phase);
        let mut flows = crowd(n - 1);
        flows.push(Flow::endless(start));
        let mut net = Net::new(&Params::of(Mode::DemandAware), &[], &flows, 0.1);
        net.run(at(300.0));
        let settled = net.settled(start, |_| Some(fair(n)), 0.1);
        let took = in_rtts(settled.saturating_since(start));
        prop_assert!(took <= 6.0, "{took} round trips");
        prop_assert_eq!(net.timeouts, 0);
        let goodput: f64 = goodputs(&Params::of(Mode::DemandAware), &[], &crowd(n), 0.1).iter().sum();
        prop_assert!((0.9..=1.001).contains(&goodput), "{goodput}");
    }

    /// What the liar can use is a part of its fair one.
    #[test]
    fn who_asks_for_more_than_it_can_use_gets_no_more(n in 2_usize..13, part in 0.1..0.9) {
        let mut flows = crowd(n);
        flows[0].limit = fair(n).scale(part);
        let honest = goodputs(&Params::of(Mode::DemandAware), &[], &flows, 0.0);
        flows[0].says = Says::Units(u16::MAX);
        let lying = goodputs(&Params::of(Mode::DemandAware), &[], &flows, 0.0);
        let count = goodputs(&Params::of(Mode::Count), &[], &flows, 0.0);
        let most = 1.02 * honest[0] + one_packet();
        prop_assert!(lying[0] <= most, "{} of {most}", lying[0]);
        for other in 1..n {
            prop_assert!(lying[other] >= 0.98 * count[other], "{lying:?}, {count:?}");
            prop_assert!(honest[other] >= 1.0 / n as f64, "{honest:?}");
        }
    }

    /// Whether it keeps to that, or sends what it is told it could.
    #[test]
    fn who_asks_for_less_hurts_only_itself(
        n in 2_usize..13,
        part in 0.05..0.9,
        keeps in any::<bool>(),
    ) {
        let mut flows = crowd(n);
        let claimed = fair(n).scale(part);
        let units = claimed.as_f64() / STAR.line_rate.as_f64() * 65535.0;
        flows[0].says = Says::Units(units as u16);
        if keeps {
            flows[0].limit = claimed;
        }
        let goodputs = goodputs(&Params::of(Mode::DemandAware), &[], &flows, 0.0);
        let equal = 1.0 / n as f64;
        prop_assert!(goodputs[0] <= 1.05 * equal, "{goodputs:?}");
        let most = 1.02 * part * equal + one_packet();
        prop_assert!(!keeps || goodputs[0] <= most, "{goodputs:?}");
        for other in &goodputs[1..] {
            prop_assert!(*other >= 0.95 * equal, "{goodputs:?}");
        }
        let all: f64 = goodputs.iter().sum();
        prop_assert!(all >= 0.98, "{goodputs:?}");
    }
}

/// All are told that there is room which isn't there.
#[test]
fn a_queue_of_those_that_ask_for_less_than_they_send_drains() {
    let mut flows = crowd(8);
    flows[2..]
        .iter_mut()
        .for_each(|flow| flow.says = Says::Units(600));
    let mut net = Net::new(&Params::of(Mode::DemandAware), &[], &flows, 0.0);
    net.run(at(20.0));
    let early = core::mem::take(&mut net.queue);
    net.run(at(200.0));
    net.queue = Bytes::ZERO;
    net.run(at(400.0));
    assert!(early > STAR.bdp * 2, "{early}");
    assert!(net.queue < STAR.bdp / 2, "{}", net.queue);
}

#[test]
fn tenants_have_their_weights_however_many_senders() {
    for (weights, first) in [([1.0, 1.0], 0.5), ([1.0, 3.0], 0.25), ([4.0, 1.0], 0.8)] {
        let mut flows = crowd(16);
        flows[1..].iter_mut().for_each(|flow| flow.tenant = 1);
        let tenants = [0, 1].map(|tenant| (TenantId::new(tenant), weights[tenant as usize]));
        for mode in [Mode::Weighted, Mode::DemandAware, Mode::Measured] {
            let goodputs = goodputs(&Params::of(mode), &tenants, &flows, 0.0);
            let close = |is: f64, should: f64| (is / should - 1.0).abs() < 0.05;
            assert!(close(goodputs[0], first), "{mode}: {goodputs:?}");
            for other in &goodputs[1..] {
                assert!(close(*other, (1.0 - first) / 15.0), "{mode}: {goodputs:?}");
            }
        }
        let equal = goodputs(&Params::of(Mode::Count), &tenants, &flows, 0.0);
        assert!((equal[0] * 16.0 - 1.0).abs() < 0.05, "{equal:?}");
    }
}

#[test]
fn what_foreign_senders_do_not_use_is_measured() {
    let mut flows = crowd(16);
    for flow in &mut flows {
        flow.says = Says::Nothing;
    }
    for flow in &mut flows[..8] {
        flow.limit = STAR.line_rate.scale(0.02);
    }
    let all = |mode| {
        goodputs(&Params::of(mode), &[], &flows, 0.0)
            .iter()
            .sum::<f64>()
    };
    let (count, measured) = (all(Mode::Count), all(Mode::Measured));
    assert!((0.6..0.7).contains(&count), "{count}");
    assert!(measured > 0.93, "{measured}");
}

#[test]
fn short_messages_first_halve_the_median_and_keep_the_last() {
    let ends = |mode| {
        let flows: Vec<Flow> = (0..16)
            .map(|one| Flow::of(256_000, at(one as f64 * 0.31 % 1.0)))
            .collect();
        let mut net = Net::new(&Params::of(mode), &[], &flows, 0.0);
        net.run(at(1000.0));
        let mut ends: Vec<f64> = net
            .finished
            .iter()
            .map(|end| in_rtts(end.expect("all end").saturating_since(at(0.0))))
            .collect();
        ends.sort_by(f64::total_cmp);
        assert_eq!(net.timeouts, 0);
        (ends[7], ends[15])
    };
    let (equal, shortest) = (ends(Mode::DemandAware), ends(Mode::ShortestFirst));
    assert!(shortest.0 < 0.7 * equal.0, "{shortest:?}, {equal:?}");
    assert!(shortest.1 < 1.1 * equal.1, "{shortest:?}, {equal:?}");
}
