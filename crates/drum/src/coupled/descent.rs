//! Quasi-Newton descent of the dual function over prices that are at least 0.

use alloc::vec::Vec;

use crate::coupled::quasi::Quasi;

/// Decrease of the dual function, over that of its slope, that a step must bring.
const ARMIJO: f64 = 1e-4;
/// Shortest part of a step that is tried.
const SHORTEST: f64 = 0.02;
/// A row with more than this share of some flow's price keeps a part of its price in each step, so that
/// the flow doesn't run away.
const ESSENTIAL: f64 = 0.5;
/// That part.
const KEPT: f64 = 0.2;
/// A price this far below the others, in what it charges for the whole row, counts as 0.
const NOTHING: f64 = 1e-12;

/// What comes next.
pub(crate) enum Turn {
    /// An answer at these prices.
    Ask(Vec<f64>),
    /// No step from these prices brings anything.
    Stalled(Vec<f64>),
}

/// Where the dual function was evaluated.
struct Point {
    prices: Vec<f64>,
    dual: f64,
    /// Capacity that is left.
    gradient: Vec<f64>,
    /// Least prices of a step from here.
    least: Vec<f64>,
}

/// A step whose answer is waited for.
struct Trial {
    direction: Vec<f64>,
    step: f64,
}

/// A line search along a quasi-Newton direction, one answer at a time.
#[derive(Default)]
pub(crate) struct Descent {
    quasi: Quasi,
    base: Option<Point>,
    trial: Option<Trial>,
}

impl Descent {
    pub(crate) fn is_trying(&self) -> bool {
        self.trial.is_some()
    }

    /// Takes the answer to `prices`.
    pub(crate) fn turn(
        &mut self,
        prices: &[f64],
        dual: f64,
        gradient: Vec<f64>,
        (weights, tops): (&[f64], &[f64]),
    ) -> Turn {
        if self.trial.is_some()
            && let Some(base) = &self.base
        {
            let step: Vec<f64> = prices
                .iter()
                .zip(&base.prices)
                .map(|(a, b)| a - b)
                .collect();
            let slope: f64 = step.iter().zip(&base.gradient).map(|(a, b)| a * b).sum();
            if dual > base.dual + ARMIJO * slope || slope >= 0.0 {
                return self.shorten(0.4);
            }
            let change = gradient
                .iter()
                .zip(&base.gradient)
                .map(|(a, b)| a - b)
                .collect();
            self.quasi.remember(step, change);
        }
        let least = |(price, top): (&f64, &f64)| {
            if price * top > ESSENTIAL {
                KEPT * price
            } else {
                0.0
            }
        };
        self.base = Some(Point {
            least: prices.iter().zip(tops).map(least).collect(),
            prices: prices.to_vec(),
            dual,
            gradient,
        });
        self.advance(weights)
    }

    /// A step from where the dual function was evaluated last.
    fn advance(&mut self, weights: &[f64]) -> Turn {
        let Some(base) = &self.base else {
            unreachable!("the caller set it")
        };
        let free = free(base, weights);
        let mut direction = self.quasi.direction(&base.gradient, weights, &free);
        let slope: f64 = direction
            .iter()
            .zip(&base.gradient)
            .map(|(a, b)| a * b)
            .sum();
        if slope <= 0.0 {
            self.quasi.forget();
            direction = self.quasi.direction(&base.gradient, weights, &free);
        }
        if direction.iter().all(|&value| value == 0.0) {
            return self.stall();
        }
        self.trial = Some(Trial {
            direction,
            step: 1.0,
        });
        Turn::Ask(self.prices())
    }

    /// A shorter step than the one that was tried.
    pub(crate) fn shorten(&mut self, factor: f64) -> Turn {
        match &mut self.trial {
            Some(trial) if trial.step * factor > SHORTEST => {
                trial.step *= factor;
                Turn::Ask(self.prices())
            }
            _ => self.stall(),
        }
    }

    fn stall(&mut self) -> Turn {
        self.quasi.forget();
        self.trial = None;
        let base = self.base.take();
        Turn::Stalled(base.map(|base| base.prices).unwrap_or_default())
    }

    fn prices(&self) -> Vec<f64> {
        let (Some(base), Some(trial)) = (&self.base, &self.trial) else {
            unreachable!("a trial has a base")
        };
        let rows = base.prices.iter().zip(&trial.direction).zip(&base.least);
        rows.map(|((price, direction), least)| (price - trial.step * direction).max(*least))
            .collect()
    }
}

/// Which prices may move: not those at 0 of rows with capacity left, nor those of rows without flows.
fn free(base: &Point, weights: &[f64]) -> Vec<bool> {
    // Each price in what it stands for: utility for the part of the row that answers to it.
    let size = |r: usize| base.prices[r] * libm::sqrt(weights[r]);
    let largest = (0..weights.len()).map(size).fold(0.0, f64::max);
    let free =
        |r: usize| weights[r] > 0.0 && (base.gradient[r] < 0.0 || size(r) > NOTHING * largest);
    (0..weights.len()).map(free).collect()
}
