//! Conic programs, for Clarabel, a generic interior-point solver.

use clarabel::algebra::CscMatrix;
use clarabel::solver::SupportedConeT::{ExponentialConeT, NonnegativeConeT, PowerConeT};
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};

/// What Clarabel finds, to its tolerances, full or reduced.
pub(crate) struct Optimum {
    /// The greatest value.
    pub(crate) value: f64,
    /// The variables, in the order in which they were added.
    pub(crate) variables: Vec<f64>,
}

/// A conic program: costs of variables, and rows `right - sum of entries` that lie in cones.
#[derive(Default)]
pub(crate) struct Program {
    cost: Vec<f64>,
    entries: (Vec<usize>, Vec<usize>, Vec<f64>),
    right: Vec<f64>,
    cones: Vec<SupportedConeT<f64>>,
}

impl Program {
    /// A variable of a cost.
    pub(crate) fn variable(&mut self, cost: f64) -> usize {
        self.cost.push(cost);
        self.cost.len() - 1
    }

    fn row(&mut self, entries: &[(usize, f64)], right: f64) {
        for &(column, value) in entries {
            self.entries.0.push(self.right.len());
            self.entries.1.push(column);
            self.entries.2.push(value);
        }
        self.right.push(right);
    }

    /// `sum of entries <= most`.
    pub(crate) fn at_most(&mut self, entries: &[(usize, f64)], most: f64) {
        self.row(entries, most);
        match self.cones.last_mut() {
            Some(NonnegativeConeT(rows)) => *rows += 1,
            _ => self.cones.push(NonnegativeConeT(1)),
        }
    }

    /// Adds `weight * rate^(1 - alpha) / (1 - alpha)`, or `weight * ln(rate)` at alpha 1, to the value.
    pub(crate) fn utility(&mut self, rate: usize, alpha: f64, weight: f64) {
        if alpha == 1.0 {
            let logarithm = self.variable(-weight);
            self.row(&[(logarithm, -1.0)], 0.0);
            self.row(&[], 1.0);
            self.row(&[(rate, -1.0)], 0.0);
            self.cones.push(ExponentialConeT());
        } else if alpha < 1.0 {
            let power = self.variable(-weight / (1.0 - alpha));
            self.row(&[(rate, -1.0)], 0.0);
            self.row(&[], 1.0);
            self.row(&[(power, -1.0)], 0.0);
            self.cones.push(PowerConeT(1.0 - alpha));
        } else {
            self.inverse(rate, weight / (alpha - 1.0), 1.0 / alpha);
        }
    }

    /// Takes `cost / rate^2` from the value.
    pub(crate) fn latency(&mut self, rate: usize, cost: f64) {
        self.inverse(rate, cost, 1.0 / 3.0);
    }

    /// Takes `cost * rate^((exponent - 1) / exponent)` from the value.
    fn inverse(&mut self, rate: usize, cost: f64, exponent: f64) {
        let power = self.variable(cost);
        self.row(&[(power, -1.0)], 0.0);
        self.row(&[(rate, -1.0)], 0.0);
        self.row(&[], 1.0);
        self.cones.push(PowerConeT(exponent));
    }

    /// The optimum, if Clarabel finds it.
    ///
    /// # Panics
    /// If Clarabel doesn't take the program, or the settings.
    pub(crate) fn solve(self, settings: DefaultSettings<f64>) -> Option<Optimum> {
        let (rows, columns) = (self.right.len(), self.cost.len());
        let (i, j, values) = self.entries;
        let matrix = CscMatrix::new_from_triplets(rows, columns, i, j, values);
        let none = CscMatrix::zeros((columns, columns));
        let mut solver = DefaultSolver::new(
            &none,
            &self.cost,
            &matrix,
            &self.right,
            &self.cones,
            settings,
        )
        .expect("a program");
        solver.solve();
        let found = solver.solution;
        let solved = matches!(
            found.status,
            SolverStatus::Solved | SolverStatus::AlmostSolved
        );
        solved.then_some(Optimum {
            value: -found.obj_val,
            variables: found.x,
        })
    }
}
