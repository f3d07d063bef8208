//! A host's problem as solvers calculate with it: columns in blocks, rows over their capacity.

use alloc::vec::Vec;

use crate::host::{Fairness, Host, Row, SCALES, Supply};
pub(crate) use crate::kernel::{Block, LANES};
use crate::kernel::{General, Half, Inverse, Kernel, Linear};

/// Which kernel answers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AnyKernel {
    Linear(Linear),
    Half(Half),
    Log(Inverse<1>),
    /// Alpha 2, minimum potential delay.
    Delay(Inverse<2>),
    General(General),
}

impl AnyKernel {
    pub(crate) fn new(alpha: f64) -> Self {
        if alpha == 0.0 {
            Self::Linear(Linear)
        } else if alpha == 0.5 {
            Self::Half(Half)
        } else if alpha == 1.0 {
            Self::Log(Inverse)
        } else if alpha == 2.0 {
            Self::Delay(Inverse)
        } else {
            Self::General(General::new(alpha))
        }
    }

    pub(crate) fn alpha(self) -> f64 {
        match self {
            Self::Linear(_) => 0.0,
            Self::Half(_) => 0.5,
            Self::Log(_) => 1.0,
            Self::Delay(_) => 2.0,
            Self::General(kernel) => kernel.alpha,
        }
    }
}

/// Calls a generic expression with the kernel that a problem has.
macro_rules! with_kernel {
    ($any:expr, $kernel:ident => $call:expr) => {
        match $any {
            $crate::problem::AnyKernel::Linear($kernel) => $call,
            $crate::problem::AnyKernel::Half($kernel) => $call,
            $crate::problem::AnyKernel::Log($kernel) => $call,
            $crate::problem::AnyKernel::Delay($kernel) => $call,
            $crate::problem::AnyKernel::General($kernel) => $call,
        }
    };
}
pub(crate) use with_kernel;

/// A problem whose applications all take part, in units of its own: the capacity of a row is 1, and so is
/// its largest breakpoint if the row has a price.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    /// Number of applications; columns are longer, filled up to whole blocks with applications that
    /// nobody hears of.
    pub(crate) applications: usize,
    pub(crate) kernel: AnyKernel,
    /// Some latency coefficient isn't 0.
    pub(crate) latency: bool,
    /// Some application has a floor or a cap.
    pub(crate) bounded: bool,
    /// As the kernel wants them.
    pub(crate) weight: Vec<Block>,
    pub(crate) kappa: Vec<Block>,
    /// Use of each row for a work request, over the row's unit; after those of the host there may be rows that nobody uses.
    pub(crate) rows: Vec<Vec<Block>>,
    /// Rows of the host.
    pub(crate) own_rows: usize,
    /// Bounds of the kernel's variable.
    pub(crate) least: Vec<Block>,
    pub(crate) most: Vec<Block>,
    /// Bounds of the rates (WQE/s).
    pub(crate) floors: Vec<f64>,
    pub(crate) caps: Vec<f64>,
}

/// An application as a problem takes it: which one of the host, whether its throughput counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) index: usize,
    pub(crate) counts: bool,
}

/// All applications of a host, all of which count.
pub(crate) fn everyone(applications: usize) -> impl ExactSizeIterator<Item = Member> + Clone {
    (0..applications).map(|index| Member {
        index,
        counts: true,
    })
}

/// `kappa = 2 beta v / a^2`, the latency coefficient in terms of work requests.
pub(crate) fn kappa(host: &Host<'_>, index: usize) -> f64 {
    let completions = host.applications.completions[index];
    2.0 * host.utility.latency * host.applications.latency_weight[index]
        / (completions * completions)
}

/// Alpha of a host that isn't max-min.
pub(crate) const fn alpha(host: &Host<'_>) -> f64 {
    match host.utility.fairness {
        Fairness::Alpha(alpha) => alpha,
        Fairness::MaxMin => f64::INFINITY,
    }
}

/// What a row counts as 1.
pub(crate) fn unit(supply: &Supply<'_>) -> f64 {
    match *supply {
        Supply::Capacity(capacity) => capacity,
        Supply::Price(segments) => match segments.last() {
            Some(&(start, _)) if start > 0.0 => start,
            _ => 1.0,
        },
    }
}

impl Problem {
    /// Greatest elasticity of `-dx/dp`, how a rate answers to its price: `1 + 1 / alpha` where `w x^-alpha` is the price,
    /// and bounded by both powers where latency adds `x^-3`.
    pub(crate) fn response_elasticity(&self) -> f64 {
        let alpha = self.kernel.alpha();
        match self.latency {
            true => (1.0 + alpha.max(3.0)) / alpha.min(3.0),
            false => 1.0 + 1.0 / alpha,
        }
    }

