//! `fairlane reproduce`: the list, outcomes, files, exit status.

use std::fs;

use serde_json::Value;

use crate::support::Case;

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
        "s0-fig4-5",
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
        .all(|check| check["expected"] == true);
    assert_eq!(
        output.status.code(),
        Some(if passes { 0 } else { 1 }),
        "{words}"
    );
    for key in ["name", "source", "rows", "checks", "notes"] {
        assert!(!outcome[key].is_null(), "{key}");
    }
    for check in outcome["checks"].as_array().expect("as documented") {
        let is_target = check["target"].is_number() && check["relation"].is_string();
        let is_published = check["tolerance"].is_number() && check["published"].is_number();
        assert!(is_target != is_published, "{check}");
    }
    outcome
}

#[test]
fn solver_experiments_pass_in_the_reduced_size() {
    let case = Case::new();
    for name in ["s0-fig4-5", "s0-sharing", "s0-dynamic"] {
        let outcome = quick(&case, name);
        let failed = outcome["checks"]
            .as_array()
            .expect("as documented")
            .iter()
            .find(|check| check["expected"] != true);
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

/// Two messages, and what is said of the time that they take.
fn claiming(claim: &str) -> Case {
    let experiment = format!(
        "title = \"t\"\nsource = \"mine\"\n\
         metric = [{{ name = \"us\", of = \"completion\", percentile = \"max\" }}]\n\
         axis = [{{ name = \"degree\", key = \"workload.0.degree\", values = [1, 2] }}]\n\
         [[published]]\nrun = \"1\"\nmetric = \"us\"\n{claim}\n\
         [[open]]\naxis = [{{ name = \"rate\", key = \"topology.host_link.rate\", values = [\"100Gbps\", \"10Gbps\"] }}]\n\
         check = [{{ name = \"two over one\", value = \"2/us\", over = \"1/us\", relation = \">\", target = 1.9 }}]\n"
    );
    let scenario = "[topology]\nkind = \"star\"\nhosts = 4\n\
        host_link = { rate = \"100Gbps\", delay = \"1us\" }\n\
        [[workload]]\nkind = \"incast\"\ndegree = 2\nsize = \"100kB\"\n";
    Case::with("mine/experiment.toml", &experiment).and("mine/scenario.toml", scenario)
}

#[test]
fn what_is_not_reproduced_is_said_and_fails_unless_the_experiment_says_so() {
    let command = "reproduce ./mine -q --out out --force";
    for (claim, verdict, counts, status) in [
        (
            "value = 12.5\ntolerance = 0.2",
            "  reproduced\n",
            "1 of 1",
            0,
        ),
        (
            "value = 50\ntolerance = 0.2",
            "  NOT REPRODUCED\n",
            "0 of 1",
            1,
        ),
        (
            "value = 50\ntolerance = 0.2\ndeviates = \"Why.\"",
            "  not reproduced\n",
            "0 of 1",
            0,
        ),
        (
            "value = 12.5\ntolerance = 0.2\ndeviates = \"Why.\"",
            "  REPRODUCED\n",
            "1 of 1",
            1,
        ),
    ] {
        let case = claiming(claim);
        let text = case.transcript(command);
        let counts = format!("\n{counts} published values reproduced\n");
        assert!(text.contains(verdict) && text.contains(&counts), "{text}");
        assert!(text.ends_with(&format!("--- exit {status}\n")), "{text}");
        let told = "\nnot reproduced: 1/us. Why.\n";
        let is_told = claim.contains("50") && claim.contains("Why");
        assert_eq!(text.contains(told), is_told, "{text}");
        assert_eq!(
            text.contains("`deviates` says otherwise"),
            verdict.contains("  REPRODUCED"),
            "{text}"
        );
    }
}

#[test]
fn open_settings_have_a_table_and_a_file() {
    let case = claiming("value = 12.5");
    let text = case.transcript("reproduce ./mine -q --out out");
    assert!(text.contains("\nleft open by the source: rate\n"), "{text}");
    let line = text.lines().find(|line| line.starts_with("two over one"));
    assert!(
        line.is_some_and(|line| line.ends_with("  10Gbps")),
        "{text}"
    );
    let rows = case.text("out/mine/open-rate.csv");
    let names: Vec<_> = rows
        .lines()
        .filter_map(|line| line.split(',').next())
        .collect();
    assert_eq!(
        names,
        ["run", "100Gbps-1", "100Gbps-2", "10Gbps-1", "10Gbps-2"]
    );
    let outcome: Value =
        serde_json::from_str(&case.text("out/mine/outcome.json")).expect("as documented");
    let check = &outcome["open"][0]["checks"][0];
    assert_eq!(
        check["verdicts"],
        serde_json::json!(["fail", "pass"]),
        "{check}"
    );
    assert_eq!(
        (&check["relation"], &check["target"]),
        (&">".into(), &1.9.into())
    );
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
