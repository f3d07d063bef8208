//! What stands between applications and queue pairs, as values without IO.
//!
//! An [`Endpoint`] is one end of a multipath connection: messages become work requests for the queue pairs of its paths, which it
//! has replaced when they fail; frames of SENDs are bytes. An [`Arbiter`] is DRUM's agent of a host (S0) but for its clock, its queues and its processor time: it says whose work
//! request is posted next, and so whose queue pairs are active. In go work, posts, completions and `now`; out come the next
//! member and one time to ask again. The simulator drives both with the costs of a thread.
//!
//! What this crate refuses: to own queue pairs or memory, to know who drives it, clocks.
//!
//! Sources: S3 (Virtuoso) and S1 for multipath connections, by `fairlane-multipath`; S0, "DRUM", for rates and active sets; `docs/drum.md` has what is ours. `fairlane-drum` plans the frame.
//!
//! # Driving it
//! Two applications, of which one has thrice the weight, on a host that completes a work request in 10 us:
//! ```
//! use fairlane_middleware::{Arbiter, Budget, Limits, Member};
//! use fairlane_units::{Bytes, Duration, Time};
//!
//! let mut arbiter = Arbiter::new(Limits {
//!     active: 1,
//!     epoch: Duration::from_us(50),
//!     window: 16,
//!     window_bytes: Bytes::new(1 << 20),
//!     linger: Duration::from_us(1),
//!     budget: Budget {
//!         egress: 12.5e9,
//!         work_requests: 1e5,
//!         poll_cost: 1e-7,
//!         round_trip: 10e-6,
//!         active: 1,
//!         alpha: 1.0,
//!         beta: 0.0,
//!     },
//! });
//! let member = |weight| Member { weight, bytes: 4096.0, batch: 4, start: Time::ZERO };
//! let members = [arbiter.join(member(3.0)), arbiter.join(member(1.0))];
//! let (mut now, size, mut served) = (Time::ZERO, Bytes::new(4096), [0; 2]);
//! for id in members {
//!     arbiter.on_work(now, id, 1);
//! }
//! while now < Time::from_ns(10_000_000) {
//!     if let Some(id) = arbiter.poll(now) {
//!         arbiter.on_posted(now, id, size);
//!         now += Duration::from_us(10);
//!         arbiter.on_completion(now, id, size);
//!         served[usize::from(id == members[1])] += 1;
//!         arbiter.on_work(now, id, 1);
//!     } else {
//!         now = arbiter.next_time().expect("somebody waits");
//!     }
//! }
//! assert!((2.7..3.3).contains(&(f64::from(served[0]) / f64::from(served[1]))));
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod arbiter;
mod endpoint;
mod plan;

pub use arbiter::{Arbiter, Limits, Member, MemberId};
pub use endpoint::{Endpoint, Event, Posting};
pub use plan::Budget;
