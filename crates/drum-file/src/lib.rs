//! The JSON form of the problems of `fairlane-drum` and of their answers; lists of numbers may come from NumPy's files.
//!
//! A document has a `kind` and its `inputs`; `docs/drum.md` describes every key, [`schema`] is their
//! JSON Schema. The `fairlane` command and the Python package read problems through this crate, so that
//! both refuse the same mistakes with the same words: an [`Error`] has the path of what is wrong, what
//! was expected, and a hint.
//!
//! What this crate refuses: to open a file, to read a clock, to solve anything itself (that is
//! `fairlane-drum`); and to panic, whatever it is given.
//!
//! ```
//! use fairlane_drum_file::{Problem, Request};
//!
//! let text = r#"{"kind": "host_fixed", "inputs": {"alpha": 1, "weight": [1, 1],
//!     "bytes_per_wqe": [64, 4096], "poll_cost": [1e-6, 1e-6], "Q": 5e9, "C": null}}"#;
//! let problem = Problem::read(text, &Request::default())?;
//! let answer = problem.solve(&fairlane_drum::Sequential)?;
//! assert_eq!(answer.rows, ["egress"]);
//!
//! let wrong = text.replace("4096", "-1");
//! let error = Problem::read(&wrong, &Request::default()).unwrap_err();
//! assert_eq!(error.place, "inputs.bytes_per_wqe[1]");
//! # Ok::<(), fairlane_drum_file::Error>(())
//! ```
#![forbid(unsafe_code)]

mod answer;
mod columns;
mod comparison;
mod error;
mod inputs;
mod network;
mod problem;
mod random;
mod read;
mod schedule;
mod solve;

pub use answer::{Answer, Start, Status};
pub use error::Error;
pub use inputs::{
    Alpha, CoupledInputs, Dependency, Document, HostInputs, HostRow, Inputs, Mode, NetworkRow, Per,
    RowKind,
};
pub use problem::{HostProblem, Request};
pub use random::{RANDOM_HOST, Random, RandomNetwork, random_host};
pub use schedule::{Plan, Policy, RowUse, Shortfall, Turn, schedule};
pub use solve::Problem;

/// The JSON Schema of a problem: every key with its description, type and default.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Document).to_value()
}
