//! Sweeps: the same tables whatever happens on the way, and mistakes with their place.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use fairlane_experiments::Error;
use fairlane_experiments::sweep::{
    Data, Done, Executor, Extend, Frame, JOURNAL, Local, MANY_RUNS, Record, Store, Sweep, Task,
    complete,
};
use fairlane_threads::Threads;

const STAR: &str = r#"
[topology]
kind = "star"
hosts = 9
host_link = { rate = "100Gbps", delay = "1us" }
[[tenant]]
name = "red"
hosts = "0-3"
[[tenant]]
name = "blue"
hosts = "4-8"
[[workload]]
kind = "incast"
degree = 3
size = "20kB"
receiver = 8
hosts = "4-8"
tenant = "blue"
[[workload]]
kind = "poisson"
sizes = [{ size = "1kB", percent = 0 }, { size = "30kB", percent = 100 }]
load = 0.3
duration = "100us"
tenant = "red"
"#;

const SWEEP: &str = r#"
scenario = "star.toml"
seeds = 3
metrics = ["slowdown.max", "goodput_gbps", "signals.ecn_marks", "tenants.red.slowdown.p50"]
[[axis]]
name = "control"
key = "congestion.algorithm"
values = ["dcqcn", "hpcc"]
[[axis]]
name = "degree"
key = "workload.0.degree"
range = { from = 2, to = 4, step = 1 }
[[axis]]
name = "load"
key = "workload.1.load"
values = [0.1, 0.2, 0.3]
with = "degree"
[[derived]]
key = "workload.0.size"
value = "60 / degree"
unit = "kB"
[[metric]]
name = "p50"
of = "slowdown"
percentile = 50
by = "size"
classes = ["10kB"]
[[metric]]
name = "mean"
of = "completion"
by = "workload"
[[metric]]
name = "tail"
value = "slowdown.max / p50.below_10kB * degree / load"
[[curve]]
name = "completion"
of = "completion"
by = "tenant"
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("star.toml"), STAR).expect("written");
    folder
}

fn parse(text: &str, folder: &Path) -> Result<Sweep, Error> {
    Sweep::parse(text, "s.toml", folder, (MANY_RUNS, on(2)))
}

/// Measures what is missing and returns both tables.
fn tables(sweep: &Sweep, out: &Path, executor: &dyn Executor) -> (Frame, Frame) {
    let mut store = Store::open(out, sweep, Extend::No).expect("a folder of its own");
    let failed = complete(sweep, &mut store, executor, &mut |_| {}).expect("a disk with room");
    assert_eq!(failed, []);
    let records = store.records(sweep);
    (sweep.table(&records), sweep.means(&records))
}

const fn go_on() -> bool {
    false
}

fn on(threads: usize) -> Local<'static> {
    Local {
        threads: Threads::new(threads),
        stopped: &go_on,
    }
}

/// Gives up after some runs.
struct Impatient(usize);

impl Executor for Impatient {
    fn execute(&self, sweep: &Sweep, runs: &[usize], done: &mut Done<'_>) -> Result<(), Error> {
        on(2).execute(sweep, &runs[..self.0.min(runs.len())], done)
    }
}

/// Sends runs elsewhere and back, the last first.
struct Elsewhere;

impl Executor for Elsewhere {
    fn execute(&self, sweep: &Sweep, runs: &[usize], done: &mut Done<'_>) -> Result<(), Error> {
        for run in runs.iter().rev() {
            let task = Task::from_json(&sweep.task(*run)?.to_json()?)?;
            let record = task.measure(&go_on)?.to_json()?;
            if done(*run, Record::from_json(&record)).is_break() {
                return Ok(());
            }
        }
        Ok(())
    }
}

