//! A host's problem that stands while applications come, go and change.

use alloc::vec::Vec;

use crate::error::Error;
use crate::host::{Applications, Dependency, Host, Utility};
use crate::mode::{Mode, Options};
use crate::solution::Solution;
use crate::solve::resolve;
use crate::standing::Standing;
use crate::table::{Application, Table};

/// Which limit on queue pairs a standing problem has; see [`Mode`]. A limit above the number of
/// applications doesn't bind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sharing {
    /// None.
    All,
    /// At most `k` active at a time, taking turns.
    TimeShare {
        /// How many may be active at a time.
        k: f64,
    },
    /// At most `k` active.
    ActiveSet {
        /// How many may be active.
        k: usize,
    },
    /// Throughput of exactly `k` counts.
    TopUtilities {
        /// How many count.
        k: usize,
    },
}

/// What an application asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// Its weights, costs and bounds.
    pub application: Application,
    /// Its rate while it is active (WQE/s); counts where applications take turns.
    pub peak: f64,
    /// What it is worth while it isn't active; counts where some aren't. Minus infinity means that it
    /// has to be.
    pub outage: f64,
}

impl Default for Claim {
    /// An application of [`Application::default`] with a peak of 1 and nothing gained or lost while it
    /// isn't active.
    fn default() -> Self {
        Self {
            application: Application::default(),
            peak: 1.0,
            outage: 0.0,
        }
    }
}

/// Names an application for as long as it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(u64);

/// Keeps a host's problem and its latest prices, from which the next solution begins: after a small change
/// it takes a few passes over the applications. Where all share and rates follow from prices, the problem is kept as it is
/// calculated with, so that a change takes one or two.
#[derive(Clone, Debug)]
pub struct Allocator {
    table: Table,
    peaks: Vec<f64>,
    outages: Vec<f64>,
    keys: Vec<Key>,
    next: u64,
    utility: Utility,
    dependency: Dependency,
    egress: f64,
    poll: f64,
    sharing: Sharing,
    options: Options,
    prices: Vec<f64>,
    /// The problem of everyone as computed, where that can be kept.
    standing: Option<Standing>,
    solution: Option<Solution>,
}

impl Allocator {
    /// A host without applications that shares its egress (B/s) and its budget for polling (CPU-s/s).
    pub fn new(utility: Utility, egress: f64, poll: f64, sharing: Sharing) -> Self {
        Self {
            table: Table::default(),
            peaks: Vec::new(),
            outages: Vec::new(),
            keys: Vec::new(),
            next: 0,
            utility,
            dependency: Dependency::Equality,
            egress,
            poll,
            sharing,
            options: Options::default(),
            prices: Vec::new(),
            standing: None,
            solution: None,
        }
    }

    /// Goes as far as `options` say from now on.
    #[must_use]
    pub fn with_options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Completions depend on work requests as `dependency` says from now on.
    #[must_use]
    pub fn with_dependency(mut self, dependency: Dependency) -> Self {
        self.dependency = dependency;
        self.standing = None;
        self
    }

    /// Number of applications.
    pub const fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is no application.
    pub const fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Names of the applications in the order in which solutions have them: that of arrival, until one leaves, whose place
    /// the last one takes.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Where solutions have an application; none if it isn't there.
    pub fn position(&self, key: Key) -> Option<usize> {
        self.keys.iter().position(|known| *known == key)
    }

    /// An application arrives.
    pub fn insert(&mut self, claim: Claim) -> Key {
        let key = Key(self.next);
        self.next += 1;
        self.keys.push(key);
        self.table.push(claim.application);
        self.peaks.push(claim.peak);
        self.outages.push(claim.outage);
        let one = self.host(claim.application.view());
        let last = self.keys.len() - 1;
        self.standing.take_if(|standing| !standing.put(last, &one));
        self.solution = None;
        key
    }

    /// An application leaves, and the last one takes its place; gives what it claimed, or nothing if it isn't there.
    pub fn remove(&mut self, key: Key) -> Option<Claim> {
        let position = self.position(key)?;
        self.keys.swap_remove(position);
        let application = self.table.swap_remove(position);
        let one = self.host(application.view());
        self.standing
            .take_if(|standing| !standing.swap_remove(position, &one));
        self.solution = None;
        Some(Claim {
            application,
            peak: self.peaks.swap_remove(position),
            outage: self.outages.swap_remove(position),
        })
    }

    /// An application asks for something else; false if it isn't there.
    pub fn update(&mut self, key: Key, claim: Claim) -> bool {
        let Some(position) = self.position(key) else {
            return false;
        };
        let one = self.host(claim.application.view());
        self.standing
            .take_if(|standing| !standing.put(position, &one));
        self.table.set(position, claim.application);
        self.peaks[position] = claim.peak;
        self.outages[position] = claim.outage;
        self.solution = None;
        true
    }

    /// The host has other capacities from now on (B/s, CPU-s/s).
    pub fn set_capacities(&mut self, egress: f64, poll: f64) {
        // Prices keep what capacities are worth at alpha 1, and come close otherwise.
        for (price, ratio) in self
            .prices
            .iter_mut()
            .zip([self.egress / egress, self.poll / poll])
        {
            *price *= if ratio.is_finite() { ratio } else { 1.0 };
        }
        (self.egress, self.poll) = (egress, poll);
        let mut standing = self.standing.take();
        let host = self.host(self.table.view());
        standing.take_if(|standing| !standing.set_capacities(&host));
        self.standing = standing;
        self.solution = None;
    }

    /// The best rates as things stand; computed if anything has changed.
    ///
    /// # Errors
    /// As [`solve`](crate::solve); an allocator without applications has nothing to solve.
    pub fn resolve(&mut self) -> Result<&Solution, Error> {
        if self.solution.is_none() {
            let solution = self.compute()?;
            self.prices.clone_from(&solution.dual_prices);
            self.solution = Some(solution);
        }
        self.solution.as_ref().ok_or(Error::Empty)
    }

    /// Forgets the prices, so that the next solution begins from nothing.
    pub fn forget(&mut self) {
        self.prices.clear();
        self.standing = None;
        self.solution = None;
    }

    fn compute(&mut self) -> Result<Solution, Error> {
        let mut standing = self.standing.take();
        let host = self.host(self.table.view());
        if self.sharing == Sharing::All {
            standing = standing.or_else(|| Standing::new(&host));
        }
        let found = standing
            .as_mut()
            .and_then(|standing| standing.solve(&host, &self.options, &self.prices));
        if let Some(solution) = found {
            self.standing = standing;
            return Ok(solution);
        }
        let applications = self.keys.len();
        let mode = match self.sharing {
            Sharing::All => Mode::All,
            Sharing::TimeShare { k } => Mode::TimeShare {
                k: k.min(applications as f64),
                peak: &self.peaks,
            },
            Sharing::ActiveSet { k } => Mode::ActiveSet {
                k: k.min(applications),
                outage: Some(&self.outages),
            },
            Sharing::TopUtilities { k } => Mode::TopUtilities {
                k: k.min(applications),
            },
        };
        resolve(&host, &mode, &self.options, &self.prices)
    }

    /// A host of some of the applications.
    fn host<'a>(&self, applications: Applications<'a>) -> Host<'a> {
        let mut host = Host::new(applications, self.utility, self.egress, self.poll);
        host.dependency = self.dependency;
        host
    }
}
