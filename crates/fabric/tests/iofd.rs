//! Flows that are moved in order.

use fairlane_fabric::forwarding::iofd::Misrule;
use fairlane_fabric::{Control, Deflections, Ending, Results, Simulation};
use fairlane_scenario::Loaded;

use crate::common::{complete, drops, loaded, run};

const IOFD: &str = "switch.forwarding=\"iofd\"";
const FIXED: &str = "congestion.algorithm=\"fixed\"";

/// Hosts 0 to 15, leaves 16 to 19, spines 20 to 23.
const LEAF_SPINE: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 4
spines = 4
hosts_per_leaf = 4
host_link = { rate = "100Gbps", delay = "1us" }
fabric_link = { rate = "100Gbps", delay = "1us" }
"#;

/// Hosts 0 to 15, eight edge switches from 16, eight aggregations from 24, cores 32 to 35.
const FAT_TREE: &str = r#"
[topology]
kind = "fat-tree"
pods = 4
tors_per_pod = 2
aggregations_per_pod = 2
cores = 4
hosts_per_tor = 2
host_link = { rate = "100Gbps", delay = "1us" }
fabric_link = { rate = "100Gbps", delay = "1us" }
"#;

/// Queues are short, pauses come early, and flows move whenever they can.
const EAGER: &str = r#"
[switch]
buffer = "2MB"
[switch.pfc]
threshold_shift = 5
[switch.iofd]
trigger = "8kB"
target = "4kB"
interval = "200ns"
moved = "2kB"
"#;

fn permutation(size: &str) -> String {
    format!("[[workload]]\nkind = \"permutation\"\nsize = \"{size}\"\n")
}

/// What became of moved flows, none of whose packets was reordered.
fn in_order(results: &Results) -> Deflections {
    let deflections = results.signals.deflection.unwrap();
    assert_eq!(deflections.reordered, 0, "{deflections:?}");
    deflections
}

fn eager(fabric: &str, traffic: &str, seed: u64, sets: &[&str]) -> Loaded {
    let seed = format!("seed={seed}");
    let mut all = vec![IOFD, FIXED, &*seed];
    all.extend(sets);
    loaded(&format!("{EAGER}{fabric}{traffic}"), &all)
}

#[test]
fn permutations_stay_in_order_and_lose_nothing() {
    for fabric in [LEAF_SPINE, FAT_TREE] {
        let mut forks = 0;
        for seed in 0..20 {
            let results = complete(&eager(fabric, &permutation("512kB"), seed, &[]));
            let deflections = in_order(&results);
            forks += deflections.forks;
            assert_eq!(results.totals.dropped.packets, 0, "{deflections:?}");
            assert_eq!(deflections.tails_again, 0);
        }
        assert!(forks > 500, "{forks}");
    }
}

#[test]
fn a_run_in_which_no_flow_moves_is_one_under_ecmp() {
    let traffic =
        "[[workload]]\nkind = \"poisson\"\nsizes = \"hadoop\"\nload = 0.4\nduration = \"100us\"\n";
    for fabric in [LEAF_SPINE, FAT_TREE] {
        for sets in [
            &["switch.iofd.trigger=\"1GB\""][..],
            &[
                "switch.iofd.moved=\"1GB\"",
                "transport.recovery=\"selective-repeat\"",
            ],
        ] {
            let moving = run(&eager(fabric, traffic, 1, sets));
            let sets: Vec<&str> = sets
                .iter()
                .copied()
                .chain(["switch.forwarding=\"ecmp\""])
                .collect();
            let plain = run(&eager(fabric, traffic, 1, &sets));
            assert_eq!(in_order(&moving).tails, 0);
            assert_eq!(moving.messages, plain.messages);
            assert_eq!(moving.totals, plain.totals);
            assert_eq!(moving.pauses, plain.pauses);
            assert_eq!(
                format!("{:?}", moving.series),
                format!("{:?}", plain.series)
            );
        }
    }
}

#[test]
fn what_is_lost_on_links_is_sent_again_and_order_is_kept() {
    for fabric in [LEAF_SPINE, FAT_TREE] {
        let (mut again, mut timeouts) = (0, 0);
        for seed in 0..20 {
            for recovery in ["go-back-n", "selective-repeat"] {
                let recovery = format!("transport.recovery=\"{recovery}\"");
                let sets = [
                    "faults.loss_rate=0.01",
                    "transport.ack_timeout=\"200us\"",
                    "switch.iofd.hold_timeout=\"100us\"",
                    &*recovery,
                ];
                let results = complete(&eager(fabric, &permutation("256kB"), seed, &sets));
                let deflections = in_order(&results);
                again += deflections.tails_again;
                timeouts += drops(&results, "hold-timeout");
            }
        }
        assert!(again > 0 && timeouts > 0, "{again} {timeouts}");
    }
}

