//! Links that go down and come back, and what becomes of packets, pauses and messages.

use fairlane_fabric::{Ending, Results};
use proptest::prelude::*;

use crate::common::{complete, drops, flows, links, loaded, loaded_with, run, star, taken};

const FIXED: &str = "congestion.algorithm=\"fixed\"";
const SOON: &str = "transport.ack_timeout=\"100us\"";

/// Hosts 0 to 3, leaves 4 and 5, spines 6 and 7.
const LEAF_SPINE: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
host_link = { rate = "100Gbps", delay = "1us" }
fabric_link = { rate = "100Gbps", delay = "1us" }
"#;

fn fault(a: u32, b: u32, down: &str, up: Option<&str>) -> String {
    let up = up.map_or_else(String::new, |up| format!("up = \"{up}\"\n"));
    format!("[[faults.link]]\nbetween = [{a}, {b}]\ndown = \"{down}\"\n{up}")
}

/// Eight messages between the leaves, enough for the hash to choose both spines.
fn between_leaves(size: u64, start: &'static str) -> Vec<(u32, u32, u64, &'static str)> {
    (0..8)
        .map(|i| (i % 2, 2 + i / 2 % 2, size, start))
        .collect()
}

/// Bytes that the port from `node` to `peer` sent in each sample.
fn sent(results: &Results, node: u32, peer: u32) -> Vec<u64> {
    let at = results
        .ports
        .iter()
        .position(|p| (p.node.get(), p.peer_node.get()) == (node, peer));
    let rows = results.series.sent.chunks(results.series.ports);
    rows.map(|row| row[at.unwrap()]).collect()
}

#[test]
fn flows_go_another_way_when_a_link_goes_down() {
    let traffic = flows(&between_leaves(250_000, "0ns"));
    let text = format!("{LEAF_SPINE}{traffic}{}", fault(4, 6, "50us", None));
    let sets = [SOON, "output.sample_interval=\"10us\""];
    let results = complete(&loaded(&text, &sets));
    assert!(drops(&results, "link-down") > 0);
    assert!(results.signals.retransmissions.count > 0);
    let sent = sent(&results, 4, 6);
    assert!(sent[..5].iter().all(|&bytes| bytes > 0), "{sent:?}");
    assert!(sent[5..].iter().all(|&bytes| bytes == 0), "{sent:?}");
}

#[test]
fn a_link_that_comes_back_is_used_again() {
    let mut list = between_leaves(250_000, "0ns");
    list.extend(between_leaves(250_000, "2ms"));
    let text = format!(
        "{LEAF_SPINE}{}{}",
        flows(&list),
        fault(4, 6, "50us", Some("1ms"))
    );
    let results = complete(&loaded(&text, &[SOON, "output.sample_interval=\"100us\""]));
    let sent = sent(&results, 4, 6);
    assert!(sent[1..20].iter().all(|&bytes| bytes == 0), "{sent:?}");
    assert!(sent[20..].iter().any(|&bytes| bytes > 0), "{sent:?}");
}

#[test]
fn a_packet_on_the_failing_link_is_lost_once() {
    // 1078 B leave the switch at 1,086,240 ps and would be received at 2,172,480. Sent again 50 us
    // after the first time, they take as long as one packet on an idle fabric: 4,183,040 ps.
    let text = star(2) + &flows(&[(0, 1, 1000, "0ns")]) + &fault(1, 2, "1500ns", Some("1600ns"));
    let results = complete(&loaded(&text, &[FIXED, "transport.ack_timeout=\"50us\""]));
    assert_eq!(drops(&results, "link-down"), 1);
    assert_eq!(
        (results.totals.dropped.packets, results.totals.dropped.bytes),
        (1, 1078)
    );
    assert_eq!(taken(&results, 0), 50_000_000 + 4_183_040);
    assert_eq!(results.signals.timeouts.count, 1);
    assert_eq!(results.messages[0].retransmitted, 1);
}

#[test]
fn a_packet_that_has_passed_the_link_is_not_lost() {
    // The acknowledgement is on the link of host 1 from 2,172,480 to 3,177,760 ps.
    let text = star(2) + &flows(&[(0, 1, 1000, "0ns")]) + &fault(1, 2, "3178ns", Some("3179ns"));
    let results = complete(&loaded(&text, &[FIXED]));
    assert_eq!(results.totals.dropped.packets, 0);
    assert_eq!(taken(&results, 0), 4_183_040);
}

#[test]
fn a_receiver_that_is_cut_off_is_reached_after_the_repair() {
    let text = star(3) + &flows(&[(0, 1, 1000, "2us")]) + &fault(1, 3, "1us", Some("5ms"));
    let results = complete(&loaded(&text, &[FIXED, "transport.ack_timeout=\"800us\""]));
    // Sent at 2 us and every 800 us: 7 times before the repair.
    assert_eq!(drops(&results, "no-route"), 7);
    assert_eq!(taken(&results, 0), 7 * 800_000_000 + 4_183_040);
}

