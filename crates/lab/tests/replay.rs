//! One scenario in both worlds: carried by simulated NICs, and by software NICs with memory and payload.

use std::path::Path;

use fairlane_fabric::metrics::{check, is_lossless};
use fairlane_fabric::{Control, Ending, MessageRecord, Results, Simulation};
use fairlane_lab::Replay;
use fairlane_scenario::{Error, HostSet, Loaded, parse};
use proptest::prelude::*;

const LEAF_SPINE: &str = r#"
    [topology]
    kind = "leaf-spine"
    leaves = 4
    spines = 2
    hosts_per_leaf = 4
    host_link = { rate = "100Gbps", delay = "1us" }
    fabric_link = { rate = "100Gbps", delay = "1us" }
"#;
const STAR: &str = r#"
    [topology]
    kind = "star"
    hosts = 9
    host_link = { rate = "100Gbps", delay = "1us" }
"#;
const PERMUTATION: &str = r#"
    [[workload]]
    kind = "permutation"
    size = "200kB"
"#;
const INCAST: &str = r#"
    [[workload]]
    kind = "incast"
    degree = 8
    size = "64kB"
    receiver = 8
    rounds = 3
    period = "50us"
"#;
const HADOOP: &str = r#"
    [[workload]]
    kind = "poisson"
    sizes = "hadoop"
    load = 0.3
    duration = "100us"
"#;

fn loaded(parts: &[&str], sets: &[&str], seed: u64) -> Loaded {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let text = parts.concat();
    parse(&text, "test.toml", Path::new("."), &sets, Some(seed)).unwrap()
}

fn simulated(loaded: &Loaded) -> Results {
    let simulation = Simulation::new(loaded).unwrap();
    simulation.run(&mut |_| Control::Continue)
}

fn replayed(loaded: &Loaded, hosts: &str) -> Result<Results, Error> {
    let simulation = Simulation::new(loaded).unwrap();
    let hosts = HostSet(hosts.to_owned());
    let replay = Replay::new(simulation, loaded, &hosts)?;
    replay.run(&mut |_| Control::Continue)
}

/// Fails unless both worlds have the same messages, to the picosecond, and the same packets, marks, pauses and losses.
fn assert_same(loaded: &Loaded) -> (Results, Results) {
    let (simulated, replayed) = (simulated(loaded), replayed(loaded, "all").unwrap());
    assert_sound(loaded, &replayed);
    for (one, other) in replayed.messages.iter().zip(&simulated.messages) {
        assert_eq!(one, other);
    }
    assert_eq!(replayed.messages.len(), simulated.messages.len());
    let totals = |it: &Results| {
        let totals = &it.totals;
        (
            totals.transmissions,
            totals.data_packets,
            totals.injected,
            totals.dropped,
            totals.end,
        )
    };
    assert_eq!(totals(&replayed), totals(&simulated));
    let signals = |it: &Results| {
        let signals = &it.signals;
        [
            signals.ecn_marks.count,
            signals.pauses.count,
            signals.paused_ns.count,
            signals.retransmissions.count,
            signals.naks.count,
            signals.timeouts.count,
        ]
    };
    assert_eq!(signals(&replayed), signals(&simulated));
    (simulated, replayed)
}

/// Fails if results contradict themselves.
fn assert_sound(loaded: &Loaded, results: &Results) {
    let lossless = is_lossless(&loaded.scenario, results);
    let violations = check(results, lossless);
    assert!(violations.is_empty(), "{violations:#?}");
}

#[test]
fn permutation_incast_and_hadoop_are_the_same_in_both_worlds() {
    for seed in 1..=5 {
        for parts in [
            [LEAF_SPINE, PERMUTATION],
            [STAR, INCAST],
            [LEAF_SPINE, HADOOP],
        ] {
            let (_, replayed) = assert_same(&loaded(&parts, &[], seed));
            assert_eq!(replayed.totals.ending, Ending::Complete);
        }
    }
}

#[test]
fn marks_return_as_cnps_in_both_worlds() {
    let loaded = loaded(&[STAR, INCAST], &["congestion.notification=cnp"], 1);
    let (simulated, replayed) = assert_same(&loaded);
    let cnps = |it: &Results| (it.signals.cnps_sent.count, it.signals.cnps.count);
    assert_eq!(cnps(&replayed), cnps(&simulated));
    assert!(replayed.signals.cnps.count > 0);
}

#[test]
fn pauses_stop_software_nics_as_they_stop_simulated_ones() {
    let sets = ["switch.buffer=300kB", "congestion.algorithm=fixed"];
    let (_, replayed) = assert_same(&loaded(&[STAR, INCAST], &sets, 1));
    assert!(replayed.signals.pauses.count > 0);
}

