//! Random scenarios whose classes are scheduled, and whose workloads have congestion controls of their own.

use std::fmt::Write as _;

use fairlane_congestion::Algorithm;
use fairlane_engine::Stream;

use super::{Draw, scenario};

/// What makes ports of scenario number `seed` schedule classes, and its workloads have several congestion controls; always the same.
pub fn mixing(seed: u64) -> Vec<String> {
    let mut draw = Draw(Stream::new(seed, 3));
    let text = scenario(seed);
    let mut sets = vec![
        format!("switch.class=[{}]", classes(&mut draw)),
        "congestion.dasr.mode=\"off\"".into(),
    ];
    if text.contains("policy = \"share\"") {
        return sets;
    }
    let scope = draw.of(&["qp", "qp", "none"]);
    sets.push(format!("congestion.scope=\"{scope}\""));
    sets.push("congestion.notification=\"ack\"".into());
    sets.push("switch.ecn.enabled=true".into());
    if draw.chance(70) {
        sets.push(format!("nic.class=[{}]", classes(&mut draw)));
    }
    for workload in 0..text.matches("[[workload]]").count() {
        if draw.chance(70) {
            let algorithm = draw.of(&Algorithm::ALL);
            let rate = draw.of(&["", ", fixed = { rate = \"3Gbps\" }"]);
            let rate = if algorithm == Algorithm::Fixed {
                rate
            } else {
                ""
            };
            sets.push(format!(
                "workload.{workload}.congestion={{ algorithm = \"{algorithm}\"{rate} }}"
            ));
        }
    }
    sets
}

/// All classes, each strict or with a weight.
fn classes(draw: &mut Draw) -> String {
    let mut list = String::new();
    for class in 1..8 {
        let how = match draw.chance(30) {
            true => "strict = true".to_owned(),
            false => format!("weight = {}", draw.of(&[1, 2, 7, 30])),
        };
        let _ = write!(list, "{{ class = {class}, {how} }}, ");
    }
    list
}
