//! Runs before their first event and after their last: what is said, refused and written.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use fairlane_fabric::{Ending, Results};

use crate::args::{Format, Output, Scenario};
use crate::backend::{self, Control, Loaded};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::print;
use crate::progress::Reporter;
use fairlane_results::meter::{Host, Usage, Work};
use fairlane_results::staging::Staging;
use fairlane_results::{summary, write};

/// What the name of a lab's socket has behind that of the directory for its results.
pub(crate) const SOCKET: &str = ".lab";

/// A run that may begin.
pub(crate) struct Prepared {
    interrupt: Interrupt,
    pub(crate) loaded: Loaded,
    staging: Staging,
}

impl Prepared {
    /// Reads a scenario, and says what is to be known before it runs.
    pub(crate) fn new(scenario: &Scenario, output: &Output) -> Result<Self, Failure> {
        let loaded = backend::load(scenario)?;
        refuse_idleness(&loaded)?;
        Self::begin(loaded, output)
    }

    /// As [`new`](Self::new) of a scenario that need have no traffic.
    pub(crate) fn begin(loaded: Loaded, output: &Output) -> Result<Self, Failure> {
        let interrupt = Interrupt::listen()?;
        let staging = Staging::begin(&directory(output, &loaded)?, output.force)?;
        for note in backend::notes(&loaded)? {
            print::say(note);
        }
        Ok(Self {
            interrupt,
            loaded,
            staging,
        })
    }

    /// Takes back an interrupt that has ended the run as it was to be ended.
    pub(crate) fn settle(&mut self) -> Result<(), Failure> {
        self.interrupt = Interrupt::listen()?;
        Ok(())
    }

    /// Where results are written before they are complete.
    pub(crate) fn path(&self) -> &Path {
        self.staging.path()
    }

    /// Whether the run goes on.
    pub(crate) fn control(&self) -> Control {
        match self.interrupt.arrived() {
            true => Control::Interrupt,
            false => Control::Continue,
        }
    }

    /// Writes the results of the run, and says what they are.
    pub(crate) fn conclude(
        self,
        results: &Results,
        host: &Host,
        output: &Output,
    ) -> Result<ExitCode, Failure> {
        let Self {
            interrupt,
            loaded,
            staging,
        } = self;
        if staging.replaces() {
            // Half a result is worth less than the whole one that it would replace.
            interrupt.check()?;
        }
        if results.totals.ending == Ending::Interrupted {
            print::say(
                "interrupted: writing what was simulated until then; another signal ends at once, without results",
            );
        }
        refuse_contradictions(&loaded, results)?;
        let figures = backend::figures(results);
        let file = summary::File::new(&loaded.scenario, &figures, host);
        let json = fairlane_results::to_json(&file)?;
        let (scenario, inputs) = loaded.portable()?;
        let content = write::Content {
            loaded: &loaded,
            scenario: &scenario,
            inputs: &inputs,
            results,
            summary: &json,
            report: &backend::page(&loaded, &scenario, (results, None), &figures),
        };
        write::all(staging.path(), &content)?;
        let directory = staging.publish(write::NAMES)?;
        print::say(format_args!("results in {}", directory.display()));
        say_ending(results);
        for remark in backend::remarks(&loaded, results) {
            print::say(remark);
        }
        match output.format {
            Format::Text => print::text(&file.text(results, output.signals))?,
            Format::Json => print::text(&json)?,
        }
        match (&results.totals.ending, interrupt.check()) {
            (Ending::Interrupted, Err(failure)) => {
                Err(failure
                    .kept("interrupted: the results end there (ending = interrupted)".into()))
            }
            (ending, _) => Ok(exit_code(ending)),
        }
    }
}

/// The directory for the results: the one that is named, else one called after the scenario in `out`.
pub(crate) fn directory(output: &Output, loaded: &Loaded) -> Result<PathBuf, Failure> {
    if let Some(named) = &output.out {
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

/// What a run leaves behind, with its cost on this machine.
pub(crate) fn measured(
    quiet: bool,
    run: impl FnOnce(&mut Reporter) -> Result<Results, Failure>,
) -> Result<(Results, Host), Failure> {
    let (begun, before) = (Instant::now(), Usage::now());
    let mut reporter = Reporter::begin(quiet);
    let results = run(&mut reporter)?;
    drop(reporter);
    let totals = &results.totals;
    let work = Work {
        transmissions: totals.message_transmissions,
        events: totals.events,
    };
    let host = Host::between(before, Usage::now(), begun.elapsed().as_secs_f64(), work);
    Ok((results, host))
}

/// A scenario without traffic has no results.
pub(crate) fn refuse_idleness(loaded: &Loaded) -> Result<(), Failure> {
    if loaded.scenario.workload.is_empty() && loaded.scenario.attack.is_none() {
        if loaded.scenario.lab.is_some() {
            let failure = Failure::new("the scenario has programs alone, which nobody simulates");
            return Err(failure.hint("`fairlane lab` starts them"));
        }
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
