//! Messages over several paths: that they complete once and in order, what paths bring, and what happens when
//! paths die.

use fairlane_fabric::{Ending, MultipathRecord, Outcome, Results};
use fairlane_scenario::Loaded;

use crate::common::{complete, drops, flows, loaded, run, taken};

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
            let repeated = results.messages.iter().map(|it| it.retransmitted);
            assert!(repeated.max() > Some(0), "{balancer} {verb}");
            let given_up = record.paths.iter().any(|path| path.quarantines > 0);
            // Behind a lost packet others of its queue pair tell of it at once, unless each goes its own way. The host
            // that waits for data asks again on the same queue pair.
            if matches!(balancer, "spray" | "reps") && verb != "read" {
                assert!(given_up && record.again > 0, "{balancer} {verb}");
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
        let failed = results
            .messages
            .iter()
            .find(|message| message.id.get() == 0);
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
            let found = results
                .messages
                .iter()
                .find(|message| message.id.get() == id);
            assert_eq!(found.unwrap().outcome, outcome, "{verb} {id}");
        }
    }
}

/// A NIC that takes its time.
const SLOW_NIC: &str =
    "[nic.costs]\nprocessing = \"2us\"\ncache_entries = 4\ncache_miss = \"1us\"\n";

#[test]
fn costs_of_the_nic_slow_paths_down_and_lose_nothing() {
    let fault = "[[faults.link]]\nbetween = [2, 4]\ndown = \"300us\"\nup = \"1500us\"\n";
    for verb in ["write", "send", "read"] {
        let flows = flows(&[(0, 1, 4_000_000, "0ns"), (1, 0, 4_000_000, "1us")]);
        let traffic = with_verb(&flows, verb);
        let section = "chunk = \"8KiB\"\nfirst_timeout = \"1ms\"";
        let free = complete(&scenario(&traffic, section, &[FIXED, MANY]));
        let slow = complete(&scenario(
            &format!("{traffic}{SLOW_NIC}"),
            section,
            &[FIXED, MANY],
        ));
        assert!(taken(&slow, 0) > taken(&free, 0), "{verb}");
        let nic = &slow.nics[0];
        let chunks = 4_000_000_u64.div_ceil(8 << 10);
        assert!(
            nic.work_requests >= chunks && nic.misses > chunks / 2,
            "{nic:?}"
        );
        // 489 chunks of at least 2 us each.
        assert!(taken(&slow, 0) > chunks * 2_000_000);
        let text = format!("{traffic}{SLOW_NIC}{fault}");
        complete(&scenario(&text, section, &[FIXED, MANY]));
    }
}

#[test]
fn costs_of_software_are_charged_to_one_thread() {
    // One chunk at a time: each costs a post, a split, its way and a poll.
    let traffic = flows(&[(0, 1, 1_000_000, "0ns")]);
    let section = "paths = 2\nchunk = \"10kB\"\ndepth = 1\ntwins = \"keep\"\nplan = [50000, 50001]";
    let free = complete(&scenario(&traffic, section, &[FIXED]));
    let costs = "[multipath.costs]\npost = \"1us\"\npoll = \"3us\"\nsplit = \"2us\"\nreassemble = \"500ns\"\n";
    let charged = complete(&scenario(&format!("{costs}{traffic}"), section, &[FIXED]));
    let record = multipath(&charged);
    assert_eq!(record.chunks, 100);
    let us = |times: u64| fairlane_units::Duration::from_us(times);
    assert_eq!(
        (record.post, record.split, record.poll),
        (us(100), us(200), us(300))
    );
    assert_eq!(record.reassemble, us(50));
    // Two paths keep the thread busy: it is never free sooner.
    assert!(taken(&charged, 0) > 600_000_000 && taken(&charged, 0) > taken(&free, 0));
    // Of one chunk that is cut, posted and polled, one behind the other.
    let small = flows(&[(0, 1, 10_000, "0ns")]);
    let free = complete(&scenario(&small, section, &[FIXED]));
    let charged = complete(&scenario(&format!("{costs}{small}"), section, &[FIXED]));
    assert_eq!(taken(&charged, 0) - taken(&free, 0), 6_000_000);
}

