//! The scenarios that ship run cleanly and show what `scenarios/README.md` says of them.

mod common;

use common::{assert_none, read, root};
use fairlane_attacks::Plan;
use fairlane_congestion::Algorithm;
use fairlane_fabric::{Control, Ending, Results, Simulation, metrics, topology};
use fairlane_scenario::Loaded;

fn load(name: &str) -> Loaded {
    let path = root().join("scenarios").join(name);
    fairlane_scenario::load(&path, &[], None).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a scenario to its end and checks what must hold of every result.
fn run(name: &str) -> Results {
    let loaded = load(name);
    let planned = Plan::new(&loaded).and_then(|plan| plan.simulation());
    let simulation = planned.unwrap_or_else(|error| panic!("{name}: {error}"));
    let results = simulation.run(&mut |_| Control::Continue);
    let lossless = metrics::is_lossless(&loaded.scenario, &results);
    assert_none(&metrics::check(&results, lossless));
    assert_eq!(results.totals.ending, Ending::Complete, "{name}");
    results
}

fn drops(results: &Results, reason: &str) -> u64 {
    results
        .signals
        .drops
        .get(reason)
        .map_or(0, |signal| signal.count)
}

fn slowdown_of(results: &Results, source: u32) -> f64 {
    let message = results
        .messages
        .iter()
        .find(|message| message.source.get() == source);
    let message = message.unwrap_or_else(|| panic!("host {source} sends nothing"));
    let finish = message
        .finish
        .unwrap_or_else(|| panic!("host {source} isn't done"));
    (finish - message.start).as_secs_f64() / message.ideal.as_secs_f64()
}

#[test]
fn every_scenario_is_listed_and_can_be_loaded() {
    let page = read("scenarios/README.md");
    let mut count = 0;
    for entry in std::fs::read_dir(root().join("scenarios")).expect("scenarios can be listed") {
        let name = entry
            .expect("an entry")
            .file_name()
            .to_string_lossy()
            .into_owned();
        if name.ends_with(".toml") {
            assert!(
                page.contains(&name),
                "scenarios/README.md doesn't mention {name}"
            );
            let loaded = load(&name);
            assert_eq!(format!("{}.toml", loaded.scenario.name), name);
            count += 1;
        }
    }
    assert!(count >= 7, "found only {count} scenarios");
}

#[test]
fn dasr_incast_queues_next_to_nothing() {
    let results = run("dasr-incast.toml");
    let queue = results.totals.queue_max.get();
    assert!(queue < 100_000, "{queue} B");
    assert_eq!(results.signals.pauses.count, 0);
    assert_eq!(results.signals.ecn_marks.count, 0);
}

#[test]
fn hadoop_fat_tree_has_the_fabric_that_it_promises() {
    let loaded = load("hadoop-fat-tree.toml");
    let fabric =
        topology::Topology::build(&loaded.scenario.topology, None, 0.0).expect("it builds");
    assert_eq!(
        (fabric.hosts().count(), fabric.switches().count()),
        (320, 20 + 20 + 16)
    );
}

#[test]
fn incast_star_fills_the_receivers_link() {
    let results = run("incast-star.toml");
    assert!(results.signals.ecn_marks.count > 0);
    assert_eq!(results.totals.dropped.packets, 0);
    // Three rounds of 16 x 256 kB at 100 Gb/s take at least 327.68 us each.
    let slowest = results
        .messages
        .iter()
        .filter_map(|m| Some(m.finish? - m.start))
        .max();
    assert!(
        slowest.is_some_and(|taken| taken.as_secs_f64() > 327.68e-6),
        "{slowest:?}"
    );
}

/// Runs the incast under an algorithm; returns the results, completion times of probes in
/// nanoseconds, ascending, and that of the bystander.
fn incast_under(algorithm: &str) -> (Results, Vec<u64>, u64) {
    let path = root().join("scenarios/incast-controllers.toml");
    let set = [format!("congestion.algorithm={algorithm}")];
    let loaded = fairlane_scenario::load(&path, &set, None).expect("it loads");
    let simulation = Simulation::new(&loaded).expect("it builds");
    let results = simulation.run(&mut |_| Control::Continue);
    assert_none(&metrics::check(&results, true));
    assert_eq!(results.totals.ending, Ending::Complete, "{algorithm}");
    let times = |workload: u32| {
        let messages = results.messages.iter().filter(|m| m.workload == workload);
        let mut times: Vec<u64> = messages
            .filter_map(|m| Some((m.finish? - m.start).as_ns()))
            .collect();
        times.sort_unstable();
        times
    };
    let (bystander, probes) = (times(2)[0], times(3));
    (results, probes, bystander)
}

#[test]
fn incast_controllers_shows_what_each_is_known_for() {
    let mut seen = std::collections::BTreeMap::new();
    for algorithm in Algorithm::ALL {
        seen.insert(algorithm.name(), incast_under(algorithm.name()));
    }
    let half = |name: &str| seen[name].1[seen[name].1.len() / 2];
    let pauses = |name: &str| seen[name].0.signals.pauses.count;
    let most = |name: &str| seen[name].1[seen[name].1.len() - 1];
    // Telemetry keeps the queue near empty; DCTCP holds its step of 300 kB, 24 us, and Swift its
    // target of 23 us and flow scaling; without control the queue is as deep as pauses permit.
    for near_empty in ["hpcc", "powertcp"] {
        assert!(
            most(near_empty) < 8_000,
            "{near_empty}: {}",
            most(near_empty)
        );
    }
    for held in ["swift", "dctcp"] {
        assert!(
            (20_000..35_000).contains(&half(held)),
            "{held}: {}",
            half(held)
        );
        assert!(most(held) < 60_000, "{held}: {}", most(held));
    }
    // NSCC queues between its first and its last mark, 30 and 120 kB, around its target of 4.2 us.
    assert!((7_000..14_000).contains(&half("nscc")), "{}", half("nscc"));
    assert!(half("fixed") > 150_000, "{}", half("fixed"));
    for windowed in ["hpcc", "powertcp", "swift", "nscc", "dctcp"] {
        assert_eq!(pauses(windowed), 0, "{windowed}");
    }
    // Those without a window fill the buffer in the first round trip, and swing from then on.
    for late in ["dcqcn", "timely", "infiniband"] {
        assert!((1..pauses("fixed")).contains(&pauses(late)), "{late}");
        assert!(most(late) > 150_000, "{late}: {}", most(late));
    }
    // Pauses reach the bystander.
    assert!(seen["fixed"].2 > 2 * seen["hpcc"].2);
}

#[test]
fn pfc_small_buffer_makes_a_bystander_wait() {
    let results = run("pfc-small-buffer.toml");
    assert!(results.signals.pauses.count > 0);
    assert_eq!(drops(&results, "buffer-full"), 0);
    assert!(
        slowdown_of(&results, 7) > 2.0,
        "{}",
        slowdown_of(&results, 7)
    );
}

#[test]
fn allreduce_leaf_spine_keeps_the_order_of_the_ring() {
    let results = run("allreduce-leaf-spine.toml");
    // Two rounds of 2 (n - 1) steps on each of n = 32 hosts.
    assert_eq!(results.messages.len(), 2 * 2 * 31 * 32);
    assert_eq!(results.totals.dropped.packets, 0);
}

#[test]
fn training_leaf_spine_reduces_gradients_while_layers_compute() {
    let results = run("training-leaf-spine.toml");
    let of = |name: &str| {
        let named = results.collectives.iter().filter(move |it| it.name == name);
        named.collect::<Vec<_>>()
    };
    // Two buckets of two layers' gradients in each of 4 stages x 2 parts, three times.
    assert_eq!(of("gradients").len(), 3 * 8 * 2);
    // Two layers of each of 16 tensor groups, 4 micro-batches both ways, three times.
    assert_eq!(of("tensor").len(), 3 * 16 * 2 * 4 * 2);
    let steps: Vec<f64> = of("")
        .iter()
        .filter_map(|it| Some(it.time()?.as_secs_f64()))
        .collect();
    // Micro-batches and the bubble, each of two layers, and the optimizer; communication comes on top.
    let computed = (4.0 + 3.0) * 2.0 * 150e-6 + 20e-6;
    assert_eq!(steps.len(), 3);
    assert!(
        steps
            .iter()
            .all(|time| (computed..2.0 * computed).contains(time)),
        "{steps:?}"
    );
}

#[test]
fn link_failure_loses_packets_and_no_message() {
    let results = run("link-failure.toml");
    assert!(drops(&results, "link-down") > 0);
    assert!(results.signals.retransmissions.count > 0);
}

#[test]
fn spray_leaf_spine_gives_every_message_its_rate() {
    let results = run("spray-leaf-spine.toml");
    // Hardly anything that is late counts as lost.
    assert!(results.signals.retransmissions.count * 100 < results.totals.data_packets);
    let slowest = (0..16).map(|host| slowdown_of(&results, host));
    let slowest = slowest.fold(0.0, f64::max);
    assert!(slowest < 1.5, "{slowest}");
}

#[test]
fn iofd_leaf_spine_moves_flows_and_reorders_nothing() {
    let results = run("iofd-leaf-spine.toml");
    let deflection = results.signals.deflection.expect("flows may move");
    assert!(deflection.forks > 10 && deflection.held_packets > 0);
    assert_eq!(deflection.reordered, 0);
    assert_eq!(results.signals.retransmissions.count, 0);
    let path = root().join("scenarios/iofd-leaf-spine.toml");
    let ecmp = ["switch.forwarding=\"ecmp\"".to_owned()];
    let loaded = fairlane_scenario::load(&path, &ecmp, None).expect("it loads");
    let simulation = Simulation::new(&loaded).expect("it builds");
    let plain = simulation.run(&mut |_| Control::Continue);
    let slowest = |results: &Results| {
        let slowdowns = (0..16).map(|host| slowdown_of(results, host));
        slowdowns.fold(0.0, f64::max)
    };
    let (moved, stayed) = (slowest(&results), slowest(&plain));
    assert!(moved < 0.75 * stayed, "{moved} {stayed}");
}

#[test]
fn two_planes_carry_more_and_leave_each_other_alone() {
    let results = run("two-plane-leaf-spine.toml");
    let path = root().join("scenarios/two-plane-leaf-spine.toml");
    let one = ["topology.planes=1".to_owned()];
    let loaded = fairlane_scenario::load(&path, &one, None).expect("it loads");
    let simulation = Simulation::new(&loaded).expect("it builds");
    let alone = simulation.run(&mut |_| Control::Continue);
    let mean = |results: &Results| {
        let messages = results.messages.iter().filter(|m| m.workload == 0);
        let taken = messages.filter_map(|m| Some((m.finish? - m.start).as_secs_f64()));
        taken.sum::<f64>() / (16.0 * 15.0)
    };
    let gain = mean(&alone) / mean(&results);
    assert!((1.5..2.0).contains(&gain), "{gain}");
    // The ports of the two leaves, nodes 16 and 22, towards host 0.
    let deepest = |leaf: u32| {
        let mut ports = results.ports.iter();
        let found = ports.position(|port| port.node.get() == leaf && port.peer_node.get() == 0);
        let port = found.expect("a leaf of each plane is linked to host 0");
        let rows = results.series.queue_max.chunks(results.series.ports);
        rows.map(|row| row[port]).max().unwrap_or_default()
    };
    let (first, second) = (deepest(16), deepest(22));
    assert!(first > 100_000 && second < 50_000, "{first} {second}");
}

#[test]
fn lossy_completes_every_message() {
    let results = run("lossy.toml");
    assert!(drops(&results, "link-error") > 0);
    assert!(results.signals.retransmissions.count >= drops(&results, "link-error") / 2);
}

#[test]
fn websearch_leaf_spine_hpcc_keeps_queues_short() {
    let hpcc = run("websearch-leaf-spine-hpcc.toml");
    let path = root().join("scenarios/websearch-leaf-spine-hpcc.toml");
    let other = ["congestion.algorithm=dcqcn".to_owned()];
    let loaded = fairlane_scenario::load(&path, &other, None).expect("it loads");
    let simulation = Simulation::new(&loaded).expect("it builds");
    let dcqcn = simulation.run(&mut |_| Control::Continue);
    let deepest = |results: &Results| results.totals.queue_max;
    assert!(
        deepest(&hpcc) * 2 < deepest(&dcqcn),
        "{} {}",
        deepest(&hpcc),
        deepest(&dcqcn)
    );
}

#[test]
fn responders_to_a_read_incast_keep_the_queue_short() {
    let median = |algorithm: &str| {
        let path = root().join("scenarios/read-incast.toml");
        let setting = format!("congestion.algorithm=\"{algorithm}\"");
        let loaded = fairlane_scenario::load(&path, &[setting], None);
        let loaded = loaded.unwrap_or_else(|error| panic!("{error}"));
        let simulation = Simulation::new(&loaded).unwrap_or_else(|error| panic!("{error}"));
        let results = simulation.run(&mut |_| Control::Continue);
        assert_none(&metrics::check(&results, true));
        assert_eq!(results.totals.ending, Ending::Complete, "{algorithm}");
        let atomics = results.messages.iter().filter(|m| m.workload == 1);
        let mut taken: Vec<u64> = atomics
            .filter_map(|m| Some((m.finish? - m.start).as_ps()))
            .collect();
        assert!(taken.len() > 20, "{algorithm}: {}", taken.len());
        taken.sort_unstable();
        taken[taken.len() / 2]
    };
    let (fixed, hpcc) = (median("fixed"), median("hpcc"));
    assert!(hpcc * 4 < fixed, "{hpcc} ps of {fixed} ps");
}

#[test]
fn an_attacker_with_many_queue_pairs_gets_most_of_a_link() {
    let results = run("attack-dumbbell.toml");
    let finish = |tenant: u32| {
        let own = results.messages.iter().filter(|m| m.tenant.get() == tenant);
        own.filter_map(|message| message.finish)
            .max()
            .expect("complete")
    };
    // 16 MB of red at 100 Gb/s: alone it takes 1.4 ms, with half of the link 2.8 ms.
    let milliseconds = finish(0).as_ps() as f64 * 1e-9;
    assert!(milliseconds < 2.0, "{milliseconds} ms");
    assert!(finish(1) > finish(0));
}
