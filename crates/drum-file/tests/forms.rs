//! Networks, and methods for comparison.

use fairlane_drum::Sequential;
use fairlane_drum_file::{Answer, Document, Error, Mode, Policy, Problem, Request, schedule};
use serde_json::{Value, json};

fn network() -> Value {
    json!({"kind": "coupled", "inputs": {
        "n": 2, "m": 2, "alpha": 0.5, "beta": 0.05, "weight": [1.0, 2.0, 1.0, 1.5],
        "rows": [
            {"row": 0, "kind": "egress", "host": 0, "capacity": 2.0, "entries": [[0, 1.0], [1, 1.0]]},
            {"row": 1, "kind": "egress", "host": 1, "capacity": 2.0, "entries": [[2, 1.0], [3, 1.0]]},
            {"kind": "core", "capacity": 3.0, "entries": [[0, 1.0], [1, 1.0], [2, 1.0], [3, 1.0]]}]}})
}

fn host() -> Value {
    json!({"kind": "host_fixed", "inputs": {
        "alpha": 0.5, "beta": 0.1, "weight": [1.0, 2.0, 1.5], "a": [1.5, 2.0, 1.0],
        "bytes_per_wqe": [1.0, 1.0, 2.0], "poll_cost": [1.0, 1.0, 1.0], "Q": 3.0, "C": 2.5}})
}

fn solve(problem: &Value, request: &Request) -> Result<Answer, Error> {
    Problem::read(&problem.to_string(), request)?.solve(&Sequential)
}

fn in_mode(mode: Mode, k: Option<f64>) -> Request {
    Request {
        mode: Some(mode),
        k,
        tolerance: None,
    }
}

#[test]
fn a_network_is_solved_within_its_bounds() {
    let free = solve(&network(), &Request::default()).expect("a solution");
    assert_eq!(free.rows, ["egress[0]", "egress[1]", "core"]);
    assert!(free.relative_gap.is_some_and(|gap| gap < 1e-9), "{free:?}");
    let mut file = network();
    file["inputs"]["x_max"] = json!([null, 0.25, null, null]);
    file["inputs"]["x_min"] = json!([0.0, 0.0, 1.0, 0.0]);
    let bounded = solve(&file, &Request::default()).expect("a solution");
    assert!(
        bounded.x[1] <= 0.25 && bounded.x[2] >= 1.0,
        "{:?}",
        bounded.x
    );
    assert!(bounded.objective < free.objective);
}

#[test]
fn a_flow_in_no_row_needs_a_maximum() {
    let mut file = network();
    for row in [0, 2] {
        let entries = file["inputs"]["rows"][row]["entries"].as_array_mut();
        entries.expect("entries").remove(1);
    }
    let refused = solve(&file, &Request::default()).expect_err("no limit");
    assert_eq!(refused.place, "application 1");
    file["inputs"]["x_max"] = json!([null, 7.0, null, null]);
    let answer = solve(&file, &Request::default()).expect("a solution");
    assert_eq!(answer.x[1], 7.0);
    assert!(answer.relative_gap.is_some_and(|gap| gap < 1e-9));
}

#[test]
fn applications_of_each_host_are_selected() {
    let answer = solve(&network(), &in_mode(Mode::TopkUtility, Some(1.0))).expect("a solution");
    assert_eq!(answer.selected.len(), 2);
    assert!(answer.dual_bound >= answer.objective);
    let mut file = network();
    file["inputs"]["beta"] = json!(0.0);
    let answer = solve(&file, &in_mode(Mode::ActiveSet, Some(1.0))).expect("a solution");
    assert_eq!(answer.x.iter().filter(|rate| **rate > 0.0).count(), 2);
}

#[test]
fn not_sending_has_a_value_in_a_network_where_it_needs_one() {
    let active = in_mode(Mode::ActiveSet, Some(1.0));
    let mut file = network();
    let refused = solve(&file, &active).expect_err("latency without an outage");
    assert_eq!(refused.place, "inputs.outage");
    file["inputs"]["outage"] = json!(0.0);
    solve(&file, &active).expect("a solution");
    file["inputs"]["alpha"] = json!(1.0);
    solve(&file, &active).expect("a solution");
    file["inputs"]["alpha"] = json!(2.0);
    let refused = solve(&file, &active).expect_err("nobody would send");
    assert_eq!(refused.place, "inputs.outage");
    file["inputs"]["outage"] = json!(-9.0);
    solve(&file, &active).expect("a solution");
}

