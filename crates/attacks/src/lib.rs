//! Tenants that game congestion control, and what they gain.
//!
//! An attacker is an ordinary tenant with a policy: it posts messages, and switches and NICs treat it as
//! anybody. [`Plan`] carries out the `[attack]` of a scenario: it changes or extends the messages that the
//! honest workloads generate, and `fairlane-fabric` runs what comes out. Each attack has a file, which says
//! what it exploits and where it was published.
//!
//! What this crate refuses: to be reachable from crates that send real packets; to change how the fabric
//! treats anybody; randomness that isn't the scenario's seed.
//!
//! Sources: S2 (Snyder, Lebeck, Zhuo: RDMA Congestion Control: It's Only for the Compliant), sections III
//! and IV; others are named where they are used.
//!
//! ```
//! use std::path::Path;
//! use fairlane_units::MessageId;
//!
//! let text = r#"
//!     topology = { kind = "star", hosts = 3, host_link = { rate = "100Gbps", delay = "1us" } }
//!     tenant = [{ name = "red", hosts = "0" }, { name = "blue", hosts = "1" }]
//!     attack = { kind = "parallel", qps = 16 }
//!
//!     [[workload]]
//!     kind = "flows"
//!     flow = [{ source = 0, destination = 2, size = "10MB" }]
//!
//!     [[workload]]
//!     kind = "flows"
//!     tenant = "blue"
//!     flow = [{ source = 1, destination = 2, size = "10MB" }]
//! "#;
//! let loaded = fairlane_scenario::parse(text, "attack.toml", Path::new("."), &[], None)?;
//! let plan = fairlane_attacks::Plan::new(&loaded)?;
//! assert_eq!(plan.messages.len(), 17);
//! assert_eq!(plan.cut, [MessageId::new(0)]);
//! # Ok::<(), fairlane_scenario::Error>(())
//! ```
#![forbid(unsafe_code)]

mod asked;
mod cache_flood;
mod churn;
mod jobs;
mod matching;
mod measure;
mod nic_hog;
mod paced;
mod parallel;
mod pfc_storm;
mod plan;
mod pulse;
mod rings;
mod rotating_incast;
mod rotation;
mod scene;
mod shuffled_overlay;
mod split;
mod staggered;
mod suite;
mod verdict;

use fairlane_fabric::MessageSpec;
use fairlane_scenario::{Error, Loaded};

pub use asked::Asked;
pub use jobs::{Job, goodput};
pub use measure::{Contention, Measurement, Posts, Tail, slowdown_so_far};
pub use plan::Plan;
pub use rings::Rings;
pub use scene::Window;
pub use suite::{Role, Run, Suite, Watch};
pub use verdict::{Estimate, Rates, Row, Subject, Trial, Verdict, notes_of, verdict};

/// The messages of a scenario with its attack carried out, in order of start. Attacks that aren't made of
/// messages alone need the rest of the [`Plan`].
///
/// # Errors
/// As [`Plan::new`].
pub fn messages(loaded: &Loaded) -> Result<Vec<MessageSpec>, Error> {
    Ok(Plan::new(loaded)?.messages)
}
