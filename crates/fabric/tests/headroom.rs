//! Lossless by default headroom, whatever delays a pause.

use fairlane_fabric::metrics::is_lossless;
use fairlane_fabric::{Ending, Results};

use crate::common::{drops, flows, links, loaded, loaded_with, run, star};

/// Hosts 1 to 150 get one packet each from host 0; host 151 gets much from host 0 and from 8 others.
const RECEIVERS: u32 = 150;
const SINK: u32 = RECEIVERS + 1;
const HOSTS: u32 = SINK + 9;

/// Nanoseconds of the link of a host.
fn delay(host: u32) -> u64 {
    match host {
        // A packet leaves every 1122 byte times of 80 ps; a longer way counts there and back.
        1..=RECEIVERS => 18_000 - u64::from(host) * 1122 * 80 / 2000,
        _ => 1000,
    }
}

/// The acknowledgements of all receivers are back at the switch at the same time, about 37 us; since
/// 34 us hosts send to the sink at nine times its rate.
fn bunched_acknowledgements() -> (String, String) {
    let delays: Vec<String> = (0..HOSTS)
        .map(|host| format!("{}ns", delay(host)))
        .collect();
    let spokes: Vec<_> = (0..HOSTS)
        .map(|host| (host, HOSTS, "100Gbps", delays[host as usize].as_str()))
        .collect();
    let mut list: Vec<_> = (1..=RECEIVERS).map(|host| (0, host, 1024, "0ns")).collect();
    list.push((0, SINK, 300_000, "34us"));
    list.extend((SINK + 1..HOSTS).map(|host| (host, SINK, 300_000, "34us")));
    (links(HOSTS, &spokes), flows(&list))
}

#[test]
fn acknowledgements_ahead_of_a_pause_cost_no_packet() {
    let (fabric, list) = bunched_acknowledgements();
    // Headroom (2 x delay at 12.5 B/ns, 3 packets, 8 pauses with their gaps) and reserve of all ports.
    let port = |host| 25 * delay(host) + 2 + 3 * 1122 + 8 * 84 + 4096;
    let committed: u64 = (0..HOSTS).map(port).sum();
    let mut paused = 0;
    // How much is shared decides when host 0 is paused; some of these meet the acknowledgements.
    for shared in (220_000..520_000).step_by(4000) {
        let buffer = format!("switch.buffer={}", committed + shared);
        let sets = [
            "congestion.algorithm=\"fixed\"",
            "transport.ack_control_class=true",
            "switch.pfc.threshold_shift=0",
            "switch.ecn.enabled=false",
            &buffer,
        ];
        let results = run(&loaded_with("bunched", &fabric, &list, &sets));
        assert_eq!(results.totals.ending, Ending::Complete, "{buffer}");
        assert_eq!(drops(&results, "buffer-full"), 0, "{buffer}");
        paused += results.signals.pauses.count;
    }
    assert!(paused > 0);
}

/// Host 0 sends to host 1 but takes nothing for 500 us, so that the acknowledgements fill the switch. Returns whether it
/// counts as lossless, and what comes of it.
fn kept_acknowledgements(class: u8, ack_pause: &str) -> (bool, Results) {
    let flow = format!("{{ source = 0, destination = 1, size = 3_000_000, class = {class} }}");
    let text = format!(
        "{}[[workload]]\nkind = \"flows\"\nflow = [{flow}]\n\
         [[faults.pause]]\nhost = 0\nclass = {class}\nduration = \"500us\"\n",
        star(2)
    );
    let sets = [
        "congestion.algorithm=\"fixed\"",
        "switch.buffer=\"80kB\"",
        &format!("nic.ack_pause=\"{ack_pause}\""),
    ];
    let case = loaded(&text, &sets);
    let results = run(&case);
    (is_lossless(&case.scenario, &results), results)
}

#[test]
fn acknowledgements_that_obey_pauses_cost_no_packet() {
    for (class, ack_pause) in [(3, "own-class"), (3, "class3"), (5, "own-class")] {
        let (lossless, results) = kept_acknowledgements(class, ack_pause);
        assert!(lossless, "{class} {ack_pause}");
        assert_eq!(drops(&results, "buffer-full"), 0, "{class} {ack_pause}");
        assert_eq!(results.totals.ending, Ending::Complete);
    }
}

#[test]
fn acknowledgements_that_ignore_pauses_of_their_class_may_overflow_a_buffer() {
    for (class, ack_pause) in [(3, "never"), (5, "never"), (5, "class3")] {
        let (lossless, results) = kept_acknowledgements(class, ack_pause);
        assert!(!lossless, "{class} {ack_pause}");
        assert!(drops(&results, "buffer-full") > 0, "{class} {ack_pause}");
    }
}

#[test]
fn nothing_holds_back_acknowledgements_in_the_control_class() {
    let text = star(2) + &flows(&[(0, 1, 3000, "0ns")]);
    for ack_pause in ["own-class", "class3", "never"] {
        let ack_pause = format!("nic.ack_pause=\"{ack_pause}\"");
        let case = loaded(&text, &[&ack_pause, "transport.ack_control_class=true"]);
        assert!(is_lossless(&case.scenario, &run(&case)));
    }
}