#[test]
fn lost_packets_come_again_in_both_worlds() {
    let lossy = ["faults.loss_rate=0.01", "transport.ack_timeout=200us"];
    let selective = [lossy[0], lossy[1], "transport.recovery=selective-repeat"];
    for sets in [&lossy[..], &selective] {
        let (_, replayed) = assert_same(&loaded(&[LEAF_SPINE, HADOOP], sets, 1));
        assert!(replayed.signals.retransmissions.count > 0);
        let repeated = |it: &MessageRecord| u64::from(it.retransmitted);
        let repeated: u64 = replayed.messages.iter().map(repeated).sum();
        assert_eq!(repeated, replayed.signals.retransmissions.count);
    }
}

#[test]
fn a_link_that_fails_takes_packets_of_software_nics_along() {
    let fault = "[[faults.link]]\nbetween = [16, 20]\ndown = \"10us\"\nup = \"60us\"\n";
    let sets = ["transport.ack_timeout=200us"];
    let loaded = loaded(&[LEAF_SPINE, PERMUTATION, fault], &sets, 1);
    let (_, replayed) = assert_same(&loaded);
    assert!(replayed.totals.dropped.packets > 0);
}

/// A link that goes down ends the pauses of its ports.
#[test]
fn a_link_that_fails_under_pause_comes_back_without() {
    // Host 3 is paused when its link fails, and has nothing more to send to whoever pauses it when that comes back.
    let fault = "[[faults.link]]\nbetween = [3, 9]\ndown = \"25us\"\nup = \"60us\"\n";
    let sets = [
        "switch.buffer=300kB",
        "congestion.algorithm=fixed",
        "transport.ack_timeout=200us",
    ];
    let loaded = loaded(&[STAR, INCAST, fault], &sets, 1);
    let (_, replayed) = assert_same(&loaded);
    assert!(replayed.signals.pauses.count > 0);
    assert!(replayed.totals.dropped.packets > 0);
    assert_eq!(replayed.totals.ending, Ending::Complete);
}

#[test]
fn every_policy_forwards_real_packets() {
    for policy in ["ecmp", "spray", "adaptive", "flowlet", "iofd"] {
        let forwarding = format!("switch.forwarding={policy}");
        let sets = [&*forwarding, "transport.recovery=selective-repeat"];
        assert_same(&loaded(&[LEAF_SPINE, PERMUTATION], &sets, 1));
    }
}

#[test]
fn every_verb_has_the_same_effect_in_both_worlds() {
    for (verb, size) in [
        ("write", "30001B"),
        ("send", "30002B"),
        ("fetch-add", "8B"),
        ("compare-swap", "8B"),
    ] {
        let [verb, size] = [
            format!("workload.0.verb={verb}"),
            format!("workload.0.size={size}"),
        ];
        let sets = [&*verb, &size];
        let (_, replayed) = assert_same(&loaded(&[LEAF_SPINE, PERMUTATION], &sets, 1));
        assert_eq!(replayed.totals.ending, Ending::Complete);
    }
}

#[test]
fn messages_share_connections_in_both_worlds() {
    let sets = ["workload.0.connections=pair"];
    assert_same(&loaded(&[LEAF_SPINE, HADOOP], &sets, 1));
}

#[test]
fn messages_wait_for_each_other_in_both_worlds() {
    let collective = "[[workload]]\nkind = \"ring-all-reduce\"\nsize = \"160kB\"\n";
    assert_same(&loaded(&[LEAF_SPINE, collective], &[], 1));
}

/// Software NICs ask for a long READ in parts, and their feedback has a header of its own.
#[test]
fn reads_come_close() {
    for (workload, percent) in [(PERMUTATION, 2), (INCAST, 5), (HADOOP, 5)] {
        let sets = ["workload.0.verb=read"];
        assert_close(&loaded(&[LEAF_SPINE, workload], &sets, 1), "all", percent);
    }
}

/// Time stamps of real packets have nanoseconds, and sizes of headers differ by a few bytes.
#[test]
fn controllers_that_measure_come_close() {
    for (algorithm, percent) in [("timely", 1), ("swift", 5), ("nscc", 2)] {
        let algorithm = format!("congestion.algorithm={algorithm}");
        let loaded = loaded(&[STAR, INCAST], &[&algorithm], 1);
        assert_close(&loaded, "all", percent);
    }
    for workload in [INCAST, PERMUTATION] {
        assert_close(
            &loaded(&[STAR, workload], &["congestion.scope=tenant"], 1),
            "all",
            5,
        );
    }
}

