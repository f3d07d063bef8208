//! Lossless by default headroom, whatever delays a pause.

mod common;

use common::{drops, flows, links, loaded_with, run};
use fairlane_fabric::Ending;

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
