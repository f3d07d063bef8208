//! NSCC on a fabric: what one message has, what two share, and what it gains where packets are sprayed.

use fairlane_fabric::Results;

use crate::common::{complete, flows, loaded, run, star, taken};

const NSCC: &str = "congestion.algorithm=\"nscc\"";

/// What a full packet takes on the wire, time stamp and gap included, over its payload.
const WIRE: f64 = 1102.0 / 1024.0;

/// Four leaves and four spines with four hosts at each leaf, packets sprayed.
fn leaf_spine() -> String {
    let link = "{ rate = \"100Gbps\", delay = \"1us\" }";
    format!(
        "switch = {{ forwarding = \"spray\" }}\ntransport = {{ recovery = \"selective-repeat\" }}\n\
         topology = {{ kind = \"leaf-spine\", leaves = 4, spines = 4, hosts_per_leaf = 4, \
         host_link = {link}, fabric_link = {link} }}\n"
    )
}

fn dumbbell() -> String {
    let link = "{ rate = \"100Gbps\", delay = \"1us\" }";
    format!(
        "topology = {{ kind = \"dumbbell\", left = 2, right = 2, host_link = {link}, core_link = {link} }}\n"
    )
}

#[test]
fn a_message_alone_has_its_link() {
    for (topology, destination) in [(star(2), 1), (dumbbell(), 2), (leaf_spine(), 5)] {
        let text = topology + &flows(&[(0, destination, 10_000_000, "0ns")]);
        for scope in ["qp", "pair", "tenant"] {
            let scope = format!("congestion.scope=\"{scope}\"");
            let results = complete(&loaded(&text, &[NSCC, &scope]));
            let used = results.messages[0].ideal.as_ps() as f64 / taken(&results, 0) as f64;
            assert!(used > 0.97, "{scope}, {destination}: {used}");
        }
    }
}

/// Bytes that each message has had confirmed by `end`.
fn confirmed(text: &str, scope: &str, end: &str) -> Vec<f64> {
    let (scope, end) = (
        format!("congestion.scope=\"{scope}\""),
        format!("stop=\"{end}\""),
    );
    let results = run(&loaded(text, &[NSCC, &scope, &end]));
    let mut all: Vec<_> = results.messages.iter().collect();
    all.sort_by_key(|message| message.source);
    all.iter().map(|one| one.acknowledged.as_f64()).collect()
}

#[test]
fn two_come_to_equal_shares_of_a_full_link() {
    let list = [(0, 2, 100_000_000, "0ns"), (1, 3, 100_000_000, "300us")];
    let text = dumbbell() + &flows(&list);
    for scope in ["qp", "pair", "tenant"] {
        let (before, after) = (
            confirmed(&text, scope, "1ms"),
            confirmed(&text, scope, "3ms"),
        );
        let had: Vec<f64> = before.iter().zip(&after).map(|(b, a)| a - b).collect();
        let all = had[0] + had[1];
        assert!(all > 0.97 * 25_000_000.0 / WIRE, "{scope}: {had:?}");
        let share = had[0] / all;
        assert!((0.45..=0.55).contains(&share), "{scope}: {share}");
    }
}

/// So many hosts of a star send 1 MB each to one, without pauses.
fn incast(degree: u32, sets: &[&str]) -> Results {
    let list: Vec<_> = (0..degree)
        .map(|host| (host, degree, 1_000_000, "0ns"))
        .collect();
    let text = star(degree + 1) + &flows(&list);
    let mut all = vec![NSCC, "switch.pfc.enabled=false"];
    all.extend(sets);
    complete(&loaded(&text, &all))
}

#[test]
fn an_incast_loses_nothing_without_pauses_and_keeps_its_link_busy() {
    for degree in [2, 8, 32] {
        let results = incast(degree, &[]);
        assert_eq!(results.totals.dropped.packets, 0, "{degree}");
        // No more than the first windows, of 1.5 bandwidth-delay products of payload.
        let first = results.totals.bdp.as_f64() * 1.5 * f64::from(degree) * WIRE;
        let deepest = results.totals.queue_max.as_f64();
        assert!(deepest <= first, "{degree}: {deepest} {first}");
        let ideal = f64::from(degree) * 1e6 * 8.0 / 100e9 * WIRE;
        let end = results.totals.end.as_ps() as f64 * 1e-12;
        assert!(end < 1.05 * ideal, "{degree}: {end} {ideal}");
    }
}

#[test]
fn messages_of_an_incast_end_together() {
    let results = incast(8, &[]);
    let times: Vec<f64> = (0..8).map(|at| taken(&results, at) as f64).collect();
    let (least, most) = times
        .iter()
        .fold((f64::MAX, 0.0), |(l, m): (f64, f64), &t| {
            (l.min(t), m.max(t))
        });
    assert!(least > 0.7 * most, "{times:?}");
}

#[test]
fn a_sprayed_permutation_is_about_as_fast_as_without_control() {
    let text = leaf_spine() + "[[workload]]\nkind = \"permutation\"\nsize = \"4MB\"\n";
    let last = |sets: &[&str]| {
        let results = complete(&loaded(&text, sets));
        let all = (0..16).map(|at| taken(&results, at));
        (all.max().unwrap() as f64, results.totals.queue_max.get())
    };
    let (sprayed, queue) = last(&[NSCC]);
    let (free, deep) = last(&["congestion.algorithm=\"fixed\""]);
    let (hashed, _) = last(&[NSCC, "switch.forwarding=\"ecmp\""]);
    assert!(sprayed < 1.1 * free, "{sprayed} {free}");
    assert!(sprayed < 0.6 * hashed, "{sprayed} {hashed}");
    assert!(queue * 2 < deep, "{queue} {deep}");
}
