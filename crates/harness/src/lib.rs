//! A harness that runs random programs on two hosts and holds them against a reference.
//!
//! [`Program`]s come from a seed or from a fuzzer's bytes: two applications post work requests of all
//! kinds and receives, early and late, right and wrong, over queue pairs of hosts with various parameters. A
//! [`Pair`] runs one in virtual time over a network that loses, repeats, reorders, alters and marks
//! frames; every packet is encoded with its ICRC and read back. A model that knows nothing of the
//! state machines is told all that happens and says what must not:
//!
//! - Each work request takes effect once, in order, at the place and with the data that was posted.
//!   WRITEs may be placed early where the responder keeps packets that come out of order. A READ
//!   returns what was in memory at one time after everything before it had taken effect.
//! - Memory that no work request names stays as it was.
//! - Each work request completes once, in order: well, and then it has taken effect; or with the error
//!   that explains it, and then all others as flushed. A retry limit explains it only if as many
//!   timeouts or RNR NAKs have been.
//! - Each receive completes once, in order, with length, immediate data and key of its message.
//! - What acknowledgements confirm has been taken. Fences hold, as do the limit of READs and SQD.
//! - Over a network that changes nothing, nothing is sent twice unless a receive was missing.
//! - Everything ends, within bounds of events and of virtual time.
//!
//! Messages of unreliable services come whole or not at all; one may come twice if the network repeats
//! it. [`Fault`] puts deliberate faults in between, each of which the model must notice.
//!
//! ```
//! use fairlane_harness::{Profile, run};
//!
//! for seed in 0..10 {
//!     run(Profile::GoBackN, seed)?;
//! }
//! # Ok::<(), fairlane_harness::Failure>(())
//! ```
//!
//! What this crate refuses: to look into a host other than by what any driver sees.
#![forbid(unsafe_code)]

mod choices;
mod fault;
mod frames;
mod generate;
mod link;
mod machine;
mod memory;
mod model;
mod outcome;
mod pair;
mod program;

pub use choices::Choices;
pub use fault::Fault;
pub use outcome::{Failure, Statistics};
pub use pair::Pair;
pub use program::{Action, Capacity, End, Link, Profile, Program, Region, Side, Step};

/// Runs the program of a seed.
///
/// # Errors
/// If anything happened that must not, with what happened before.
pub fn run(profile: Profile, seed: u64) -> Result<Statistics, Failure> {
    check(&Program::from_seed(profile, seed))
}

/// Runs a program; one that fails runs again to record what happens.
///
/// # Errors
/// If anything happened that must not, with what happened before.
pub fn check(program: &Program) -> Result<Statistics, Failure> {
    let result = Pair::new(program).run();
    result.or_else(|_| Pair::new(program).with_trace().run())
}
