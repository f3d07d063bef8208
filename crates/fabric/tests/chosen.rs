//! Ports that are sampled at an interval of their own.

use fairlane_fabric::metrics::{Summary, sample_utilisation};
use fairlane_fabric::{PortSeries, Results, Simulation};

use crate::common::{complete, loaded, star};

/// Seven hosts send to one in rounds, so that its port's queue grows and drains.
fn incast(sets: &[&str]) -> Results {
    let workload = "[[workload]]\nkind = \"incast\"\ndegree = 7\nsize = \"100kB\"\nrounds = 3\nperiod = \"150us\"\n";
    complete(&loaded(&(star(8) + workload), sets))
}

/// The figures of one column of a series.
fn column(series: &PortSeries, at: usize) -> Vec<[u64; 5]> {
    let figures = [
        &series.sent,
        &series.queue,
        &series.queue_max,
        &series.marked,
        &series.paused_ns,
    ];
    let row = |row: usize| figures.map(|figure| figure[row * series.ports + at]);
    (0..series.sent.len() / series.ports).map(row).collect()
}

const FINE: &str = "output.sample_interval=\"1500ns\"";
const PORTS: &str = "output.ports=[\"switch:8/port:3\", \"host:2\"]";

#[test]
fn chosen_ports_have_the_samples_that_all_would_have() {
    let (all, chosen) = (incast(&[FINE]), incast(&[FINE, PORTS]));
    let some = chosen.chosen.unwrap();
    assert_eq!(some.series.interval.as_ns(), 1500);
    let places = some.ports.iter().map(|port| &chosen.ports[port.index()]);
    let places: Vec<_> = places.map(|it| (it.node.get(), it.number)).collect();
    assert_eq!(places, [(2, 1), (8, 3)]);
    for (at, port) in some.ports.iter().enumerate() {
        let these = column(&some.series, at);
        assert!(these.len() > 100);
        assert_eq!(these, column(&all.series, port.index()), "{port}");
    }
}

#[test]
fn all_others_are_sampled_as_without_chosen_ports() {
    let (plain, chosen) = (incast(&[]), incast(&[FINE, PORTS]));
    assert!(plain.chosen.is_none());
    let deepest = plain.series.queue_max.iter().max();
    assert!(deepest > Some(&100_000), "{deepest:?}");
    assert_eq!(
        format!("{:?}", plain.series),
        format!("{:?}", chosen.series)
    );
    assert_eq!(plain.messages, chosen.messages);
    assert_eq!(plain.totals, chosen.totals);
    assert_eq!(Summary::of(&chosen).sample_interval_ns, 50_000.0);
}

#[test]
fn use_of_a_chosen_port_is_of_its_own_interval() {
    let all = incast(&[FINE]);
    let deepest = |&at: &usize| column(&all.series, at).iter().map(|row| row[2]).max();
    let receiver = (0..all.ports.len()).max_by_key(deepest).unwrap();
    let (node, number) = (all.ports[receiver].node, all.ports[receiver].number);
    let ports = format!("output.ports=[\"switch:{node}/port:{number}\", \"host:2\"]");
    let results = incast(&[FINE, &ports]);
    let some = results.chosen.as_ref().unwrap();
    let receiver = some.ports.iter().position(|own| own.index() == receiver);
    let receiver = receiver.unwrap();
    let port = &results.ports[some.ports[receiver].index()];
    // The port that others wait for is busy; a packet more than fits is the most.
    let rows = some.series.sent.len() / some.series.ports;
    let used = (0..rows).map(|row| {
        let sample = row * some.series.ports + receiver;
        sample_utilisation(&results, &some.series, sample, port)
    });
    let busiest = used.fold(0.0, f64::max);
    assert!((0.9..1.06).contains(&busiest), "{busiest}");
}

#[test]
fn fewer_ports_are_sampled_more_often() {
    let text = star(8) + "[[workload]]\nkind = \"permutation\"\nsize = \"1kB\"\n";
    let sets = ["output.sample_interval=\"1ns\"", "stop=\"5ms\""];
    let refused = Simulation::new(&loaded(&text, &sets)).err().unwrap();
    assert_eq!(refused.place, "output.sample_interval");
    let few = [&sets[..], &["output.ports=[\"host:3\"]"]].concat();
    assert!(Simulation::new(&loaded(&text, &few)).is_ok());
}
