//! One message over several paths, as sans-IO state machines.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod balancer;
mod connection;
mod frame;
pub mod limiter;
mod message;
mod mistake;
mod numbered;
mod path;
mod paths;
mod plan;
mod random;
mod ranges;
mod reassembler;
mod settings;

pub use balancer::{Balance, BalancerKind, Choice, Report, Unit};
pub use connection::{Connection, Coupling, Event, Opening, Refusal};
pub use frame::{Frame, FrameError, Grant, Transfer};
pub use limiter::{Limit, LimiterKind};
pub use message::{
    Atomic, Cause, Chunk, Completion, Failure, Operation, Outcome, Remote, Request, Segment, Tag,
    Work,
};
pub use mistake::Mistake;
pub use path::Health;
pub use paths::Paths;
pub use plan::{PathPlan, PortFile, Selector};
pub use random::Random;
pub use reassembler::{Arrived, Placement, Reassembler};
pub use settings::{MOST_PATHS, Settings, TwoSided};
