//! Who is active when: schedules under which no application starves.
//!
//! At most `k` applications are active in an epoch. [`Frame`] gives everyone a long-run share of
//! the epochs, [`Reserve`] lends some of the slots of a greedy choice to those who have waited longest,
//! and [`Ageing`] makes a greedy choice value those who wait. Each states the longest wait it allows.
//! A wait is counted in epochs from one service to the next: an application that is active in every
//! epoch waits 1.

mod ageing;
mod frame;
mod reserve;

pub use ageing::Ageing;
pub use frame::{Frame, FrameError};
pub use reserve::Reserve;

use alloc::vec::Vec;

/// Epochs since each application was last active.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Waits {
    since: Vec<u64>,
}

impl Waits {
    /// Nobody has been active yet, and everybody waits since the epoch before the first.
    fn new(applications: usize) -> Self {
        Self {
            since: alloc::vec![0; applications],
        }
    }

    /// An epoch begins: everybody has waited one epoch more.
    fn tick(&mut self) {
        for since in &mut self.since {
            *since = since.saturating_add(1);
        }
    }

    fn serve(&mut self, applications: &[usize]) {
        for &application in applications {
            self.since[application] = 0;
        }
    }
}
