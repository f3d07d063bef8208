//! Congestion controls of workloads and tenants beside each other.

use fairlane_congestion::Algorithm;
use fairlane_fabric::Results;

use crate::common::{complete, loaded, star, taken};

/// At 8 Gb/s a byte takes 1 ns; packets have 1000 B and nothing else, acknowledgements 50 B, links are 100 ns long. A message of n
/// packets, sent one every t ns by itself, takes (n - 1) t + 1000 + 100 + 1100 + 2 x 150 ns.
const SIZES: &str = r#"
topology = { kind = "star", hosts = 6, host_link = { rate = "8Gbps", delay = "100ns" } }
packet = { mtu = 1000, header = 0, first_header = 0, ack = 50, ack_min = 0, pause = 50, gap = 0 }
"#;

/// One message as a workload, with further keys.
fn message((source, destination, packets): (u32, u32, u32), more: &str) -> String {
    format!(
        "[[workload]]\nkind = \"flows\"\n{more}\n\
         flow = [{{ source = {source}, destination = {destination}, size = {packets}000 }}]\n"
    )
}

/// A constant rate as a control.
fn fixed(rate: &str) -> String {
    format!("congestion = {{ algorithm = \"fixed\", fixed = {{ rate = \"{rate}\" }} }}")
}

fn ns(results: &Results, id: u32) -> f64 {
    taken(results, id) as f64 / 1000.0
}

/// Nanoseconds of a message of so many packets, one every `gap` ns.
fn alone(packets: u32, gap: f64) -> f64 {
    f64::from(packets - 1) * gap + 2500.0
}

#[test]
fn a_background_of_two_fifths_leaves_three_fifths() {
    // 3.2 and 4.8 Gb/s fill a link of 8 Gb/s: a packet every 2500 and every 1666.7 ns. At the switch one waits for the other, and
    // for what has come in between, never for more than a packet of each.
    for algorithm in ["dcqcn", "hpcc", "swift"] {
        let text = SIZES.to_owned()
            + &message((0, 2, 400), &fixed("3.2Gbps"))
            + &message((1, 2, 600), &fixed("4.8Gbps"));
        let set = format!("congestion.algorithm=\"{algorithm}\"");
        let results = complete(&loaded(&text, &[&set]));
        for (id, alone) in [(0, alone(400, 2500.0)), (1, alone(600, 5000.0 / 3.0))] {
            let taken = ns(&results, id);
            assert!(
                (alone - 1.0..=alone + 2000.0).contains(&taken),
                "{taken}, not {alone}"
            );
        }
    }
}

#[test]
fn hpcc_takes_what_a_background_leaves_of_its_target() {
    // HPCC, section 3.2: a link is used to 95 %, of which 40 Gb/s are the background's. Packets of 1024 B have 62 B of headers, and
    // under HPCC 42 B of telemetry. Bounds are a tenth around 55 Gb/s: HPCC begins at line rate, and its rate swings.
    let background = fixed("40Gbps");
    let text = star(3)
        + &message((0, 2, 20_000), &background)
        + &message((1, 2, 20_000), "congestion = { algorithm = \"hpcc\" }");
    let results = complete(&loaded(&text, &["congestion.algorithm=\"dcqcn\""]));
    let rate = 20_000_000.0 * 8.0 / ns(&results, 1) * 1128.0 / 1024.0;
    assert!((50.0..60.0).contains(&rate), "{rate} Gb/s");
    // The background isn't slowed.
    let rate = 20_000_000.0 * 8.0 / ns(&results, 0) * 1086.0 / 1024.0;
    assert!((39.5..=40.0).contains(&rate), "{rate} Gb/s");
}

