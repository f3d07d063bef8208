//! The problem of a network: hosts share what they receive, poll and send through the core.
//!
//! Each limit is a row with one price. Hosts carry out orders about prices for their flows and tell sums, so that
//! any number of threads can share them. A [`Source`] tells the flows of one host at a time, so that a
//! network need not fit into memory: what is kept is one rate a flow.

mod block;
mod choose;
mod descent;
mod exact;
mod held;
mod host;
mod order;
mod problem;
mod quasi;
mod repair;
mod selection;
mod smooth;
mod solve;

pub use choose::solve_chosen;
pub use descent::CoupledOptions;
pub use problem::{Column, Flows, Indexed, Network, RowKind, Rows, SharedRow, Source};
pub use selection::{Choice, Selection};
pub use solve::{CoupledSolution, solve};
