//! Every folder of `experiments/` says something that can be run and checked.

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use fairlane_experiments::{
    Cell, Experiment, Manifest, Outcome, Settings, Watch, all, find, map_svg, svg,
};
use fairlane_threads::Threads;

struct Silent;

impl Watch for Silent {
    fn begin(&self, _: &str, _: usize, _: usize) {}

    fn stopped(&self) -> bool {
        false
    }
}

/// Gives up before the first part is done.
struct Impatient;

impl Watch for Impatient {
    fn begin(&self, _: &str, _: usize, _: usize) {}

    fn stopped(&self) -> bool {
        true
    }
}

fn quick() -> Settings {
    Settings {
        quick: true,
        threads: Threads::new(2),
    }
}

/// What an experiment of the program gives in the reduced size; it runs once for all tests.
fn reduced(name: &str) -> &'static Outcome {
    static OUTCOMES: LazyLock<BTreeMap<String, OnceLock<Outcome>>> = LazyLock::new(|| {
        let unmade = |experiment: &Experiment| (experiment.name.to_string(), OnceLock::new());
        all().iter().map(unmade).collect()
    });
    let run = || {
        let experiment = find(name).expect("it is there");
        experiment.run(quick(), &Silent).expect(name)
    };
    OUTCOMES[name].get_or_init(run)
}

#[test]
fn every_experiment_states_source_and_checks() {
    assert!(all().len() >= 4, "found only {:?}", all());
    for experiment in all() {
        let manifest = experiment.manifest().expect("a manifest without mistakes");
        assert!(
            experiment
                .name
                .starts_with(&format!("{}-", experiment.source))
        );
        assert!(
            !manifest.title.is_empty() && !manifest.source.is_empty(),
            "{}",
            experiment.name
        );
        assert_eq!(find(&experiment.name), Some(experiment));
    }
    assert_eq!(find("s9-fig1"), None);
}

/// Experiments whose picture is of the 99th percentile, which the few messages of their reduced size don't have.
const WITHOUT_PICTURE: [&str; 3] = ["s3-fig7", "s4-local", "s4-stress"];

#[test]
fn every_experiment_runs_in_the_reduced_size() {
    for experiment in all() {
        let outcome = reduced(&experiment.name);
        assert!(
            outcome.quick && !outcome.rows.rows.is_empty(),
            "{}",
            experiment.name
        );
        for row in &outcome.rows.rows {
            assert_eq!(row.len(), outcome.rows.columns.len());
            assert!(matches!(row[0], Cell::Text(_)));
        }
        assert!(!outcome.checks.is_empty(), "{}", experiment.name);
        for check in &outcome.checks {
            let holds = check
                .measured
                .is_some_and(|value| check.wanted.holds(value));
            assert_eq!(check.verdict.holds(), holds, "{}", check.name);
            // What the reduced size can't tell its experiment marks.
            assert!(check.is_expected(), "{}: {check:?}", experiment.name);
        }
        let drawn = outcome.plots.iter().any(|plot| svg(plot).is_some());
        let coloured = outcome.maps.iter().any(|map| map_svg(map).is_some());
        let pictured = drawn || coloured;
        assert_eq!(
            pictured,
            !WITHOUT_PICTURE.iter().any(|name| *name == experiment.name),
            "{}",
            experiment.name
        );
    }
}

#[test]
fn an_experiment_can_be_stopped() {
    for name in ["s0-fig8", "s0-sharing"] {
        let experiment = find(name).expect("it is there");
        assert!(
            experiment
                .run(quick(), &Impatient)
                .is_err_and(|error| error.stopped)
        );
    }
}

