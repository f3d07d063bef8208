//! The problem of a network: hosts, their flows, and the rows that flows share.

use alloc::format;
use alloc::vec::Vec;

use crate::error::{Error, Place};
use crate::host::{Range, SCALES, Utility, check_length};

/// What a row limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// What a host sends (B/s).
    Egress,
    /// What a host receives (B/s).
    Ingress,
    /// A host's budget for polling, for its own completions and those of arrivals (CPU-s/s).
    Poll,
    /// A link inside the network (B/s).
    Core,
}

/// A limit that flows share: the sum of coefficient times rate is at most the capacity.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedRow {
    /// What it limits.
    pub kind: RowKind,
    /// The host that the row belongs to; none for a link inside the network.
    pub host: Option<usize>,
    /// How much there is.
    pub capacity: f64,
    /// Flows and how much a unit of their rate uses, at least 0.
    pub entries: Vec<(usize, f64)>,
}

/// Rows of a column's flows.
#[derive(Clone, Debug, PartialEq)]
pub enum Rows {
    /// All flows of the host use this one.
    One(u32),
    /// Each flow uses a row of its own choice.
    Each(Vec<u32>),
}

impl Rows {
    /// The rows of all flows as a buffer to fill, whatever was there before.
    pub fn each(&mut self) -> &mut Vec<u32> {
        if let Self::One(_) = self {
            *self = Self::Each(Vec::new());
        }
        match self {
            Self::Each(rows) => rows,
            Self::One(_) => unreachable!("a column that was made one of many rows above"),
        }
    }
}

/// One use of a row by each flow of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The rows.
    pub rows: Rows,
    /// Use of the row for a unit of rate, 0 where a flow uses fewer rows than others.
    pub coefficient: Vec<f64>,
}

/// The flows of one host by column. Buffers are filled again for each host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flows {
    /// Weights `w` of throughput.
    pub weight: Vec<f64>,
    /// Latency coefficients `kappa = 2 beta v / a^2`.
    pub kappa: Vec<f64>,
    /// Least rates (WQE/s); empty where all are 0.
    pub minimum: Vec<f64>,
    /// Greatest rates (WQE/s); empty where there is none.
    pub maximum: Vec<f64>,
    /// Uses of rows.
    pub columns: Vec<Column>,
}

impl Flows {
    /// Number of flows.
    pub fn len(&self) -> usize {
        self.weight.len()
    }

    /// Whether there is no flow.
    pub fn is_empty(&self) -> bool {
        self.weight.is_empty()
    }

    /// Has `columns` columns, keeping buffers.
    pub fn resize_columns(&mut self, columns: usize) {
        let empty = || Column {
            rows: Rows::One(0),
            coefficient: Vec::new(),
        };
        self.columns.resize_with(columns, empty);
    }
}

/// A network that tells the flows of one host at a time, so that it need not be held.
///
/// Flows are told in many passes and must be the same in each.
pub trait Source: Sync {
    /// Number of hosts.
    fn hosts(&self) -> usize;

    /// What rates are worth. `latency` isn't used: it is part of [`Flows::kappa`].
    fn utility(&self) -> Utility;

    /// How much there is of each row.
    fn capacities(&self) -> &[f64];

    /// Number of flows of a host.
    fn flows(&self, host: usize) -> usize;

    /// Tells the flows of a host, in the same order each time.
    fn fill(&self, host: usize, flows: &mut Flows);
}

/// A network that is held in memory. Flow `f = i m + j` is application `j` of host `i`.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Number of hosts.
    pub hosts: usize,
    /// Number of applications of each host.
    pub applications: usize,
    /// What rates are worth.
    pub utility: Utility,
    /// Weights `w`, a flow each.
    pub weight: Vec<f64>,
    /// Latency weights `v`, a flow each.
    pub latency_weight: Vec<f64>,
    /// Completions for each work request `a` (CQE/WQE), a flow each.
    pub completions: Vec<f64>,
    /// Least rates (WQE/s), a flow each; empty where all are 0.
    pub minimum: Vec<f64>,
    /// Greatest rates (WQE/s), a flow each, infinity where there is none; empty where no flow has any.
    pub maximum: Vec<f64>,
    /// Limits.
    pub rows: Vec<SharedRow>,
}

