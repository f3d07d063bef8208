//! How far the network's solver goes, and how.

/// How prices are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Some proximal steps, then quasi-Newton steps.
    #[default]
    Accelerated,
    /// Proximal steps only: ADMM of copies of each rate, collapsed to a price a row.
    Admm,
}

/// How far the network's solver goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoupledOptions {
    /// Relative gap between value and bound at which it stops.
    pub tolerance: f64,
    /// Most sums of all hosts (all-reduces of lists).
    pub iterations: usize,
    /// How prices are found.
    ///
    /// Prices alone say little of rates below an alpha of 1/4, where utilities hardly bend, and at relative gaps of 1e-7 or
    /// less. Under [`Method::Accelerated`], [`solve`](crate::coupled::solve) then takes a network of up to 6000 rows and 400000
    /// flows into memory and solves for rates and prices together. Larger networks with an alpha below 1/4 it solves by
    /// [`Method::Admm`]; choose that one too when you drive an [`Owner`](crate::coupled::Owner) at such an alpha.
    pub method: Method,
}

impl Default for CoupledOptions {
    fn default() -> Self {
        Self {
            tolerance: 1e-6,
            iterations: 1000,
            method: Method::Accelerated,
        }
    }
}
