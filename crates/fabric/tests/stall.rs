//! Runs that can't end are ended, and the reason is named.

use std::collections::BTreeSet;

use fairlane_fabric::metrics::check;
use fairlane_fabric::{Control, Ending, Outcome, Results, Simulation, Stall};
use fairlane_scenario::Loaded;

use crate::common::{drops, flows, links, loaded, loaded_with, run_for, run_unchecked, star};

const FIXED: &str = "congestion.algorithm=\"fixed\"";
/// Far more events than any of these runs needs.
const EVENTS: u64 = 4_000_000;

fn run(loaded: &Loaded) -> Results {
    let results = run_for(loaded, EVENTS);
    assert_eq!(
        check(&results, loaded.scenario.switch.pfc.enabled),
        Vec::<String>::new()
    );
    results
}

fn stall(results: &Results) -> Stall {
    match &results.totals.ending {
        Ending::Stalled(stall) => stall.clone(),
        other => panic!("{other:?} at {}", results.totals.end),
    }
}

/// Five switches in a ring (5 to 9), each with a host (0 to 4) that sends to the next but one.
fn ring(sets: &[&str]) -> Loaded {
    let hosts = (0..5).map(|i| (i, 5 + i, "100Gbps", "1us"));
    let ring = (0..5).map(|i| (5 + i, 5 + (i + 1) % 5, "100Gbps", "1us"));
    let fabric = links(5, &hosts.chain(ring).collect::<Vec<_>>());
    let list: Vec<_> = (0..5).map(|i| (i, (i + 2) % 5, 2_000_000, "0ns")).collect();
    loaded_with("ring", &fabric, &flows(&list), sets)
}

#[test]
fn a_cycle_of_pauses_is_detected_and_named() {
    let results = run(&ring(&[FIXED, "switch.buffer=\"150kB\""]));
    let stall = stall(&results);
    assert_eq!(stall.unfinished, 5);
    assert_eq!(stall.at, results.totals.end);
    let named = |port: &fairlane_units::PortId| {
        let info = &results.ports[port.index()];
        (info.node.get(), info.peer_node.get())
    };
    let cycle: BTreeSet<(u32, u32)> = stall.pause_cycle.iter().map(named).collect();
    assert_eq!(
        cycle,
        BTreeSet::from([(5, 6), (6, 7), (7, 8), (8, 9), (9, 5)])
    );
    for (node, peer) in cycle {
        assert!(
            stall.reason.contains(&format!("{node}->{peer}")),
            "{}",
            stall.reason
        );
    }
    let paused = results.pauses.iter().filter(|pause| pause.pause).count();
    assert_eq!(results.signals.pauses.count, paused as u64);
    assert!(results.totals.in_flight.packets > 0);
}

/// The ring, and beside it hosts 5 and 6 at a switch of their own which is linked to the ring, one of which sends to the
/// other for 8 ms.
fn ring_and_others(sets: &[&str]) -> Loaded {
    let hosts = (0..5).map(|i| (i, 7 + i, "100Gbps", "1us"));
    let ring = (0..5).map(|i| (7 + i, 7 + (i + 1) % 5, "100Gbps", "1us"));
    let others = [5, 6, 7].map(|at| (at, 12, "100Gbps", "1us"));
    let fabric = links(7, &hosts.chain(ring).chain(others).collect::<Vec<_>>());
    let mut list: Vec<_> = (0..5).map(|i| (i, (i + 2) % 5, 2_000_000, "0ns")).collect();
    list.push((5, 6, 100_000_000, "0ns"));
    loaded_with("ring-and-others", &fabric, &flows(&list), sets)
}

#[test]
fn a_deadlock_is_named_while_others_go_on() {
    let sets = [
        FIXED,
        "switch.buffer=\"190kB\"",
        "output.deadlock_interval=\"50us\"",
    ];
    let case = ring_and_others(&sets);
    let results = run(&case);
    let stall = stall(&results);
    assert_eq!(stall.pause_cycle.len(), 5);
    assert!(stall.reason.contains("cycle of pauses"), "{}", stall.reason);
    assert_eq!(stall.unfinished, 6);
    assert!(
        results.totals.end.as_ps() < 1_000_000_000,
        "{}",
        results.totals.end
    );
    let busy = results
        .messages
        .iter()
        .find(|message| message.id.get() == 5);
    assert!(busy.unwrap().acknowledged.get() > 100_000);
    // The same on several threads.
    let (parts, threading) = Simulation::new(&case)
        .unwrap()
        .run_on(2, &mut |_| Control::Continue);
    assert_eq!(threading.threads, 2);
    assert_eq!(parts.totals, results.totals);
    assert_eq!(parts.messages, results.messages);
}

#[test]
fn pauses_that_pass_are_no_deadlock() {
    // Leaves and spines pause each other all the time.
    let sets = [
        FIXED,
        "switch.pfc.xoff=\"8kB\"",
        "output.deadlock_interval=\"1us\"",
    ];
    let link = "{ rate = \"100Gbps\", delay = \"1us\" }";
    let text = format!(
        "topology = {{ kind = \"leaf-spine\", leaves = 4, spines = 2, hosts_per_leaf = 4, host_link = {link}, fabric_link = {link} }}\n\
         [[workload]]\nkind = \"all-to-all\"\nsize = \"50kB\"\n"
    );
    let results = run(&loaded(&text, &sets));
    assert_eq!(results.totals.ending, Ending::Complete);
    assert!(results.signals.pauses.count > 100);
    // Hosts that pause their switch let go of it.
    let storm = "[[faults.pause]]\nhost = 1\nduration = \"300us\"\nperiod = \"400us\"\n";
    let results = run(&loaded(&(text + storm), &sets));
    assert_eq!(results.totals.ending, Ending::Complete);
}

