//! The reference vectors of single hosts.

use std::path::{Path, PathBuf};

use fairlane_drum::{
    Application, Fairness, Host, Mode, Options, RowName, Solution, Status, Supply, Table, Utility,
    solve,
};
use serde_json::Value;

/// The folder of reference data, or `None` with a printed reason.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn reference() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference");
    let set = std::env::var_os("FAIRLANE_REFERENCE").map(PathBuf::from);
    let found = set.unwrap_or(beside).join("drum");
    if found.is_dir() {
        return Some(found);
    }
    println!("skipped: no reference data; set FAIRLANE_REFERENCE to its folder");
    None
}

fn numbers(value: &Value) -> Vec<f64> {
    let entries = value.as_array().expect("a list");
    entries
        .iter()
        .map(|entry| entry.as_f64().unwrap_or(f64::INFINITY))
        .collect()
}

/// Applications of a vector's inputs.
fn table(inputs: &Value) -> Table {
    let column = |name: &str| inputs.get(name).map(numbers);
    let (weight, bytes) = (
        numbers(&inputs["weight"]),
        numbers(&inputs["bytes_per_wqe"]),
    );
    let mut table = Table::default();
    for j in 0..weight.len() {
        let entry = |name: &str, default| column(name).map_or(default, |values| values[j]);
        table.push(Application {
            weight: weight[j],
            latency_weight: entry("latency_weight", 1.0),
            completions: entry("a", 1.0),
            bytes: bytes[j],
            poll_cost: entry("poll_cost", 1.0),
            minimum: entry("x_min", 0.0),
            maximum: entry("x_max", f64::INFINITY),
        });
    }
    table
}

fn check(name: &str, solution: &Solution, optimum: &Value) {
    let close = |own: f64, other: f64, tolerance: f64| {
        (own - other).abs() <= tolerance * other.abs().max(1e-9)
    };
    let objective = optimum["objective"].as_f64().expect("an objective");
    assert!(
        close(solution.objective, objective, 1e-9),
        "{name}: {solution:?}"
    );
    assert!(
        solution.dual_bound >= objective - 1e-12 * objective.abs(),
        "{name}: {solution:?}"
    );
    if let Some(bound) = optimum["dual_bound"].as_f64() {
        assert!(
            close(solution.dual_bound, bound, 1e-9),
            "{name}: bound {} instead of {bound}",
            solution.dual_bound
        );
    }
    for (kind, own) in [("x", &solution.x), ("z", &solution.z)] {
        for (j, (own, other)) in own.iter().zip(numbers(&optimum[kind])).enumerate() {
            assert!(
                close(*own, other, 1e-7),
                "{name}: {kind} {j}: {own} instead of {other}"
            );
        }
    }
    if let Some(selected) = optimum.get("selected") {
        let selected: Vec<usize> = numbers(selected).iter().map(|j| *j as usize).collect();
        assert_eq!(solution.selected, selected, "{name}");
    }
    assert!(solution.status == Status::Optimal, "{name}: {solution:?}");
}

#[test]
fn hosts_have_the_optima_of_the_reference() {
    let Some(folder) = reference() else { return };
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a file");
        let vector: Value = serde_json::from_str(&text).expect("JSON");
        let kind = vector["kind"].as_str().expect("a kind");
        if !kind.starts_with("host_") {
            continue;
        }
        let inputs = &vector["inputs"];
        let table = table(inputs);
        let number = |name: &str| inputs[name].as_f64().unwrap_or(1.0);
        let utility = Utility {
            fairness: Fairness::Alpha(number("alpha")),
            latency: number("beta"),
        };
        let mut host = Host::new(table.view(), utility, number("Q"), number("C"));
        let segments: Vec<(f64, f64)> = inputs["segments"]
            .as_array()
            .map(|segments| {
                segments
                    .iter()
                    .map(|s| (s[0].as_f64().unwrap(), s[1].as_f64().unwrap()))
                    .collect()
            })
            .unwrap_or_default();
        if !segments.is_empty() {
            assert_eq!(host.rows[0].name, RowName::Egress);
            host.rows[0].supply = Supply::Price(&segments);
        }
        let k = inputs["k"].as_f64().unwrap_or(0.0);
        let peak = inputs.get("peak_rate").map(numbers).unwrap_or_default();
        let mode = match (kind, inputs["mode"].as_str()) {
            ("host_timeshare", _) => Mode::TimeShare { k, peak: &peak },
            ("host_topk", Some("active_set")) => Mode::ActiveSet {
                k: k as usize,
                outage: None,
            },
            ("host_topk", _) => Mode::TopUtilities { k: k as usize },
            _ => Mode::All,
        };
        let solution = solve(&host, &mode, &Options::default()).expect("a solution");
        check(&path.display().to_string(), &solution, &vector["optimum"]);
        seen += 1;
    }
    assert!(seen >= 5, "{seen} vectors");
}