#[test]
fn mistakes_in_a_network_have_their_place() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut file = network();
        change(&mut file["inputs"]);
        let error = solve(&file, &Request::default()).expect_err("a mistake");
        assert!(!error.hint.is_empty(), "{error}");
        error.place
    };
    assert_eq!(
        refused(&|inputs| inputs["weight"] = json!([1.0])),
        "inputs.weight"
    );
    assert_eq!(refused(&|inputs| inputs["n"] = json!(u64::MAX)), "inputs.n");
    assert_eq!(
        refused(&|inputs| inputs["alpha"] = json!("max-min")),
        "inputs.beta"
    );
    assert_eq!(
        refused(&|inputs| inputs["rows"][1]["row"] = json!(5)),
        "inputs.rows[1].row"
    );
    assert_eq!(
        refused(&|inputs| inputs["x_min"] = json!([1.5, 1.5, 0.0, 0.0])),
        "inputs.rows[0]"
    );
    assert_eq!(
        refused(&|inputs| inputs["mode"] = json!("timeshare")),
        "inputs.mode"
    );
    assert_eq!(
        refused(&|inputs| inputs["rows"][0]["kind"] = json!("exit")),
        "inputs.rows[0].kind"
    );
    let place = refused(&|inputs| inputs["rows"][0]["entries"][0][0] = json!(9));
    assert!(place.contains("rows[0]"), "{place}");
}

#[test]
fn methods_for_comparison_say_what_they_are() {
    let best = solve(&host(), &Request::default()).expect("a solution");
    let admm = solve(&host(), &in_mode(Mode::Admm, None)).expect("an answer");
    let (value, bound) = (
        admm.objective.expect("finite"),
        admm.dual_bound.expect("finite"),
    );
    assert!(
        value <= bound && bound - value < 1e-3 * bound.abs(),
        "{value} {bound}"
    );
    assert_eq!(admm.dual_bound, best.dual_bound);
    let dual = solve(&host(), &in_mode(Mode::DualDecomposition, None)).expect("an answer");
    assert!(dual.objective < best.objective && !dual.notes.is_empty());
    let paper = solve(&host(), &in_mode(Mode::Paper, Some(2.0))).expect("an answer");
    assert_eq!(paper.dual_bound, None);
    assert!(
        paper
            .notes
            .iter()
            .any(|note| note.contains("no optimality claim")
                || note.contains("converge")
                || note.contains("diverged")),
        "{paper:?}"
    );
}

#[test]
fn rows_of_a_network_name_hosts_and_each_flow_once() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut file = network();
        change(&mut file["inputs"]["rows"]);
        let error = solve(&file, &Request::default()).expect_err("a mistake");
        assert!(!error.hint.is_empty(), "{error}");
        format!("{}: {}", error.place, error.message)
    };
    let errors = [
        refused(&|rows| rows[1]["host"] = json!(2)),
        refused(&|rows| {
            rows[1] = json!({"kind": "ingress", "capacity": 2.0, "entries": [[2, 1.0]]})
        }),
        refused(&|rows| rows[1]["entries"] = json!([[2, 1.0], [3, 1.0], [2, 0.5]])),
    ];
    assert_eq!(
        errors,
        [
            "inputs.rows[1].host: 2 is not one of 2 hosts",
            "inputs.rows[1].host: missing: only rows of kind core belong to no host",
            "inputs.rows[1].entries[2]: flow 2 is there already, in entries[0]",
        ]
    );
}

