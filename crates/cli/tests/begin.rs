//! What comes before a run: scenarios to begin with, checked, described, from standard input; completions.

use std::io::Write as _;
use std::process::{Output, Stdio};

use crate::support::{Case, LEAF_SPINE, STAR};

fn snapshot(name: &str, text: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

/// What the command says to a text on standard input.
fn fed(case: &Case, arguments: &str, text: &str) -> Output {
    let mut child = case
        .command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    child
        .stdin
        .take()
        .expect("piped")
        .write_all(text.as_bytes())
        .expect("it is read");
    child.wait_with_output().expect("it ends")
}

#[test]
fn check_says_what_a_run_would_say_and_runs_nothing() {
    let hopeless = STAR.to_owned()
        + "[switch]\nbuffer = \"100kB\"\n[switch.pfc]\nenabled = false\n[transport]\nack_timeout = \"1us\"\n";
    let case = Case::with("s.toml", STAR)
        .and("hopeless.toml", &hopeless)
        .and("empty.toml", "")
        .and("broken.toml", "[topology]\nkind = \"star\"\nhosst = 3\n")
        .and(
            "small.toml",
            &(STAR.to_owned() + "[switch]\nbuffer = \"1kB\"\n"),
        );
    let mut all = String::new();
    for file in ["s", "hopeless", "empty", "broken", "small", "missing"] {
        all.push_str(&case.transcript(&format!("check {file}.toml")));
    }
    all.push_str(&case.transcript("check s.toml --set congestion.algorithm=none"));
    snapshot("check", &all);
    let before = case.list();
    assert_eq!(
        before,
        [
            "broken.toml",
            "empty.toml",
            "hopeless.toml",
            "s.toml",
            "small.toml"
        ]
    );
    for file in ["hopeless", "empty", "broken", "small", "missing"] {
        let checked = case.run(&format!("check {file}.toml"));
        let run = case.run(&format!("run {file}.toml --out {file}"));
        let [checked, run] = [checked, run].map(|output| {
            let words = String::from_utf8(output.stderr).unwrap();
            (output.status.code(), words)
        });
        if file == "hopeless" {
            assert!(
                run.1.starts_with(&checked.1) && checked.1.contains("warning: "),
                "{run:?}"
            );
        } else {
            assert_eq!(checked, run);
            assert_eq!(checked.0, Some(2));
        }
    }
}

#[test]
fn init_writes_a_scenario_that_runs_and_replaces_nothing() {
    let case = Case::new();
    let mut all = case.transcript("init");
    for name in ["incast", "incast", "incast.toml", "no/such", ".."] {
        all.push_str(&case.transcript(&format!("init {name}")));
    }
    snapshot("init", &all);
    assert_eq!(case.list(), ["incast.toml", "scenario.toml"]);
    assert_eq!(
        case.transcript("check incast.toml"),
        "$ fairlane check incast.toml\nincast: can be run\n--- stderr\n--- exit 0\n"
    );
    let output = case.run("run incast.toml --out d --format json");
    assert!(output.status.success());
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&summary["ending"], &summary["completed"]),
        (&"complete".into(), &16.into())
    );
    assert_eq!(case.text("incast.toml"), case.text("scenario.toml"));
}

#[test]
fn completions_name_every_command() {
    let case = Case::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = case.run(&format!("completions {shell}"));
        assert!(output.status.success());
        let script = String::from_utf8(output.stdout).unwrap();
        for word in ["check", "init", "sweep", "hpcc-fct", "completions"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let refused = case.run("completions csh");
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn scenarios_come_from_standard_input_too() {
    let case = Case::with("s.toml", STAR);
    for arguments in [
        "check -",
        "topology -",
        "topology - --links --format json",
        "paths - 0 1 --format csv",
        "run - --out DIR --format json --quiet",
    ] {
        let named = arguments.replacen(" -", " s.toml", 1);
        let [fed, named] = [
            fed(&case, &arguments.replace("DIR", "d"), STAR),
            case.run(&named.replace("DIR", "e")),
        ];
        let words = |output: &Output| {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.split("\"host\": {")
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        assert!(fed.status.success(), "{arguments}: {fed:?}");
        assert_eq!(words(&fed), words(&named), "{arguments}");
    }
    let refused = fed(&case, "check -", "sed = 1");
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        words.contains("standard input:1:1") && words.contains("hint: "),
        "{words}"
    );
}

#[test]
fn switches_and_links_are_listed() {
    let case = Case::with("s.toml", LEAF_SPINE);
    let mut all = String::new();
    for format in ["text", "csv", "json"] {
        all.push_str(&case.transcript(&format!("topology s.toml --links --format {format}")));
    }
    all.push_str(&case.transcript("topology s.toml --format csv"));
    snapshot("topology_links", &all);
}

#[test]
fn what_links_are_offered_is_said_beforehand() {
    // Two leaves of four hosts of 100 Gb/s, with three uplinks of 10 Gb/s each: four of seven messages at full load of
    // four hosts are 4 * 100 * 4 / 7 Gb/s for 30, on both leaves 457.1 for 60.
    let link = |rate: &str| format!("{{ rate = \"{rate}\", delay = \"1us\" }}");
    let (host, fabric) = (link("100Gbps"), link("10Gbps"));
    let text = format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 3\nhosts_per_leaf = 4\nhost_link = {host}\n\
         fabric_link = {fabric}\n[[workload]]\nkind = \"poisson\"\nsizes = \"rpc\"\nload = 1.0\nduration = \"1us\"\n"
    );
    let case = Case::with("s.toml", &text);
    for command in ["check s.toml", "run s.toml --out out"] {
        let words = case.transcript(command);
        assert!(
            words.contains("hosts to tier 1 100 %, tier 1 to tier 2 762 %"),
            "{words}"
        );
        assert!(
            words.contains("warning: messages at random times offer links from tier 1"),
            "{words}"
        );
    }
    let words = case.transcript("topology s.toml");
    let row = words
        .lines()
        .find(|line| line.starts_with("tier 1 to tier 2"))
        .expect("a row");
    assert!(
        row.contains("60 Gb/s") && row.contains("457.1 Gb/s") && row.contains("761.9 %"),
        "{words}"
    );
    let words =
        case.transcript("check s.toml --set workload.0.load_of=fabric --set workload.0.load=0.5");
    assert!(
        words.contains("tier 1 to tier 2 50 %") && !words.contains("warning"),
        "{words}"
    );
}

#[test]
fn a_replay_reads_standard_input_once() {
    let case = Case::with("s.toml", STAR);
    let output = fed(&case, "lab - --out out -q", STAR);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let idle = fed(
        &case,
        "lab - --out idle -q",
        STAR.split("[[workload]]").next().unwrap_or(""),
    );
    let said = String::from_utf8_lossy(&idle.stderr);
    assert!(said.contains("nothing would be sent"), "{said}");
}
