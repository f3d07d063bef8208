//! How a solver got to its answer.

/// What was known after each iteration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Value of the best rates so far that keep all rows, or of the iterate where a solver has none.
    pub objective: Vec<f64>,
    /// How far the iterate is from keeping the constraints, in the solver's own norm.
    pub primal_residual: Vec<f64>,
    /// How far the iterate is from being best, in the solver's own norm.
    pub dual_residual: Vec<f64>,
}

impl Trace {
    /// First iteration, counted from 1, whose objective is within `share` of the `optimum`'s size.
    pub fn iterations_within(&self, optimum: f64, share: f64) -> Option<usize> {
        let near = |&value: &f64| (value - optimum).abs() <= share * optimum.abs();
        self.objective.iter().position(near).map(|index| index + 1)
    }
}