#[test]
fn a_sender_that_is_cut_off_waits_for_the_repair() {
    let text = star(3) + &flows(&[(0, 1, 1000, "2us")]) + &fault(0, 3, "1us", Some("3ms"));
    let results = complete(&loaded(&text, &[FIXED]));
    assert_eq!(results.totals.dropped.packets, 0);
    assert_eq!(taken(&results, 0), 3_000_000_000 - 2_000_000 + 4_183_040);
    assert_eq!(results.messages[0].ideal.as_ps(), 4_183_040);
}

#[test]
fn a_sender_that_stays_cut_off_fails_like_a_receiver_that_does() {
    // Before the message, or in the middle of it.
    for down in ["1us", "20us"] {
        let ends = [0, 1].map(|host| {
            let text = star(3) + &flows(&[(0, 1, 1_000_000, "2us")]) + &fault(host, 3, down, None);
            let set = "transport.ack_timeout=\"16ms\"";
            let results = run(&loaded(&text, &[FIXED, set]));
            assert_eq!(results.totals.ending, Ending::Failed, "{host} {down}");
            assert_eq!(results.signals.timeouts.count, 8, "{host} {down}");
            results.totals.end.as_ps() / 1_000_000_000
        });
        assert_eq!(ends, [128, 128], "{down}");
    }
}

#[test]
fn a_sender_that_is_cut_off_is_stopped_in_time() {
    let text = star(3) + &flows(&[(0, 1, 1_000_000, "2us")]) + &fault(0, 3, "20us", None);
    let results = run(&loaded(&text, &[FIXED, "stop=\"100ms\""]));
    assert_eq!(results.totals.ending, Ending::Stopped);
    assert_eq!(results.totals.end.as_ps(), 100_000_000_000);
}

#[test]
fn a_detour_longer_than_every_path_before_is_taken() {
    // Three switches in a triangle: hosts 0 to 2 on 3 to 5. Without 3-4 the way is 3-5-4.
    let mesh = "topology = { kind = \"mesh\", switches = 3, hosts_per_switch = 1, \
        host_link = { rate = \"100Gbps\", delay = \"1us\" }, \
        fabric_link = { rate = \"100Gbps\", delay = \"1us\" } }\n";
    let list = [(0, 1, 250_000, "0ns"), (0, 1, 1000, "30us")];
    let text = format!("{mesh}{}{}", flows(&list), fault(3, 4, "10us", None));
    let results = complete(&loaded(&text, &[FIXED, SOON]));
    assert!(drops(&results, "link-down") > 0);
    assert_eq!(drops(&results, "no-route"), 0);
    // In a ring of six, the opposite way is five switches longer than the direct one.
    let ring: Vec<_> = (0..6)
        .map(|i| (6 + i, 6 + (i + 1) % 6, "100Gbps", "1us"))
        .collect();
    let hosts = (0..6).map(|i| (i, 6 + i, "100Gbps", "1us"));
    let fabric = links(6, &hosts.chain(ring).collect::<Vec<_>>());
    let text = flows(&list) + &fault(6, 7, "10us", None);
    let results = complete(&loaded_with("detour", &fabric, &text, &[FIXED, SOON]));
    assert_eq!(drops(&results, "no-route"), 0);
}

/// Two senders into one host with a buffer of a few packets; see `exact_pause.rs`.
fn pausing(faults: &str) -> Results {
    let text = format!(
        r#"
        topology = {{ kind = "star", hosts = 3, host_link = {{ rate = "8Gbps", delay = "100ns" }} }}
        packet = {{ mtu = 1000, header = 0, first_header = 0, ack = 50, ack_min = 0, pause = 50, gap = 0 }}
        switch = {{ buffer = 17806, pfc = {{ reserve = 1000, resume_offset = 500, threshold_shift = 1 }} }}
        {}{faults}"#,
        flows(&[(0, 2, 10_000, "0ns"), (1, 2, 10_000, "0ns")])
    );
    complete(&loaded(&text, &[FIXED, "transport.ack_timeout=\"50us\""]))
}

#[test]
fn a_pause_on_the_failing_link_is_lost_and_nothing_hangs() {
    // The first pause of host 1 is on its link from 4100 to 4250 ns.
    let results = pausing(&fault(1, 3, "4200ns", Some("6us")));
    assert!(
        results
            .pauses
            .iter()
            .all(|pause| pause.time.as_ps() != 4_250_000)
    );
    assert_eq!(drops(&results, "buffer-full"), 0);
}

#[test]
fn a_link_that_goes_down_forgets_its_pauses() {
    // Host 1 is paused from 4250 to 8250 ns; its link comes back at 6 us without a pause.
    let results = pausing(&fault(1, 3, "5us", Some("6us")));
    assert!(results.signals.retransmissions.count > 0);
    let ports: Vec<u32> = results.ports.iter().map(|port| port.node.get()).collect();
    let of_host = |pause: &&fairlane_fabric::PauseRecord| ports[pause.port.index()] == 1;
    let first: Vec<bool> = results
        .pauses
        .iter()
        .filter(of_host)
        .map(|p| p.pause)
        .take(2)
        .collect();
    assert_eq!(first, [true, true], "a pause before and another one after");
}