#[test]
fn tables_do_not_depend_on_threads_places_or_interruptions() {
    let folder = folder();
    let sweep = parse(SWEEP, folder.path()).expect("a sweep without mistakes");
    assert_eq!((sweep.points().len(), sweep.runs().len()), (6, 18));
    let expected = tables(&sweep, &folder.path().join("one"), &on(1));
    assert_eq!(expected.0.rows(), 18 * sweep.metrics().count());
    assert_eq!(
        expected,
        tables(&sweep, &folder.path().join("four"), &on(4))
    );
    assert_eq!(
        expected,
        tables(&sweep, &folder.path().join("sent"), &Elsewhere)
    );
    let out = folder.path().join("broken");
    for runs in [5, 4] {
        tables(&sweep, &out, &Impatient(runs));
        // A process that is killed in the middle of a line.
        let mut journal = OpenOptions::new()
            .append(true)
            .open(out.join(JOURNAL))
            .expect("a journal");
        journal
            .write_all(b"{\"key\":\"00\",\"run\":\"hp")
            .expect("written");
    }
    let store = Store::open(&out, &sweep, Extend::No).expect("its folder");
    assert_eq!(store.missing(&sweep).len(), 9);
    drop(store);
    assert_eq!(expected, tables(&sweep, &out, &on(2)));
    // Nothing is left to be run.
    assert_eq!(expected, tables(&sweep, &out, &Impatient(0)));
}

#[test]
fn metrics_are_expanded_and_defined() {
    let folder = folder();
    let sweep = parse(SWEEP, folder.path()).expect("a sweep");
    let names: Vec<&str> = sweep.metrics().collect();
    let expected = [
        "slowdown.max",
        "goodput_gbps",
        "signals.ecn_marks",
        "tenants.red.slowdown.p50",
        "p50.below_10kB",
        "p50.from_10kB",
        "mean.workload0",
        "mean.workload1",
        "tail",
    ];
    assert_eq!(names, expected);
    assert_eq!(
        sweep.curves().collect::<Vec<_>>(),
        ["completion.red", "completion.blue"]
    );
    let record = sweep.measure(0, &go_on).expect("a run");
    assert!(record.figures.iter().all(Option::is_some), "{record:?}");
    let [most, short, tail] = [0, 4, 8].map(|place| record.figures[place].expect("a figure"));
    // The first combination has degree 2 and load 0.1.
    assert!((tail - most / short * 2.0 / 0.1).abs() < 1e-9, "{record:?}");
    assert!(
        record
            .curves
            .iter()
            .all(|curve| curve.is_sorted() && !curve.is_empty())
    );
}

