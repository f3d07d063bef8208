//! Ratios of runs, reduced axes and maps in manifests.

use fairlane_experiments::{Experiment, Manifest, Outcome, Settings, Watch};
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
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [("experiment.toml", MANIFEST), ("scenario.toml", SCENARIO)] {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let settings = Settings {
        quick,
        threads: Threads::new(1),
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
        (check.measured, check.pass),
        (Some(0.5), true),
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
