//! `fairlane drum solve`.

use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use fairlane_drum::{Sequential, Workers};
use fairlane_drum_file::{Answer, Problem, Request};
use fairlane_threads::Threads;

use crate::args::{Format, Solve};
use crate::command::drum::input::{self, Input, Lines};
use crate::command::drum::{failure, request, text, threads};
use crate::failure::{Failure, from_stdout};
use crate::{print, table};

/// Solves a problem, or every problem of a stream.
///
/// # Errors
/// If a problem is wrong or has no solution. The answers to those before it in a stream are printed.
pub(crate) fn solve(arguments: &Solve) -> Result<ExitCode, Failure> {
    let path = &arguments.instance.file;
    let (request, threads) = (request(&arguments.instance), threads(arguments.threads));
    match input::open(path)? {
        Input::One(document) => {
            let answer = answer(&input::name(path), &document, &request, &threads)?;
            match arguments.format {
                Format::Json => print::json(&answer)?,
                Format::Text => print::text(&text::answer(&answer))?,
            }
        }
        Input::Lines(lines) => stream(lines, path, arguments.format, (request, threads))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn answer(
    place: &str,
    document: &str,
    request: &Request,
    workers: &impl Workers,
) -> Result<Answer, Failure> {
    let wrong = |error| failure(place, error);
    let problem = Problem::read(document, request).map_err(wrong)?;
    let begun = Instant::now();
    let mut answer = problem.solve(workers).map_err(wrong)?;
    answer.seconds = Some(begun.elapsed().as_secs_f64());
    Ok(answer)
}

/// An answer in its form, and what the summary says of it.
struct Written {
    line: String,
    applications: usize,
    gap: Option<f64>,
}

/// What a stream amounts to.
#[derive(Default)]
struct Summary {
    hosts: u64,
    applications: u64,
    worst_gap: f64,
    unbounded: u64,
}

fn stream(
    lines: Lines,
    path: &Path,
    format: Format,
    (request, threads): (Request, Threads),
) -> Result<(), Failure> {
    let name = input::name(path);
    let begun = Instant::now();
    let task = |_, line: io::Result<(usize, String)>| {
        let (number, line) = line.map_err(|error| Failure::new(format!("{name}: {error}")))?;
        write(&format!("{name}: line {number}"), &line, format, &request)
    };
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout());
    let (mut summary, mut failed) = (Summary::default(), None);
    threads.stream(lines, task, |written: Result<Written, Failure>| {
        let done = written.and_then(|written| {
            summary.add(&written);
            out.write_all(written.line.as_bytes())
                .map_err(|error| from_stdout(&error))
        });
        match done {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                failed = Some(failure);
                ControlFlow::Break(())
            }
        }
    });
    out.flush().map_err(|error| from_stdout(&error))?;
    drop(out);
    match failed {
        Some(failure) => Err(failure),
        None => {
            print::say(summary.words(begun.elapsed().as_secs_f64()));
            Ok(())
        }
    }
}

fn write(place: &str, line: &str, format: Format, request: &Request) -> Result<Written, Failure> {
    let answer = answer(place, line, request, &Sequential)?;
    let line = match format {
        Format::Json => serde_json::to_string(&answer)
            .map_err(|error| Failure::new(format!("JSON: {error}")))?,
        Format::Text => text::answer(&answer) + "\n",
    };
    Ok(Written {
        line: line + "\n",
        applications: answer.x.len(),
        gap: answer.relative_gap,
    })
}

impl Summary {
    fn add(&mut self, written: &Written) {
        self.hosts += 1;
        self.applications += written.applications as u64;
        match written.gap {
            Some(gap) => self.worst_gap = self.worst_gap.max(gap),
            None => self.unbounded += 1,
        }
    }

    fn words(&self, seconds: f64) -> String {
        let rate = self.applications as f64 / seconds;
        let mut words = format!(
            "{} hosts, {} applications in {}: {} applications per second, worst relative gap {}",
            table::count(self.hosts),
            table::count(self.applications),
            table::seconds(seconds),
            table::magnitude(rate),
            table::number(self.worst_gap),
        );
        if self.unbounded > 0 {
            words += &format!(", {} without a bound", table::count(self.unbounded));
        }
        words
    }
}
