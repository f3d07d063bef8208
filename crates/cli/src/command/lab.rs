//! `fairlane lab`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use fairlane_lab::{Counts, Lateness};
use fairlane_scenario::Loaded;
use fairlane_units::Duration;

use crate::args::Lab;
use crate::backend;
use crate::failure::Failure;
use crate::prepared::{Prepared, directory, measured};
use crate::print;

/// The part of the base round trip that an event may be late by: one in a hundred may be later.
const TOLERATED: f64 = 0.05;

/// Runs a scenario with software NICs at its hosts, and writes its results.
///
/// # Errors
/// As `run`; and if software NICs can't carry its messages, payload is wrong, or programs can't attach.
pub(crate) fn lab(arguments: &Lab) -> Result<ExitCode, Failure> {
    match arguments.scale {
        None => replay(arguments),
        Some(scale) => stay(arguments, scale),
    }
}

fn replay(arguments: &Lab) -> Result<ExitCode, Failure> {
    let prepared = Prepared::new(&arguments.scenario, &arguments.output)?;
    let (results, host) = measured(arguments.output.quiet, |reporter| {
        backend::replay(&prepared.loaded, &arguments.real, &mut |progress| {
            reporter.update(progress);
            prepared.control()
        })
    })?;
    prepared.conclude(&results, &host, &arguments.output)
}

/// Runs a fabric in real time until it is interrupted, or until the scenario's end.
fn stay(arguments: &Lab, scale: f64) -> Result<ExitCode, Failure> {
    let loaded = backend::load(&arguments.scenario)?;
    let socket = socket(arguments, &loaded)?;
    let mut prepared = Prepared::begin(loaded, &arguments.output)?;
    let mut told = None;
    let (results, host) = measured(arguments.output.quiet, |_| {
        let lab = backend::lab(&prepared.loaded, scale, &socket)?;
        let place = socket.display();
        print::say(format_args!(
            "the fabric runs {scale} times slower than real time; end it by Ctrl-C. A program at host 3:\n  fairlane exec --lab {place} --host 3 -- PROGRAM"
        ));
        let ended = lab.run(&mut |_| prepared.control());
        told = Some((ended.counts, ended.lateness));
        Ok(ended.results)
    })?;
    if let Some((counts, lateness)) = told {
        say_counts(&counts);
        say_lateness(&lateness, results.totals.base_rtt, scale);
    }
    // Ctrl-C is how it is ended.
    prepared.settle()?;
    prepared.conclude(&results, &host, &arguments.output)
}

/// Where programs attach: beside the directory for the results.
fn socket(arguments: &Lab, loaded: &Loaded) -> Result<PathBuf, Failure> {
    let directory = directory(&arguments.output, loaded)?;
    let mut name = directory.file_name().unwrap_or_default().to_owned();
    name.push(".lab");
    let parent = directory.parent().unwrap_or_else(|| Path::new(""));
    if !parent.as_os_str().is_empty() {
        std::fs::create_dir_all(parent).map_err(|error| Failure::at(parent, error))?;
    }
    Ok(parent.join(name))
}

fn say_counts(counts: &Counts) {
    let Counts {
        attached,
        refused,
        overrun,
        nonsense,
    } = counts;
    print::say(format_args!(
        "{attached} NICs attached; packets refused: {refused}, not taken in time: {overrun}; NICs that wrote nonsense: {nonsense}"
    ));
}

/// Says how late events of the fabric were, and which scale would do if they were too late.
fn say_lateness(lateness: &Lateness, base_rtt: Duration, scale: f64) {
    let of_trip = |late: Duration| late.as_secs_f64() / base_rtt.as_secs_f64();
    let (half, most) = (lateness.quantile(0.5), lateness.quantile(0.99));
    let worst = lateness.worst();
    print::say(format_args!(
        "lateness of {} events: p50 {half}, p99 {most}, worst {worst}; p99 is {:.1} % of the base round trip",
        lateness.count(),
        100.0 * of_trip(most)
    ));
    if of_trip(most) > TOLERATED {
        // What makes events late takes real time.
        let enough = (scale * of_trip(most) / TOLERATED).ceil();
        print::say(format_args!(
            "late: more than 5 %; --scale {enough} would do"
        ));
    }
}
