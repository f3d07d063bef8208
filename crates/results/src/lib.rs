//! What a run leaves behind: its tables, its files, its summary and its report page.
//!
//! The command and the Python package both hand results out, and may not use each other, so that what
//! they have in common stands here. One description of each table (`column`) serves Parquet, CSV and
//! Arrow, so that these can't drift apart. `docs/results.md` says what the files contain.
//!
//! What this crate refuses: to run traffic, to compute a result (numbers come from
//! [`fairlane_fabric::metrics`]), to talk to anybody.
//!
//! ```
//! use fairlane_results::tables;
//!
//! let text = r#"
//!     [topology]
//!     kind = "star"
//!     hosts = 3
//!     host_link = { rate = "100Gbps", delay = "1us" }
//!
//!     [[workload]]
//!     kind = "incast"
//!     degree = 2
//!     size = "64kB"
//! "#;
//! let loaded = fairlane_scenario::parse(text, "incast.toml", ".".as_ref(), &[], None)?;
//! let results = fairlane_fabric::Simulation::new(&loaded)?.run(&mut |_| fairlane_fabric::Control::Continue);
//! assert_eq!(tables::messages(&results)?.num_rows(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod collectives;
pub mod column;
mod error;
pub mod figures;
pub mod heading;
pub mod meter;
pub mod read;
pub mod report;
pub mod staging;
pub mod summary;
pub mod table;
pub mod tables;
mod tenants;
pub mod topology;
pub mod write;

pub use error::{Error, to_csv, to_json};