#[test]
fn pictures_over_sizes_have_a_line_for_each_attack() {
    let outcome = reduced("s2-fig5");
    // In the reduced size few classes have the messages for a 99.9th percentile.
    for (file, least) in [("p99-by-size-dcqcn-qp", 5), ("p999-by-size-hpcc-tenant", 0)] {
        let plot = outcome.plots.iter().find(|plot| plot.file == file);
        let plot = plot.expect("one for each controller and scope");
        let names: Vec<&str> = plot
            .curves
            .iter()
            .map(|curve| curve.name.as_str())
            .collect();
        assert_eq!(names, ["honest", "parallel", "staggered"]);
        for curve in &plot.curves {
            assert!(curve.points.len() >= least, "{file} {}", curve.name);
            assert!(curve.points.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
    }
    let at = outcome
        .plots
        .iter()
        .find(|plot| plot.file == "p99-by-size-dcqcn-qp");
    let first = at.expect("it is there").curves[1].points[0].1;
    assert_eq!(first, value(outcome, "dcqcn-qp-parallel", "p99_400b"));
}

#[test]
fn checks_name_runs_and_columns_that_there_are() {
    let text = |value: &str| {
        format!(
            "title = \"t\"\nsource = \"s\"\nseeds = 2\n\
             axis = [{{ name = \"a\", values = [{{ name = \"1\" }}, {{ name = \"2\" }}] }}]\n\
             metric = [{{ name = \"m\", of = \"share\" }}]\n\
             check = [{{ name = \"c\", value = \"1/m\", over = \"{value}\", relation = \">\", target = 1 }}]\n"
        )
    };
    for fine in ["2/m", "2/m_ci", "1/m_n", "*/m", "*1*/*m*"] {
        assert!(Manifest::parse(&text(fine)).is_ok(), "{fine}");
    }
    for wrong in ["3/m", "2/n", "2", "*/n"] {
        let error = Manifest::parse(&text(wrong)).expect_err(wrong);
        assert!(error.message.contains(wrong), "{error}");
    }
    let suite = |value: &str| {
        format!(
            "title = \"t\"\nsource = \"s\"\n\
             check = [{{ name = \"c\", value = \"{value}\", relation = \">\", target = 1 }}]\n\
             [[suite]]\nname = \"x\"\nattacker = \"red\"\ncontrollers = [\"hpcc\"]\nscopes = [\"qp\"]\n\
             attacks = [{{ kind = \"churn\" }}, {{ kind = \"churn\", bdps = 6 }}]\n\
             quick_scopes = 1\nquick_attacks = 1\n"
        )
    };
    for fine in [
        "x-hpcc-qp-churn/gain",
        "x-hpcc-qp-churn-2/secure",
        "*/victim_messages",
        "x-hpcc-qp-churn/pauses",
        "x-hpcc-qp-churn/drops",
        "x-hpcc-qp-churn/weight_share",
    ] {
        Manifest::parse(&suite(fine)).expect(fine);
    }
    for wrong in [
        "hpcc-qp-churn/gain",
        "x-hpcc-qp-churn-3/gain",
        "x-hpcc-qp-churn/gian",
    ] {
        Manifest::parse(&suite(wrong)).expect_err(wrong);
    }
}

fn value(outcome: &Outcome, run: &str, column: &str) -> f64 {
    let cell = outcome.rows.cell(run, column).and_then(Cell::value);
    cell.unwrap_or_else(|| panic!("{run}/{column} is no number"))
}

#[test]
fn shares_of_tenants_agree_with_their_rates() {
    let outcome = reduced("s2-fig3");
    for run in ["none-16", "qp-1", "qp-16", "tenant-4"] {
        let [red, blue] = ["red_gbps", "blue_gbps"].map(|column| value(outcome, run, column));
        let share = value(outcome, run, "red_share");
        assert!((share - red / (red + blue)).abs() < 1e-9, "{run}: {share}");
        assert!(red > 0.0 && red + blue < 100.0, "{run}: {red} + {blue}");
    }
    let [one, many] = ["qp-1", "qp-16"].map(|run| value(outcome, run, "red_share"));
    assert!(many > 1.2 * one, "{one} -> {many}");
}

#[test]
fn shares_of_paths_add_up_and_windows_divide_a_run() {
    let outcome = reduced("mp-asymmetric");
    for run in ["quarter-none-completion", "ladder-apart-static-even"] {
        let shares = [4, 5, 6, 7].map(|node| value(outcome, run, &format!("share_{node}")));
        assert!(
            (shares.iter().sum::<f64>() - 1.0).abs() < 1e-9,
            "{shares:?}"
        );
        assert!(shares.iter().all(|share| *share > 0.0), "{shares:?}");
    }
    let outcome = reduced("mp-failure");
    let rate = |column| value(outcome, "completion", column);
    // Eight ports of 25 Gb/s, less headers; of eight paths seven while one is dead.
    assert!((180.0..190.0).contains(&rate("before_gbps")));
    assert!(rate("late_gbps") < 0.9 * rate("before_gbps"));
    assert!(rate("late_gbps") < rate("repaired_gbps"));
    assert!(rate("repaired_gbps") < rate("back_gbps"));
}

#[test]
fn a_job_lasts_from_its_first_piece_to_its_last() {
    let outcome = reduced("s2-fig4");
    let rate = |run| value(outcome, run, "red_gbps");
    // 1.125 MB on an idle link, less headers and a round trip; the pieces take 30 x 3 us and no longer.
    for run in ["honest-qp-alone", "parallel-qp-alone", "staggered-qp-alone"] {
        assert!((85.0..96.0).contains(&rate(run)), "{run}: {}", rate(run));
    }
    assert!(rate("honest-qp-victim") < rate("honest-qp-alone"));
}

#[test]
fn processor_time_is_that_of_chunks() {
    let outcome = reduced("s3-fig8");
    // Each is posted, polled, split and put together.
    for (run, chunks) in [("16kb-1", 1.0), ("16kb-10", 10.0), ("10mb-1", 153.0)] {
        let micros = value(outcome, run, "cpu_us");
        assert!((micros - chunks * 0.159).abs() < 1e-9, "{run}: {micros}");
        let share = micros / value(outcome, run, "time_us");
        let measured = value(outcome, run, "cpu_share");
        assert!((measured - share).abs() < 1e-9, "{run}: {measured}");
    }
}

#[test]
fn longer_messages_are_on_a_line_with_shorter_ones() {
    let outcome = reduced("s3-fig6");
    for run in ["proportional-1", "completion-10"] {
        // 1 GB, by 10 and 40 MB.
        let [short, long] = ["us_10mb", "us_1gb"].map(|column| value(outcome, run, column));
        let line = long + (long - short) * 32.0;
        let measured = value(outcome, run, "line_1gb");
        assert!((measured / line - 1.0).abs() < 1e-9, "{run}: {measured}");
    }
}

#[test]
fn limits_of_chunks_are_those_that_limiters_found() {
    let outcome = reduced("s3-table2");
    // Switches hold 650 kB.
    let limit = value(outcome, "1", "chunk");
    assert!((65_536.0..=1_048_576.0).contains(&limit), "{limit}");
    assert!(value(outcome, "1", "sent_again") > 0.0);
}

#[test]
fn mistakes_in_manifests_are_refused() {
    let axis =
        "title = \"t\"\nsource = \"s\"\naxis = [{ name = \"a\", values = [{ name = \"1\" }] }]\n";
    let metric = |keys: &str| format!("{axis}metric = [{{ name = \"m\", {keys} }}]\n");
    for fine in [
        "of = \"slowdown\", below = \"bdp\"",
        "of = \"slowdown\", from = \"20kB\", below = \"110kB\", percentile = 99.9",
        "of = \"share\", tenant = \"red\"",
    ] {
        assert!(Manifest::parse(&metric(fine)).is_ok(), "{fine}");
    }
    for wrong in ["of = \"slowdown\", below = \"rtt\"", "of = \"bliss\""] {
        assert!(Manifest::parse(&metric(wrong)).is_err(), "{wrong}");
    }
    for (picture, fine) in [("m", true), ("n", false)] {
        let point = format!("points = [{{ x = 1.0, metric = \"{picture}\" }}]");
        let profile = format!("profile = [{{ name = \"p\", x = \"x\", y = \"y\", {point} }}]\n");
        let text = format!("{profile}{}", metric("of = \"share\""));
        assert_eq!(Manifest::parse(&text).is_ok(), fine, "{picture}");
    }
    let check = "{ name = \"c\", value = \"1/m\", relation = \">\", target = 1 }";
    let twice = format!("check = [{check}, {check}]\n{}", metric("of = \"share\""));
    let error = Manifest::parse(&twice).expect_err("two of a name");
    assert!(
        error.message.contains("two checks are called \"c\""),
        "{error}"
    );
    let none = format!("seeds = 0\n{}", metric("of = \"share\""));
    let error = Manifest::parse(&none).expect_err("no runs");
    assert!(error.message.contains("seeds is 0"), "{error}");
    let suite = "suite = [{ attacker = \"red\", controllers = [], scopes = [\"qp\"], attacks = [], quick_scopes = 1, quick_attacks = 1 }]\n";
    let both = format!("{}{suite}", metric("of = \"share\""));
    assert!(Manifest::parse(&both).is_err());
    assert!(Manifest::parse(&format!("title = \"t\"\nsource = \"s\"\n{suite}")).is_ok());
}

#[test]
fn a_folder_anywhere_is_an_experiment() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("mine");
    std::fs::create_dir(&own).expect("a folder");
    let error = Experiment::open(&own).expect_err("it is empty");
    assert!(error.message.contains("no experiment.toml"), "{error}");
    let files = [
        (
            "experiment.toml",
            "title = \"t\"\nsource = \"s\"\nmetric = [{ name = \"m\", of = \"completion\" }]\n\
          check = [{ name = \"c\", value = \"2/m\", over = \"1/m\", relation = \">\", target = 1 }]\n\
          axis = [{ name = \"flows\", key = \"workload.0.path\", values = [{ name = \"1\", value = \"one.txt\" }, { name = \"2\", value = \"two.txt\" }] }]\n",
        ),
        (
            "scenario.toml",
            "topology = { kind = \"star\", hosts = 3, host_link = { rate = \"100Gbps\", delay = \"1us\" } }\n\
          workload = [{ kind = \"flows\", path = \"one.txt\" }]\n",
        ),
        ("one.txt", "1\n0 1 3 100 1000 2.0\n"),
        ("two.txt", "1\n0 1 3 100 9000 2.0\n"),
    ];
    for (name, text) in files {
        std::fs::write(own.join(name), text).expect("written");
    }
    let experiment = Experiment::open(&own).expect("a folder with everything");
    assert_eq!(experiment.name, "mine");
    let outcome = experiment.run(quick(), &Silent).expect("it runs");
    assert!(outcome.passes(), "{outcome:?}");
}
