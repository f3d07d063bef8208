//! What is said of settings that can't work, and of runs whose figures they explain.

use fairlane_fabric::warnings;

use crate::common::{flows, loaded, run, star};

/// Fifteen hosts send to one without pauses.
fn lossy(sets: &[&str]) -> fairlane_scenario::Loaded {
    let list: Vec<_> = (1..16).map(|host| (host, 0, 200_000, "0ns")).collect();
    let fixed = ["switch.pfc.enabled=false"];
    loaded(&(star(16) + &flows(&list)), &[&fixed, sets].concat())
}

#[test]
fn marks_above_the_buffer_are_named_beforehand() {
    let small = lossy(&["switch.buffer=\"300kB\""]);
    let said = warnings::before(&small).unwrap().join("\n");
    assert!(said.contains("no packet is ever marked"), "{said}");
    assert!(said.contains("switch.ecn.kmin_per_gbps"), "{said}");
    let large = lossy(&["switch.buffer=\"8MB\""]);
    assert_eq!(warnings::before(&large).unwrap(), [""; 0]);
    // Pauses come first on a lossless fabric.
    let paused = lossy(&["switch.buffer=\"300kB\"", "switch.pfc.enabled=true"]);
    assert_eq!(warnings::before(&paused).unwrap(), [""; 0]);
}

#[test]
fn timeouts_that_dominate_are_named_with_their_cause() {
    let small = lossy(&["switch.buffer=\"300kB\""]);
    let said = warnings::after(&small.scenario, &run(&small)).join("\n");
    assert!(said.contains("timeouts dominate"), "{said}");
    assert!(said.contains("were lost (buffer-full)"), "{said}");
    let large = lossy(&["switch.buffer=\"8MB\""]);
    assert_eq!(warnings::after(&large.scenario, &run(&large)), [""; 0]);
}

#[test]
fn timeouts_below_a_round_trip_are_named() {
    let short = lossy(&["transport.ack_timeout=\"4us\"", "switch.buffer=\"8MB\""]);
    let said = warnings::before(&short).unwrap().join("\n");
    assert!(said.contains("less than a round trip"), "{said}");
}

#[test]
fn thresholds_grow_with_the_rate() {
    let scenario = fairlane_scenario::Scenario::default();
    let kmin = |gbps| {
        let rate = fairlane_units::Rate::from_gbps(gbps);
        scenario.thresholds(rate).unwrap().0.get()
    };
    assert_eq!(kmin(400), 4 * kmin(100));
}