#[test]
fn mistakes_in_a_row_stand_where_the_row_does() {
    let place = |change: &dyn Fn(&mut Value)| {
        let mut file = host();
        change(&mut file);
        let error = solve(&file, &Request::default()).expect_err("a mistake");
        error.place
    };
    let priced = |file: &mut Value, segments: Value| {
        file["kind"] = json!("host_pwl");
        file["inputs"]["segments"] = segments;
        if let Some(inputs) = file["inputs"].as_object_mut() {
            inputs.remove("Q");
        }
    };
    let row = |rest: Value| {
        let mut row = json!({"name": "egress", "per": "wqe", "coefficients": [1.0, 1.0, 1.0]});
        for (key, value) in rest.as_object().into_iter().flatten() {
            row[key] = value.clone();
        }
        row
    };
    let with_row = |file: &mut Value, rest: Value| file["inputs"]["rows"] = json!([row(rest)]);
    let places = [
        place(&|file| priced(file, json!([[0.0, 0.5], [1.0, 0.2]]))),
        place(&|file| priced(file, json!([]))),
        place(&|file| with_row(file, json!({"capacity": -1.0}))),
        place(&|file| with_row(file, json!({"segments": [[1.0, 0.5]]}))),
        place(&|file| {
            with_row(
                file,
                json!({"capacity": 1.0, "coefficients": [1.0, -1.0, 1.0]}),
            )
        }),
        place(&|file| with_row(file, json!({"capacity": 1.0, "coefficients": [1.0]}))),
        place(&|file| file["inputs"]["Q"] = json!(-1.0)),
        place(&|file| file["inputs"]["bytes_per_wqe"] = json!([1.0, 1e160, 1.0])),
    ];
    assert_eq!(
        places,
        [
            "inputs.segments",
            "inputs.segments",
            "inputs.rows[0].capacity",
            "inputs.rows[0].segments",
            "inputs.rows[0].coefficients[1]",
            "inputs.rows[0].coefficients",
            "inputs.Q",
            "inputs.bytes_per_wqe[1]",
        ]
    );
}

#[test]
fn comparisons_refuse_polls_as_attempts() {
    let mut file = host();
    file["inputs"]["dependency"] = json!("at_least");
    for mode in [Mode::Admm, Mode::DualDecomposition, Mode::Paper] {
        let error = solve(&file, &in_mode(mode, Some(2.0))).expect_err("a refusal");
        assert_eq!(error.place, "inputs.dependency");
    }
}

#[test]
fn slots_are_reserved_within_what_there_is() {
    for reserved in [0, 3] {
        let document = Document::read(&host().to_string()).expect("a document");
        let request = in_mode(Mode::ActiveSet, Some(2.0));
        let refusal = schedule(document, &request, Policy::Reserve { reserved }, None);
        let refusal = refusal.expect_err("a refusal");
        assert_eq!(refusal.place, "reserved");
        assert!(!refusal.hint.is_empty(), "{refusal}");
    }
}

#[test]
fn rates_of_reserved_slots_are_worth_the_price_of_a_row() {
    let file = json!({"kind": "host_pwl", "inputs": {
        "alpha": 1.0, "beta": 0.0, "weight": [1.0, 1.0, 1.0], "bytes_per_wqe": [1.0, 1.0, 1.0],
        "poll_cost": [0.0, 0.0, 0.0], "C": 1.0, "segments": [[0.0, 0.1], [9.0, 0.5]], "k": 2.0}});
    let document = Document::read(&file.to_string()).expect("a document");
    let request = Request::default();
    let plan = schedule(document, &request, Policy::Reserve { reserved: 2 }, None).expect("a plan");
    // Utilities of log x at a price of 0.1 want a rate of 10 each; the steep price from 9 on leaves them 3.
    for turn in &plan.applications {
        assert!((turn.rate - 3.0).abs() < 1e-6, "{turn:?}");
    }
    let egress = &plan.rows[0];
    assert!(egress.capacity.is_none() && (egress.usage - 9.0).abs() < 1e-5);
    let objective = plan.objective.expect("a value");
    assert!((objective - (3.0 * 3.0_f64.ln() - 0.9)).abs() < 1e-5);
}

#[test]
fn text_that_is_no_json_has_a_place() {
    let place = |text: &str| {
        Problem::read(text, &Request::default())
            .expect_err("no JSON")
            .place
    };
    assert_eq!(place("{bad"), "line 1 column 2");
    assert_eq!(place("{\"inputs\": {bad"), "inputs (line 1 column 13)");
    assert_eq!(
        place("{\"inputs\": {\"Q\": 1e}"),
        "inputs.Q (line 1 column 20)"
    );
}