#[test]
fn one_path_is_an_ordinary_message() {
    let traffic = flows(&[(0, 1, 3_000_000, "0ns"), (1, 0, 70_000, "5us")]);
    let plain = complete(&loaded(&format!("{EIGHT}{traffic}"), &[]));
    let one = complete(&scenario(&traffic, "paths = 1", &[]));
    assert_eq!(format!("{plain:?}"), format!("{one:?}"));
    // A workload may say so for itself.
    let stated = traffic.replace("kind = \"flows\"", "kind = \"flows\"\npaths = 1");
    let one = complete(&scenario(&stated, "", &[]));
    assert_eq!(format!("{plain:?}"), format!("{one:?}"));
}

/// The share that a message over eight paths has of a link beside one over one path.
fn share_beside_one(algorithm: &str, coupled: bool) -> f64 {
    let star = "[topology]\nkind = \"dumbbell\"\nleft = 2\nright = 2\n\
                host_link = { rate = \"100Gbps\", delay = \"1us\" }\n\
                core_link = { rate = \"100Gbps\", delay = \"1us\" }\n";
    let many = flows(&[(0, 2, 100_000_000, "0ns")]);
    let single = flows(&[(1, 3, 100_000_000, "0ns")])
        .replace("kind = \"flows\"", "kind = \"flows\"\npaths = 1");
    let section = format!("[multipath]\ncoupled = {coupled}\ntwins = \"keep\"\n");
    let text = format!("stop = \"5ms\"\n{star}{section}{many}{single}");
    let algorithm = format!("congestion.algorithm=\"{algorithm}\"");
    let results = run(&loaded(&text, &[&algorithm]));
    assert_eq!(multipath(&results).coupled, coupled);
    let acknowledged = |source: u32| {
        let found = results.messages.iter().find(|it| it.source.get() == source);
        found.unwrap().acknowledged.as_f64()
    };
    acknowledged(0) / (acknowledged(0) + acknowledged(1))
}

#[test]
fn coupled_subflows_take_one_share() {
    for algorithm in ["dctcp", "swift", "hpcc"] {
        let share = share_beside_one(algorithm, true);
        assert!((0.35..0.65).contains(&share), "{algorithm}: {share}");
    }
    // It counts notifications, of which each subflow has fewer.
    let (coupled, apart) = (
        share_beside_one("dcqcn", true),
        share_beside_one("dcqcn", false),
    );
    assert!(coupled < 0.75 && coupled < apart - 0.1, "{coupled} {apart}");
}

#[test]
fn a_congested_path_slows_no_other_one() {
    // One of four ways at a quarter of its speed; a coupled connection comes near what all four carry.
    let slow = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 4\nhosts_per_leaf = 1\n\
                host_link = { rate = \"130Gbps\", delay = \"1us\" }\n\
                fabric_link = { rate = \"40Gbps\", delay = \"1us\" }\n\
                [[faults.slow]]\nbetween = [2, 7]\nrate = \"10Gbps\"\n\
                [multipath]\npaths = 4\nplan = [58559, 58564, 58561, 58562]\n";
    let text = format!("{slow}{}", flows(&[(0, 1, 20_000_000, "0ns")]));
    for algorithm in ["dcqcn", "dctcp", "swift", "hpcc", "nscc"] {
        let algorithm = format!("congestion.algorithm=\"{algorithm}\"");
        let results = complete(&loaded(&text, &[&algorithm]));
        let slowdown = results.messages[0].slowdown().unwrap();
        assert!(slowdown < 1.4, "{algorithm}: {slowdown}");
    }
}

#[test]
fn paths_shorten_the_slowest_message_of_the_shipped_permutation() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scenarios/multipath-leaf-spine.toml"
    );
    let slowest = |set: &str| {
        let loaded = fairlane_scenario::load(std::path::Path::new(file), &[set.into()], None);
        let results = complete(&loaded.unwrap());
        let taken = results
            .messages
            .iter()
            .map(|it| it.finish.unwrap() - it.start);
        taken.max().unwrap()
    };
    let (one, eight) = (slowest("multipath.paths=1"), slowest("multipath.paths=8"));
    assert!(eight < one, "{eight} against {one}");
}
