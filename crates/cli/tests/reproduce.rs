//! `fairlane reproduce`: the list, outcomes, files, exit status.

mod support;

use std::fs;

use serde_json::Value;
use support::Case;

/// The names of all experiments.
fn names(case: &Case) -> Vec<String> {
    let output = case.run("reproduce --list --format json");
    assert!(output.status.success());
    let list: Value = serde_json::from_slice(&output.stdout).expect("as documented");
    let name = |one: &Value| one["name"].as_str().expect("as documented").to_owned();
    list.as_array()
        .expect("as documented")
        .iter()
        .map(name)
        .collect()
}

#[test]
fn the_list_names_source_and_figure() {
    let case = Case::new();
    let output = case.run("reproduce --list");
    let text = String::from_utf8(output.stdout).expect("as documented");
    for name in names(&case) {
        assert!(text.lines().any(|line| line.starts_with(&name)), "{name}");
    }
    for name in [
        "s0-fig4",
        "s0-fig5",
        "s0-sharing",
        "s0-dynamic",
        "s0-fig2a",
        "s0-fig8",
    ] {
        assert!(names(&case).iter().any(|known| known == name), "{name}");
    }
    let unknown = case.transcript("reproduce s9-fig1");
    assert!(
        unknown.contains("\nhint: ") && unknown.ends_with("--- exit 2\n"),
        "{unknown}"
    );
}

/// Runs an experiment in its reduced size and returns its JSON.
fn quick(case: &Case, name: &str) -> Value {
    let output = case.run(&format!(
        "reproduce {name} --quick --quiet --format json --out out --force"
    ));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let outcome: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{words}"));
    let passes = outcome["checks"]
        .as_array()
        .expect("as documented")
        .iter()
        .all(|check| check["pass"] == true);
    assert_eq!(
        output.status.code(),
        Some(if passes { 0 } else { 1 }),
        "{words}"
    );
    for key in ["name", "source", "rows", "checks", "notes"] {
        assert!(!outcome[key].is_null(), "{key}");
    }
    for check in outcome["checks"].as_array().expect("as documented") {
        assert!(check["target"].is_number() && check.get("published").is_some());
    }
    outcome
}

#[test]
fn solver_experiments_pass_in_the_reduced_size() {
    let case = Case::new();
    for name in ["s0-fig4", "s0-fig5", "s0-sharing", "s0-dynamic"] {
        let outcome = quick(&case, name);
        let failed = outcome["checks"]
            .as_array()
            .expect("as documented")
            .iter()
            .find(|check| check["pass"] != true);
        assert_eq!(failed, None, "{name}");
        let saved = case.text(&format!("out/{name}/outcome.json"));
        assert_eq!(
            serde_json::from_str::<Value>(&saved).expect("as documented"),
            outcome
        );
        let rows = case.text(&format!("out/{name}/rows.csv"));
        assert_eq!(
            rows.lines().count(),
            1 + outcome["rows"].as_array().expect("as documented").len()
        );
        let files = fs::read_dir(case.path(&format!("out/{name}"))).expect("as documented");
        let svg = files
            .map(|file| file.expect("as documented").path())
            .find(|path| path.extension().is_some_and(|e| e == "svg"));
        assert!(
            fs::read_to_string(svg.expect("a plot"))
                .expect("as documented")
                .starts_with("<svg")
        );
    }
}

#[test]
fn rows_do_not_depend_on_threads() {
    let case = Case::new();
    let rows = |threads: &str| {
        let output = case.run(&format!(
            "reproduce s0-fig8 --quick -q --format json --threads {threads}"
        ));
        let outcome: Value = serde_json::from_slice(&output.stdout).expect("as documented");
        outcome["rows"].clone()
    };
    assert_eq!(rows("1"), rows("4"));
}

#[test]
fn results_are_not_overwritten_unasked() {
    let case = Case::with("out/s0-sharing/notes.txt", "mine");
    let text = case.transcript("reproduce s0-sharing --quick -q --out out");
    assert!(
        text.ends_with("--- exit 2\n") && text.contains("--force"),
        "{text}"
    );
    assert!(
        case.run("reproduce s0-sharing --quick -q --out out --force")
            .status
            .success()
    );
    assert_eq!(case.text("out/s0-sharing/notes.txt"), "mine");
}

#[test]
fn an_interrupted_experiment_names_no_run_that_never_ran() {
    let experiment = "title = \"t\"\nsource = \"mine\"\nseeds = 250\n\
        metric = [{ name = \"us\", of = \"completion\", percentile = 99 }]\n\
        axis = [{ name = \"degree\", key = \"workload.0.degree\", values = [7, 8] }]\n";
    let scenario = "[topology]\nkind = \"star\"\nhosts = 9\n\
        host_link = { rate = \"100Gbps\", delay = \"1us\" }\n\
        [[workload]]\nkind = \"incast\"\ndegree = 8\nsize = \"1MB\"\nrounds = 3\n";
    let case = Case::with("mine/experiment.toml", experiment).and("mine/scenario.toml", scenario);
    let (first, rest) = case.interrupted("reproduce ./mine --threads 1 --out out");
    assert!(first.starts_with("mine: 1 of 500"), "{first}");
    // Runs may have begun between the first line and the signal.
    let begun = rest.iter().filter(|line| line.contains(" of ")).count();
    assert!(begun < 250, "{rest:?}");
    assert!(
        rest.last().is_some_and(|line| line.contains("interrupted")),
        "{rest:?}"
    );
    assert!(!case.path("out/mine").exists());
}
