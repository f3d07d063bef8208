//! Congestion controllers of RDMA networks, as sans-IO state machines.
//!
//! A [`Controller`] turns feedback (an [`Ack`], a timer) into a sending rate and, through a
//! [`Window`], a limit on bytes in flight. It reads no clock: `now` is an argument, timers are
//! deadlines that the driver reads from [`Controller::timers`]. A [`Pacer`] turns the rate into the
//! time of the next packet. Which traffic shares one controller is a separate choice, the [`Scope`].
//!
//! What this crate refuses: to know packets or paths, to do IO, to allocate per packet, to dispatch
//! dynamically (a controller is an enum with its state inline).
//!
//! Sources: DCQCN (Zhu et al., SIGCOMM 2015) in the timer-only form that NICs run, HPCC (Li et al.,
//! SIGCOMM 2019). Each algorithm's file cites the equations it implements and says where it
//! deviates.
//!
//! ```
//! use fairlane_congestion::{Ack, Algorithm, Controller, Environment, Params};
//! use fairlane_units::{Bytes, Duration, Rate, Time};
//!
//! let environment = Environment {
//!     line_rate: Rate::from_gbps(100),
//!     base_rtt: Duration::from_us(12),
//!     bdp: Bytes::new(150_000),
//! };
//! let mut controller = Controller::new(&Params::new(Algorithm::Dcqcn), &environment);
//! let now = Time::from_ns(10_000);
//! controller.on_ack(now, &Ack { congestion_notified: true, ..Ack::default() });
//! let decrease = controller.timers().next().expect("the first CNP starts the timers");
//! controller.on_deadline(decrease);
//! assert!(controller.rate() <= environment.line_rate);
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod algorithm;
mod controller;
pub mod dcqcn;
mod feedback;
pub mod fixed;
pub mod hpcc;
mod pacer;
mod scope;
mod timer;
mod window;

pub use algorithm::{Algorithm, Params, UnknownAlgorithm};
pub use controller::{Controller, Environment};
pub use feedback::{Ack, Hop, Telemetry, TelemetryFormat};
pub use pacer::{Pacer, PacingRounding};
pub use scope::{ControllerKey, Scope, Sender};
pub use timer::{TIMERS, Timers};
pub use window::{Window, WindowMode};
