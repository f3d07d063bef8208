//! Reads what others recorded or generated of parallel programs.
//!
//! [`goal`] has the text of GOAL schedules, [`chakra`] the execution traces of Chakra; both become a
//! [`Program`]. What each statement and attribute becomes, and what isn't supported, is in `docs/traces.md`.
//!
//! What this crate refuses: files and directories (it is given bytes), and to say whether ranks fit each other: it finds what is wrong
//! within one rank. No input makes it panic, and it allocates in proportion to what it is given, whatever that says of itself.
//!
//! GOAL: T. Hoefler, C. Siebert and A. Lumsdaine, "Group Operation Assembly Language" (ICPP 2009), as `txt2bin` of LogGOPSim reads it. Chakra:
//! the schema `et_def.proto` of MLCommons, package `ChakraProtoMsg`.
//!
//! ```
//! use fairlane_traces::{Format, read};
//!
//! let text = "num_ranks 2\nrank 0 {\nl1: calc 100\nl2: send 10b to 1\nl2 requires l1\n}\nrank 1 {\nl1: recv 10b from 0\n}\n";
//! let program = read(Format::Goal, &[("two.goal", text.as_bytes())])?;
//! assert_eq!(program.ranks[0][1].after, [0]);
//!
//! let error = read(Format::Goal, &[("two.goal", b"num_ranks 2\nrank 2 {\n}\n")]).unwrap_err();
//! assert_eq!(error.place, "two.goal:2:6");
//! # Ok::<(), fairlane_traces::Error>(())
//! ```
#![forbid(unsafe_code)]

use fairlane_program::Program;
use fairlane_units::Duration;

pub mod chakra;
pub mod goal;
mod order;

pub use fairlane_units::Mistake as Error;

/// How a trace is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// The text of a GOAL schedule, one file for all ranks; its computations are in nanoseconds.
    Goal,
    /// Execution traces of Chakra, a file for each rank and perhaps one that says which ranks are in which group.
    Chakra,
}

/// Reads a trace from files, each with its name and what it contains.
///
/// # Errors
/// As of [`goal::read`] and [`chakra::read`]; for GOAL, if there isn't exactly one file.
pub fn read(format: Format, files: &[(&str, &[u8])]) -> Result<Program, Error> {
    match (format, files) {
        (Format::Chakra, _) => chakra::read(files),
        (Format::Goal, [(name, bytes)]) => goal::read(name, bytes, Duration::from_ns(1)),
        (Format::Goal, _) => {
            let place = files.get(1).map_or("files", |(name, _)| name);
            let message = format!("{} files, expected one", files.len());
            let hint = "a GOAL schedule has all ranks in one file";
            Err(Error::new(place, message, hint))
        }
    }
}
