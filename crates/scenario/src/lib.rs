//! The scenario file: one fabric, its traffic and the policies that it runs under.
//!
//! A scenario is a TOML text. [`load`] reads it, fills in every default of its profile, reads the
//! files that it names and checks all of it; what it returns can be simulated. Every mistake is an
//! [`Error`] that says where it is, what was expected and what to do.
//!
//! What this crate refuses: to run anything, to guess what an unknown key means, to panic on any
//! input.
//!
//! Each kind of workload is a file of `workload/`, with its keys, checks and messages; a simulator has them generated for the
//! fabric that it has built ([`traffic`]).
//!
//! Side files are those of HPCC's ns-3 simulator (topology, messages) and two-column distribution
//! tables.
//!
//! ```
//! use std::path::Path;
//!
//! let text = r#"
//!     [topology]
//!     kind = "star"
//!     hosts = 4
//!     host_link = { rate = "100Gbps", delay = "1us" }
//!
//!     [[workload]]
//!     kind = "incast"
//!     degree = 3
//!     size = "256kB"
//! "#;
//! let loaded = fairlane_scenario::parse(text, "incast.toml", Path::new("."), &[], None)?;
//! assert_eq!(fairlane_scenario::hosts(&loaded.scenario, &loaded.inputs).len(), 4);
//!
//! let mistake = text.replace("degree = 3", "degree = 4");
//! let error = fairlane_scenario::parse(&mistake, "incast.toml", Path::new("."), &[], None);
//! assert_eq!(error.map_err(|error| error.place).err(), Some("incast.toml:9:5".into()));
//! # Ok::<(), fairlane_scenario::Error>(())
//! ```
#![forbid(unsafe_code)]

mod attack;
mod capture_point;
mod classes;
mod collective;
mod congestion;
mod connections;
mod defaults;
mod document;
mod error;
mod faults;
pub mod files;
mod forwarding;
mod host_set;
mod inputs;
mod keypath;
mod lab;
mod layout;
mod load;
mod locate;
mod multipath;
mod nic;
mod optional;
mod overrides;
mod planes;
mod profile;
mod read_inputs;
mod rules;
mod schema;
mod section;
mod sizes;
mod tenant;
mod trace_files;
mod types;
mod validate;
mod words;
mod workload;
mod written;

pub use capture_point::CapturePorts;
pub use collective::{
    CollectiveAlgorithm, CollectiveKind, Layer, TraceFormat, TracePath, data_ranks, hosts_of_group,
};
pub use error::{Error, nearest};
pub use fairlane_hpcc_files::{LinkText, TopologyText};
pub use files::Files;
pub use inputs::{Inputs, SideFile, TraceFile};
pub use layout::{Counts, counts, generate, hosts, layout};
pub use load::{Copies, Loaded, load, parse, parse_table, parse_with};
pub use planes::{MOST_PLANES, PlaneError, Planes};
pub use rules::LARGEST_MESSAGE;
pub use schema::schema;
pub use sizes::SizeDistribution;
pub use tenant::tenant_of;
pub use types::*;
pub use validate::validate;

/// What workloads generate, and what they must know for that.
pub mod traffic {
    pub use crate::workload::{
        Arrivals, Context, MAX_MESSAGES, MessageSpec, Messages, Owner, Planned, RunRules, STEP,
        Step, Steps, by_start,
    };
}
pub use workload::Figures;
