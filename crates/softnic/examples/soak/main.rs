//! Makes, uses and destroys objects of two devices for as long as it is told, and says how much memory that takes:
//!
//!     cargo run --release -p fairlane-softnic --example soak -- --seconds 600
//!
//! Fails if data arrives wrong, if something is left behind, or if memory grows after the first tenth of the time.
#![allow(clippy::print_stdout, reason = "it is what it is for")]

use std::time::{Duration, Instant};

use fairlane_softnic::Error;

mod round;

/// What memory may grow by, in bytes: what the allocator keeps differs from time to time.
const SLACK: u64 = 8 << 20;

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seconds = match &arguments[..] {
        [] => Some(10),
        [name, seconds] if name == "--seconds" => seconds.parse().ok(),
        _ => None,
    };
    let Some(seconds) = seconds else {
        return Err(Error::Invalid("arguments", "--seconds and a number"));
    };
    let (start, length) = (Instant::now(), Duration::from_secs(seconds));
    let soak = round::Soak::new([[127, 98, 0, 1], [127, 98, 0, 2]])?;
    let live = soak.live();
    let (mut rounds, mut settled, mut said) = (0, None, Duration::ZERO);
    while start.elapsed() < length {
        soak.round(rounds)?;
        rounds += 1;
        if start.elapsed() > length / 10 {
            settled.get_or_insert_with(round::resident);
        }
        if start.elapsed() > said {
            println!(
                "{:4} s: {rounds} rounds, {} KiB",
                said.as_secs(),
                round::resident() >> 10
            );
            said += length / 10;
        }
    }
    let (before, after) = (settled.unwrap_or(0), round::resident());
    println!(
        "{rounds} rounds; {} KiB, then {} KiB",
        before >> 10,
        after >> 10
    );
    assert_eq!(soak.live(), live, "something is left");
    assert!(after <= before + SLACK, "memory has grown");
    Ok(())
}