#[test]
fn links_that_fail_and_come_back_reorder_nothing() {
    for (fabric, link) in [
        (LEAF_SPINE, "[16, 21]"),
        (FAT_TREE, "[16, 24]"),
        (FAT_TREE, "[24, 32]"),
    ] {
        let mut late = 0;
        for seed in 0..20 {
            let fault = format!(
                "[[faults.link]]\nbetween = {link}\ndown = \"{}us\"\nup = \"{}us\"\n",
                10 + seed,
                40 + 2 * seed
            );
            let text = format!("{}{fault}", permutation("512kB"));
            let sets = [
                "transport.ack_timeout=\"200us\"",
                "switch.iofd.hold_timeout=\"100us\"",
            ];
            let results = complete(&eager(fabric, &text, seed, &sets));
            in_order(&results);
            late += drops(&results, "rerouted");
        }
        assert!(late > 0, "{link}");
    }
}

#[test]
fn what_finds_no_room_is_lost_and_sent_again() {
    let sets = [
        "switch.iofd.hold=\"20kB\"",
        "transport.ack_timeout=\"200us\"",
    ];
    let mut full = 0;
    for seed in 0..10 {
        let results = complete(&eager(LEAF_SPINE, &permutation("512kB"), seed, &sets));
        let deflections = in_order(&results);
        assert!(
            deflections.held_bytes_max <= 20_000 + 90 * 100,
            "{deflections:?}"
        );
        full += drops(&results, "hold-full");
    }
    assert!(full > 0);
}

#[test]
fn what_is_held_for_too_long_is_lost_and_sent_again() {
    let sets = [
        "switch.iofd.hold_timeout=\"2us\"",
        "transport.ack_timeout=\"200us\"",
    ];
    let mut late = 0;
    for seed in 0..10 {
        let results = complete(&eager(LEAF_SPINE, &permutation("512kB"), seed, &sets));
        in_order(&results);
        late += drops(&results, "hold-timeout");
    }
    assert!(late > 0);
}

#[test]
fn a_full_table_moves_no_more_flows_and_makes_room() {
    let sets = ["switch.iofd.streams=2", "switch.iofd.hold_timeout=\"5us\""];
    let (mut refused, mut closed) = (0, 0);
    for seed in 0..10 {
        let results = complete(&eager(LEAF_SPINE, &permutation("512kB"), seed, &sets));
        let deflections = in_order(&results);
        refused += deflections.refused;
        closed += deflections.tails - deflections.tails_again - deflections.forks;
    }
    assert!(refused > 0 && closed > 0, "{refused} {closed}");
}

#[test]
fn the_same_bytes_come_out_on_several_threads() {
    for (fabric, loss) in [(LEAF_SPINE, "0.0"), (FAT_TREE, "0.0"), (FAT_TREE, "0.01")] {
        let loss = format!("faults.loss_rate={loss}");
        let sets = [
            "transport.ack_timeout=\"200us\"",
            "switch.iofd.hold_timeout=\"50us\"",
            &*loss,
        ];
        let case = eager(fabric, &permutation("256kB"), 3, &sets);
        let on = |threads| {
            let simulation = Simulation::new(&case).unwrap();
            let (results, threading) = simulation.run_on(threads, &mut |_| Control::Continue);
            assert_eq!(threading.threads, threads);
            in_order(&results);
            format!("{results:?}")
        };
        let alone = on(1);
        for threads in [2, 3, 4] {
            assert!(on(threads) == alone, "{threads} threads");
        }
    }
}

