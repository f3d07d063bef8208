//! Goodput of runs, against the payload rate of the link that bounds it.

use fairlane_fabric::metrics::{Goodput, Summary};
use fairlane_units::Bytes;

use crate::common::{flows, loaded, run, star};

/// Part of a link that is payload: 1024 bytes in packets of 1086, with gaps of 20.
const PAYLOAD: f64 = 1024.0 / 1106.0;

#[test]
fn endless_messages_count_with_what_is_placed() {
    // A sender after the other joins; the link to host 4 is full from the first round trip on.
    let size = 4_000_000_000;
    let list = [
        (0, 4, size, "0us"),
        (1, 4, size, "500us"),
        (2, 4, size, "1ms"),
        (3, 4, size, "1500us"),
    ];
    let sets = ["stop=\"2ms\"", "congestion.algorithm=\"fixed\""];
    let results = run(&loaded(&(star(5) + &flows(&list)), &sets));
    let summary = Summary::of(&results);
    assert_eq!((summary.completed, summary.completed_bytes), (0, 0));
    let full = 100.0 * PAYLOAD;
    for gbps in [summary.goodput_gbps, summary.goodput_run_gbps] {
        assert!((0.97 * full..=full).contains(&gbps), "{gbps} of {full}");
    }
    let each: Vec<Bytes> = results.messages.iter().map(|it| it.placed).collect();
    // Whoever comes late finds the buffer full.
    let least = Bytes::new(500_000);
    assert!(each[..3].iter().all(|placed| *placed > least), "{each:?}");
    assert_eq!(
        each.iter().copied().sum::<Bytes>().get(),
        summary.placed_bytes
    );
    let acknowledged: Bytes = results.messages.iter().map(|it| it.acknowledged).sum();
    assert!(acknowledged < each.into_iter().sum());
}

#[test]
fn data_that_is_read_is_placed_at_who_asked() {
    let read = "[[workload]]\nkind = \"flows\"\nverb = \"read\"\nflow = [{ source = 0, destination = 1, size = \"2GB\" }]\n";
    let results = run(&loaded(&(star(2) + read), &["stop=\"200us\""]));
    let placed = results.messages[0].placed;
    assert!(placed > Bytes::new(2_000_000), "{placed}");
    assert_eq!(placed, results.tenants[0].placed);
}

#[test]
fn a_long_message_at_the_end_does_not_dilute_what_arrived_before() {
    // 40 messages of 1 MB at a tenth of a millisecond each, as much as host 3's link carries to 86 %; the last one but
    // one is a long message, over a path of its own.
    let mut list: Vec<(u32, u32, u64, String)> = (0..40)
        .map(|number| (number % 2, 3, 1_000_000, format!("{}us", 100 * number)))
        .collect();
    list.push((2, 4, 90_000_000, "3900us".into()));
    let list: Vec<_> = list
        .iter()
        .map(|it| (it.0, it.1, it.2, it.3.as_str()))
        .collect();
    let results = run(&loaded(&(star(5) + &flows(&list)), &[]));
    // 39 messages of 8 Mb in 3.9 ms.
    let (headline, whole) = (Goodput::of(&results), Goodput::of_run(&results));
    assert!((headline.gbps - 80.0).abs() < 1.0, "{headline:?}");
    // 130 MB, of which the last 90 take 7.8 ms at the payload rate.
    let expected = 8.0 * 130.0 / (3.9 + 8.0 * 90.0 / 100.0 / PAYLOAD);
    assert!(
        (whole.gbps / expected - 1.0).abs() < 0.01,
        "{whole:?}, expected {expected}"
    );
}

/// What is placed is known to the sampling interval: of arrivals within one, nothing is said.
#[test]
fn arrivals_within_a_sampling_interval_have_no_goodput_of_their_own() {
    let list = [
        (0, 1, 1000, "0us"),
        (0, 1, 1000, "1us"),
        (0, 1, 1000, "5us"),
        (2, 3, 400_000, "10us"),
    ];
    for interval in ["50us", "5us"] {
        let set = format!("output.sample_interval=\"{interval}\"");
        let results = run(&loaded(&(star(4) + &flows(&list)), &[&set]));
        assert_eq!(Goodput::of(&results), Goodput::of_run(&results));
    }
    // Three messages of 1 kB in 10 us.
    let results = run(&loaded(
        &(star(4) + &flows(&list)),
        &["output.sample_interval=\"1us\""],
    ));
    let goodput = Goodput::of(&results);
    assert!((goodput.gbps - 2.4).abs() < 0.01, "{goodput:?}");
}
