//! Rates of messages over time.

use fairlane_fabric::{RateRecord, Results};

use crate::common::{complete, flows, loaded, run, star};

/// Three to one, the third later.
fn joined(sets: &[&str]) -> Results {
    let list = [
        (0, 3, 3_000_000, "0us"),
        (1, 3, 3_000_000, "0us"),
        (2, 3, 1_000_000, "200us"),
    ];
    complete(&loaded(&(star(4) + &flows(&list)), sets))
}

const EVERY: &str = "output.rate_interval=\"2us\"";

#[test]
fn rates_are_recorded_as_they_change() {
    let early = [
        "switch.ecn.kmin_per_gbps=200",
        "switch.ecn.kmax_per_gbps=800",
    ];
    let results = joined(&[EVERY, early[0], early[1]]);
    let rows = &results.rates;
    assert!(rows.is_sorted_by_key(|row| (row.time, row.message)));
    assert!(rows.iter().all(|row| row.time.as_ps() % 2_000_000 == 0));
    for message in 0..3 {
        let of: Vec<&RateRecord> = rows
            .iter()
            .filter(|row| row.message.get() == message)
            .collect();
        // A controller begins at the rate of the link, and is marked here.
        assert_eq!(of[0].rate.as_bps(), 100_000_000_000, "{message}");
        assert!(of.len() > 1, "{message}");
        assert!(of.windows(2).all(|pair| pair[0].rate != pair[1].rate));
    }
    let first = rows.iter().find(|row| row.message.get() == 2);
    assert_eq!(first.map(|row| row.time.as_ps()), Some(200_000_000));
}

#[test]
fn a_rate_without_control_is_that_of_the_link() {
    let results = joined(&[EVERY, "congestion.algorithm=\"fixed\""]);
    assert_eq!(results.rates.len(), 3);
}

#[test]
fn looking_changes_nothing() {
    for algorithm in ["dcqcn", "timely", "swift", "nscc", "hpcc", "infiniband"] {
        let algorithm = format!("congestion.algorithm=\"{algorithm}\"");
        let (without, with) = (joined(&[&algorithm]), joined(&[&algorithm, EVERY]));
        assert!(without.rates.is_empty());
        assert!(!with.rates.is_empty());
        assert_eq!(without.messages, with.messages, "{algorithm}");
        assert_eq!(without.totals, with.totals, "{algorithm}");
        assert_eq!(without.signals, with.signals, "{algorithm}");
    }
}

#[test]
fn data_of_reads_has_no_rate_here() {
    let text = star(3)
        + "[[workload]]\nkind = \"incast\"\ndegree = 2\nsize = \"100kB\"\nverb = \"read\"\n";
    assert!(run(&loaded(&text, &[EVERY])).rates.is_empty());
}
