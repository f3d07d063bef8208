//! Dual decomposition, the baseline of the DRUM paper: throughput utility under the egress capacity
//! alone, with a price that follows the excess by small steps.
//!
//! This is the standard problem of network utility maximisation, not (1) of the paper, which is unbounded.

use fairlane_drum::{Error, Host};

use crate::trace::Trace;

use crate::admm::{Iterates, Parts};

/// How dual decomposition is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecompositionOptions {
    /// First step of the price; iteration `k` takes `step / sqrt(k)`.
    pub step: f64,
    /// Price to begin at.
    pub start: f64,
    /// Iterations.
    pub iterations: usize,
}

impl Default for DecompositionOptions {
    /// As published: a step of 1e-3 over the root of the iteration, 60 iterations.
    fn default() -> Self {
        Self {
            step: 1e-3,
            start: 1.0,
            iterations: 60,
        }
    }
}

/// Runs dual decomposition on a host with an egress row and a poll row. Values are those of rates scaled
/// so that they keep both rows; the primal residual is what the egress is over its capacity, the dual one
/// how far the price moved.
///
/// # Errors
/// What is wrong with the host, or other rows than those two.
pub fn decomposition(host: &Host<'_>, options: &DecompositionOptions) -> Result<Iterates, Error> {
    let parts = Parts::new(host)?;
    let apps = &host.applications;
    let all = vec![true; parts.len()];
    let (mut price, mut trace, mut x) = (options.start, Trace::default(), Vec::new());
    for k in 1..=options.iterations {
        let rate = |j: usize| {
            let cost = (price * apps.bytes[j]).max(f64::MIN_POSITIVE);
            let free = libm::pow(apps.weight[j] / cost, 1.0 / parts.alpha);
            free.clamp(apps.minimum[j], apps.maximum[j])
        };
        x = (0..parts.len()).map(rate).collect();
        let used: f64 = x.iter().zip(apps.bytes).map(|(x, b)| x * b).sum();
        #[expect(clippy::cast_precision_loss, reason = "iterations are far below 2^53")]
        let step = options.step / libm::sqrt(k as f64);
        let next = (price + step * (used - parts.egress)).max(0.0);
        trace.objective.push(parts.value(&parts.fit(&x), &all));
        trace.primal_residual.push((used - parts.egress).max(0.0));
        trace.dual_residual.push((next - price).abs());
        price = next;
    }
    Ok(Iterates {
        z: x.iter().zip(apps.completions).map(|(x, a)| x * a).collect(),
        x: parts.fit(&x),
        selected: all,
        trace,
    })
}