    /// The problem of those `members` of a checked host that isn't max-min.
    pub(crate) fn new(
        host: &Host<'_>,
        members: impl ExactSizeIterator<Item = Member> + Clone,
    ) -> Self {
        let apps = &host.applications;
        let bounded = members
            .clone()
            .any(|m| apps.minimum[m.index] > 0.0 || apps.maximum[m.index].is_finite());
        Self::with_bounds(host, members, bounded)
    }

    /// The problem of `members`, with columns of bounds if it is `bounded`. If it isn't, no application may have
    /// any: debug builds don't check this either, and the search ignores such bounds.
    pub(crate) fn with_bounds(
        host: &Host<'_>,
        members: impl ExactSizeIterator<Item = Member> + Clone,
        bounded: bool,
    ) -> Self {
        let kernel = AnyKernel::new(alpha(host));
        let columns = Columns {
            host,
            count: members.len(),
            members,
        };
        let apps = &host.applications;
        let latency = host.utility.latency > 0.0;
        let floors: Vec<f64> = columns
            .members
            .clone()
            .map(|m| apps.minimum[m.index])
            .collect();
        let caps: Vec<f64> = columns
            .members
            .clone()
            .map(|m| apps.maximum[m.index])
            .collect();
        let mut rows: Vec<Vec<Block>> = host.rows.iter().map(|row| columns.loads(row)).collect();
        // Passes are compiled for these numbers of rows; rows of zeros don't count.
        let width = [1, 2, 3].into_iter().find(|&width| width >= rows.len());
        rows.resize_with(
            width.unwrap_or(Host::MOST_ROWS),
            || alloc::vec![[0.0; LANES]; columns.count.div_ceil(LANES)],
        );
        with_kernel!(kernel, k => {
            let ends = |host: &Host<'_>, m: Member| {
                let apps = &host.applications;
                [k.variable(apps.minimum[m.index]), k.variable(apps.maximum[m.index])]
            };
            let (low, high) = if k_falls(k) { (1, 0) } else { (0, 1) };
            Self {
                applications: columns.count,
                kernel,
                latency,
                bounded,
                weight: columns.blocks(k.weight(0.0), |host, m| {
                    k.weight(if m.counts { host.applications.weight[m.index] } else { 0.0 })
                }),
                kappa: columns.blocks(k.kappa(0.0), |host, m| k.kappa(kappa(host, m.index))),
                rows,
                own_rows: host.rows.len(),
                least: columns.bounds(bounded, k.variable(0.0), |host, m| ends(host, m)[low]),
                most: columns.bounds(bounded, k.variable(0.0), |host, m| ends(host, m)[high]),
                floors,
                caps,
            }
        })
    }

    /// Prices to begin with: what applications would pay if they all had the same rate. At alpha 0 all
    /// of them, else their rates would have no limit; otherwise some of them on average.
    pub(crate) fn typical_prices<const R: usize>(&self) -> [f64; R] {
        const SAMPLE: usize = 32;
        let use_of = |row: &Vec<Block>| row.as_flattened()[..self.applications].iter().sum::<f64>();
        let uses: Vec<f64> = self.rows[..R].iter().map(use_of).collect();
        let fullest = uses.iter().copied().fold(1e-300, f64::max);
        let all = matches!(self.kernel, AnyKernel::Linear(_));
        let stride = if all {
            1
        } else {
            self.applications.div_ceil(SAMPLE)
        };
        let (mut paid, mut most, mut sampled) = (0.0, 0.0_f64, 0.0);
        for j in (0..self.applications).step_by(stride) {
            let loads: f64 = self.rows[..R].iter().map(|row| row.as_flattened()[j]).sum();
            let (weight, kappa) = (self.weight.as_flattened()[j], self.kappa.as_flattened()[j]);
            let slope =
                with_kernel!(self.kernel, k => k.slope(weight, kappa, k.variable(1.0 / fullest)));
            if loads > 0.0 && slope.is_finite() {
                paid += slope / loads;
                most = most.max(slope / loads);
                sampled += 1.0;
            }
        }
        let price = if all {
            most
        } else {
            paid / f64::max(sampled, 1.0)
        };
        let price = if price > 0.0 { price } else { 1.0 };
        core::array::from_fn(|r| if uses[r] > 0.0 { price } else { 0.0 })
    }

    /// Use of each row by least rates.
    pub(crate) fn least_usage<const R: usize>(&self) -> [f64; R] {
        if !self.bounded {
            return [0.0; R];
        }
        let row = |loads: &Vec<Block>| {
            let loads = loads.as_flattened().iter().zip(&self.floors);
            loads.map(|(load, floor)| load * floor).sum()
        };
        core::array::from_fn(|r| self.rows.get(r).map_or(0.0, row))
    }

    /// Number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.weight.len()
    }

    /// An application, the only one of a problem of the same rows and columns, takes the place `index`, which may be
    /// that behind the last.
    pub(crate) fn put(&mut self, index: usize, one: &mut Self) {
        if index == self.applications {
            self.applications += 1;
            self.floors.push(0.0);
            self.caps.push(0.0);
        }
        (self.floors[index], self.caps[index]) = (one.floors[0], one.caps[0]);
        put(self.columns().zip(one.columns()), index);
    }

    /// An application leaves, the only one of the problem `one`; the last one takes its place.
    pub(crate) fn swap_remove(&mut self, index: usize, one: &mut Self) {
        let applications = self.applications;
        self.applications -= 1;
        self.floors.swap_remove(index);
        self.caps.swap_remove(index);
        swap_remove(self.columns().zip(one.columns()), index, applications);
    }

    /// The columns in use.
    fn columns(&mut self) -> impl Iterator<Item = &mut Vec<Block>> {
        let own = [&mut self.weight, &mut self.kappa];
        let bounds = [&mut self.least, &mut self.most];
        let bounds = bounds.into_iter().filter(|column| !column.is_empty());
        own.into_iter().chain(&mut self.rows).chain(bounds)
    }

    /// The rows of a host have other capacities; says whether rates stay in range.
    pub(crate) fn set_loads(&mut self, host: &Host<'_>) -> bool {
        let columns = Columns {
            host,
            count: self.applications,
            members: everyone(self.applications),
        };
        for (loads, row) in self.rows.iter_mut().zip(&host.rows) {
            *loads = columns.loads(row);
        }
        let apps = self.applications;
        // A load is in the range if its inverse is. A loop that never ends early becomes vector instructions.
        let strays = |load: &f64| !(*load == 0.0 || SCALES.contains(load));
        let stray = |row: &Vec<Block>| {
            let loads = row.as_flattened()[..apps].iter();
            loads.fold(false, |found, load| found | strays(load))
        };
        !self.rows.iter().any(stray)
    }
}