#[test]
fn the_egress_of_a_pausing_switch_goes_down() {
    // Both senders are paused because host 2 is slow to drain; then host 2 is cut off.
    let results = pausing(&fault(2, 3, "5500ns", Some("20us")));
    assert!(drops(&results, "link-down") > 0);
}

/// Host 1 doesn't let its switch send to it from the beginning for so many microseconds, so that what host 0 sends fills
/// buffers. From 200 to 210 us a link on the way is down.
fn held_back(micros: u64, link: (u32, u32), sets: &[&str]) -> Results {
    let fabric = "topology = { kind = \"dumbbell\", left = 1, right = 1, \
                  host_link = { rate = \"100Gbps\", delay = \"1us\" }, \
                  core_link = { rate = \"100Gbps\", delay = \"1us\" } }\n";
    let traffic = flows(&[(0, 1, 3_000_000, "0ns")]);
    let storm = format!("\n[[faults.pause]]\nhost = 1\nduration = \"{micros}us\"\n");
    let text = format!(
        "{fabric}{traffic}{storm}{}",
        fault(link.0, link.1, "200us", Some("210us"))
    );
    let tight = ["switch.buffer=\"150kB\"", FIXED, SOON];
    run(&loaded(&text, &[&tight, sets].concat()))
}

#[test]
fn a_link_that_comes_back_is_paused_as_buffers_are() {
    for link in [(0, 2), (2, 3)] {
        let results = held_back(600, link, &[]);
        assert_eq!(results.totals.ending, Ending::Complete, "{link:?}");
        assert_eq!(drops(&results, "buffer-full"), 0, "{link:?}");
        // The switch behind the link pauses again at once, and nothing passes until host 1 takes packets.
        let at = results.ports.iter().position(|port| {
            (port.node.get(), port.peer_node.get()) == link && port.peer_node.get() == link.1
        });
        let heard = results
            .pauses
            .iter()
            .filter(|pause| Some(pause.port.index()) == at && pause.time.as_ps() > 205_000_000);
        let heard: Vec<(u64, bool)> = heard
            .map(|pause| (pause.time.as_ps() / 1_000_000, pause.pause))
            .take(2)
            .collect();
        assert_eq!(heard[0], (211, true), "{link:?}");
        assert!(heard[1].0 > 600 && !heard[1].1, "{link:?}: {heard:?}");
    }
}

#[test]
fn a_watchdog_forgets_the_pauses_of_a_link_that_failed() {
    // It bites at 101 us and restores at 221 us; the end of the pause at 205 us is lost.
    let sets = [
        "switch.pfc.watchdog=\"100us\"",
        "switch.pfc.watchdog_restore=\"120us\"",
    ];
    let results = held_back(205, (1, 3), &sets);
    assert_eq!(results.totals.ending, Ending::Complete);
    assert!(
        results
            .signals
            .watchdogs
            .is_some_and(|bites| bites.count > 0)
    );
}

#[test]
fn a_host_whose_link_is_down_counts_no_pause_frames() {
    let storm = "\n[[faults.pause]]\nhost = 2\nduration = \"1us\"\nperiod = \"2us\"\n";
    let text = star(3) + &flows(&[(0, 1, 1000, "900us")]) + storm + &fault(2, 3, "10us", None);
    let results = complete(&loaded(&text, &[FIXED]));
    let totals = &results.totals;
    // Of a data packet and its acknowledgement, over two links each.
    assert_eq!(totals.message_transmissions, 4);
    // Until 10 us five pauses and their ends.
    assert_eq!(totals.transmissions - totals.message_transmissions, 10);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_failures_with_repair_end_in_completion(
        failures in prop::collection::btree_map(0usize..8, (1u64..200, 1u64..200), 1..5),
        pfc in any::<bool>(),
        control in any::<bool>(),
        storm in prop::option::of((0u32..4, 0u64..200, 1u64..300)),
    ) {
        let ends = [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (4, 7), (5, 6), (5, 7)];
        let mut text = format!("{LEAF_SPINE}{}", flows(&between_leaves(60_000, "0ns")));
        for (link, (down, length)) in failures {
            let (a, b) = ends[link];
            let up = format!("{}us", down + length);
            text += &fault(a, b, &format!("{down}us"), Some(&up));
        }
        if let (true, Some((host, start, length))) = (pfc, storm) {
            let pause = format!("host = {host}\nstart = \"{start}us\"\nduration = \"{length}us\"");
            text += &format!("[[faults.pause]]\n{pause}\n");
        }
        let pfc = format!("switch.pfc.enabled={pfc}");
        let control = format!("transport.ack_control_class={control}");
        let tight = ["switch.buffer=\"160kB\"", "transport.ack_timeout=\"200us\""];
        let results = run(&loaded(&text, &[&pfc, &control, tight[0], tight[1]]));
        prop_assert_eq!(results.totals.ending, Ending::Complete);
    }
}
