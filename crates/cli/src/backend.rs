//! The only module that calls the simulator, its metrics and the scenario's loader.

use std::path::Path;

use fairlane_attacks::Plan;
use fairlane_cases::{Imported, conweave, hpcc, htsim};
use fairlane_fabric::{Results, metrics, warnings};
use fairlane_lab::{Live, Replay};
use fairlane_scenario::HostSet;

pub(crate) use fairlane_congestion::{Algorithm, Scope};
pub(crate) use fairlane_explain::explain;
pub(crate) use fairlane_fabric::{
    AnyPath, Control, PathPreview, Paths, PortPaths, Progress, Threading, paths,
};
pub(crate) use fairlane_results::figures::{figures, page, page_data};
pub(crate) use fairlane_results::topology::{Lists, Report as TopologyReport};
pub(crate) use fairlane_scenario::{AttackKind, Loaded, schema};

use crate::args;
use crate::failure::Failure;

/// Reads and checks a scenario with the changes of the command line.
pub(crate) fn load(arguments: &args::Scenario) -> Result<Loaded, Failure> {
    if arguments.scenario == Path::new("-") {
        let place = "standard input";
        let text = std::io::read_to_string(std::io::stdin())
            .map_err(|error| Failure::new(format!("{place}: {error}")))?;
        let (sets, here) = (&arguments.overrides, Path::new(""));
        let loaded = fairlane_scenario::parse(&text, place, here, sets, arguments.seed);
        return Ok(loaded?);
    }
    Ok(fairlane_scenario::load(
        &arguments.scenario,
        &arguments.overrides,
        arguments.seed,
    )?)
}

/// Reads the scenario of a result directory, and finds the ways of its messages.
///
/// # Errors
/// If there is none, or it isn't one.
pub(crate) fn load_results(directory: &Path) -> Result<(Loaded, PortPaths), Failure> {
    let loaded = fairlane_scenario::load(&directory.join("scenario.toml"), &[], None)?;
    let ways = PortPaths::new(&loaded)?;
    Ok((loaded, ways))
}

/// Ways in which results contradict themselves.
pub(crate) fn violations(loaded: &Loaded, results: &Results) -> Vec<String> {
    metrics::check(results, metrics::is_lossless(&loaded.scenario, results))
}

/// What a reader of the results should know beforehand.
pub(crate) fn notes(loaded: &Loaded) -> Result<Vec<String>, Failure> {
    let mut notes = fairlane_fabric::forwarding::notes(&loaded.scenario);
    let offered = warnings::offered_load(loaded)?;
    notes.extend(offered.map(|words| format!("note: {words}")));
    notes.extend(warnings::before(loaded)?.into_iter().map(warning));
    Ok(notes)
}

/// What a reader of the results should know when they are there.
pub(crate) fn remarks(loaded: &Loaded, results: &Results) -> Vec<String> {
    let remarks = warnings::after(&loaded.scenario, results).into_iter();
    remarks.map(warning).collect()
}

fn warning(words: String) -> String {
    format!("warning: {words}")
}

/// Reads a case of another simulator.
pub(crate) fn import(from: &args::Import) -> Result<Imported, fairlane_scenario::Error> {
    match from {
        args::Import::Hpcc(case) => hpcc::import(&case.config),
        args::Import::Conweave(case) => conweave::import(&case.config),
        args::Import::Htsim(case) => htsim::import(&case.matrix, case.topology.as_deref()),
    }
}

/// The algorithm of a name.
pub(crate) fn algorithm(name: &str) -> Result<Algorithm, Failure> {
    let found = Algorithm::ALL.into_iter().find(|it| it.name() == name);
    found.ok_or_else(|| {
        let failure = Failure::new(format!("there is no congestion control \"{name}\""));
        failure.hint(format!(
            "one of {}",
            Algorithm::ALL.map(Algorithm::name).join(", ")
        ))
    })
}

/// Runs a scenario, and its attack if it has one, on so many threads, or as many as pay; `watch` hears of
/// progress and may interrupt.
pub(crate) fn simulate(
    loaded: &Loaded,
    threads: Option<usize>,
    watch: &mut dyn FnMut(&Progress<'_>) -> Control,
) -> Result<(Results, Threading), Failure> {
    let simulation = Plan::new(loaded)?.simulation()?;
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or_else(|| simulation.threads_that_pay(cores()));
    Ok(simulation.run_on(threads, watch))
}

/// Runs a scenario with software NICs that carry the messages of `hosts`; `watch` hears of progress and may interrupt.
pub(crate) fn replay(
    loaded: &Loaded,
    hosts: &str,
    watch: &mut dyn FnMut(&Progress<'_>) -> Control,
) -> Result<Results, Failure> {
    let hosts = HostSet(hosts.to_owned());
    let simulation = Plan::new(loaded)?.simulation()?;
    Ok(Replay::new(simulation, loaded, &hosts)?.run(watch)?)
}

/// The fabric of a scenario in real time, so many times slower, to which programs attach at a socket.
pub(crate) fn lab(loaded: &Loaded, scale: f64, socket: &Path) -> Result<Live, Failure> {
    let simulation = Plan::new(loaded)?.simulation()?;
    Ok(Live::new(simulation, loaded, scale, socket)?)
}

/// How many times slower a scenario's fabric must be for its programs on this machine.
pub(crate) fn scale(loaded: &Loaded) -> Result<f64, Failure> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(fairlane_lab::scale(loaded, cores)?)
}

/// Builds a scenario, and its attack if it has one, as a run does before it starts.
pub(crate) fn build(loaded: &Loaded) -> Result<(), Failure> {
    Plan::new(loaded)?.simulation()?;
    Ok(())
}