/// The only entries of other columns take the place `index` of these, which may be that behind the last.
pub(crate) fn put<'a>(
    columns: impl Iterator<Item = (&'a mut Vec<Block>, &'a mut Vec<Block>)>,
    index: usize,
) {
    for (column, one) in columns {
        match column.as_flattened_mut().get_mut(index) {
            Some(entry) => *entry = one[0][0],
            // The rest of the block is nobody's.
            None => column.extend_from_slice(one),
        }
    }
}

/// Removes an entry of columns of so many, whose place the last one takes; behind the last is then what is behind the only
/// ones of other columns.
pub(crate) fn swap_remove<'a>(
    columns: impl Iterator<Item = (&'a mut Vec<Block>, &'a mut Vec<Block>)>,
    index: usize,
    applications: usize,
) {
    for (column, one) in columns {
        let entries = column.as_flattened_mut();
        entries[index] = entries[applications - 1];
        entries[applications - 1] = one[0][LANES - 1];
        column.truncate((applications - 1).div_ceil(LANES));
    }
}

fn k_falls<K: Kernel>(_: K) -> bool {
    K::FALLING
}

/// Makes columns of blocks.
struct Columns<'a, 'b, I> {
    host: &'a Host<'b>,
    count: usize,
    members: I,
}

impl<'b, I: ExactSizeIterator<Item = Member> + Clone> Columns<'_, 'b, I> {
    fn blocks(&self, fill: f64, entry: impl Fn(&Host<'b>, Member) -> f64) -> Vec<Block> {
        let mut blocks = alloc::vec![[fill; LANES]; self.count.div_ceil(LANES)];
        for (slot, member) in blocks
            .as_flattened_mut()
            .iter_mut()
            .zip(self.members.clone())
        {
            *slot = entry(self.host, member);
        }
        blocks
    }

    /// Use of a row over its unit; nobody's is one of what the row counts in, so it changes with capacities as others do.
    fn loads(&self, row: &Row<'_>) -> Vec<Block> {
        let unit = unit(&row.supply);
        let apps = &self.host.applications;
        let loads = row.loads(apps);
        match row.is_per_completion() {
            true => self.blocks(1.0 / unit, |_, m| {
                loads[m.index] * apps.completions[m.index] / unit
            }),
            false => self.blocks(1.0 / unit, |_, m| loads[m.index] / unit),
        }
    }

    /// Bounds of variables, none if no application has any.
    fn bounds(
        &self,
        wanted: bool,
        fill: f64,
        entry: impl Fn(&Host<'b>, Member) -> f64,
    ) -> Vec<Block> {
        if wanted {
            self.blocks(fill, entry)
        } else {
            Vec::new()
        }
    }
}
