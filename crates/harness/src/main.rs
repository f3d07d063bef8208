//! Runs programs of the pair harness: `pair PROFILE SEED [COUNT]`, with a trace if one fails.

#![forbid(unsafe_code)]

use std::io::{Result, Write, stderr, stdout};
use std::process::ExitCode;

use fairlane_harness::{Profile, Statistics, run};

fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| {
        arguments
            .get(index)
            .and_then(|text| text.parse::<u64>().ok())
    };
    let named = |profile: &Profile| arguments.first().is_some_and(|name| name == profile.name());
    let profile = Profile::ALL.into_iter().find(named);
    let (Some(profile), Some(first)) = (profile, number(1)) else {
        let names = Profile::ALL.map(Profile::name).join("|");
        writeln!(stderr(), "usage: pair {names} SEED [COUNT]")?;
        return Ok(ExitCode::from(2));
    };
    let mut sum = Statistics::default();
    for seed in first..first + number(2).unwrap_or(1) {
        match run(profile, seed) {
            Ok(run) => sum += run,
            Err(failure) => {
                writeln!(
                    stdout(),
                    "{failure}\nfailed: pair {} {seed}",
                    profile.name()
                )?;
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    writeln!(stdout(), "{}: {sum:?}", profile.name())?;
    Ok(ExitCode::SUCCESS)
}
