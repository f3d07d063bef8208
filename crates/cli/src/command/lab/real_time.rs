//! `fairlane lab` in real time: programs at the hosts of a fabric.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use fairlane_fabric::Results;
use fairlane_lab::Counts;
use fairlane_scenario::{Loaded, Scenario};
use fairlane_units::Bytes;

use super::programs::Programs;
use crate::args::Lab;
use crate::backend::{self, Control};
use crate::failure::Failure;
use crate::prepared::{Prepared, SOCKET, directory, measured};
use crate::print;
use fairlane_results::table;

/// The folder of the results that programs' outputs are in.
const OUTPUTS: &str = "programs";

/// Runs a fabric and its programs until these have ended, until it is interrupted, or until the scenario's end.
pub(super) fn run(
    loaded: Loaded,
    arguments: &Lab,
    scale: Option<f64>,
) -> Result<ExitCode, Failure> {
    let socket = socket(arguments, &loaded)?;
    let mut prepared = Prepared::begin(loaded, &arguments.output)?;
    let outputs = prepared.path().join(OUTPUTS);
    let stated = prepared.loaded.scenario.lab.clone().unwrap_or_default();
    let mut programs = Programs::new(&stated, &socket, &outputs)?;
    let scale = match scale.or(stated.scale) {
        Some(scale) => scale,
        None => backend::scale(&prepared.loaded)?,
    };
    let mut told = None;
    let (results, host) = measured(arguments.output.quiet, |reporter| {
        let lab = backend::lab(&prepared.loaded, scale, &socket)?;
        announce(scale, &programs, &socket);
        let mut failed = None;
        let ended = lab.run(&mut |progress| {
            reporter.update(progress);
            match programs.step(progress.now) {
                Ok(true) => prepared.control(),
                Ok(false) => Control::Interrupt,
                Err(failure) => {
                    failed = Some(failure);
                    Control::Interrupt
                }
            }
        });
        programs.end();
        if let Some(failure) = failed {
            return Err(failure);
        }
        told = Some(ended.counts);
        Ok(ended.results)
    })?;
    if let Some(counts) = told {
        say_counts(&counts);
    }
    say_rates(&prepared.loaded.scenario, &results);
    let failures = programs.failures();
    failures.iter().for_each(print::say);
    // Ctrl-C is how it is ended.
    prepared.settle()?;
    let code = prepared.conclude(&results, &host, &arguments.output)?;
    Ok(match failures.is_empty() {
        true => code,
        false => ExitCode::FAILURE,
    })
}

fn announce(scale: f64, programs: &Programs, socket: &Path) {
    let how = "the fabric runs";
    let than = "times slower than real time";
    // What `exec` takes for the socket.
    let place = socket.with_extension("");
    let place = place.display();
    match programs.count() {
        0 => print::say(format_args!(
            "{how} {scale} {than}; end it by Ctrl-C. A program at host 0:\n  fairlane exec --lab {place} --host 0 -- PROGRAM"
        )),
        count => print::say(format_args!(
            "{how} {scale} {than}, until its {count} programs have ended"
        )),
    }
}

/// Where programs attach: beside the directory for the results.
fn socket(arguments: &Lab, loaded: &Loaded) -> Result<PathBuf, Failure> {
    let directory = directory(&arguments.output, loaded)?;
    let mut name = directory.file_name().unwrap_or_default().to_owned();
    name.push(SOCKET);
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

/// Says how fast programs were, in the fabric's time: what they print themselves is in that of the real clock.
fn say_rates(scenario: &Scenario, results: &Results) {
    let programs = scenario.lab.iter().flat_map(|lab| &lab.program);
    let first = scenario.workload.len() as u32;
    for (number, program) in (first..).zip(programs) {
        let all = results.messages.iter();
        let own = all.filter(|message| message.workload == number);
        let done: Vec<_> = own.filter(|message| message.finish.is_some()).collect();
        let start = done.iter().map(|message| message.start).min();
        let end = done.iter().filter_map(|message| message.finish).max();
        let (Some(start), Some(end)) = (start, end) else {
            continue;
        };
        let payload: Bytes = done.iter().map(|message| message.size).sum();
        let span = end - start;
        let seconds = span.as_secs_f64();
        print::say(format_args!(
            "{} at host {}: {} work requests, {} in {} of the fabric, {} Gb/s",
            program.name,
            program.host,
            table::count(done.len() as u64),
            table::bytes(payload.as_f64()),
            table::seconds(seconds),
            table::digits(payload.as_f64() * 8e-9 / seconds)
        ));
    }
}
