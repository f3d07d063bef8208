//! Benchmarks of simulator and solver, as readable tables.
//!
//! Every measurement runs in a process of its own, so that memory is its own too. Processor time is
//! that of user mode; the best of several repetitions counts, since other work only ever adds.
//! Instructions come from `valgrind --tool=callgrind` where it is installed: they hardly vary from
//! run to run and show a change of a few percent on a busy machine.
//!
//! `fairlane-benches` measures everything, `fairlane-benches` with `micro`, `wire`, `transport`,
//! `multipath`, `drum`, `fabric` or `lab` a part. `networks` compares the solver with a generic one on random
//! problems, 500 or as many as are asked for, which takes an hour; `network` with a seed does so on one of them.
//! Remaining arguments are for the processes that it starts.
#![forbid(unsafe_code)]

#[path = "../../crates/drum/tests/conic/mod.rs"]
#[allow(dead_code, reason = "each user takes a part")]
mod conic;
mod drum;
mod fat_tree;
mod lab;
mod micro;
mod multipath;
mod networks;
mod process;
mod table;
mod transport;
mod wire;

use std::io::{self, Write};
use std::process::ExitCode;

/// Random problems that `networks` compares.
const PROBLEMS: u64 = 500;

/// What goes wrong is said in one line.
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        [] => micro::table()
            .and_then(|()| wire::table())
            .and_then(|()| transport::table())
            .and_then(|()| multipath::table())
            .and_then(|()| drum::table())
            .and_then(|()| fat_tree::table())
            .and_then(|()| lab::table()),
        ["micro"] => micro::table(),
        ["wire"] => wire::table(),
        ["transport"] => transport::table(),
        ["multipath"] => multipath::table(),
        ["drum"] => drum::table(),
        ["fabric"] => fat_tree::table(),
        ["lab"] => lab::table(),
        ["one", name, operations] => micro::one(name, operations),
        ["networks"] => networks::table(PROBLEMS),
        ["networks", count] => count
            .parse()
            .map_err(Into::into)
            .and_then(networks::table),
        ["network", seed] => networks::one(seed),
        ["drum", name, hosts, applications] => drum::one(name, hosts, applications),
        ["tree", hosts] => fat_tree::one(hosts),
        _ => Err(
            "usage: fairlane-benches [micro | wire | transport | multipath | drum | fabric | lab | networks [COUNT] | network SEED]".into(),
        ),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}
