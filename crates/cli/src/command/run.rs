//! `fairlane run`.

use std::process::ExitCode;

use fairlane_fabric::Results;

use crate::args::Run;
use crate::backend::{self, Threading};
use crate::failure::Failure;
use crate::live::Live;
use crate::prepared::{Prepared, measured};
use crate::print;
use fairlane_results::meter::Host;

/// Runs a scenario and writes its results.
///
/// # Errors
/// If the scenario is wrong, the directory can't be written, or the results contradict themselves; then there is no
/// directory. After a signal there is what was simulated until then.
pub(crate) fn run(arguments: &Run) -> Result<ExitCode, Failure> {
    let prepared = Prepared::new(&arguments.scenario, &arguments.output)?;
    let loaded = &prepared.loaded;
    let live = arguments.live.then(|| Live::begin(loaded, arguments.port));
    let mut live = live.transpose()?;
    let (results, host) = simulate(&prepared, arguments, live.as_mut())?;
    if let Some(live) = live {
        live.end(&results);
    }
    prepared.conclude(&results, &host, &arguments.output)
}

/// The simulation itself, with its cost on this machine.
fn simulate(
    prepared: &Prepared,
    arguments: &Run,
    mut live: Option<&mut Live<'_>>,
) -> Result<(Results, Host), Failure> {
    let mut threading = Threading::default();
    let measured = measured(arguments.output.quiet, |reporter| {
        let simulated = backend::simulate(&prepared.loaded, arguments.threads, &mut |progress| {
            reporter.update(progress);
            if let Some(live) = &mut live {
                live.update(progress);
            }
            prepared.control()
        })?;
        threading = simulated.1;
        Ok(simulated.0)
    })?;
    say_threads(arguments, &threading);
    Ok(measured)
}

/// Says how the work was shared, if it was, and if it wasn't as asked for, why.
fn say_threads(arguments: &Run, threading: &Threading) {
    let Threading {
        threads,
        windows,
        lookahead,
        waiting,
        ..
    } = threading;
    if let Some(asked) = arguments.threads.filter(|asked| asked > threads) {
        print::say(format_args!(
            "{threads} of {asked} threads are used: the fabric can be cut into no more parts (profile hpcc-ns3 into none)"
        ));
    }
    if *threads > 1 && arguments.verbose {
        let percent = waiting * 100.0;
        print::say(format_args!(
            "{threads} threads, {windows} windows of up to {lookahead}, {percent:.0} % of the work waited for"
        ));
    }
}
