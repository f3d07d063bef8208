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
    /// How prices are found. Below an alpha of 1/4, where utilities hardly bend, and where a gap of at most 1e-7 is asked for,
    /// [`solve`](crate::coupled::solve) holds a network of up to 6000 rows and 400000 flows and solves for rates and prices
    /// together, unless this is [`Method::Admm`]; below 1/4 larger ones go by [`Method::Admm`], and so should whoever drives an
    /// [`Owner`](crate::coupled::Owner).
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
