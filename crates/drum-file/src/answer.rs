//! Answers as JSON has them.

use fairlane_drum::Solution;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::inputs::Mode;

/// What an answer is.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nothing is better.
    Optimal,
    /// Within the gap of the best.
    Feasible,
    /// Within the gap of the best, which ought to be less.
    Stalled,
}

impl From<fairlane_drum::Status> for Status {
    fn from(status: fairlane_drum::Status) -> Self {
        match status {
            fairlane_drum::Status::Optimal => Self::Optimal,
            fairlane_drum::Status::Feasible => Self::Feasible,
            fairlane_drum::Status::Stalled => Self::Stalled,
        }
    }
}

impl Status {
    /// As in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Optimal => fairlane_drum::Status::Optimal.name(),
            Self::Feasible => fairlane_drum::Status::Feasible.name(),
            Self::Stalled => fairlane_drum::Status::Stalled.name(),
        }
    }
}

/// The answer to a problem: rates, what they are worth, and what could be reached at most.
///
/// A number that is infinite is `null` in JSON.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The problem's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The problem's kind.
    pub kind: String,
    /// How applications were selected, or the method.
    pub mode: Mode,
    /// `optimal`: at most 1e-9 is between value and proven bound, relatively. `feasible`: a gap that a selection leaves,
    /// a method for comparison, or the tolerance. `stalled`: a gap that nothing but the solver leaves.
    pub status: Status,
    /// Value of the rates, which keep every row and every bound.
    pub objective: Option<f64>,
    /// What `dual_prices` prove: nothing that keeps the rows and bounds is worth more.
    pub dual_bound: Option<f64>,
    /// The least bound that is proven: `dual_bound`, or less where a search found that no selection is worth more.
    pub proven_bound: Option<f64>,
    /// `proven_bound - objective`, not negative.
    pub gap: Option<f64>,
    /// The gap over the largest of the sizes of the two, and the sum of the sizes of all terms of the value: utilities,
    /// latency, and costs of rows. So it says something of a value near 0, too.
    pub relative_gap: Option<f64>,
    /// What applications are called, if the problem says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
    /// Rate at which work requests are fetched, by application (WQE/s).
    pub x: Vec<f64>,
    /// Rate at which completions are polled, by application (CQE/s).
    pub z: Vec<f64>,
    /// Share of time in which an application is active, mode `timeshare`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tau: Option<Vec<f64>>,
    /// Names of the rows, in the order of prices and usage.
    pub rows: Vec<String>,
    /// Price of each row for the selection made: utility for a unit of its capacity.
    pub prices: Vec<f64>,
    /// Prices at which `dual_bound` holds.
    pub dual_prices: Vec<f64>,
    /// How much of each row is used.
    pub usage: Vec<f64>,
    /// Applications that were selected, ascending; flows in a network.
    pub selected: Vec<usize>,
    /// Passes over the applications.
    pub iterations: usize,
    /// Wall time of the solution; absent where no clock was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// What a reader should know, such as that a method claims no optimum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What an answer tells a similar problem: where to start from. All else of an [`Answer`] is passed over.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Start {
    /// The problem's name.
    #[serde(default)]
    pub name: Option<String>,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// A price for each row.
    pub dual_prices: Vec<f64>,
}

impl Start {
    /// The price of a row, if it has one to start from.
    pub(crate) fn price(&self, row: &str) -> Option<f64> {
        let row = self.rows.iter().position(|name| name == row)?;
        let price = self.dual_prices.get(row).copied();
        price.filter(|price| price.is_finite() && *price >= 0.0)
    }
}

impl Answer {
    /// A solution by another name.
    pub(crate) fn of(solution: Solution, mode: Mode, rows: Vec<String>) -> Self {
        let (gap, relative) = (solution.gap(), solution.relative_gap());
        Self {
            name: None,
            kind: String::new(),
            mode,
            status: solution.status.into(),
            objective: finite(solution.objective),
            dual_bound: finite(solution.dual_bound),
            proven_bound: finite(solution.proven_bound),
            gap: finite(gap),
            relative_gap: finite(relative),
            names: None,
            x: solution.x,
            z: solution.z,
            tau: None,
            rows,
            prices: solution.prices,
            dual_prices: solution.dual_prices,
            usage: solution.usage,
            selected: solution.selected,
            iterations: solution.iterations,
            seconds: None,
            notes: Vec::new(),
        }
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