#[test]
fn a_workload_has_its_own_control_before_that_of_its_tenant() {
    let tenants = "[[tenant]]\nname = \"a\"\ncongestion = { algorithm = \"fixed\", \
                   fixed = { rate = \"4Gbps\" } }\n[[tenant]]\nname = \"b\"\n";
    let text = SIZES.to_owned()
        + tenants
        + &message((0, 3, 10), "tenant = \"a\"")
        + &message((1, 2, 10), &format!("tenant = \"a\"\n{}", fixed("2Gbps")))
        + &message((4, 5, 10), "tenant = \"b\"");
    // The third has that of the fabric: no control, or a constant rate.
    for (sets, gap) in [
        (&["congestion.scope=\"none\""][..], 1000.0),
        (
            &[
                "congestion.algorithm=\"fixed\"",
                "congestion.fixed.rate=\"1Gbps\"",
            ],
            8000.0,
        ),
    ] {
        let results = complete(&loaded(&text, sets));
        let expected = [2000.0, 4000.0, gap].map(|gap| alone(10, gap));
        assert_eq!([0, 1, 2].map(|id| ns(&results, id)), expected);
    }
}

/// Three messages to one host and a READ, under what `more` says, with thresholds that are the same under every algorithm.
fn incast(algorithm: Algorithm, more: &str) -> Results {
    let flows: String = (0..3)
        .map(|source| format!("{{ source = {source}, destination = 3, size = \"300kB\" }}, "))
        .collect();
    let text = star(5)
        + &format!("[[workload]]\nkind = \"flows\"\n{more}\nflow = [{flows}]\n")
        + &format!(
            "[[workload]]\nkind = \"flows\"\nverb = \"read\"\n{more}\n\
             flow = [{{ source = 4, destination = 3, size = \"100kB\", start = \"10us\" }}]\n"
        );
    let marking = [
        "switch.ecn.kmin_per_gbps=1000",
        "switch.ecn.kmax_per_gbps=4000",
        "switch.ecn.pmax=0.5",
    ];
    let set = format!("congestion.algorithm=\"{algorithm}\"");
    complete(&loaded(&text, &[&marking[..], &[&set]].concat()))
}

#[test]
fn traffic_under_its_own_control_is_what_it_is_under_that_of_the_fabric() {
    for algorithm in Algorithm::ALL {
        let other = match algorithm {
            Algorithm::Dcqcn => Algorithm::Fixed,
            _ => Algorithm::Dcqcn,
        };
        let own = format!("congestion = {{ algorithm = \"{algorithm}\" }}");
        let (all, own) = (incast(algorithm, ""), incast(other, &own));
        let of = |results: &Results| -> Vec<_> {
            let all = results.messages.iter();
            all.map(|it| (it.id, it.finish, it.ideal)).collect()
        };
        assert_eq!(of(&all), of(&own), "{algorithm}");
        let bytes = |results: &Results| results.totals.injected.bytes;
        assert_eq!(bytes(&all), bytes(&own), "{algorithm}");
        assert_eq!(
            all.signals.ecn_marks.count, own.signals.ecn_marks.count,
            "{algorithm}"
        );
    }
}

#[test]
fn packets_have_the_headers_of_their_own_control() {
    // A packet of 1000 B and its acknowledgement: under Swift 8 B more each, under HPCC 42 B.
    let bytes = |more: &str| {
        let text = star(2) + &message((0, 1, 1), more);
        let results = complete(&loaded(&text, &["congestion.algorithm=\"dcqcn\""]));
        let time = taken(&results, 0);
        assert_eq!(results.messages[0].ideal.as_ps(), time, "alone");
        results.totals.injected.bytes
    };
    let plain = 1000 + 62 + 16 + 66;
    assert_eq!(bytes(""), plain);
    assert_eq!(
        bytes("congestion = { algorithm = \"swift\" }"),
        plain + 2 * 8
    );
    assert_eq!(
        bytes("congestion = { algorithm = \"hpcc\" }"),
        plain + 2 * 42
    );
}

/// Messages that share connections have the control of their own workload, over one path or several.
#[test]
fn workloads_with_controls_of_their_own_share_no_connection() {
    let text = SIZES.to_owned()
        + &message((0, 2, 10), &fixed("1Gbps"))
        + &message((0, 2, 200), &fixed("4Gbps"));
    for paths in [1, 2] {
        let finish = |connections: &str| {
            let set = format!("multipath={{ paths = {paths}, connections = \"{connections}\" }}");
            ns(&complete(&loaded(&text, &[&set])), 1)
        };
        let [own, shared] = ["message", "pair"].map(finish);
        assert!(
            (shared / own - 1.0).abs() < 0.01,
            "{paths} paths: {shared}, alone {own}"
        );
    }
}
