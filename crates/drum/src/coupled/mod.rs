//! The problem of a network: hosts share what they receive, poll and send through the core.
//!
//! Each limit is a row with one price. An owner of the prices gives orders ([`Order`]), hosts carry them out
//! for their flows and tell sums ([`Sums`]); [`solve`] does it in one process, [`Coordinator`] and [`Agent`]
//! by messages, with the same result to the bit. A [`Source`] tells the flows of one host at a time, so that a
//! network need not fit into memory: what is kept is one rate a flow.

mod agent;
mod choose;
mod coordinator;
mod descent;
mod exact;
mod flock;
mod generate;
mod held;
mod message;
mod order;
mod owner;
mod problem;
mod quasi;
mod random;
mod repair;
mod selection;
mod smooth;
mod solve;

pub use choose::solve_chosen;
pub use coordinator::{Coordinator, Letter};
pub use generate::{RANDOM_HOST, RandomNetwork, random_host};
pub use message::{Agent, Message};
pub use order::{Curvature, Order, Repair, Sums};
pub use owner::{CoupledOptions, Method, Owner};
pub use problem::{Column, Flows, Indexed, Network, RowKind, Rows, SharedRow, Source};
pub use selection::{Choice, Selection};
pub use solve::{CoupledSolution, solve};