/// The refusal of a simulation.
fn refusal(fabric: &str, sets: &[&str]) -> String {
    let case = eager(fabric, &permutation("1kB"), 0, sets);
    match Simulation::new(&case) {
        Ok(_) => panic!("{sets:?} is accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn ways_down_and_up_again_need_tiers_and_classes() {
    let mesh = "[topology]\nkind = \"mesh\"\nswitches = 3\nhosts_per_switch = 2\n\
                host_link = { rate = \"100Gbps\", delay = \"1us\" }\n\
                fabric_link = { rate = \"100Gbps\", delay = \"1us\" }\n";
    let message = refusal(mesh, &[VALLEY]);
    for part in ["switch.iofd.valley", "6 and 7 are linked", "hint:"] {
        assert!(message.contains(part), "{message}");
    }
    for (class, part) in [(6, "at most 1"), (7, "expected none")] {
        let class = format!("workload.0.class={class}");
        let message = refusal(LEAF_SPINE, &[VALLEY, &class]);
        for part in ["switch.iofd.labels", part, "hint:"] {
            assert!(message.contains(part), "{message}");
        }
    }
}

const VALLEY: &str = "switch.iofd.valley=true";

/// Few spines, so that queues grow where packets come down.
const NARROW: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 8
spines = 4
hosts_per_leaf = 4
host_link = { rate = "100Gbps", delay = "1us" }
fabric_link = { rate = "100Gbps", delay = "1us" }
"#;

#[test]
fn ways_down_and_up_again_keep_the_order_and_lose_nothing() {
    for fabric in [NARROW, FAT_TREE] {
        for labels in ["switch.iofd.labels=2", "switch.iofd.labels=4"] {
            let mut detours = 0;
            for seed in 0..20 {
                let sets = [VALLEY, labels];
                let results = complete(&eager(fabric, &permutation("512kB"), seed, &sets));
                let deflections = in_order(&results);
                assert_eq!(results.totals.dropped.packets, 0, "{deflections:?}");
                detours += deflections.detours;
            }
            assert!(detours > 20, "{detours}");
        }
    }
}

#[test]
fn ways_down_and_up_again_keep_the_order_where_links_fail_and_lose() {
    for (fabric, link) in [(NARROW, "[32, 41]"), (FAT_TREE, "[24, 32]")] {
        for seed in 0..20 {
            let fault = format!(
                "[[faults.link]]\nbetween = {link}\ndown = \"{}us\"\nup = \"{}us\"\n",
                10 + seed,
                40 + 2 * seed
            );
            let text = format!("{}{fault}", permutation("256kB"));
            let sets = [
                VALLEY,
                "transport.ack_timeout=\"200us\"",
                "switch.iofd.hold_timeout=\"100us\"",
                if seed % 2 == 0 {
                    "faults.loss_rate=0.005"
                } else {
                    "faults.loss_rate=0.0"
                },
            ];
            in_order(&complete(&eager(fabric, &text, seed, &sets)));
        }
    }
}

#[test]
fn ways_down_and_up_again_are_the_same_on_several_threads() {
    for fabric in [NARROW, FAT_TREE] {
        let case = eager(fabric, &permutation("256kB"), 5, &[VALLEY]);
        let on = |threads| {
            let simulation = Simulation::new(&case).unwrap();
            let (results, _) = simulation.run_on(threads, &mut |_| Control::Continue);
            format!("{results:?}")
        };
        let alone = on(1);
        for threads in [2, 3, 4] {
            assert!(on(threads) == alone, "{threads} threads");
        }
    }
}

/// Runs permutations under pauses that come at once; returns how many stall.
fn stalls(fabric: &str, sets: &[&str], misrule: Option<Misrule>) -> usize {
    let tight = ["switch.buffer=\"262MB\"", "switch.pfc.threshold_shift=15"];
    let long = ["switch.iofd.hold_timeout=\"1s\"", "stop=\"20ms\""];
    let sets: Vec<&str> = [sets, &tight, &long].concat();
    let stalls = |seed: &u64| {
        let case = eager(fabric, &permutation("512kB"), *seed, &sets);
        let mut simulation = Simulation::new(&case).unwrap();
        if let Some(misrule) = misrule {
            simulation.break_rule(misrule);
        }
        let results = simulation.run(&mut |_| Control::Continue);
        let ends = results.totals.ending == Ending::Complete;
        in_order(&results);
        !ends
    };
    (0..5).filter(stalls).count()
}

#[test]
fn rules_that_look_as_good_let_a_fabric_wait_for_itself() {
    for fabric in [NARROW, FAT_TREE] {
        for sets in [&[][..], &[VALLEY]] {
            assert_eq!(stalls(fabric, sets, None), 0);
        }
        assert!(stalls(fabric, &[], Some(Misrule::ChargeHeld)) > 0);
    }
    for misrule in [Misrule::CountDetours, Misrule::CountLabels] {
        let both = [NARROW, FAT_TREE].map(|fabric| stalls(fabric, &[VALLEY], Some(misrule)));
        assert!(
            both.iter().any(|stalls| *stalls > 0),
            "{misrule:?} {both:?}"
        );
    }
}
