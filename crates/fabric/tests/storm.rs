//! Hosts that misuse pauses, and the watchdog of switches.

use fairlane_fabric::Ending;
use fairlane_fabric::metrics::check;

use crate::common::{complete, flows, loaded, run, run_for, star, taken};

/// Far more than any of these runs needs.
const EVENTS: u64 = 4_000_000;
const FIXED: &str = "congestion.algorithm=\"fixed\"";

/// Host 0 sends to host 1, which pauses its switch as `pause` says.
fn scenario(size: u64, pause: &str) -> String {
    let traffic = flows(&[(0, 1, size, "0ns")]);
    format!("{}{traffic}\n[[faults.pause]]\nhost = 1\n{pause}", star(3))
}

#[test]
fn nothing_arrives_during_a_pause_and_everything_after_it() {
    let calm = complete(&loaded(
        &scenario(100_000, "start = \"9s\"\nduration = \"1us\""),
        &[FIXED],
    ));
    let paused = complete(&loaded(
        &scenario(100_000, "start = \"0ns\"\nduration = \"400us\""),
        &[FIXED],
    ));
    let late = taken(&paused, 0) - taken(&calm, 0);
    // Frames take 1 us to the switch, as does the first packet, so the pause costs its length.
    let microseconds = late / 1_000_000;
    assert!(
        (398..=402).contains(&microseconds),
        "{microseconds} us late"
    );
    // One frame each half of the longest pause at 100 Gb/s, 335.5 us.
    assert_eq!(paused.signals.pauses.count, 3);
    assert!(paused.signals.paused_ns.count >= 399_000);
}

#[test]
fn a_storm_reaches_senders_through_full_buffers() {
    let text = scenario(3_000_000, "duration = \"1ms\"");
    let results = complete(&loaded(&text, &[FIXED, "switch.buffer=\"1MB\""]));
    // Besides the frames of host 1, the switch pauses host 0.
    let host_port = results
        .ports
        .iter()
        .position(|p| p.node.get() == 0)
        .unwrap();
    let at_sender = results
        .pauses
        .iter()
        .filter(|p| p.port.index() == host_port);
    assert!(at_sender.count() > 0);
}

#[test]
fn pauses_come_back_after_their_period() {
    let text = scenario(2_500_000, "duration = \"50us\"\nperiod = \"100us\"");
    let results = complete(&loaded(&text, &[FIXED]));
    // 200 us of traffic take twice as long.
    let microseconds = taken(&results, 0) / 1_000_000;
    assert!((350..480).contains(&microseconds), "{microseconds} us");
}

#[test]
fn long_storms_are_no_stall() {
    let text = scenario(100_000, "duration = \"35ms\"");
    let results = complete(&loaded(&text, &[FIXED, "transport.ack_timeout=\"never\""]));
    assert!(taken(&results, 0) > 35_000_000_000);
}

#[test]
fn pauses_that_come_again_are_no_hope_for_what_was_lost() {
    // Everything is on the link that fails, and nobody sends it again.
    let link = "\n[[faults.link]]\nbetween = [0, 3]\ndown = \"800ns\"\nup = \"900ns\"\n";
    for pause in [
        "duration = \"50us\"\nperiod = \"100us\"",
        "duration = \"99999ns\"\nperiod = \"100us\"",
        "duration = \"35ms\"\nperiod = \"36ms\"",
        "duration = \"10us\"\nperiod = \"9ms\"",
    ] {
        let text = scenario(5000, pause) + link;
        let case = loaded(&text, &[FIXED, "transport.ack_timeout=\"never\""]);
        let results = run_for(&case, EVENTS);
        assert_eq!(check(&results, true), Vec::<String>::new());
        let ending = &results.totals.ending;
        assert!(matches!(ending, Ending::Stalled(_)), "{pause}: {ending:?}");
    }
}

#[test]
fn what_long_pauses_let_through_now_and_then_is_no_stall() {
    for pause in [
        "duration = \"35ms\"\nperiod = \"36ms\"",
        "duration = \"34999900ns\"\nperiod = \"35ms\"",
    ] {
        let text = scenario(20_000, pause);
        let results = run(&loaded(&text, &[FIXED, "transport.ack_timeout=\"never\""]));
        assert_eq!(results.totals.ending, Ending::Complete, "{pause}");
        assert!(taken(&results, 0) > 35_000_000_000);
    }
}

#[test]
fn a_message_behind_a_long_silence_may_wait_for_a_pause() {
    let storm = "\n[[faults.pause]]\nhost = 1\nduration = \"35ms\"\nperiod = \"36ms\"";
    // Both begin while host 1 is pausing; before the second one there is silence for far more than 100 pauses.
    let traffic = flows(&[(0, 1, 5000, "1ms"), (0, 1, 5000, "7201ms")]);
    let text = star(3) + &traffic + storm;
    let sets = [
        FIXED,
        "transport.ack_timeout=\"never\"",
        "output.sample_interval=\"100ms\"",
    ];
    complete(&loaded(&text, &sets));
}

#[test]
fn the_watchdog_ends_a_storm() {
    let text = scenario(100_000, "duration = \"5ms\"");
    let sets = [
        FIXED,
        "switch.pfc.watchdog=\"200us\"",
        "switch.pfc.watchdog_restore=\"1ms\"",
    ];
    let results = complete(&loaded(&text, &sets));
    let microseconds = taken(&results, 0) / 1_000_000;
    assert!((200..230).contains(&microseconds), "{microseconds} us");
    assert_eq!(results.signals.watchdogs.as_ref().unwrap().count, 1);
}

#[test]
fn a_watchdog_bites_again_after_it_has_restored() {
    let text = scenario(6_000_000, "duration = \"5ms\"");
    let sets = [
        FIXED,
        "switch.pfc.watchdog=\"300us\"",
        "switch.pfc.watchdog_restore=\"100us\"",
    ];
    let results = complete(&loaded(&text, &sets));
    // 518 us of packets in windows of 100 us, each after 300 us.
    assert_eq!(results.signals.watchdogs.as_ref().unwrap().count, 6);
    let microseconds = taken(&results, 0) / 1_000_000;
    assert!((2310..2330).contains(&microseconds), "{microseconds} us");
}

#[test]
fn short_pauses_never_wake_the_watchdog() {
    let text = scenario(2_500_000, "duration = \"50us\"\nperiod = \"60us\"");
    let results = run(&loaded(&text, &[FIXED, "switch.pfc.watchdog=\"100us\""]));
    let bites = results.signals.watchdogs.unwrap();
    assert_eq!(bites.count, 0);
    assert_eq!(
        bites.why_zero.as_deref(),
        Some("every pause ended before switch.pfc.watchdog")
    );
}
