//! `fairlane attack`: rows, notes, reports, what is refused.

use serde_json::Value;

use crate::support::Case;

/// Red and blue on a dumbbell: long messages of both, short ones of blue.
const DUEL: &str = r#"
tenant = [{ name = "red", hosts = "0-1,4-5" }, { name = "blue", hosts = "2-3,6-7" }]
[topology]
kind = "dumbbell"
left = 4
right = 4
host_link = { rate = "100Gbps", delay = "1us" }
core_link = { rate = "100Gbps", delay = "1us" }
[[workload]]
kind = "flows"
flow = [{ source = 0, destination = 4, size = "3MB" }]
[[workload]]
kind = "flows"
tenant = "blue"
flow = [{ source = 2, destination = 6, size = "5MB" }]
[[workload]]
kind = "poisson"
tenant = "blue"
sources = "3"
destinations = "7"
load = 0.05
duration = "500us"
sizes = [{ size = 1000, percent = 0 }, { size = 20000, percent = 100 }]
"#;

fn case() -> Case {
    Case::with("duel.toml", DUEL)
}

fn rows(case: &Case, arguments: &str) -> Vec<Value> {
    let output = case.run(&format!(
        "attack duel.toml --quiet --format json {arguments}"
    ));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words}");
    let verdict: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{words}"));
    verdict["rows"].as_array().expect("as documented").clone()
}

#[test]
fn a_row_has_the_documented_keys_first() {
    let case = case();
    let rows = rows(&case, "--attack staggered --scope qp --seeds 1");
    assert_eq!(rows.len(), 1);
    let keys: Vec<_> = rows[0].as_object().expect("an object").keys().collect();
    assert_eq!(
        keys[..8],
        [
            "attack",
            "scope",
            "controller",
            "gain",
            "victims_p99_ratio",
            "victims_p999_ratio",
            "short_flow_penalty",
            "secure"
        ]
    );
    assert_eq!(rows[0]["attack"], "staggered");
    assert_eq!(rows[0]["controller"], "dcqcn");
    assert!(rows[0]["gain"].as_f64().expect("a number") > 1.1);
    assert_eq!(rows[0]["secure"], false);
    assert_eq!(rows[0]["verdict"], "insecure");
}

#[test]
fn all_attacks_and_scopes_are_tried_but_those_that_can_t_be() {
    let case = case();
    let output = case.run("attack duel.toml --quiet --seeds 1 --scope none --out out");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words}");
    assert!(words.contains("left out: cache-flood"), "{words}");
    assert!(words.contains("note: "), "{words}");
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    for kind in [
        "parallel",
        "staggered",
        "shuffled-overlay",
        "churn",
        "pulse",
        "pfc-storm",
    ] {
        assert!(
            table.lines().any(|line| line.starts_with(kind)),
            "{kind}\n{table}"
        );
        let report = case.path(&format!("out/{kind}-none.html"));
        let page = std::fs::read_to_string(report).expect("a report");
        assert!(page.contains("blue"), "{kind}");
    }
    assert!(
        !table.lines().any(|line| line.starts_with("paced")),
        "{table}"
    );
    let verdict = std::fs::read_to_string(case.path("out/verdict.json")).expect("a verdict");
    assert!(verdict.starts_with("{\n  \"rows\": ["), "{verdict}");
}

#[test]
fn a_directory_that_is_replaced_keeps_no_reports_of_other_attacks() {
    let case = case();
    for attack in ["parallel", "staggered"] {
        let output = case.run(&format!(
            "attack duel.toml --quiet --seeds 1 --scope qp --attack {attack} --out out --force"
        ));
        assert!(output.status.success(), "{output:?}");
        std::fs::write(case.path("out/notes.txt"), "mine").expect("it can be written");
    }
    let mut names: Vec<_> = std::fs::read_dir(case.path("out"))
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "index.html",
            "notes.txt",
            "staggered-qp.html",
            "verdict.json"
        ]
    );
    let index = case.text("out/index.html");
    assert!(index.contains("\"report\":\"staggered-qp.html\""));
    let page = std::fs::read_to_string(case.path("out/staggered-qp.html")).expect("a report");
    assert!(page.contains("\"title\":\"staggered under scope qp\""));
}

#[test]
fn the_congestion_control_and_the_attacker_can_be_chosen() {
    let case = case();
    let rows = rows(
        &case,
        "--attack parallel --scope qp --seeds 1 --controller dctcp --attacker blue",
    );
    assert_eq!(rows[0]["controller"], "dctcp");
    assert_eq!(rows[0]["gain_ci"], Value::Null);
}

#[test]
fn what_there_is_not_is_refused_with_what_there_is() {
    let case = case();
    for (arguments, found, hint) in [
        (
            "--attack nonsense",
            "--attack: there is no attack \"nonsense\"",
            "nic-hog",
        ),
        (
            "--scope nonsense",
            "--scope: there is no scope \"nonsense\"",
            "destination-unsplit",
        ),
        (
            "--controller nonsense",
            "--controller: there is no congestion control \"nonsense\"",
            "hpcc",
        ),
        (
            "--attacker green",
            "--attacker: no tenant is called \"green\"",
            "blue",
        ),
        ("--attack cache-flood", "nic.costs", "nic.costs"),
        (
            "--attack paced",
            "--attack: \"paced\" needs",
            "rate=\"20Gbps\"",
        ),
    ] {
        let words = case.transcript(&format!("attack duel.toml --quiet {arguments}"));
        assert!(words.contains(found), "{words}");
        let after = words.split("hint: ").nth(1).unwrap_or_default();
        assert!(after.contains(hint), "{words}");
        assert!(words.ends_with("--- exit 2\n"), "{words}");
    }
}

