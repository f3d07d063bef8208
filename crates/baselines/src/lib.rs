//! Schemes that the solver of `fairlane-drum` is compared with: the DRUM paper's ADMM with its errors corrected
//! ([`admm`]), its baseline ([`decomposition`]), and the problem as it is printed ([`paper`]).
//!
//! What this crate refuses: to claim an optimum. What it finds is held against `fairlane-drum`'s certified answers by whoever
//! asks for it.
//!
//! ```
//! use fairlane_baselines::admm::{AdmmOptions, admm};
//! use fairlane_drum::{Application, Fairness, Host, Table, Utility};
//!
//! let mut table = Table::default();
//! for bytes in [1.0, 4.0] {
//!     table.push(Application { bytes, ..Application::default() });
//! }
//! let utility = Utility { fairness: Fairness::Alpha(0.5), latency: 0.1 };
//! let host = Host::new(table.view(), utility, 5.0, 3.0);
//! let run = admm(&host, &[true; 2], &AdmmOptions::default())?;
//! assert!(run.x[0] + 4.0 * run.x[1] <= 5.0);
//! # Ok::<(), fairlane_drum::Error>(())
//! ```
#![forbid(unsafe_code)]

pub mod admm;
pub mod decomposition;
pub mod paper;
mod trace;

pub use trace::Trace;
