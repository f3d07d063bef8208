//! Every folder of `experiments/` says something that can be run and checked.

use fairlane_experiments::{Cell, Settings, Watch, all, find, svg};
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
        assert_eq!(find(experiment.name), Some(experiment));
    }
    assert_eq!(find("s9-fig1"), None);
}

#[test]
fn every_experiment_runs_in_the_reduced_size() {
    for experiment in all() {
        let outcome = experiment.run(quick(), &Silent).expect(experiment.name);
        assert!(
            outcome.quick && !outcome.rows.rows.is_empty(),
            "{}",
            experiment.name
        );
        for row in &outcome.rows.rows {
            assert_eq!(row.len(), outcome.rows.columns.len());
            assert!(matches!(row[0], Cell::Text(_)));
        }
        for check in &outcome.checks {
            let holds = check
                .measured
                .is_some_and(|value| check.relation.holds(value, check.target));
            assert_eq!(check.pass, holds, "{}", check.name);
        }
        assert!(
            outcome.plots.iter().any(|plot| svg(plot).is_some()),
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
