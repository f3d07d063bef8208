//! `fairlane run`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use fairlane_fabric::{Ending, Results};

use crate::args::{Format, Run};
use crate::backend::{self, Control, Loaded, Threading};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::live::Live;
use crate::meter::{Host, Usage, Work};
use crate::progress::Reporter;
use crate::staging::Staging;
use crate::{print, summary, write};

/// Runs a scenario and writes its results.
///
/// # Errors
/// If the scenario is wrong, the directory can't be written, or the results contradict themselves; then there is no
/// directory. After a signal there is what was simulated until then.
pub(crate) fn run(arguments: &Run) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::listen()?;
    let loaded = backend::load(&arguments.scenario)?;
    refuse_idleness(&loaded)?;
    let staging = Staging::begin(&directory(arguments, &loaded)?, arguments.force)?;
    for note in backend::notes(&loaded)? {
        print::say(note);
    }
    let live = arguments.live.then(|| Live::begin(&loaded, arguments.port));
    let mut live = live.transpose()?;
    let (results, host) = simulate(&loaded, arguments, &interrupt, live.as_mut())?;
    if let Some(live) = live {
        live.end(&results);
    }
    if staging.replaces() {
        // Half a result is worth less than the whole one that it would replace.
        interrupt.check()?;
    }
    if results.totals.ending == Ending::Interrupted {
        print::say(
            "interrupted: writing what was simulated until then; another signal ends at once, without results",
        );
    }
    refuse_contradictions(&loaded, &results)?;
    let figures = backend::figures(&results);
    let file = summary::File::new(&loaded.scenario, &figures, &host);
    let json = fairlane_results::to_json(&file)?;
    let (scenario, inputs) = loaded.portable()?;
    let content = write::Content {
        loaded: &loaded,
        scenario: &scenario,
        inputs: &inputs,
        results: &results,
        summary: &json,
        report: &backend::page(&loaded, &scenario, (&results, None), &figures),
    };
    write::all(staging.path(), &content)?;
    let directory = staging.publish(write::NAMES)?;
    print::say(format_args!("results in {}", directory.display()));
    say_ending(&results);
    for remark in backend::remarks(&loaded, &results) {
        print::say(remark);
    }
    match arguments.format {
        Format::Text => print::text(&file.text(&results, arguments.signals))?,
        Format::Json => print::text(&json)?,
    }
    match (&results.totals.ending, interrupt.check()) {
        (Ending::Interrupted, Err(failure)) => {
            Err(failure.kept("interrupted: the results end there (ending = interrupted)".into()))
        }
        (ending, _) => Ok(exit_code(ending)),
    }
}

/// The directory for the results: the one that is named, else one called after the scenario in `out`.
fn directory(arguments: &Run, loaded: &Loaded) -> Result<PathBuf, Failure> {
    if let Some(named) = &arguments.out {
        return Ok(named.clone());
    }
    let name = &loaded.scenario.name;
    let is_name = Path::new(name).file_name() == Some(name.as_ref());
    match is_name {
        true => Ok(Path::new("out").join(name)),
        false => Err(Failure::new(format!(
            "there can be no directory \"{name}\" for the results"
        ))
        .hint("name one with --out, or change the scenario's name")),
    }
}

/// The simulation itself, with its cost on this machine.
fn simulate(
    loaded: &Loaded,
    arguments: &Run,
    interrupt: &Interrupt,
    mut live: Option<&mut Live<'_>>,
) -> Result<(Results, Host), Failure> {
    let (begun, before) = (Instant::now(), Usage::now());
    let mut reporter = Reporter::begin(arguments.quiet);
    let (results, threading) = backend::simulate(loaded, arguments.threads, &mut |progress| {
        reporter.update(progress);
        if let Some(live) = &mut live {
            live.update(progress);
        }
        if interrupt.arrived() {
            Control::Interrupt
        } else {
            Control::Continue
        }
    })?;
    drop(reporter);
    say_threads(arguments, &threading);
    let totals = &results.totals;
    let work = Work {
        transmissions: totals.message_transmissions,
        events: totals.events,
    };
    let host = Host::between(before, Usage::now(), begun.elapsed().as_secs_f64(), work);
    Ok((results, host))
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

/// A scenario without traffic has no results.
pub(super) fn refuse_idleness(loaded: &Loaded) -> Result<(), Failure> {
    if loaded.scenario.workload.is_empty() && loaded.scenario.attack.is_none() {
        let failure = Failure::new("the scenario has no [[workload]]: nothing would be sent");
        return Err(
            failure.hint("docs/scenario.md shows workloads; `fairlane topology` needs none")
        );
    }
    Ok(())
}

/// A run whose books don't balance is a mistake of this program, and no result.
fn refuse_contradictions(loaded: &Loaded, results: &Results) -> Result<(), Failure> {
    let violations = backend::violations(loaded, results);
    if violations.is_empty() {
        return Ok(());
    }
    let list = violations.join("\n  ");
    Err(Failure::new(format!(
        "the results contradict themselves, which is a bug in fairlane:\n  {list}"
    ))
    .hint("nothing was written; please report this with the scenario and its side files"))
}

/// Says why the result is a negative one, if it is.
fn say_ending(results: &Results) {
    match &results.totals.ending {
        Ending::Complete | Ending::Stopped | Ending::Interrupted => {}
        Ending::Failed => print::say("the run failed: queue pairs reached their retry limit"),
        Ending::Stalled(stall) => {
            print::say(format_args!(
                "the run stalled at {}: {}",
                stall.at, stall.reason
            ));
            for port in &stall.pause_cycle {
                let port = &results.ports[port.index()];
                print::say(format_args!(
                    "  node {} port {} waits for node {}",
                    port.node, port.number, port.peer_node
                ));
            }
        }
    }
}

fn exit_code(ending: &Ending) -> ExitCode {
    ExitCode::from(u8::from(matches!(
        ending,
        Ending::Stalled(_) | Ending::Failed
    )))
}