/// Switches write into packets what controllers of software NICs hear: without, they would send at line rate into long queues.
#[test]
fn controllers_that_need_telemetry_come_close() {
    for algorithm in ["hpcc", "powertcp"] {
        let algorithm = format!("congestion.algorithm={algorithm}");
        let sets = [&algorithm, "packet.telemetry=108B"];
        for parts in [[STAR, INCAST], [LEAF_SPINE, HADOOP]] {
            let loaded = loaded(&parts, &sets, 1);
            assert_close(&loaded, "all", 5);
            let queues = [simulated(&loaded), replayed(&loaded, "all").unwrap()];
            let [simulated, replayed] = queues.map(|results| results.totals.queue_max.get());
            assert!(
                simulated.abs_diff(replayed) * 5 <= simulated,
                "{algorithm}: {replayed} B instead of {simulated} B"
            );
        }
    }
}

/// Fails unless messages take as long on average, within so many percent, if software NICs carry those of these hosts.
fn assert_close(loaded: &Loaded, hosts: &str, percent: u64) {
    let mean = |results: &Results| {
        let spans = results
            .messages
            .iter()
            .map(|it| (it.finish.unwrap() - it.start).as_ps());
        spans.sum::<u64>() / results.messages.len() as u64
    };
    let replayed = replayed(loaded, hosts).unwrap();
    assert_sound(loaded, &replayed);
    assert_eq!(replayed.totals.ending, Ending::Complete);
    let simulated = simulated(loaded);
    assert_eq!(replayed.messages.len(), simulated.messages.len());
    let (simulated, replayed) = (mean(&simulated), mean(&replayed));
    assert!(
        simulated.abs_diff(replayed) * 100 <= simulated * percent,
        "{replayed} ps instead of {simulated} ps"
    );
}

#[test]
fn software_and_simulated_nics_share_ports() {
    for hosts in ["0-7", "1,3,5,7,9,11,13,15", "15"] {
        assert_close(&loaded(&[LEAF_SPINE, HADOOP], &[], 2), hosts, 5);
    }
}

#[test]
fn the_same_scenario_has_the_same_results() {
    let loaded = loaded(&[LEAF_SPINE, HADOOP], &["faults.loss_rate=0.001"], 3);
    let [one, two] = [(), ()].map(|()| replayed(&loaded, "0-9").unwrap());
    assert_eq!(one.messages, two.messages);
    assert_eq!(one.totals.transmissions, two.totals.transmissions);
}

#[test]
fn what_software_nics_cannot_carry_is_refused() {
    let refused = |parts: &[&str], sets: &[&str], hosts: &str| {
        let error = replayed(&loaded(parts, sets, 1), hosts).err().unwrap();
        format!("{}: {}", error.place, error.message)
    };
    let multipath = "[multipath]\npaths = 2\n";
    for (error, expected) in [
        (
            refused(&[multipath, LEAF_SPINE, PERMUTATION], &[], "all"),
            "multipath: has messages with several paths",
        ),
        (
            refused(&[STAR, INCAST], &["packet.mtu=1000"], "all"),
            "packet.mtu: is 1",
        ),
        (
            refused(&[STAR, INCAST], &["congestion.algorithm=hpcc"], "all"),
            "packet.telemetry: is 42B, expected at least 108B",
        ),
        (
            refused(&[STAR, INCAST], &[], "3,12"),
            "hosts \"3,12\": node 12 isn't a host",
        ),
    ] {
        assert!(error.starts_with(expected), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever the network does, both worlds agree on it, and all payload is right.
    #[test]
    fn random_scenarios_are_the_same_in_both_worlds(
        seed in 0..1000_u64,
        topology in prop::sample::select(&[LEAF_SPINE, STAR][..]),
        algorithm in prop::sample::select(&["fixed", "dcqcn", "dctcp", "infiniband"][..]),
        recovery in prop::sample::select(&["go-back-n", "selective-repeat"][..]),
        loss in prop::sample::select(&["0", "0.001", "0.02"][..]),
        buffer in prop::sample::select(&["500kB", "32MB"][..]),
        pfc in any::<bool>(),
        mtu in prop::sample::select(&[256, 1024, 4096][..]),
        verb in prop::sample::select(&["write", "send"][..]),
    ) {
        let sets = [
            format!("congestion.algorithm={algorithm}"),
            format!("transport.recovery={recovery}"),
            "transport.ack_timeout=100us".into(),
            format!("faults.loss_rate={loss}"),
            format!("switch.buffer={buffer}"),
            format!("switch.pfc.enabled={pfc}"),
            format!("packet.mtu={mtu}"),
            format!("workload.0.verb={verb}"),
            "workload.0.duration=20us".into(),
        ];
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        assert_same(&loaded(&[topology, HADOOP], &sets, seed));
    }
}
