//! Congestion controllers of RDMA networks, as sans-IO state machines.
//!
//! A [`Controller`] turns feedback (an [`Ack`], a notification, a loss, a timer) into a sending rate
//! and a limit on bytes in flight: its own, or a [`Window`] that follows the rate. It reads no clock:
//! `now` is an argument, timers are deadlines that the driver reads from [`Controller::timers`]. A
//! [`Pacer`] turns the rate into the time of the next packet. At the receiver a [`NotificationPoint`]
//! says when a mark becomes a CNP. Which traffic shares one controller is a separate choice, the
//! [`Scope`]. A [`ClassScheduler`] chooses the traffic class of a link that sends next, at NICs and switches.
//!
//! [`CongestionControl`] is the contract of an algorithm and [`for_each_algorithm`] their only list;
//! names, parameters and [`Controller`] follow from it.
//!
//! What this crate refuses: to know packets or paths, to do IO, to allocate per packet, to dispatch
//! dynamically (a controller is an enum with its state inline).
//!
//! Sources: DCQCN (Zhu et al., SIGCOMM 2015) in the timer-only form that NICs run, DCTCP (Alizadeh et
//! al., SIGCOMM 2010), TIMELY (Mittal et al., SIGCOMM 2015), Swift (Kumar et al., SIGCOMM 2020), NSCC (Ultra
//! Ethernet Specification 1.0, section 3.6.13), HPCC (Li et al., SIGCOMM 2019), PowerTCP (Addanki et al., NSDI
//! 2022), InfiniBand (IBTA volume 1, annex A10). Each algorithm's file cites the equations it implements and says where it deviates.
//!
//! ```
//! use fairlane_congestion::{Ack, Algorithm, Controller, Environment, Params};
//! use fairlane_units::{Bytes, Duration, Rate, Time};
//!
//! let environment = Environment {
//!     line_rate: Rate::from_gbps(100),
//!     base_rtt: Duration::from_us(12),
//!     bdp: Bytes::new(150_000),
//!     mtu: Bytes::new(1024),
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

#[doc(hidden)]
pub extern crate alloc;

mod algorithm;
mod classes;
mod contract;
pub mod dasr;
pub mod dcqcn;
pub mod dctcp;
mod feedback;
pub mod fixed;
pub mod hpcc;
pub mod infiniband;
mod limits;
mod notification;
pub mod nscc;
mod pacer;
pub mod powertcp;
pub mod scope;
pub mod swift;
pub mod timely;
mod timer;
mod window;

pub use algorithm::{Algorithm, Controller, Params, UnknownAlgorithm};
pub use classes::{CLASSES, ClassScheduler, Selection};
pub use contract::{CongestionControl, Environment, Loss, Marking, Needs};
pub use feedback::{Ack, Hop, Interval, Reading, Telemetry, TelemetryFormat};
pub use limits::{Limit, Parameters, Rule};
pub use notification::NotificationPoint;
pub use pacer::{Pacer, PacingRounding};
pub use scope::{History, Scope};
pub use timer::{TIMERS, Timers};
pub use window::{Window, WindowMode};

/// The tutorial compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/adding-a-controller.md")]
struct Tutorial;