impl Network {
    /// The network as a [`Source`].
    ///
    /// # Errors
    /// What is wrong with the numbers and where, or a flow that neither a row nor a maximum limits.
    pub fn indexed(&self) -> Result<Indexed<'_>, Error> {
        self.check_columns()?;
        let mut uses = alloc::vec![Vec::new(); self.weight.len()];
        for (index, row) in self.rows.iter().enumerate() {
            self.check_row(index, row)?;
            let number = u32::try_from(index).map_err(|_| Error::Range)?;
            for &(flow, coefficient) in &row.entries {
                if coefficient > 0.0 {
                    uses[flow].push((number, coefficient));
                }
            }
        }
        let limited = |f: usize| self.maximum.get(f).is_some_and(|most| most.is_finite());
        let unlimited = (0..uses.len()).find(|f| uses[*f].is_empty() && !limited(*f));
        if let Some(application) = unlimited {
            return Err(Error::Unbounded { application });
        }
        Ok(Indexed {
            network: self,
            capacities: self.rows.iter().map(|row| row.capacity).collect(),
            uses,
        })
    }

    fn check_columns(&self) -> Result<(), Error> {
        let flows = self.hosts * self.applications;
        if flows == 0 {
            return Err(Error::Empty);
        }
        Range::NotNegative.check_column("weight", &self.weight, flows)?;
        Range::NotNegative.check_column("latency_weight", &self.latency_weight, flows)?;
        Range::Positive.check_column("a", &self.completions, flows)?;
        self.check_bounds(flows)?;
        Range::NotNegative.check(|| Place::Field("beta"), self.utility.latency)
    }

    fn check_bounds(&self, flows: usize) -> Result<(), Error> {
        for (name, column) in [("x_min", &self.minimum), ("x_max", &self.maximum)] {
            if !column.is_empty() {
                check_length(Place::Field(name), column.len(), flows)?;
            }
        }
        for (index, &least) in self.minimum.iter().enumerate() {
            Range::NotNegative.check(|| Place::Entry("x_min", index), least)?;
        }
        for (index, &most) in self.maximum.iter().enumerate() {
            let least = self.minimum.get(index).copied().unwrap_or(0.0);
            if !(most > 0.0 && most >= least) {
                return Err(Error::Number {
                    place: Place::Entry("x_max", index),
                    value: most,
                    expected: "a positive number that is at least x_min, or none",
                });
            }
        }
        Ok(())
    }

    fn check_row(&self, index: usize, row: &SharedRow) -> Result<(), Error> {
        let place = || Place::Row(format!("rows[{index}]"));
        Range::Positive.check(place, row.capacity)?;
        for &(flow, coefficient) in &row.entries {
            if flow >= self.weight.len() {
                return Err(Error::Unsupported {
                    place: Place::RowEntry(format!("rows[{index}]"), flow),
                    reason: "there is no such flow",
                    hint: "flows are numbered host * applications + application, from 0",
                });
            }
            let place = || Place::RowEntry(format!("rows[{index}]"), flow);
            Range::NotNegative.check(place, coefficient)?;
            if coefficient > 0.0 && !SCALES.contains(&(row.capacity / coefficient)) {
                return Err(Error::Unsupported {
                    place: place(),
                    reason: "its capacity over what a rate uses of it is no rate from 1e-100 to 1e100",
                    hint: "count bytes, time or work requests in other units, so that rates come closer to 1",
                });
            }
        }
        Ok(())
    }
}

/// A [`Network`] with its rows sorted by flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Indexed<'a> {
    network: &'a Network,
    capacities: Vec<f64>,
    uses: Vec<Vec<(u32, f64)>>,
}

impl Source for Indexed<'_> {
    fn hosts(&self) -> usize {
        self.network.hosts
    }

    fn utility(&self) -> Utility {
        self.network.utility
    }

    fn capacities(&self) -> &[f64] {
        &self.capacities
    }

    fn flows(&self, _: usize) -> usize {
        self.network.applications
    }

    fn fill(&self, host: usize, flows: &mut Flows) {
        let network = self.network;
        let range = host * network.applications..(host + 1) * network.applications;
        flows.weight.clear();
        flows
            .weight
            .extend_from_slice(&network.weight[range.clone()]);
        flows.kappa.clear();
        let kappa = |f: usize| {
            let completions = network.completions[f];
            2.0 * network.utility.latency * network.latency_weight[f] / (completions * completions)
        };
        flows.kappa.extend(range.clone().map(kappa));
        for (bounds, all) in [
            (&mut flows.minimum, &network.minimum),
            (&mut flows.maximum, &network.maximum),
        ] {
            bounds.clear();
            bounds.extend_from_slice(all.get(range.clone()).unwrap_or_default());
        }
        let uses = &self.uses[range];
        flows.resize_columns(uses.iter().map(Vec::len).max().unwrap_or(0));
        for (k, column) in flows.columns.iter_mut().enumerate() {
            // A flow with fewer uses names its first row again, one without any the first of all, with nothing used.
            let spare = |of: &Vec<(u32, f64)>| (of.first().map_or(0, |first| first.0), 0.0);
            let entry = |of: &Vec<(u32, f64)>| of.get(k).copied().unwrap_or_else(|| spare(of));
            let rows = column.rows.each();
            rows.clear();
            rows.extend(uses.iter().map(|of| entry(of).0));
            column.coefficient.clear();
            column.coefficient.extend(uses.iter().map(|of| entry(of).1));
        }
    }
}
