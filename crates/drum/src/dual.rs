//! Bounds at any prices, so that others can check a certificate.

use alloc::vec::Vec;

use crate::error::{Error, Place};
use crate::fixed::staircases;
use crate::host::{Dependency, Fairness, Host};
use crate::pass::{Output, Pass};
use crate::problem::{Problem, everyone, unit};
use crate::solve::is_price;
use crate::supply::Staircase;
use crate::topk::rules::{caps, with_caps};

/// The dual function of a host's problem in which every application counts. It is convex, and each of
/// its values bounds the value of all feasible rates; the least value is the greatest feasible value.
#[derive(Clone)]
pub struct DualFunction {
    problem: Problem,
    supplies: Vec<Staircase>,
    units: Vec<f64>,
}

impl DualFunction {
    /// The dual function of a host.
    ///
    /// # Errors
    /// What is wrong with the host; max-min and `z >= a x` have no such function here.
    pub fn new(host: &Host<'_>) -> Result<Self, Error> {
        host.check()?;
        if host.utility.fairness == Fairness::MaxMin || host.dependency == Dependency::AtLeast {
            return Err(Error::Unsupported {
                place: Place::Problem,
                reason: "its bound at prices isn't a sum over applications of one rate each",
                hint: "use a finite alpha and z = a x",
            });
        }
        let caps = caps(host);
        let capped = with_caps(host, &caps);
        Ok(Self {
            problem: Problem::new(&capped, everyone(host.applications.len())),
            supplies: staircases(host),
            units: host.rows.iter().map(|row| unit(&row.supply)).collect(),
        })
    }

    /// The bound at prices, a row each; infinite where some rate has no limit, and at prices that are negative or, for a
    /// whole row, outside 1e-100 to 1e100 and not 0. At alpha 0 rates without a maximum end at what rows have.
    pub fn at(&self, prices: &[f64]) -> f64 {
        match self.problem.rows.len() {
            1 => self.rows::<1>(prices),
            2 => self.rows::<2>(prices),
            3 => self.rows::<3>(prices),
            _ => self.rows::<{ Host::MOST_ROWS }>(prices),
        }
    }

    fn rows<const R: usize>(&self, prices: &[f64]) -> f64 {
        let price = |r: usize| match (prices.get(r), self.units.get(r)) {
            (Some(price), Some(unit)) => price * unit,
            _ => 0.0,
        };
        let prices: [f64; R] = core::array::from_fn(price);
        if !prices.iter().all(|price| is_price(*price)) {
            return f64::INFINITY;
        }
        let pass: Pass<R> = self.problem.answers(prices, Output::Nothing);
        let mut bound = pass.value();
        for (r, supply) in self.supplies.iter().enumerate() {
            bound += supply.worth(prices[r]) - prices[r] * pass.usage[r];
        }
        if bound.is_nan() { f64::INFINITY } else { bound }
    }
}
