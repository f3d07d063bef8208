//! Who is active when: schedules under which no application starves.
//!
//! At most `k` applications are active in an epoch. [`schedule`] plans epochs that repeat, with the rates of everyone who is
//! active, and a bound on what any schedule is worth: [`plan`](self) chooses the number of epochs, `slots` shares them out
//! and balances rows over them, `frame` finds the best rates, and where these are too far from the bound, `hull` finds
//! a better bound and the best parts of time for epochs (`mixture`, `pricing`, `choice`), of which `exchange` makes a frame. [`Reserve`] lends some of the slots of a greedy choice to those who have
//! waited longest. A wait is counted in epochs from one service to the next: an application that is active in every
//! epoch waits 1.

mod case;
mod choice;
mod curve;
mod exchange;
mod frame;
mod hull;
mod mixture;
mod plan;
mod pricing;
mod reserve;
mod slots;
mod value;

pub use plan::{Active, Length, Schedule, Unmet, rates, schedule};
pub use reserve::Reserve;
