//! Ratios of runs, reduced axes and maps in manifests.

use fairlane_experiments::{Experiment, Manifest, Outcome, Settings, Verdict, Watch};
use fairlane_threads::Threads;

struct Silent;

impl Watch for Silent {
    fn begin(&self, _: &str, _: usize, _: usize) {}

    fn stopped(&self) -> bool {
        false
    }
}

/// Messages of a kilobyte times `size`, to one or two hosts, 1 to 4 of them.
const MANIFEST: &str = r#"
title = "t"
source = "s"
quick_values = { size = ["1"] }

[[axis]]
name = "size"
values = [
    { name = "1", derived = [{ key = "workload.*.size", value = "size * hosts", unit = "kB" }] },
    { name = "100", derived = [{ key = "workload.*.size", value = "size * hosts", unit = "kB" }] },
]

[[axis]]
name = "hosts"
values = [{ name = "3" }, { name = "5", set = ["topology.hosts=5", "workload.+={ kind = 'permutation', size = 1 }"] }]

[[metric]]
name = "us"
of = "completion"

[[metric]]
name = "messages"
of = "messages"

[[ratio]]
of = ["us"]
axis = "hosts"
over = ["3", "5"]

[[ratio]]
of = ["messages"]
axis = "size"
over = ["1"]
count = "messages"
least = 6

[[map]]
name = "m"
title = "t"
figures = ["messages_over_1", "us_over_*"]
rows = ["size"]
columns = ["hosts"]

[[check]]
name = "half of what is defined"
value = "100-*/us_over_*"
within = 1.0
defined = true
relation = ">="
target = 0.5
"#;

const SCENARIO: &str = r#"
topology = { kind = "star", hosts = 3, host_link = { rate = "100Gbps", delay = "1us" } }
workload = [{ kind = "permutation", size = 1 }]
"#;

fn outcome(quick: bool) -> Outcome {
    outcome_of(MANIFEST, quick)
}

fn outcome_of(manifest: &str, quick: bool) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [("experiment.toml", manifest), ("scenario.toml", SCENARIO)] {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let settings = Settings {
        quick,
        threads: Threads::new(2),
    };
    let experiment = Experiment::open(folder.path()).expect("a folder with everything");
    experiment.run(settings, &Silent).expect("it runs")
}

#[test]
fn runs_are_compared_with_those_that_differ_in_one_axis() {
    let outcome = outcome(false);
    let columns = [
        "run",
        "us",
        "messages",
        "us_over_3",
        "us_over_5",
        "messages_over_1",
    ];
    assert_eq!(outcome.rows.columns, columns);
    let value =
        |run: &str, column: &str| outcome.rows.cell(run, column).and_then(|cell| cell.value());
    let us = |run| value(run, "us").expect("it ends");
    assert_eq!(value("100-5", "us_over_3"), Some(us("100-5") / us("100-3")));
    assert_eq!(value("100-3", "us_over_5"), Some(us("100-3") / us("100-5")));
    assert_eq!(value("100-3", "us_over_3"), None, "a run over itself");
    // Three messages are too few, ten are enough: five of each workload.
    assert_eq!(value("100-3", "messages_over_1"), None);
    assert_eq!(value("100-5", "messages_over_1"), Some(1.0));
    let check = &outcome.checks[0];
    assert_eq!(
        (check.measured, check.verdict),
        (Some(0.5), Verdict::Pass),
        "{outcome:?}"
    );
    let map = &outcome.maps[0];
    assert_eq!(map.columns, ["3", "5"]);
    assert_eq!(
        map.rows[1],
        ("100".into(), vec![value("100-3", "us_over_5"), Some(1.0)])
    );
}

#[test]
fn the_reduced_size_may_have_fewer_values() {
    let outcome = outcome(true);
    assert_eq!(outcome.rows.rows.len(), 2);
    assert!(
        outcome.checks.is_empty(),
        "it has none of its runs: {outcome:?}"
    );
    assert_eq!(outcome.maps[0].rows.len(), 1);
}

#[test]
fn what_isn_t_there_is_refused() {
    Manifest::parse(MANIFEST).expect("no mistake");
    for (right, wrong, words) in [
        ("axis = \"hosts\"", "axis = \"host\"", "no axis \"host\""),
        ("over = [\"3\"", "over = [\"4\"", "no value \"4\""),
        ("of = [\"us\"]", "of = [\"ms\"]", "no metric \"ms\""),
        (
            "count = \"messages\"",
            "count = \"all\"",
            "no metric \"all\"",
        ),
        ("{ size = [\"1\"] }", "{ size = [\"2\"] }", "no value \"2\""),
        (
            "{ size = [\"1\"] }",
            "{ sizes = [\"1\"] }",
            "no axis \"sizes\"",
        ),
        ("columns = [\"hosts\"]", "columns = []", "\"hosts\" 0 times"),
        (
            "rows = [\"size\"]",
            "rows = [\"size\", \"hosts\"]",
            "\"hosts\" 2 times",
        ),
        (
            "rows = [\"size\"]",
            "rows = [\"size\", \"x\"]",
            "no axis \"x\"",
        ),
        (
            "rows = [\"size\"]",
            "at = { size = \"2\" }\nrows = []",
            "no value \"2\"",
        ),
        (
            "figures = [\"messages_over_1\"",
            "figures = [\"us_over_4*\"",
            "no column \"us_over_4*\"",
        ),
        ("defined = true", "over = \"100-3/us\"", "has `over`"),
        ("*/us_over_*", "*/ms_over_*", "100-*/ms_over_*"),
    ] {
        let error = Manifest::parse(&MANIFEST.replacen(right, wrong, 1)).expect_err(wrong);
        assert!(error.message.contains(words), "{wrong}: {error}");
    }
}

