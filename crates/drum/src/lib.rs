//! Optimal shares of queue pairs and completion queues among the applications of a host, and of a
//! network, each with a certificate.
//!
//! An application `j` fetches work requests at a rate `x_j` (WQE/s) and polls completions at a rate
//! `z_j` (CQE/s). [`solve`] finds the rates of greatest utility that the host's egress, its polling
//! budget and the connection cache of its NIC allow, and says how far from the best they can be at
//! most: every [`Solution`] has the value of a feasible point and a bound that no feasible point
//! exceeds.
//!
//! What this crate refuses: to send or receive anything, to read a clock, to depend on the number of
//! threads or on the machine (the same problem has the same solution, bit for bit).
//!
//! The model is that of DRUM (Shen et al., INFOCOM 2020), with its errors corrected: capacities are
//! linear, and limits on active queue pairs are met by time sharing, unless [`Mode`] says otherwise.
//!
//! Each module says how it works; what finds what, and why not one method all of it:
//!
//! | module | finds | why it is there |
//! |---|---|---|
//! | `newton` | prices of hosts whose rows have capacities and whose utilities bend | a step is one pass over applications in vector instructions, so hosts take less than an eighth of `interior`'s time |
//! | `interior` | rates and prices together | whatever `newton` doesn't close or isn't for: alpha 0, rows with a price, polls as attempts, networks that fit in memory |
//! | `cutting`, `topk`; `coupled::smooth` | prices that select, on hosts and in networks | dual functions of selections have kinks |
//! | `search` | selections | prices leave gaps that only a search closes |
//! | `max_min` | max-min shares | rows fill one after the other; no utility is summed |
//! | `coupled` | networks of any size | hosts tell sums over their flows, so that no step takes all rows at once |
//!
//! ```
//! use fairlane_drum::{Application, Fairness, Host, Mode, Options, Table, Utility, solve};
//!
//! let mut table = Table::default();
//! for bytes in [64.0, 4096.0] {
//!     table.push(Application { bytes, ..Application::default() });
//! }
//! let utility = Utility { fairness: Fairness::Alpha(1.0), latency: 0.0 };
//! let host = Host::new(table.view(), utility, 5e9, 1e8);
//! let solution = solve(&host, &Mode::All, &Options::default())?;
//! // Proportional fairness: both applications send the same number of bytes.
//! assert!((solution.x[0] * 64.0 - solution.x[1] * 4096.0).abs() < 1.0);
//! assert!(solution.relative_gap() < 1e-12);
//! # Ok::<(), fairlane_drum::Error>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![allow(
    clippy::needless_range_loop,
    reason = "lanes and rows index several arrays at once"
)]

extern crate alloc;

mod allocator;
mod at_least;
pub mod coupled;
mod cutting;
mod dual;
mod error;
mod fixed;
mod host;
mod interior;
mod kernel;
mod last_iterate;
mod linear;
mod math;
mod max_min;
mod mode;
mod newton;
mod pass;
mod problem;
pub mod schedule;
mod search;
mod solution;
mod solve;
mod standing;
mod supply;
mod table;
mod timeshare;
mod topk;
mod vector;
mod workers;

pub use allocator::{Allocator, Claim, Key, Sharing};
pub use dual::DualFunction;
pub use error::{Error, Place};
pub use host::{Applications, Dependency, Fairness, Host, Load, Row, RowName, Supply, Utility};
pub use mode::{Mode, Options};
pub use solution::{Solution, Status};
pub use solve::{resolve, solve};
pub use table::{Application, Table};
pub use workers::{Sequential, Workers};
