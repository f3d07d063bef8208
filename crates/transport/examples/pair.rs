//! Runs programs of the pair harness: `pair PROFILE SEED [COUNT]`, with a trace if one fails.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that prints what it finds"
)]

use std::process::ExitCode;

use fairlane_transport::testing::{Profile, Statistics, run};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| {
        arguments
            .get(index)
            .and_then(|text| text.parse::<u64>().ok())
    };
    let wanted = arguments.first();
    let profile = Profile::ALL
        .into_iter()
        .find(|p| wanted.is_some_and(|w| w == p.name()));
    let (Some(profile), Some(first)) = (profile, number(1)) else {
        let names = Profile::ALL.map(Profile::name).join("|");
        eprintln!("usage: pair {names} SEED [COUNT]");
        return ExitCode::from(2);
    };
    let mut sum = Statistics::default();
    for seed in first..first + number(2).unwrap_or(1) {
        match run(profile, seed) {
            Ok(run) => sum += run,
            Err(failure) => {
                println!("{failure}\nfailed: pair {} {seed}", profile.name());
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{}: {sum:?}", profile.name());
    ExitCode::SUCCESS
}