#[test]
fn the_same_ring_without_pauses_completes() {
    let sets = [
        "switch.buffer=\"150kB\"",
        "switch.pfc.enabled=false",
        "transport.ack_timeout=\"1ms\"",
    ];
    let results = run(&ring(&sets));
    assert_eq!(results.totals.ending, Ending::Complete);
    assert!(drops(&results, "buffer-full") > 0);
}

#[test]
fn the_same_ring_with_enough_buffer_completes() {
    assert_eq!(
        run(&ring(&["switch.buffer=\"64MiB\""])).totals.ending,
        Ending::Complete
    );
}

#[test]
fn a_lost_last_packet_without_timeout_is_reported_by_name() {
    // That simulator has no retransmission timer: a lost last packet is never sent again.
    let list: Vec<_> = (0..200).map(|i| (i % 4, 4, 3000, "1us")).collect();
    let text = format!("profile = \"hpcc-ns3\"\n{}{}", star(5), flows(&list));
    let results = run(&loaded(&text, &["faults.loss_rate=0.02"]));
    let stall = stall(&results);
    let open: Vec<_> = results
        .messages
        .iter()
        .filter(|m| m.finish.is_none())
        .collect();
    assert!(!open.is_empty() && open.len() < 100, "{}", open.len());
    assert_eq!(stall.unfinished as usize, open.len());
    assert!(stall.pause_cycle.is_empty());
    let names: Vec<String> = open
        .iter()
        .map(|m| {
            format!(
                "message {} from host {} to host {} ",
                m.id, m.source, m.destination
            )
        })
        .collect();
    assert!(
        names.iter().any(|name| stall.reason.contains(name)),
        "{} {names:?}",
        stall.reason
    );
    assert!(drops(&results, "link-error") > 0);
}

#[test]
fn a_run_stops_when_the_scenario_says() {
    let text = format!(
        "stop = \"20us\"\n{}{}",
        star(2),
        flows(&[(0, 1, 10_000_000, "0ns")])
    );
    let results = run(&loaded(&text, &[FIXED]));
    assert_eq!(results.totals.ending, Ending::Stopped);
    assert_eq!(results.totals.end.as_ps(), 20_000_000);
    assert_eq!(results.messages[0].outcome, Outcome::Unfinished);
    assert!(results.totals.in_flight.packets > 0);
}

#[test]
fn a_run_ends_when_its_caller_says() {
    let case = loaded(&(star(2) + &flows(&[(0, 1, 100_000_000, "0ns")])), &[FIXED]);
    let mut reports = 0;
    let results = Simulation::new(&case).unwrap().run(&mut |progress| {
        assert!(progress.placed <= progress.total && progress.messages == 1);
        reports += 1;
        if reports < 2 {
            Control::Continue
        } else {
            Control::Interrupt
        }
    });
    assert_eq!(results.totals.ending, Ending::Interrupted);
    assert_eq!(check(&results, true), Vec::<String>::new());
}

#[test]
fn a_receiver_cut_off_for_good_fails_the_message() {
    let fault = "[[faults.link]]\nbetween = [1, 3]\ndown = \"1us\"\n";
    let text = star(3) + &flows(&[(0, 1, 5000, "2us"), (0, 2, 5000, "2us")]) + fault;
    let results = run(&loaded(&text, &[FIXED, "transport.ack_timeout=\"100us\""]));
    assert_eq!(results.totals.ending, Ending::Failed);
    let outcomes: Vec<_> = results
        .messages
        .iter()
        .map(|m| (m.id.get(), m.outcome))
        .collect();
    assert_eq!(
        outcomes,
        [(1, Outcome::Completed), (0, Outcome::RetryExceeded)]
    );
    // One timeout for each retry and one that gives up.
    assert_eq!(results.signals.timeouts.count, 8);
}

/// A message whose sender has lost its only link for good.
fn cut_off(timeout: &str) -> Results {
    let fault = "[[faults.link]]\nbetween = [0, 3]\ndown = \"1us\"\n";
    let text = star(3) + &flows(&[(0, 1, 5000, "2us")]) + fault;
    run(&loaded(
        &text,
        &[FIXED, &format!("transport.ack_timeout=\"{timeout}\"")],
    ))
}

#[test]
fn a_sender_cut_off_for_good_ends_the_run() {
    for timeout in ["100us", "never"] {
        let results = cut_off(timeout);
        let ended = matches!(results.totals.ending, Ending::Stalled(_) | Ending::Failed);
        assert!(ended, "with timeout {timeout}: {:?}", results.totals.ending);
    }
}

#[test]
fn a_collective_with_a_failed_step_ends_the_run() {
    let work = "[[workload]]\nkind = \"ring-all-reduce\"\nsize = \"1MB\"\n";
    let fault = "[[faults.link]]\nbetween = [1, 3]\ndown = \"20us\"\n";
    let text = star(3) + work + fault;
    let results = run(&loaded(&text, &[FIXED, "transport.ack_timeout=\"100us\""]));
    let ended = matches!(results.totals.ending, Ending::Stalled(_) | Ending::Failed);
    assert!(
        ended,
        "{:?} at {}",
        results.totals.ending, results.totals.end
    );
    assert!(
        results
            .messages
            .iter()
            .any(|m| m.outcome == Outcome::RetryExceeded)
    );
}

#[test]
fn long_silence_between_messages_is_no_stall() {
    let list = [
        (0, 1, 5000, "0ns"),
        (0, 1, 5000, "500ms"),
        (1, 0, 5000, "2s"),
    ];
    let results = run_unchecked(&loaded(&(star(2) + &flows(&list)), &[]));
    assert_eq!(results.totals.ending, Ending::Complete);
}
