//! The report as a file: complete, self-contained, safe against hostile names.

use proptest::prelude::*;
use serde_json::Value;

use super::frames::{LogScale, base64, share_code};
use super::sample::Sample;
use super::{gather, render, text};

fn data_of(page: &str) -> Value {
    let (_, after) = page.split_once("id=\"data\">").unwrap();
    let (json, _) = after.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

#[test]
fn the_file_stands_alone() {
    let page = render(&Sample::fat_tree(1, 4).input());
    // Parts of a drawing refer to each other.
    let page = page.replace("url(#", "");
    for reference in ["src=\"", "href=\"http", "url(", "@import", "fetch(", "{{"] {
        assert!(
            !page.contains(reference),
            "the page refers to something else: {reference}"
        );
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn the_figures_arrive_in_the_page() {
    let sample = Sample::fat_tree(1, 4);
    let data = data_of(&render(&sample.input()));
    assert_eq!(data["heading"]["name"], "Hadoop at 50 % on a fat-tree");
    assert_eq!(data["ending"]["kind"], "complete");
    assert_eq!(data["slowdown"].as_array().unwrap().len(), 20);
    assert_eq!(
        data["map"]["ports"]["node"].as_array().unwrap().len(),
        sample.results.ports.len()
    );
    let names = data["signals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap());
    assert!(
        names.clone().any(|name| name == "Drops: buffer-full"),
        "{:?}",
        names.collect::<Vec<_>>()
    );
}

#[test]
fn a_run_that_goes_on_is_no_concern() {
    let sample = Sample::faulty();
    let tile = |json: &str| -> Value {
        let data: Value = serde_json::from_str(json).unwrap();
        serde_json::json!([data["ending"]["kind"], data["tiles"][0]["bad"]])
    };
    let (after, before) = (
        super::data(&sample.input()),
        super::running(&sample.input()),
    );
    assert_eq!(tile(&after), serde_json::json!(["complete", true]));
    assert_eq!(tile(&before), serde_json::json!(["running", false]));
}

#[test]
fn slow_messages_hot_ports_and_failures_arrive_in_the_page() {
    let sample = Sample::faulty();
    let data = gather::report_data(&sample.input());
    let times: Vec<_> = data.faults.iter().map(|it| (it.time_ns, it.up)).collect();
    assert_eq!(times, [(500_000.0, false), (1_000_000.0, true)]);
    assert_eq!((data.slowest.len(), data.hottest.len()), (10, 10));
    let [ended, open] = &data.collectives.rows[..] else {
        panic!("{:?}", data.collectives);
    };
    assert_eq!(data.collectives.count, 2);
    assert_eq!(
        (ended.what.as_str(), ended.time_ns),
        ("all-reduce ring", Some(80_000.0))
    );
    // 1 MB in 80 us, and that times 2 x 7/8.
    for (gbps, expected) in [(ended.algorithm_gbps, 100.0), (ended.bus_gbps, 175.0)] {
        let error = gbps.map(|gbps| (gbps - expected).abs());
        assert!(error.is_some_and(|error| error < 1e-9), "{gbps:?}");
    }
    assert!(
        ended
            .slowest
            .starts_with("3 on host 3: message 7 from host"),
        "{}",
        ended.slowest
    );
    assert_eq!(
        (open.time_ns, open.bus_gbps, open.slowest.as_str()),
        (None, None, "-")
    );
    let slowest = &data.slowest[0];
    assert_eq!(slowest.id, 7);
    let end = sample.results.totals.end.as_ps() as f64 / 1e3;
    assert_eq!(slowest.span_ns, end - slowest.start_ns);
    let on_switch = |row: &super::data::HotRow| sample.results.ports[row.port as usize].on_switch;
    assert!(data.hottest.iter().all(on_switch));
}

#[test]
fn names_cannot_break_out_of_the_page() {
    let mut sample = Sample::fat_tree(1, 1);
    sample.name = "</script><script>alert(1)</script><!--{{data}}".into();
    let page = render(&sample.input());
    assert_eq!(data_of(&page)["heading"]["name"], sample.name.as_str());
    assert!(!page.contains("alert(1)</script>"));
    assert!(!page.contains("<!--"));
}

#[test]
fn a_stall_names_its_ports() {
    let data = data_of(&render(&Sample::stalled_star().input()));
    assert_eq!(data["ending"]["label"], "STALLED");
    assert_eq!(
        data["ending"]["details"][0],
        "node 8 port 1 waits for node 0"
    );
    assert!(
        data["ending"]["reason"]
            .as_str()
            .unwrap()
            .contains("at 1.25 ms with 2 messages")
    );
}

#[test]
fn a_large_run_stays_below_three_megabytes() {
    let page = render(&Sample::fat_tree(5, 400).input());
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
}

#[test]
fn delivered_throughput_counts_only_ports_that_face_hosts() {
    let mut sample = Sample::fat_tree(1, 2);
    let results = &mut sample.results;
    results.series.sent.fill(0);
    let ports = results.ports.len();
    let to_host = results
        .ports
        .iter()
        .position(|port| port.on_switch)
        .unwrap();
    let from_host = results
        .ports
        .iter()
        .position(|port| !port.on_switch)
        .unwrap();
    results.series.sent[ports + to_host] = 500_000;
    results.series.sent[ports + from_host] = 9;
    let data = gather::report_data(&sample.input());
    // 500 kB in 50 us.
    assert_eq!(data.series.delivered_gbps, [0.0, 80.0]);
}

#[test]
fn series_of_odd_lengths_are_merged_without_loss() {
    let sample = Sample::fat_tree(1, 2503);
    let data = gather::report_data(&sample.input());
    let sum = |values: &[f64]| values.iter().sum::<f64>() as u64;
    assert_eq!(
        sum(&data.series.marks),
        sample.results.signals.ecn_marks.count
    );
    assert_eq!(
        sum(&data.series.pauses),
        sample.results.signals.pauses.count
    );
    assert_eq!(data.series.marks.len(), 835);
    assert_eq!(data.map.frames.count, 193);
}

#[test]
fn an_attack_is_drawn_beside_the_honest_run() {
    let sample = Sample::tenants();
    let page = super::browser_tests::attacked(&sample);
    let attack = &data_of(&page)["attack"];
    assert_eq!(attack["title"], "staggered under scope qp");
    assert_eq!(attack["window_ns"][0], 1e6);
    let [attacker, victims] = &attack["lines"].as_array().unwrap()[..] else {
        panic!("attacker and victims")
    };
    // The same run stands for both.
    for line in [attacker, victims] {
        assert_eq!(line["gbps"], line["honest_gbps"]);
    }
    let name = sample.results.tenants[1].name.as_str();
    assert_eq!(attacker["name"], format!("{name} (attacker)"));
    // Two others are victims.
    assert_eq!(
        (&attacker["tenant"], &victims["tenant"]),
        (&1.into(), &Value::Null)
    );
    assert_eq!(data_of(&render(&sample.input()))["attack"], Value::Null);
}

#[test]
fn tiers_have_the_names_of_the_field() {
    let names = |sample: &Sample| gather::report_data(&sample.input()).map.nodes.tier_names;
    assert_eq!(
        names(&Sample::fat_tree(2, 1)),
        ["host", "ToR", "aggregation", "core"]
    );
    assert_eq!(names(&Sample::mesh(3)), ["host", "switch"]);
}

#[test]
fn no_two_nodes_share_a_place() {
    let data = gather::report_data(&Sample::fat_tree(16, 1).input());
    let nodes = &data.map.nodes;
    let place = |(x, y): (&f32, &f32)| ((x * 1e4) as i32, (y * 1e4) as i32);
    let mut places: Vec<(i32, i32)> = nodes.x.iter().zip(&nodes.y).map(place).collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), nodes.x.len());
}

#[test]
fn figures_are_short() {
    assert_eq!(text::scaled(1234.0, "B"), ("1.23".into(), "kB".into()));
    assert_eq!(text::scaled(999.7, "b/s"), ("1.00".into(), "kb/s".into()));
    assert_eq!(text::scaled(0.0, "B"), ("0".into(), "B".into()));
    assert_eq!(text::time(12_340.0), ("12.3".into(), "µs"));
    assert_eq!(text::count(1_234_567), "1\u{202f}234\u{202f}567");
    assert_eq!(text::percent(0.125), "12.5 %");
}

#[test]
fn base64_agrees_with_the_vectors_of_rfc_4648() {
    let vectors = [
        ("", ""),
        ("f", "Zg=="),
        ("fo", "Zm8="),
        ("foo", "Zm9v"),
        ("foob", "Zm9vYg=="),
    ];
    for (plain, coded) in vectors {
        assert_eq!(base64(plain.as_bytes()), coded);
    }
}

proptest! {
    #[test]
    fn a_queue_code_is_within_two_percent(bytes in 64_u64..5_000_000, more in 0_u64..50_000_000) {
        let scale = LogScale::up_to(bytes + more);
        prop_assume!(bytes as f64 >= scale.low);
        let code = f64::from(scale.code(bytes));
        let decoded = scale.low * (scale.high / scale.low).powf((code - 1.0) / 254.0);
        prop_assert!((decoded / bytes as f64 - 1.0).abs() < 0.02, "{bytes} became {decoded}");
    }

    #[test]
    fn a_share_above_zero_is_never_shown_as_zero(share in 0.0_f64..2.0) {
        prop_assert_eq!(share_code(share) == 0, share == 0.0);
    }

}

proptest! {
    // A page takes long.
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_name_survives_the_page(name in ".{0,40}") {
        let mut sample = Sample::stalled_star();
        sample.name = name;
        let page = render(&sample.input());
        let data = data_of(&page);
        prop_assert_eq!(data["heading"]["name"].as_str(), Some(sample.name.as_str()));
    }
}
