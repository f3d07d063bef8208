//! A network, held in memory with all its rows.

use alloc::vec::Vec;

use crate::coupled::block::row_of;
use crate::coupled::problem::{Flows, Source};
use crate::coupled::selection::{Choice, Selection};
use crate::fixed::Answer;
use crate::host::Supply;
use crate::interior::{Column, Program};
use crate::max_min;
use crate::problem::AnyKernel;
use crate::supply::Staircase;

/// Which networks are held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Most {
    rows: usize,
    flows: usize,
    hosts: usize,
}

impl Most {
    /// In which all flows count.
    pub(crate) const ALL: Self = Self {
        rows: 6_000,
        flows: 400_000,
        hosts: usize::MAX,
    };
    /// In which some are selected: a search takes many steps, each in proportion to the cube of rows and hosts.
    pub(crate) const CHOSEN: Self = Self {
        rows: 500,
        flows: 20_000,
        hosts: 2_000,
    };
}

/// Most pairs of rows that flows join.
const PAIRS: usize = 100_000_000;

/// A network in which rows count in their capacities.
pub(crate) struct Held {
    /// All flows, all of which count.
    pub(crate) program: Program,
    /// The host of each flow.
    pub(crate) hosts: Vec<usize>,
    pub(crate) host_count: usize,
    pub(crate) capacities: Vec<f64>,
    /// Greatest rates as they were asked for.
    maxima: Vec<f64>,
}

/// What a flow may do, at a price: what it keeps, at which rate, how that answers, and whether it counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Way {
    pub(crate) keeps: f64,
    pub(crate) rate: f64,
    pub(crate) flexibility: f64,
    pub(crate) counts: bool,
}

impl Held {
    /// Holds a network, unless it is too large.
    pub(crate) fn new<S: Source>(source: &S, alpha: f64, most: Most) -> Option<Self> {
        let capacities = source.capacities();
        let flows: usize = (0..source.hosts()).map(|host| source.flows(host)).sum();
        if capacities.len() > most.rows || flows > most.flows || source.hosts() > most.hosts {
            return None;
        }
        let (mut columns, mut hosts) = (Vec::new(), Vec::new());
        let mut uses: Vec<(u32, f64)> = Vec::new();
        let (mut maxima, mut pairs) = (Vec::new(), 0);
        let mut worker = Flows::default();
        for host in 0..source.hosts() {
            source.fill(host, &mut worker);
            for f in 0..worker.len() {
                let start = uses.len();
                for column in &worker.columns {
                    let row = row_of(&column.rows, f);
                    let load = column.coefficient[f] / capacities[row];
                    // A flow may use a row more than once.
                    let known = uses[start..]
                        .iter_mut()
                        .find(|(used, _)| *used == row as u32);
                    match known {
                        Some((_, sum)) => *sum += load,
                        None if load > 0.0 => uses.push((row as u32, load)),
                        None => {}
                    }
                }
                pairs += (uses.len() - start).pow(2);
                if pairs > PAIRS {
                    return None;
                }
                // No rate can be more than what its rows have.
                let room = uses[start..].iter().map(|(_, load)| 1.0 / load);
                let most = worker.maximum.get(f).copied().unwrap_or(f64::INFINITY);
                let low = worker.minimum.get(f).copied().unwrap_or(0.0);
                columns.push(Column {
                    weight: worker.weight[f],
                    kappa: worker.kappa[f],
                    cost: 0.0,
                    low,
                    high: room.fold(most, f64::min).max(low),
                    end: uses.len(),
                });
                hosts.push(host);
                maxima.push(most);
            }
        }
        let hard = |_: &f64| Staircase::new(&Supply::Capacity(1.0));
        Some(Self {
            program: Program {
                kernel: AnyKernel::new(alpha),
                alpha,
                columns,
                uses,
                supplies: capacities.iter().map(hard).collect(),
            },
            hosts,
            host_count: source.hosts(),
            capacities: capacities.to_vec(),
            maxima,
        })
    }

    /// What a flow may do at a price. Where nothing bends it takes all or nothing.
    pub(crate) fn ways(&self, f: usize, price: f64, selection: Selection) -> ([Way; 3], usize) {
        let column = &self.program.columns[f];
        let mut ways = [Way::default(); 3];
        let mut count = 0;
        let mut add = |way: Way| {
            ways[count] = way;
            count += 1;
        };
        let at = |rate: f64, counts: bool| Way {
            keeps: if counts {
                (column.weight - price) * rate
            } else {
                -price * rate
            },
            rate,
            flexibility: 0.0,
            counts,
        };
        if column.kappa > 0.0 || (column.weight > 0.0 && self.program.alpha > 0.0) {
            add(self.best(column, column.weight, price, true));
        } else {
            add(at(column.low, true));
            if column.weight > 0.0 {
                add(at(column.high, true));
            }
        }
        match selection.choice {
            Choice::All => {}
            Choice::ActiveSet(_) => add(Way {
                keeps: selection.outage,
                ..Way::default()
            }),
            Choice::TopUtilities(_) if column.kappa > 0.0 => {
                add(self.best(column, 0.0, price, false));
            }
            Choice::TopUtilities(_) => add(at(column.low, false)),
        }
        (ways, count)
    }

    fn best(&self, column: &Column, weight: f64, price: f64, counts: bool) -> Way {
        let column = Column { weight, ..*column };
        let (rate, flexibility) = self.program.response(&column, price);
        Way {
            keeps: self.program.worth(&column, rate) - price * rate,
            rate,
            flexibility,
            counts,
        }
    }

    /// Weighted max-min shares; the value is the level that everybody has.
    pub(crate) fn shares(&self) -> Answer {
        let mut program = self.program.clone();
        for (column, most) in program.columns.iter_mut().zip(&self.maxima) {
            column.high = *most;
        }
        max_min::fill(&program)
    }

    /// The best rates where these flows count.
    pub(crate) fn solve(
        &self,
        counts: &[bool],
        selection: Selection,
        tolerance: f64,
    ) -> Option<Answer> {
        let mut program = self.program.clone();
        if selection.choice == Choice::All && program.alpha > 0.0 {
            // A maximum that a row implies would take the row's place, and its price.
            for (column, most) in program.columns.iter_mut().zip(&self.maxima) {
                column.high = most.min(2.0 * column.high);
            }
        }
        let mut idle = 0.0;
        for (column, counts) in program.columns.iter_mut().zip(counts) {
            if *counts {
                continue;
            }
            column.weight = 0.0;
            if selection.silences() {
                (column.kappa, column.low, column.high) = (0.0, 0.0, 0.0);
                idle += selection.outage;
            }
        }
        let mut point = program.solve(tolerance)?;
        if point.gap() == f64::INFINITY {
            return None;
        }
        point.objective += idle;
        point.bound += idle;
        Some(point)
    }
}
