//! Time sharing in frames: each application is active for its share of the epochs, without a break.

use alloc::vec::Vec;
use core::fmt;

/// Epochs are counted in fractions of 2^-32 until they are rounded.
const FRACTION_BITS: u32 = 32;
const EPOCH: u128 = 1 << FRACTION_BITS;

/// Who is active in each epoch of a frame that repeats.
///
/// Shares are laid end to end, rounded to whole epochs where they meet, and wrapped around the frame.
/// So in every frame
/// - an application with a share of at least one epoch is active for its share rounded up or down, in
///   one run of epochs, and never waits longer than [`longest_wait`](Self::longest_wait);
/// - at most `k` applications are active in an epoch;
/// - what an application gets differs from its share by less than one epoch.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    epochs: u64,
    /// Where each application's run begins, on a line that the frame is wound of; one more at the end.
    starts: Vec<u64>,
    /// Wanted epochs of each application, in fractions.
    wanted: Vec<u128>,
}

impl Frame {
    /// Lays out a frame of so many epochs for the shares `tau` of epochs in which applications want to be
    /// active, at most `k` at a time. A share of 1 is a pin: always active, on a slot of its own.
    ///
    /// # Errors
    /// If a share isn't within 0 and 1, a positive share is less than an epoch of the frame, or shares
    /// add up to more than `k`.
    pub fn new(tau: &[f64], k: usize, epochs: u64) -> Result<Self, FrameError> {
        if epochs == 0 || epochs > 1 << 30 {
            return Err(FrameError::Epochs { epochs });
        }
        let mut wanted = Vec::with_capacity(tau.len());
        for (application, &share) in tau.iter().enumerate() {
            wanted.push(fractions(application, share, epochs)?);
        }
        fit(&mut wanted, k, epochs)?;
        Ok(Self {
            epochs,
            starts: starts(&wanted),
            wanted,
        })
    }

    /// The shortest frame in which every positive share is at least an epoch: the inverse of the least.
    /// Longer frames round shares more finely and make waits longer.
    pub fn shortest(tau: &[f64]) -> u64 {
        let least = tau.iter().copied().filter(|share| *share > 0.0);
        let least = least.fold(1.0, f64::min);
        // An inverse that is a whole number but for rounding is that number.
        (libm::ceil((1.0 / least) * (1.0 - 1e-12)) as u64).max(1)
    }

    /// Epochs of the frame.
    pub const fn epochs(&self) -> u64 {
        self.epochs
    }

    /// Number of applications.
    pub const fn applications(&self) -> usize {
        self.wanted.len()
    }

    /// In how many epochs of a frame an application is active.
    ///
    /// # Panics
    /// If there is no such application.
    pub fn active_epochs(&self, application: usize) -> u64 {
        self.starts[application + 1] - self.starts[application]
    }

    /// Who is active in an epoch, counted from the start of the schedule.
    pub fn active(&self, epoch: u64) -> impl Iterator<Item = usize> {
        let place = epoch % self.epochs;
        let total = self.starts.last().copied().unwrap_or(0);
        (place..total)
            .step_by(self.epochs as usize)
            .map(|point| self.starts.partition_point(|start| *start <= point) - 1)
    }

    /// Longest time from one active epoch of an application to its next, in epochs; none if it has no
    /// share.
    ///
    /// # Panics
    /// If there is no such application.
    pub fn longest_wait(&self, application: usize) -> Option<u64> {
        let active = self.active_epochs(application);
        (active > 0).then(|| self.epochs - active + 1)
    }

    /// The longest wait of any application that has a share.
    pub fn longest_wait_of_all(&self) -> u64 {
        (0..self.applications())
            .filter_map(|application| self.longest_wait(application))
            .max()
            .unwrap_or(0)
    }

