//! Processes to measure in, and what they cost.

use std::process::Command;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use crate::Outcome;

/// Processor time of this process in user mode, in microseconds.
pub(crate) fn user_us() -> Outcome<u64> {
    Ok(u64::try_from(
        getrusage(UsageWho::RUSAGE_SELF)?
            .user_time()
            .num_microseconds(),
    )?)
}

/// Most memory that this process has held, in KiB (macOS counts bytes).
pub(crate) fn max_rss_kib() -> Outcome<u64> {
    let unit = if cfg!(target_os = "macos") { 1024 } else { 1 };
    Ok(u64::try_from(getrusage(UsageWho::RUSAGE_SELF)?.max_rss())? / unit)
}

/// Runs this program with other arguments and returns the numbers that it prints.
pub(crate) fn measure(arguments: &[&str]) -> Outcome<Vec<u64>> {
    let done = Command::new(std::env::current_exe()?)
        .args(arguments)
        .output()?;
    if !done.status.success() {
        let talk = String::from_utf8_lossy(&done.stderr);
        return Err(format!("{}: {}", arguments.join(" "), talk.trim()).into());
    }
    let text = String::from_utf8(done.stdout)?;
    Ok(text
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()?)
}

/// Whether instructions can be counted.
pub(crate) fn counts_instructions() -> bool {
    Command::new("valgrind")
        .arg("--version")
        .output()
        .is_ok_and(|done| done.status.success())
}

/// Instructions that this program executes with other arguments.
pub(crate) fn instructions(arguments: &[&str]) -> Outcome<u64> {
    let done = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args(arguments)
        .output()?;
    let talk = String::from_utf8_lossy(&done.stderr);
    let collected = talk
        .lines()
        .find_map(|line| line.split("Collected :").nth(1));
    let Some(count) = collected.filter(|_| done.status.success()) else {
        return Err(format!("valgrind: {}", talk.trim()).into());
    };
    Ok(count.trim().parse()?)
}
