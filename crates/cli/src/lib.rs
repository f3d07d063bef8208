//! The `fairlane` command: arguments, progress, tables, result files, report.
//!
//! Data goes to standard output, talk to standard error. The exit status is 0 for success, 1 for a
//! negative result (the run stalled, queue pairs failed, a check of an experiment didn't pass) and 2 for an error; an interrupted run
//! cleans up and dies of the signal that interrupted it. Every error that has a known remedy ends
//! with a line `hint:`.
//!
//! What this crate refuses: to compute a result. Every number that it prints or writes comes from
//! `fairlane-fabric`, `fairlane-drum` or `fairlane-experiments`; what is computed here concerns this
//! machine (processor time, progress). `backend` is the only module that calls the simulator.
//!
//! What the result files contain is written down in `docs/results.md`.
#![forbid(unsafe_code)]

mod args;
mod backend;
mod command;
mod failure;
mod interrupt;
mod libraries;
mod live;
mod pcap;
mod prepared;
mod print;
mod progress;
mod read;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// Reads the command line, does what it says and returns the exit status.
pub fn main() -> ExitCode {
    let arguments = args::parse();
    // Nothing that a panic leaves half done is used afterwards.
    let done = catch_unwind(AssertUnwindSafe(|| command::dispatch(arguments.command)));
    match done.unwrap_or_else(|_| Err(failure::bug())) {
        Ok(code) => code,
        Err(failure) => {
            failure.report();
            failure.exit_code()
        }
    }
}