/// An axis may rename a tenant, or add one.
#[test]
fn metrics_are_of_what_any_combination_has() {
    let folder = folder();
    let text = r#"
        scenario = "star.toml"
        metrics = ["slowdown.p50", "tenants.green.slowdown.p50", "workloads.1.slowdown.p50"]
        [[axis]]
        name = "who"
        values = [
            { name = "red", set = [] },
            { name = "green", set = ["tenant.0.name=green", "workload.1.tenant=green"] },
        ]
        [[metric]]
        name = "median"
        of = "slowdown"
        percentile = 50
        by = "tenant"
        [[curve]]
        name = "completion"
        of = "completion"
        by = "tenant"
    "#;
    let sweep = parse(text, folder.path()).expect("a sweep");
    let names: Vec<&str> = sweep.metrics().collect();
    assert_eq!(names[3..], ["median.red", "median.blue", "median.green"]);
    let defined = |run: usize| {
        let record = sweep.measure(run, &go_on).expect("a run");
        let figures = record.figures.iter().map(Option::is_some);
        let curves = record.curves.iter().map(|curve| !curve.is_empty());
        (figures.collect::<Vec<_>>(), curves.collect::<Vec<_>>())
    };
    let red = vec![true, false, true, true, true, false];
    assert_eq!(defined(0), (red, vec![true, true, false]));
    let green = vec![true, true, true, false, true, true];
    assert_eq!(defined(1), (green, vec![false, true, true]));
    for (from, to, words) in [
        (
            "tenants.green.",
            "tenants.gray.",
            "no number \"tenants.gray.slowdown.p50\" | known are",
        ),
        (
            "by = \"tenant\"\n        [[curve]]",
            "tenant = \"gray\"\n        [[curve]]",
            "there is no tenant \"gray\" | tenants are red, blue, green",
        ),
        (
            "by = \"tenant\"\n        [[curve]]",
            "workload = 2\n        [[curve]]",
            "there is no workload 2 | there are 2, counted from 0",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let error = parse(&text.replace(from, to), folder.path()).expect_err(to);
        let error = format!("{} | {}", error.message, error.hint);
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_folder_belongs_to_one_sweep_unless_it_is_extended() {
    let folder = folder();
    let out = folder.path().join("out");
    let sweep = parse(SWEEP, folder.path()).expect("a sweep");
    tables(&sweep, &out, &on(2));
    let more = parse(&SWEEP.replace("seeds = 3", "seeds = 4"), folder.path()).expect("a sweep");
    let error = Store::open(&out, &more, Extend::No).expect_err("another sweep");
    assert!(error.message.contains("which has other runs"), "{error}");
    assert!(error.hint.contains("--extend"), "{}", error.hint);
    let store = Store::open(&out, &more, Extend::Yes).expect("extended");
    assert_eq!(store.missing(&more).len(), 6);
    let error = Store::open(&out, &more, Extend::No).expect_err("in use");
    assert!(error.message.contains("at work"), "{error}");
    drop(store);
    let error = Store::open(&out, &sweep, Extend::No).expect_err("it isn't this one's any more");
    assert!(error.message.contains("holds another sweep"), "{error}");
    let error = Store::open(folder.path(), &sweep, Extend::Yes).expect_err("a scenario is here");
    assert!(error.message.contains("not empty"), "{error}");
}

#[test]
fn a_journal_is_a_file() {
    let folder = folder();
    let sweep = parse(SWEEP, folder.path()).expect("a sweep");
    let out = folder.path().join("out");
    fs::create_dir(&out).expect("a folder");
    std::os::unix::fs::symlink("/dev/zero", out.join(JOURNAL)).expect("a link");
    let error = Store::open(&out, &sweep, Extend::No).expect_err("it never ends");
    assert!(error.message.contains("not a file"), "{error}");
}

#[test]
fn files_of_others_stay_as_they_are() {
    let folder = folder();
    let sweep = parse(SWEEP, folder.path()).expect("a sweep");
    let out = folder.path().join("out");
    fs::create_dir(&out).expect("a folder");
    let journal = out.join(JOURNAL);
    for theirs in ["{\"a\":1}\n{\"half\":", "half a line", "{\"a\":1}\n"] {
        fs::write(&journal, theirs).expect("written");
        for extend in [Extend::No, Extend::Yes] {
            let error = Store::open(&out, &sweep, extend).expect_err("somebody else's");
            assert!(error.message.contains("not the journal"), "{error}");
            assert!(error.hint.contains("--out"), "{}", error.hint);
        }
        let kept = fs::read_to_string(&journal).expect("a file");
        assert_eq!(kept, theirs);
    }
    // What is left of a journal whose first line was cut off is none of theirs.
    for begun in ["", "{\"swe", "{\"sweep\":\"12\",\"ti"] {
        fs::write(&journal, begun).expect("written");
        let store = Store::open(&out, &sweep, Extend::No).expect("a journal");
        assert_eq!(store.missing(&sweep).len(), 18);
    }
}

#[test]
fn a_journal_of_another_sweep_is_not_cut() {
    let folder = folder();
    let out = folder.path().join("out");
    let sweep = parse(SWEEP, folder.path()).expect("a sweep");
    drop(Store::open(&out, &sweep, Extend::No).expect("a folder"));
    let path = out.join(JOURNAL);
    let mut journal = OpenOptions::new()
        .append(true)
        .open(&path)
        .expect("a journal");
    journal.write_all(b"{\"key\":\"00").expect("written");
    let before = fs::read(&path).expect("a file");
    let more = parse(&SWEEP.replace("seeds = 3", "seeds = 4"), folder.path()).expect("a sweep");
    Store::open(&out, &more, Extend::No).expect_err("another sweep");
    assert_eq!(fs::read(&path).expect("a file"), before);
}

#[test]
fn what_is_still_being_looked_at_can_be_stopped() {
    let folder = folder();
    for most in [0, 2] {
        let asked = AtomicUsize::new(0);
        let stopped = || asked.fetch_add(1, Ordering::Relaxed) >= most;
        let local = Local {
            threads: Threads::new(1),
            stopped: &stopped,
        };
        let read = Sweep::parse(SWEEP, "s.toml", folder.path(), (MANY_RUNS, local));
        let error = read.expect_err("stopped");
        assert!(error.stopped, "{error}");
        assert_eq!(error.message, "stopped");
    }
}

#[test]
fn stopping_ends_without_an_error() {
    let folder = folder();
    let sweep = parse(SWEEP, folder.path()).expect("a sweep");
    let mut store = Store::open(&folder.path().join("out"), &sweep, Extend::No).expect("a folder");
    let stopped = || true;
    let local = Local {
        threads: Threads::new(2),
        stopped: &stopped,
    };
    let failed = complete(&sweep, &mut store, &local, &mut |_| {}).expect("no error");
    assert_eq!((failed, store.missing(&sweep).len()), (Vec::new(), 18));
    let mut heard = 0;
    let mut done = |_, _| {
        heard += 1;
        ControlFlow::Break(())
    };
    on(1)
        .execute(&sweep, &[0, 1, 2], &mut done)
        .expect("no error");
    assert_eq!(heard, 1);
}

/// A run that panics is in nobody's way, and is no record.
#[test]
fn a_panic_fails_its_run_alone() {
    let folder = folder();
    let sweep = parse(SWEEP, folder.path()).expect("a sweep");
    let mut store = Store::open(&folder.path().join("out"), &sweep, Extend::No).expect("a folder");
    let asked = AtomicUsize::new(0);
    // First whether to begin the first run, then within it.
    let stopped = || {
        let count = asked.fetch_add(1, Ordering::Relaxed);
        assert!(count != 1, "the second question");
        false
    };
    let local = Local {
        threads: Threads::new(1),
        stopped: &stopped,
    };
    let failed = complete(&sweep, &mut store, &local, &mut |_| {}).expect("a disk with room");
    assert_eq!((failed.len(), store.missing(&sweep).len()), (1, 1));
    assert_eq!(store.missing(&sweep), [failed[0].run]);
    let words = &failed[0].error.message;
    let expected = ": this is a bug in fairlane: the second question";
    assert_eq!(*words, format!("{}{expected}", sweep.name(failed[0].run)));
    let failed = complete(&sweep, &mut store, &on(1), &mut |_| {});
    assert_eq!(failed.expect("a disk with room"), []);
    assert!(store.missing(&sweep).is_empty());
    let task = sweep.task(0).expect("a task");
    let error = task.measure(&|| panic!("elsewhere")).expect_err("a panic");
    assert_eq!(error.message, "this is a bug in fairlane: elsewhere");
}

#[test]
fn intervals_are_those_of_the_seeds() {
    let folder = folder();
    let sweep = parse(SWEEP, folder.path()).expect("a sweep");
    let (table, means) = tables(&sweep, &folder.path().join("out"), &on(2));
    let numbers = |frame: &Frame, name: &str| {
        let column = frame.columns.iter().find(|column| column.name == name);
        match &column.expect("a column").data {
            Data::Number(cells) => cells.clone(),
            other => panic!("{other:?} are no numbers"),
        }
    };
    let values = numbers(&table, "value");
    let metrics = sweep.metrics().count();
    let first: Vec<f64> = (0..3).filter_map(|seed| values[seed * metrics]).collect();
    let mean = first.iter().sum::<f64>() / 3.0;
    let spread = (first.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / 2.0 / 3.0).sqrt();
    assert!((numbers(&means, "mean")[0].expect("a mean") - mean).abs() < 1e-12);
    assert!((numbers(&means, "ci95")[0].expect("a width") - 4.303 * spread).abs() < 1e-12);
    assert_eq!(
        numbers(&means, "min")[0],
        first.iter().copied().reduce(f64::min)
    );
}

#[test]
fn mistakes_have_a_place_and_a_hint() {
    let folder = folder();
    let wrong = |from: &str, to: &str| {
        assert!(SWEEP.contains(from), "{from}");
        let error = parse(&SWEEP.replace(from, to), folder.path()).expect_err(to);
        format!("{} | {}", error.message, error.hint)
    };
    for (from, to, words) in [
        (
            "workload.0.degree",
            "workload.0.dgree",
            "s.toml:9:1: axis \"degree\": --set workload.0.dgree=2",
        ),
        ("workload.0.degree", "workload.7.degree", "axis \"degree\""),
        (
            "[\"dcqcn\", \"hpcc\"]",
            "[]",
            "s.toml:5:1: the list of values is empty",
        ),
        ("\"hpcc\"", "\"hpc\"", "axis \"control\""),
        ("seeds = 3", "seeds = 0", "s.toml:3:9: seeds is 0"),
        (
            "seeds = 3",
            "seeds = 4000000",
            "these are 24000000 runs (2 of control x 3 of degree x 4000000 seeds) | is that meant? Then say --yes",
        ),
        ("seeds = 3", "sedes = 3", "unknown field `sedes`"),
        (
            "slowdown.max\"",
            "slowdwn.max\"",
            "summary.json has no number \"slowdwn.max\" | did you mean \"slowdown.max\"?",
        ),
        ("star.toml", "moon.toml", "moon.toml: can't be read"),
        ("60 / degree", "60 / dgree", "there is no axis `dgree`"),
        (
            "60 / degree",
            "60 / control",
            "`dcqcn` of axis `control` is no number",
        ),
        ("/ load", "/ laod", "`laod` is no metric before this one"),
        (
            "name = \"control\"",
            "name = \"seed\"",
            "an axis can't be called \"seed\"",
        ),
        ("percentile = 50", "percentile = 101", "expected 0 to 100"),
        (
            "name = \"load\"",
            "name = \"degree\"",
            "two axes are called \"degree\"",
        ),
        (
            "of = \"completion\"\nby = \"tenant\"",
            "of = \"marks\"",
            "a curve has no percentile",
        ),
        (
            "[[curve]]",
            "[plot]\nx = \"size\"\n[[curve]]",
            "there is no axis \"size\" | axes are control, degree, load",
        ),
    ] {
        let error = wrong(from, to);
        assert!(error.contains(words), "{to}: {error}");
    }
}

#[test]
fn a_scenario_may_stand_in_the_file() {
    let folder = folder();
    // One message has no 99th percentile, which is no mistake: another run may have one.
    let text = "metrics = [\"slowdown.p99\"]\n[scenario]\ntopology = { kind = \"star\", hosts = 2, host_link = { rate = \"100Gbps\", delay = \"1us\" } }\n\
                workload = [{ kind = \"incast\", degree = 1, size = \"1kB\" }]\n";
    let sweep = parse(text, folder.path()).expect("a sweep");
    assert_eq!((sweep.runs().len(), sweep.name(0).as_str()), (1, "seed 1"));
    assert_eq!(sweep.measure(0, &go_on).expect("a run").figures, [None]);
}

#[test]
fn the_sweeps_of_the_repository_have_no_mistakes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sweeps");
    let sweep = Sweep::read(&folder.join("incast.toml"), MANY_RUNS, on(2));
    assert_eq!(sweep.expect("a sweep without mistakes").runs().len(), 240);
}
