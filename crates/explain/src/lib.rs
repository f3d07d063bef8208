//! Why a run went as it did: from the records of its results to findings in words and figures.
//!
//! [`explain`] asks of every message, interval by interval of the time series, what it waited for: its receiver's link, a link
//! that it shared while parallel ones were free, the fabric as a whole, its sender's link, pauses, losses, the cost of chunks, or none
//! of these. Each moment has one answer, so the answers add up to the time that all messages took, and findings are in the order of
//! what they cost. Beside them stand facts that no time can be given to, such as paths that take one way.
//!
//! The rules are those of `docs/explain.md`. A link is full in an interval in which its packets took 90 % of the time in
//! which anything was under way, the measure by which `fairlane-fabric` calls a port contended. Of several full links the one nearest to the
//! receiver counts, since those before it wait for it.
//!
//! What this crate refuses: to read files, to simulate anything, to know more of a run than its results say.
//!
//! ```
//! use fairlane_explain::{Kind, Message, Port, Run, explain};
//!
//! // Host 0 sends for 100 us over switch 2 to host 1; the series has intervals of 50 us.
//! let port = |node, number, peer, use_of_it| Port {
//!     node, number, peer, rate_bps: 100_000_000_000,
//!     sent: vec![use_of_it; 2], paused_ns: vec![0; 2], on_switch: node == 2,
//! };
//! let run = Run {
//!     interval_ps: 50_000_000,
//!     end_ps: 100_000_000,
//!     ports: vec![port(0, 1, 2, 600_000), port(2, 1, 0, 0), port(2, 2, 1, 600_000), port(1, 1, 2, 0)],
//!     messages: vec![Message {
//!         destination: 1, size: 1_200_000, finish_ps: Some(100_000_000), ideal_ps: 98_000_000,
//!         way: vec![0, 2, 1].into(), ..Message::default()
//!     }],
//!     ..Run::default()
//! };
//! let report = explain(&run);
//! assert_eq!(report.findings[0].kind, Kind::Receiver);
//! ```
#![forbid(unsafe_code)]

mod blame;
mod collectives;
mod fabric;
mod findings;
mod multipath;
mod numbers;
mod records;
mod report;
mod subject;
mod words;

pub use findings::{Finding, Kind, Place, Remedy};
pub use records::{
    Collective, Costs, LinkKeys, Message, Multipath, Path, Port, Run, Settings, Way,
};
pub use report::{Report, explain};
