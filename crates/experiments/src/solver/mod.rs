//! Experiments that are computed by the solvers of `fairlane-drum`.

mod convergence;
mod coupled;
mod dynamic;
mod instance;
mod sharing;

use serde::Deserialize;

use crate::error::Error;
use crate::outcome::Outcome;
use crate::{Settings, Watch};

/// Which experiment.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Solver {
    /// Iterations to the optimum.
    Convergence,
    /// All-reduces to the optimum of coupled networks.
    Coupled,
    /// Long-run utility of ways to share queue pairs.
    Sharing,
    /// Applications that arrive and leave.
    Dynamic,
}

/// Runs a solver experiment.
pub(crate) fn run(solver: Solver, settings: Settings, watch: &dyn Watch) -> Result<Outcome, Error> {
    match solver {
        Solver::Convergence => convergence::run(settings, watch),
        Solver::Coupled => coupled::run(settings, watch),
        Solver::Sharing => sharing::run(settings, watch),
        Solver::Dynamic => dynamic::run(settings, watch),
    }
}