    /// How many epochs more than its share an application is active in a frame; between -1 and 1.
    ///
    /// # Panics
    /// If there is no such application.
    pub fn share_error(&self, application: usize) -> f64 {
        let active = i128::from(self.active_epochs(application)) << FRACTION_BITS;
        // Less than an epoch either way, so it fits.
        (active - self.wanted[application] as i128) as f64 / EPOCH as f64
    }
}

/// A share of a frame in fractions of an epoch.
fn fractions(application: usize, share: f64, epochs: u64) -> Result<u128, FrameError> {
    if !(0.0..=1.0 + 1e-9).contains(&share) {
        return Err(FrameError::Share { application, share });
    }
    let exact = share.min(1.0) * epochs as f64 * EPOCH as f64;
    let mut wanted = libm::round(exact) as u128;
    // One unit in 1e9 is rounding of whoever computed the share.
    let slack = EPOCH / 1_000_000_000;
    if wanted < EPOCH && wanted + slack >= EPOCH {
        wanted = EPOCH;
    }
    if share > 0.0 && wanted < EPOCH {
        return Err(FrameError::TooShort {
            application,
            epochs,
            needed: libm::ceil(1.0 / share),
        });
    }
    Ok(wanted)
}

/// Takes what rounding added to the sum of shares off the largest ones.
fn fit(wanted: &mut [u128], k: usize, epochs: u64) -> Result<(), FrameError> {
    let room = k as u128 * u128::from(epochs) * EPOCH;
    let total: u128 = wanted.iter().sum();
    let mut excess = total.saturating_sub(room);
    if excess > room / 1_000_000_000 + wanted.len() as u128 {
        return Err(FrameError::Sum {
            sum: total as f64 / (u128::from(epochs) * EPOCH) as f64,
            k,
        });
    }
    while excess > 0 {
        let pinned = u128::from(epochs) * EPOCH;
        let largest = (0..wanted.len())
            .filter(|index| wanted[*index] < pinned && wanted[*index] > EPOCH)
            .max_by_key(|index| (wanted[*index], usize::MAX - index));
        let Some(largest) = largest else {
            let sum = (room + excess) as f64 / (u128::from(epochs) * EPOCH) as f64;
            return Err(FrameError::Sum { sum, k });
        };
        let part = excess.min(wanted[largest] - EPOCH);
        wanted[largest] -= part;
        excess -= part;
    }
    Ok(())
}

/// Sums of shares, each rounded to the nearest epoch.
fn starts(wanted: &[u128]) -> Vec<u64> {
    let mut starts = Vec::with_capacity(wanted.len() + 1);
    let mut sum = 0u128;
    starts.push(0);
    for share in wanted {
        sum += share;
        starts.push(((sum + EPOCH / 2) >> FRACTION_BITS) as u64);
    }
    starts
}

/// Why shares have no frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FrameError {
    /// A frame has 1 to 2^30 epochs.
    Epochs {
        /// Those asked for.
        epochs: u64,
    },
    /// A share isn't one.
    Share {
        /// Whose.
        application: usize,
        /// The share.
        share: f64,
    },
    /// The frame is too short for an application to be active at all.
    TooShort {
        /// Which.
        application: usize,
        /// The frame's epochs.
        epochs: u64,
        /// Epochs that would do.
        needed: f64,
    },
    /// Shares need more slots than there are.
    Sum {
        /// Slots that they need.
        sum: f64,
        /// Slots that there are.
        k: usize,
    },
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Epochs { epochs } => {
                write!(f, "frame: {epochs} epochs are not between 1 and 2^30")
            }
            Self::Share { application, share } => {
                write!(
                    f,
                    "share of application {application}: {share} is not within 0 and 1"
                )
            }
            Self::TooShort {
                application,
                epochs,
                needed,
            } => write!(
                f,
                "share of application {application}: less than one of {epochs} epochs; it needs {needed}"
            ),
            Self::Sum { sum, k } => write!(f, "shares: they need {sum} slots, there are {k}"),
        }
    }
}

impl core::error::Error for FrameError {}

