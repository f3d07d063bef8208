//! `fairlane lab`.

use std::process::ExitCode;

use crate::args::Lab;
use crate::backend::{self, Loaded};
use crate::failure::Failure;
use crate::prepared::{Prepared, measured, refuse_idleness};
use crate::print;

mod listening;
mod programs;
mod real_time;

/// Runs a scenario with software NICs at its hosts, and writes its results: those of programs in real time if it has any, or a scale is
/// asked for; else software NICs carry its messages.
///
/// # Errors
/// As `run`; and if software NICs can't carry its messages, payload is wrong, or programs can't attach.
pub(crate) fn lab(arguments: &Lab) -> Result<ExitCode, Failure> {
    let loaded = backend::load(&arguments.scenario)?;
    let programs = loaded.scenario.lab.as_ref();
    match (programs, arguments.scale, &arguments.real) {
        (None, None, _) => replay(loaded, arguments),
        (Some(lab), None, Some(_)) => {
            if !lab.program.is_empty() {
                print::say("note: a replay starts no programs: [[lab.program]] has no effect");
            }
            replay(loaded, arguments)
        }
        (_, scale, _) => real_time::run(loaded, arguments, scale),
    }
}

/// Has software NICs carry the messages of hosts, of all if none are named.
fn replay(loaded: Loaded, arguments: &Lab) -> Result<ExitCode, Failure> {
    let hosts = arguments.real.as_deref().unwrap_or("all");
    refuse_idleness(&loaded)?;
    let prepared = Prepared::begin(loaded, &arguments.output)?;
    let (results, host) = measured(arguments.output.quiet, |reporter| {
        backend::replay(&prepared.loaded, hosts, &mut |progress| {
            reporter.update(progress);
            prepared.control()
        })
    })?;
    prepared.conclude(&results, &host, &arguments.output)
}
