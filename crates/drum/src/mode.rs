//! Which applications count and how far to go.

use crate::error::{Error, Place};

/// Which applications a limit on queue pairs lets take part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode<'a> {
    /// All of them.
    All,
    /// Throughput counts for these applications (ascending, each once), latency for all.
    Selected(&'a [usize]),
    /// The `k` largest throughput utilities count, exactly `k`; latency counts for all, and all send.
    TopUtilities {
        /// How many count.
        k: usize,
    },
    /// At most `k` applications send; each of the others is worth its outage value.
    ActiveSet {
        /// How many may send.
        k: usize,
        /// Value of an application that doesn't send. May be left out only where zero is natural:
        /// throughput utilities with alpha below 1 and no latency term.
        outage: Option<&'a [f64]>,
    },
    /// Long-run rates of all applications, of which at most `k` are active at a time: the active
    /// share of an application is its rate over its peak rate.
    TimeShare {
        /// How many may be active at a time.
        k: f64,
        /// Rate of each application while it is active (WQE/s).
        peak: &'a [f64],
    },
}

/// How far a solver goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Relative gap between value and bound at which it stops.
    pub tolerance: f64,
    /// Most passes over the applications of a search for prices, for each convex problem; it makes 100 at most.
    pub iterations: usize,
    /// Most nodes of the search that closes the gap of a selection; 0 for none.
    pub nodes: usize,
}

/// Passes of a search that ends soon.
const FEW: usize = 100;

impl Options {
    /// These options with the iteration limit of Newton's method before falling back to the interior-point method.
    pub(crate) fn briefly(&self) -> Self {
        Self {
            iterations: self.iterations.min(FEW),
            ..*self
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            return Err(Error::Number {
                place: Place::Field("tolerance"),
                value: self.tolerance,
                expected: "a number that is not negative",
            });
        }
        if self.iterations == 0 {
            return Err(Error::Number {
                place: Place::Field("iterations"),
                value: 0.0,
                expected: "at least 1",
            });
        }
        Ok(())
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tolerance: 1e-13,
            iterations: 3000,
            nodes: 2000,
        }
    }
}