impl FrameError {
    /// What to do about it, where that isn't obvious.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::TooShort { .. } => Some(
                "make the frame longer, or give small rates a minimum of their peak over its epochs",
            ),
            Self::Sum { .. } => {
                Some("a pin takes a slot of its own: solve for the others with one slot less")
            }
            Self::Epochs { .. } | Self::Share { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::{Frame, FrameError};

    /// Shares that add up to `k` at most, some of them pins.
    fn shares() -> impl Strategy<Value = (Vec<f64>, usize)> {
        let raw = proptest::collection::vec(0.01..1.0, 1..40);
        (raw, 1usize..8, 0usize..3).prop_map(|(raw, k, pins)| {
            let pins = pins.min(k - 1).min(raw.len() - 1);
            let sum: f64 = raw[pins..].iter().sum();
            let scale = ((k - pins) as f64 / sum).min(1.0);
            let share = |(index, value): (usize, &f64)| {
                if index < pins { 1.0 } else { value * scale }
            };
            (raw.iter().enumerate().map(share).collect(), k)
        })
    }

    proptest! {
        #[test]
        fn every_bound_holds((tau, k) in shares(), longer in 0u64..50) {
            let epochs = Frame::shortest(&tau) + longer;
            let frame = Frame::new(&tau, k, epochs).unwrap();
            let mut counts = alloc::vec![0u64; tau.len()];
            let mut last = alloc::vec![None; tau.len()];
            let mut longest = alloc::vec![0u64; tau.len()];
            for epoch in 0..3 * epochs {
                let active: Vec<usize> = frame.active(epoch).collect();
                prop_assert!(active.len() <= k, "{} active in {epoch}", active.len());
                for application in active {
                    counts[application] += u64::from(epoch < epochs);
                    if let Some(before) = last[application].replace(epoch) {
                        longest[application] = longest[application].max(epoch - before);
                    }
                }
            }
            for (application, share) in tau.iter().enumerate() {
                let exact = share * epochs as f64;
                prop_assert_eq!(counts[application], frame.active_epochs(application));
                prop_assert!(counts[application] >= 1);
                prop_assert!((counts[application] as f64 - exact).abs() < 1.0 + 1e-6);
                prop_assert!(frame.share_error(application).abs() < 1.0);
                prop_assert_eq!(Some(longest[application]), frame.longest_wait(application));
                prop_assert!(longest[application] <= frame.longest_wait_of_all());
            }
        }
    }

    #[test]
    fn a_frame_of_the_inverse_of_the_least_share_serves_everyone() {
        let tau = [1.0 / 351.0, 0.5, 0.25, 1.0 / 351.0];
        assert_eq!(Frame::shortest(&tau), 351);
        let frame = Frame::new(&tau, 1, 351).unwrap();
        assert_eq!(frame.longest_wait(0), Some(351));
    }

    #[test]
    fn applications_without_a_share_are_never_active() {
        let frame = Frame::new(&[0.5, 0.0, 0.5], 1, 4).unwrap();
        assert_eq!(frame.longest_wait(1), None);
        let order: Vec<usize> = (0..4).flat_map(|epoch| frame.active(epoch)).collect();
        assert_eq!(order, [0, 0, 2, 2]);
    }

    #[test]
    fn shares_that_have_no_frame_are_refused() {
        let refusal = |tau: &[f64], k, epochs| Frame::new(tau, k, epochs).unwrap_err();
        assert!(matches!(
            refusal(&[0.9, 0.9], 1, 10),
            FrameError::Sum { .. }
        ));
        assert!(
            matches!(refusal(&[0.05], 1, 10), FrameError::TooShort { needed, .. } if needed == 20.0)
        );
        assert!(matches!(refusal(&[1.5], 2, 10), FrameError::Share { .. }));
        assert!(matches!(
            refusal(&[f64::NAN], 2, 10),
            FrameError::Share { .. }
        ));
        assert!(matches!(refusal(&[0.5], 2, 0), FrameError::Epochs { .. }));
    }
}
