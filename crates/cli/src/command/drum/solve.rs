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
use crate::command::drum::input::{self, Input, Line, Lines};
use crate::command::drum::start::Starts;
use crate::command::drum::{document, mistake, request, text, threads};
use crate::failure::{Failure, from_stdout};
use crate::print;
use fairlane_results::table;

/// Solves a problem, or every problem of a stream. The status is 1 if an answer has a larger gap than asked for.
///
/// # Errors
/// If a problem is wrong or has no solution. The answers to those before it in a stream are printed, and those
/// to all others if it is to go on.
pub(crate) fn solve(arguments: &Solve) -> Result<ExitCode, Failure> {
    let asked = Asked::new(arguments)?;
    let path = &arguments.instance.file;
    let longest = arguments.instance.longest_line;
    let wide = match input::open(path, longest, arguments.keep_going)? {
        Input::One(one) => {
            let answer = answer(&input::name(path), &one, &asked, &asked.threads)?;
            print::either(arguments.format, &answer, text::answer)?;
            u64::from(asked.is_wide(answer.relative_gap))
        }
        Input::Lines(lines) => stream(lines, path, &asked)?,
    };
    if wide == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    let limit = arguments.require_gap.unwrap_or_default();
    let (wide, limit) = (table::count(wide), table::number(limit));
    print::say(format!("answers with a relative gap above {limit}: {wide}"));
    Ok(ExitCode::from(1))
}

/// What is asked of every problem.
struct Asked<'a> {
    arguments: &'a Solve,
    request: Request,
    starts: Option<Starts>,
    threads: Threads,
}

impl<'a> Asked<'a> {
    fn new(arguments: &'a Solve) -> Result<Self, Failure> {
        let gap = arguments.require_gap;
        if let Some(gap) = gap.filter(|gap| gap.is_nan() || *gap < 0.0) {
            let message = format!("--require-gap: {gap} is not a number that is not negative");
            return Err(Failure::new(message).hint("1e-6 asks for a millionth of the value"));
        }
        let (start, longest) = (&arguments.start, arguments.instance.longest_line);
        let stdin = input::is_stdin(&arguments.instance.file);
        if stdin && start.as_deref().is_some_and(input::is_stdin) {
            let hint = "name a file for the problem or for its start";
            return Err(Failure::new("--start: standard input has the problem").hint(hint));
        }
        let starts = start.as_ref().map(|path| Starts::read(path, longest));
        Ok(Self {
            arguments,
            starts: starts.transpose()?,
            request: request(&arguments.instance),
            threads: threads(arguments.threads),
        })
    }

    /// Whether a relative gap is larger than asked for; one without end is none.
    fn is_wide(&self, gap: Option<f64>) -> bool {
        let limit = self.arguments.require_gap;
        limit.is_some_and(|limit| gap.is_none_or(|gap| gap > limit))
    }
}

fn answer(
    place: &str,
    text: &str,
    asked: &Asked<'_>,
    workers: &impl Workers,
) -> Result<Answer, Failure> {
    let wrong = |error| mistake(place, error, &asked.arguments.instance);
    let document = document(place, text, &asked.arguments.instance)?;
    let mut problem = Problem::new(document, &asked.request).map_err(wrong)?;
    if let Some(starts) = &asked.starts {
        problem = starts.apply(problem);
    }
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
    wide: u64,
    refused: u64,
}

/// Solves the problems of a stream; gives how many answers have a larger gap than asked for.
fn stream(lines: Lines, path: &Path, asked: &Asked<'_>) -> Result<u64, Failure> {
    let name = input::name(path);
    let begun = Instant::now();
    // The outer error is one of the file, the inner one of a line.
    let task = |_, line: io::Result<Line>| {
        let Line { number, text } =
            line.map_err(|error| Failure::new(format!("{name}: {error}")))?;
        let place = format!("{name}: line {number}");
        let written = text
            .map_err(|failure| failure.within(&place))
            .and_then(|text| write(&place, text.trim_end(), asked));
        Ok::<_, Failure>(written)
    };
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout());
    let (mut summary, mut failed) = (Summary::default(), None);
    asked.threads.stream(lines, task, |written| {
        let done = written.and_then(|written| match written {
            Err(failure) if asked.arguments.keep_going => {
                failure.report();
                summary.refused += 1;
                Ok(())
            }
            written => {
                let written = written?;
                summary.add(&written, asked);
                out.write_all(written.line.as_bytes())
                    .map_err(|error| from_stdout(&error))
            }
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
    failed.map_or(Ok(()), Err)?;
    print::say(summary.words(begun.elapsed().as_secs_f64()));
    if summary.refused > 0 {
        let refused = table::count(summary.refused);
        let message = format!("{name}: refused lines: {refused}, see above");
        return Err(Failure::new(message));
    }
    Ok(summary.wide)
}

fn write(place: &str, line: &str, asked: &Asked<'_>) -> Result<Written, Failure> {
    let answer = answer(place, line, asked, &Sequential)?;
    let line = match asked.arguments.format {
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
    fn add(&mut self, written: &Written, asked: &Asked<'_>) {
        self.hosts += 1;
        self.wide += u64::from(asked.is_wide(written.gap));
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