/// What is published of [`MANIFEST`]'s runs, and a setting that is left open.
const CLAIMS: &str = r#"
[[published]]
run = "1-3"
metric = "messages"
value = 3.1
tolerance = 0.05

[[published]]
run = "1-5"
metric = "messages"
value = 20
tolerance = 0.1
deviates = "They were sent twice."

[[check]]
name = "five over three"
value = "1-5/messages"
over = "1-3/messages"
published = 1.0
tolerance = 0.1

[[open]]
axis = [{ name = "delay", values = [{ name = "near" }, { name = "far", set = ["topology.host_link.delay=10us"] }] }]
checks = ["1-3/messages"]

[[open.check]]
name = "few microseconds"
value = "1-3/us"
relation = "<="
target = 6
"#;

/// [`MANIFEST`] without what doesn't go with open settings, and with claims.
fn claiming(claims: &str) -> String {
    let end = MANIFEST.find("[[ratio]]").expect("it has some");
    let text = MANIFEST[..end].replacen("quick_values = { size = [\"1\"] }", "", 1);
    format!("{text}{claims}")
}

#[test]
fn published_values_are_reproduced_or_not_and_neither_is_a_pass() {
    let outcome = outcome_of(&claiming(CLAIMS), false);
    let verdicts: Vec<_> = outcome
        .checks
        .iter()
        .map(|it| (it.name.as_str(), it.verdict, it.is_expected()))
        .collect();
    assert_eq!(
        verdicts,
        [
            ("1-3/messages", Verdict::Reproduced, true),
            ("1-5/messages", Verdict::NotReproduced, true),
            // Not said to deviate.
            ("five over three", Verdict::NotReproduced, false),
        ]
    );
    assert_eq!(outcome.count(Verdict::Pass), 0);
    assert!(!outcome.passes());
    let honest = CLAIMS.replacen("published = 1.0", "deviates = \"so\"\npublished = 1.0", 1);
    assert!(outcome_of(&claiming(&honest), false).passes());
    // What is said not to be reproduced must not be.
    let modest = honest.replacen("value = 20", "value = 10", 1);
    let outcome = outcome_of(&claiming(&modest), false);
    assert_eq!(outcome.checks[1].verdict, Verdict::Reproduced);
    assert!(!outcome.checks[1].is_expected() && !outcome.passes());
}

#[test]
fn open_settings_say_at_which_of_their_values_a_check_holds() {
    let outcome = outcome_of(&claiming(CLAIMS), false);
    assert_eq!(outcome.rows.rows.len(), 4, "its own runs only");
    let open = &outcome.open[0];
    let runs: Vec<_> = open
        .rows
        .rows
        .iter()
        .map(|row| row[0].to_string())
        .collect();
    assert_eq!(runs, ["near-1-3", "far-1-3"], "those that checks are about");
    let own = outcome.rows.cell("1-3", "us");
    assert_eq!(open.rows.cell("near-1-3", "us"), own);
    let held: Vec<_> = open
        .checks
        .iter()
        .map(|check| (check.name.as_str(), check.holds_at(&open.values)))
        .collect();
    assert_eq!(
        held,
        [
            ("1-3/messages", vec!["near", "far"]),
            ("few microseconds", vec!["near"]),
        ]
    );
    // They are questions, not conditions.
    assert_eq!(outcome.checks.len(), 3);
}

#[test]
fn mistakes_in_claims_are_refused() {
    Manifest::parse(&claiming(CLAIMS)).expect("no mistake");
    for (right, wrong, words) in [
        (
            "checks = [\"1-3/messages\"]",
            "checks = [\"1-3/us\"]",
            "no check \"1-3/us\"",
        ),
        ("value = \"1-3/us\"", "value = \"1-4/us\"", "1-4/us"),
        (
            "tolerance = 0.1\n\n[[open]]",
            "\n[[open]]",
            "check \"five over three\"",
        ),
        (
            "over = \"1-3/messages\"",
            "over = \"published\"",
            "published",
        ),
    ] {
        assert!(CLAIMS.contains(right), "{right}");
        let text = CLAIMS.replacen(right, wrong, 1);
        let text = match wrong.starts_with("over") {
            true => text.replacen("[\"1-3/messages\"]", "[\"five over three\"]", 1),
            false => text,
        };
        let error = Manifest::parse(&claiming(&text)).expect_err(wrong);
        assert!(error.message.contains(words), "{wrong}: {error}");
    }
    let nothing = "[[open]]\naxis = [{ name = \"seed\", key = \"seed\", values = [1] }]\n";
    let error = Manifest::parse(&claiming(nothing)).expect_err("nothing to check");
    assert!(
        error.message.contains("nothing to vary or to check"),
        "{error}"
    );
    let ratios = format!("{MANIFEST}{nothing}checks = [\"half of what is defined\"]\n");
    let error = Manifest::parse(&ratios).expect_err("ratios");
    assert!(error.message.contains("without [[ratio]]"), "{error}");
}
