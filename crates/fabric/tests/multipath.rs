//! Messages over several paths: that they complete once and in order, what paths bring, and what happens when
//! paths die.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;

use common::{complete, drops, flows, loaded, run, taken};
use fairlane_fabric::{Ending, MultipathRecord, Outcome, Results};
use fairlane_scenario::Loaded;

/// Two leaves with a host each at 100 Gb/s, and eight spines at 10 Gb/s: eight ways between the hosts. Hosts 0 and 1,
/// leaves 2 and 3, spines 4 to 11.
const EIGHT: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 8
hosts_per_leaf = 1
host_link = { rate = "100Gbps", delay = "1us" }
fabric_link = { rate = "10Gbps", delay = "1us" }
"#;

const BALANCERS: [&str; 8] = [
    "static-even",
    "proportional",
    "completion",
    "least-delay",
    "two-choices",
    "round-robin",
    "spray",
    "reps",
];

/// Enough ports that each of eight ways has one; those that share one with another aren't used.
const MANY: &str = "multipath.paths=64";
const FIXED: &str = "congestion.algorithm=\"fixed\"";

fn scenario(traffic: &str, section: &str, sets: &[&str]) -> Loaded {
    loaded(&format!("{EIGHT}[multipath]\n{section}\n{traffic}"), sets)
}

fn with_verb(traffic: &str, verb: &str) -> String {
    traffic.replace(
        "kind = \"flows\"",
        &format!("kind = \"flows\"\nverb = \"{verb}\""),
    )
}

fn multipath(results: &Results) -> &MultipathRecord {
    results.multipath.as_ref().unwrap()
}

/// How many paths carried something.
fn used(results: &Results) -> usize {
    let paths = multipath(results).paths.iter();
    paths.filter(|path| path.chunks > 0).count()
}

#[test]
fn every_balancer_completes_every_message_once() {
    let traffic = flows(&[
        (0, 1, 3_000_001, "0ns"),
        (1, 0, 70_000, "5us"),
        (0, 1, 1, "10us"),
    ]);
    for balancer in BALANCERS {
        for verb in ["write", "read", "send"] {
            let traffic = with_verb(&traffic, verb);
            let section = format!("balancer = \"{balancer}\"");
            let results = complete(&scenario(&traffic, &section, &[]));
            let record = multipath(&results);
            let bytes: u64 = record.paths.iter().map(|path| path.bytes.get()).sum();
            assert_eq!(bytes, 3_070_002, "{balancer} {verb}");
            assert_eq!(
                (record.messages, record.again),
                (3, 0),
                "{balancer} {verb} {record:?}"
            );
            assert_eq!(record.arrived, if verb == "send" { 3 } else { 0 });
        }
    }
}

#[test]
fn eight_equal_paths_are_eight_times_as_fast() {
    let traffic = flows(&[(0, 1, 10_000_000, "0ns")]);
    let one = complete(&scenario(&traffic, "paths = 1", &[FIXED]));
    assert!(one.multipath.is_none());
    let eight = complete(&scenario(&traffic, "", &[FIXED, MANY]));
    assert_eq!(used(&eight), 8);
    let gain = taken(&one, 0) as f64 / taken(&eight, 0) as f64;
    assert!(gain > 7.4 && gain <= 8.1, "{gain}");
}

#[test]
fn a_path_that_dies_and_comes_back_loses_nothing() {
    // Routes go around the link, so that queue pairs whose way it was take another.
    let traffic = flows(&[(0, 1, 20_000_000, "0ns"), (1, 0, 20_000_000, "1us")]);
    let fault = "[[faults.link]]\nbetween = [2, 4]\ndown = \"300us\"\nup = \"1500us\"\n";
    for balancer in ["completion", "spray", "reps", "proportional"] {
        for verb in ["write", "send", "read"] {
            let traffic = with_verb(&traffic, verb);
            let section = format!("balancer = \"{balancer}\"\nfirst_timeout = \"1ms\"");
            let text = format!("{traffic}{fault}");
            let results = complete(&scenario(&text, &section, &[FIXED, MANY]));
            let record = multipath(&results);
            assert!(drops(&results, "link-down") > 0);
            if verb != "read" {
                // The host that waits for data asks again on the same queue pair.
                assert!(record.again > 0, "{balancer} {verb}");
                assert!(record.paths.iter().any(|path| path.quarantines > 0));
            }
            assert_eq!(results.messages.len(), 2);
            assert_eq!(record.arrived, if verb == "send" { 2 } else { 0 });
        }
    }
}

#[test]
fn a_message_without_any_path_fails() {
    // The only link of the receiver.
    let fault = "[[faults.link]]\nbetween = [1, 3]\ndown = \"100us\"\n";
    let traffic = flows(&[(0, 1, 10_000_000, "0ns"), (0, 1, 1000, "5us")]);
    let section = "retries = 2\nfirst_timeout = \"500us\"\ntimeout_most = \"2ms\"";
    for connections in ["message", "pair"] {
        let section = format!("{section}\nconnections = \"{connections}\"");
        let text = format!("{traffic}{fault}");
        let results = run(&scenario(&text, &section, &[FIXED]));
        assert_eq!(results.totals.ending, Ending::Failed, "{connections}");
        let failed = results.messages.iter().find(|message| message.id == 0);
        assert_eq!(failed.unwrap().outcome, Outcome::RetryExceeded);
        assert!(results.totals.end.as_ps() < 40_000_000_000);
    }
}

#[test]
fn a_pair_keeps_its_connection_and_opens_another_after_a_failure() {
    let fault = "[[faults.link]]\nbetween = [1, 3]\ndown = \"100us\"\nup = \"50ms\"\n";
    let traffic = flows(&[
        (0, 1, 1_000_000, "0ns"),
        (0, 1, 1_000_000, "1us"),
        (0, 1, 3_000_000, "60ms"),
        (0, 1, 1_000, "61ms"),
    ]);
    let section =
        "connections = \"pair\"\nretries = 2\nfirst_timeout = \"500us\"\ntimeout_most = \"2ms\"";
    for verb in ["write", "send"] {
        let text = format!("{}{fault}", with_verb(&traffic, verb));
        let results = run(&scenario(&text, section, &[FIXED]));
        let record = multipath(&results);
        assert_eq!(record.connections, 2);
        for (id, outcome) in [
            (0, Outcome::RetryExceeded),
            (1, Outcome::RetryExceeded),
            (2, Outcome::Completed),
            (3, Outcome::Completed),
        ] {
            let found = results.messages.iter().find(|message| message.id == id);
            assert_eq!(found.unwrap().outcome, outcome, "{verb} {id}");
        }
    }
}
