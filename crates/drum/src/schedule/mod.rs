//! Who is active when: schedules under which no application starves.
//!
//! At most `k` applications are active in an epoch. [`Frame`] gives everyone a long-run share of
//! the epochs, and [`Reserve`] lends some of the slots of a greedy choice to those who have waited longest.
//! Both state the longest wait they allow. A wait is counted in epochs from one service to the next: an
//! application that is active in every epoch waits 1.

mod frame;
mod reserve;

pub use frame::{Frame, FrameError};
pub use reserve::Reserve;