#[test]
fn what_the_hint_for_paced_says_can_be_done() {
    // Of a scenario with an attack of its own, too.
    let text = format!("attack = {{ kind = \"parallel\", qps = 16 }}\n{DUEL}");
    let case = Case::with("duel.toml", &text);
    let words = case.transcript("attack duel.toml --quiet --attack paced");
    let hint = words.split("hint: ").nth(1).expect("a hint");
    let sets = hint
        .split(';')
        .next()
        .expect("options first")
        .replace('\'', "");
    let rows = rows(
        &case,
        &format!("--attack paced --scope qp --seeds 1 {sets}"),
    );
    assert_eq!(rows[0]["attack"], "paced");
    assert!(
        rows[0]["goodput_gbps"].as_f64().expect("a number") > 15.0,
        "{rows:?}"
    );
}

#[test]
fn scopes_that_a_profile_lacks_are_refused_or_left_out() {
    // The profile has whole nanoseconds only, and arrivals at random times haven't.
    let flows = DUEL.split("[[workload]]\nkind = \"poisson\"").next();
    let case = Case::with("flows.toml", flows.expect("what is before it"));
    let arguments = "attack flows.toml --quiet --seeds 1 --attack parallel --set profile=hpcc-ns3";
    let words = case.transcript(&format!("{arguments} --scope pair"));
    assert!(words.contains("congestion.scope: is \"pair\""), "{words}");
    assert!(words.ends_with("--- exit 2\n"), "{words}");
    let words = case.transcript(arguments);
    assert!(words.contains("left out: scope tenant"), "{words}");
    assert!(
        words.contains("parallel") && words.ends_with("--- exit 0\n"),
        "{words}"
    );
}

#[test]
fn a_scenario_with_nobody_to_harm_is_refused() {
    let case = case();
    let words = case.transcript("attack duel.toml --quiet --set workload.1.tenant=red \
         --set workload.1.flow.0.source=1 --set workload.2.tenant=red --set workload.2.sources=\"1\"");
    assert!(
        words.contains("no tenant but \"red\" sends anything"),
        "{words}"
    );
    assert!(words.ends_with("--- exit 2\n"), "{words}");
}

#[test]
fn run_carries_out_the_attack_of_a_scenario() {
    let case = case();
    let messages = |arguments: &str| {
        let output = case.run(&format!(
            "run duel.toml --quiet --format json --out out --force {arguments}"
        ));
        let summary: Value = serde_json::from_slice(&output.stdout).expect("as documented");
        summary["messages"].as_u64().expect("a count")
    };
    let honest = messages("");
    let attacked = messages("--set attack.kind=parallel --set attack.qps=16");
    assert_eq!(attacked, honest + 15);
}

#[test]
fn an_interrupted_attack_names_no_run_that_never_ran() {
    let case = case();
    let (first, rest) = case.interrupted(
        "attack duel.toml --attack staggered --scope qp --seeds 500 --threads 1 --out d",
    );
    assert!(first.starts_with("1 of "), "{first}");
    // Runs may have begun between the first line and the signal, and others beside the first.
    let runs = first["1 of ".len()..].split(':').next().map(str::parse);
    let begun = rest.iter().filter(|line| line.contains(" of ")).count();
    assert!(begun < runs.expect("a number").unwrap_or(0) / 2, "{rest:?}");
    assert!(
        rest.last().is_some_and(|line| line.contains("interrupted")),
        "{rest:?}"
    );
    assert_eq!(case.list(), ["duel.toml"]);
}

/// Two tenants of one long message each, which end long after the run.
const RACK: &str = r#"
stop = "1ms"
tenant = [{ name = "victim", hosts = "all" }, { name = "greedy", hosts = "all" }]
[topology]
kind = "star"
hosts = 4
host_link = { rate = "100Gbps", delay = "1us" }
[[workload]]
kind = "flows"
tenant = "victim"
flow = [{ source = 0, destination = 3, size = "1GB" }]
[[workload]]
kind = "flows"
tenant = "greedy"
flow = [{ source = 1, destination = 3, size = "1GB" }]
"#;

#[test]
fn a_victim_with_one_long_message_has_a_verdict() {
    let case = Case::with("rack.toml", RACK);
    let arguments = "attack rack.toml --quiet --attack parallel --attacker greedy --seeds 1";
    let text = |scope: &str| {
        let output = case.run(&format!("{arguments} --scope {scope}"));
        String::from_utf8(output.stdout).expect("text")
    };
    let line = |text: &str| text.lines().nth(1).expect("a row").to_owned();
    let (tenant, qp) = (text("tenant"), text("qp"));
    assert!(
        tenant
            .lines()
            .next()
            .is_some_and(|head| head.contains("gain ratio") && head.ends_with("verdict")),
        "{tenant}"
    );
    assert!(line(&tenant).ends_with(" secure"), "{tenant}");
    assert!(line(&qp).ends_with(" insecure"), "{qp}");
    // Whether it harms isn't known of a tenant that sends nothing while it is attacked.
    let late = "--set workload.0.flow.0.start=2ms";
    let output = case.run(&format!("{arguments} --scope tenant {late} --format json"));
    let verdict: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let row = &verdict["rows"][0];
    assert_eq!(
        (&row["verdict"], &row["secure"]),
        (&"unknown".into(), &Value::Null)
    );
}
