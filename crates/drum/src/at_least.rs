//! Polls as attempts: `z >= a x`, so that polling may be faster than completions come.
//!
//! At prices `p_x` of a work request and `p_z` of a poll, an application that polls more often than it
//! must takes `w U'(x) = p_x` and `2 beta v z^-3 = p_z`; if that has fewer polls than completions, both
//! rates are tied and it answers to `p_x + a p_z`.

use alloc::vec::Vec;

use crate::error::Error;
use crate::fixed::{self, Answer, Found};
use crate::host::{Host, Supply};
use crate::interior::host::better;
use crate::interior::{Column, Program};
use crate::kernel::{Kernel, Worth};
use crate::math::{clamp, cube_root, min};
use crate::mode::Options;
use crate::newton::Model;
use crate::pass::Pass;
use crate::problem::{AnyKernel, Member, alpha, unit, with_kernel};
use crate::supply::Staircase;

/// Polls that cost nothing are as many.
const MOST_POLLS: f64 = 1e100;

/// One application.
#[derive(Clone, Copy, Debug)]
struct Application {
    weight: f64,
    /// `2 beta v`, the latency coefficient of `z`.
    kappa: f64,
    completions: f64,
    floor: f64,
    cap: f64,
}

/// Rates of one application at prices.
#[derive(Clone, Copy, Debug)]
struct Rates {
    x: f64,
    z: f64,
    /// `-1/phi''`: of `x`, or of `x` and `z` together if they are tied.
    flexible_x: f64,
    /// Of `z` on its own.
    flexible_z: f64,
    tied: bool,
    throughput: f64,
    latency: f64,
}

/// The problem of a host whose polls are attempts, each row over its unit.
#[derive(Clone)]
pub(crate) struct AtLeast {
    kernel: AnyKernel,
    alpha: f64,
    applications: Vec<Application>,
    /// Use of each row for a work request.
    requests: Vec<Vec<f64>>,
    /// Use of each row for a poll.
    polls: Vec<Vec<f64>>,
    hard: Vec<bool>,
}

impl AtLeast {
    pub(crate) fn new(host: &Host<'_>, members: impl Iterator<Item = Member> + Clone) -> Self {
        let apps = &host.applications;
        let application = |m: Member| Application {
            weight: if m.counts { apps.weight[m.index] } else { 0.0 },
            kappa: 2.0 * host.utility.latency * apps.latency_weight[m.index],
            completions: apps.completions[m.index],
            floor: apps.minimum[m.index],
            cap: apps.maximum[m.index],
        };
        let column = |per_completion: bool| {
            let row = |row: &crate::host::Row<'_>| {
                let counts = row.is_per_completion() == per_completion;
                let load = |m: Member| row.load_of(apps, m.index) / unit(&row.supply);
                let entry = |m: Member| if counts { load(m) } else { 0.0 };
                members.clone().map(entry).collect::<Vec<f64>>()
            };
            host.rows.iter().map(row).collect::<Vec<_>>()
        };
        let hard = |row: &crate::host::Row<'_>| matches!(row.supply, Supply::Capacity(_));
        Self {
            kernel: AnyKernel::new(alpha(host)),
            alpha: alpha(host),
            applications: members.clone().map(application).collect(),
            requests: column(false),
            polls: column(true),
            hard: host.rows.iter().map(hard).collect(),
        }
    }

    fn price(&self, loads: &[Vec<f64>], prices: &[f64], j: usize) -> f64 {
        loads
            .iter()
            .zip(prices)
            .map(|(row, price)| row[j] * price)
            .sum()
    }

    /// What application `j` answers.
    fn answer(&self, prices: &[f64], j: usize) -> Rates {
        let app = &self.applications[j];
        let request = self.price(&self.requests, prices, j);
        let poll = self.price(&self.polls, prices, j);
        let alone = self.rate(app.weight, 0.0, request, app);
        let z = min(cube_root(app.kappa / poll), MOST_POLLS);
        if app.kappa > 0.0 && z >= app.completions * alone.rate {
            return Rates {
                x: alone.rate,
                z,
                flexible_x: alone.flexibility,
                flexible_z: if poll > 0.0 {
                    z * z * z * z / (3.0 * app.kappa)
                } else {
                    0.0
                },
                tied: false,
                throughput: alone.throughput,
                latency: -0.5 * app.kappa / (z * z),
            };
        }
        let kappa = app.kappa / (app.completions * app.completions);
        let tied = self.rate(app.weight, kappa, request + app.completions * poll, app);
        Rates {
            x: tied.rate,
            z: app.completions * tied.rate,
            flexible_x: tied.flexibility,
            flexible_z: 0.0,
            tied: true,
            throughput: tied.throughput,
            latency: tied.latency,
        }
    }

    /// Number of applications.
    pub(crate) fn len(&self) -> usize {
        self.applications.len()
    }

    /// What application `j` keeps after paying, and its use of each row.
    pub(crate) fn keeps(&self, prices: &[f64], j: usize) -> (f64, [f64; Host::MOST_ROWS]) {
        let rates = self.answer(prices, j);
        let mut usage = [0.0; Host::MOST_ROWS];
        for (usage, (requests, polls)) in
            usage.iter_mut().zip(self.requests.iter().zip(&self.polls))
        {
            *usage = requests[j] * rates.x + polls[j] * rates.z;
        }
        let paid: f64 = usage.iter().zip(prices).map(|(u, p)| u * p).sum();
        (rates.throughput + rates.latency - paid, usage)
    }

    fn rate(&self, weight: f64, kappa: f64, price: f64, app: &Application) -> Worth {
        with_kernel!(self.kernel, k => {
            let (w, c) = (k.weight(weight), k.kappa(kappa));
            let free = k.answer::<true>(w, c, price);
            let ends = [k.variable(app.floor), k.variable(app.cap)];
            let variable = clamp(free, min(ends[0], ends[1]), ends[0].max(ends[1]));
            let mut worth = k.worth::<true>(w, c, variable);
            if variable != free {
                worth.flexibility = 0.0;
            }
            worth
        })
    }

    /// Use of a row by rates of all applications.
    fn usage(&self, rates: &[(f64, f64)], r: usize) -> f64 {
        let of =
            |(j, &(x, z)): (usize, &(f64, f64))| self.requests[r][j] * x + self.polls[r][j] * z;
        rates.iter().enumerate().map(of).sum()
    }

    /// Scales what rates have above their floors until they fit, each by the rows that it uses.
    fn fit(&self, rates: &mut [(f64, f64)]) {
        for ((x, z), app) in rates.iter_mut().zip(&self.applications) {
            *x = clamp(*x, app.floor, app.cap);
            *z = z.max(app.completions * *x);
        }
        let floors: Vec<(f64, f64)> = self
            .applications
            .iter()
            .map(|app| (app.floor, app.completions * app.floor))
            .collect();
        for _ in 0..3 {
            let room = |r: usize| {
                let (used, base) = (self.usage(rates, r), self.usage(&floors, r));
                if used > 1.0 {
                    // Floors may fill a row but for rounding.
                    let part = (1.0 - base) / (used - base);
                    if part > 0.0 { part } else { 0.0 }
                } else {
                    1.0
                }
            };
            let parts: Vec<f64> = (0..self.hard.len())
                .map(|r| if self.hard[r] { room(r) } else { 1.0 })
                .collect();
            if parts.iter().all(|part| *part >= 1.0) {
                return;
            }
            for (j, ((x, z), floor)) in rates.iter_mut().zip(&floors).enumerate() {
                let part = |loads: &[Vec<f64>]| {
                    let rows = loads.iter().zip(&parts).filter(|(row, _)| row[j] > 0.0);
                    rows.map(|(_, part)| *part).fold(1.0, min)
                };
                *z = floor.1 + (*z - floor.1) * part(&self.polls);
                *x = floor.0 + (*x - floor.0) * part(&self.requests);
                *x = min(*x, *z / self.applications[j].completions).max(floor.0);
            }
        }
    }

    fn value(&self, rates: &[(f64, f64)]) -> f64 {
        let of = |(app, &(x, z)): (&Application, &(f64, f64))| {
            let throughput = with_kernel!(self.kernel, k => {
                k.worth::<true>(k.weight(app.weight), k.kappa(0.0), k.variable(x)).throughput
            });
            let latency = if app.kappa > 0.0 {
                0.5 * app.kappa / (z * z)
            } else {
                0.0
            };
            throughput - latency
        };
        self.applications.iter().zip(rates).map(of).sum()
    }
}

impl<const R: usize> Model<R> for AtLeast {
    fn pass(&self, prices: [f64; R]) -> Pass<R> {
        let mut pass = Pass::ZERO;
        let rows = self.hard.len();
        for j in 0..self.applications.len() {
            let rates = self.answer(&prices[..rows], j);
            let completions = self.applications[j].completions;
            pass.throughput += rates.throughput;
            pass.latency += rates.latency;
            for r in 0..rows {
                let (request, poll) = (self.requests[r][j], self.polls[r][j]);
                pass.usage[r] += request * rates.x + poll * rates.z;
                for q in 0..rows {
                    let (other, other_poll) = (self.requests[q][j], self.polls[q][j]);
                    pass.response[r][q] += if rates.tied {
                        let load = request + completions * poll;
                        load * (other + completions * other_poll) * rates.flexible_x
                    } else {
                        request * other * rates.flexible_x + poll * other_poll * rates.flexible_z
                    };
                }
            }
        }
        pass
    }

    /// What applications would pay on average if they all had the same rate, and polled no more than they must.
    fn first_prices(&self) -> [f64; R] {
        let load = |r: usize, j: usize| {
            self.requests[r][j] + self.applications[j].completions * self.polls[r][j]
        };
        let count = self.applications.len();
        let rows = self.hard.len();
        let uses: Vec<f64> = (0..rows)
            .map(|r| (0..count).map(|j| load(r, j)).sum())
            .collect();
        let even = 1.0 / uses.iter().copied().fold(1e-300, f64::max);
        let (mut paid, mut counted) = (0.0, 0.0);
        for (j, app) in self.applications.iter().enumerate() {
            let loads: f64 = (0..rows).map(|r| load(r, j)).sum();
            let slope = with_kernel!(self.kernel, k => {
                let kappa = app.kappa / (app.completions * app.completions);
                let rate = clamp(even, app.floor, app.cap);
                k.slope(k.weight(app.weight), k.kappa(kappa), k.variable(rate))
            });
            if loads > 0.0 && slope > 0.0 && slope.is_finite() {
                paid += slope / loads;
                counted += 1.0;
            }
        }
        let price = if counted > 0.0 { paid / counted } else { 1.0 };
        core::array::from_fn(|r| match uses.get(r) {
            Some(uses) if *uses > 0.0 => price,
            _ => 0.0,
        })
    }

    fn floors(&self) -> [f64; R] {
        let floors = self.applications.iter();
        let floors: Vec<(f64, f64)> = floors
            .map(|app| (app.floor, app.completions * app.floor))
            .collect();
        core::array::from_fn(|r| {
            if r < self.hard.len() {
                self.usage(&floors, r)
            } else {
                0.0
            }
        })
    }

    fn is_linear(&self) -> bool {
        matches!(self.kernel, AnyKernel::Linear(_))
    }
}

impl AtLeast {
    /// Rates of requests and then of polls as unknowns, with a row for each application that may poll more often than it
    /// must: its completions are at most its polls.
    fn program(&self, supplies: &[Staircase]) -> Program {
        let rows = supplies.len();
        let mut program = Program {
            kernel: self.kernel,
            alpha: self.alpha,
            columns: Vec::new(),
            uses: Vec::new(),
            supplies: supplies.to_vec(),
        };
        let apart: Vec<usize> = (0..self.len()).filter(|j| self.is_apart(*j)).collect();
        let tie = |j: usize| apart.binary_search(&j).ok().map(|place| rows + place);
        for (j, app) in self.applications.iter().enumerate() {
            let tie = tie(j);
            for row in 0..rows {
                let polls = match tie {
                    Some(_) => 0.0,
                    None => app.completions * self.polls[row][j],
                };
                program.use_row(row, self.requests[row][j] + polls);
            }
            if let Some(tie) = tie {
                program.use_row(tie, app.completions * self.poll(j));
            }
            let worthless = app.weight == 0.0 && tie.is_some();
            program.columns.push(Column {
                weight: app.weight,
                kappa: 0.0,
                cost: 0.0,
                low: app.floor,
                high: if worthless { app.floor } else { app.cap },
                end: program.uses.len(),
            });
        }
        for &j in &apart {
            let app = &self.applications[j];
            for row in 0..rows {
                program.use_row(row, self.polls[row][j]);
            }
            program.use_row(program.supplies.len(), -self.poll(j));
            program.supplies.push(Staircase::tie());
            program.columns.push(Column {
                weight: 0.0,
                kappa: app.kappa,
                cost: 0.0,
                low: app.completions * app.floor,
                high: f64::INFINITY,
                end: program.uses.len(),
            });
        }
        program
    }

    /// Most that a poll uses of a row.
    fn poll(&self, j: usize) -> f64 {
        self.polls.iter().map(|row| row[j]).fold(0.0, f64::max)
    }

    /// Whether more polls than completions are worth something, and cost something.
    fn is_apart(&self, j: usize) -> bool {
        self.applications[j].kappa > 0.0 && self.poll(j) > 0.0
    }

    /// Rates of a program, made feasible: those of requests, and then those of polls.
    fn certified(
        &self,
        supplies: &[Staircase],
        rates: &[f64],
        prices: &[f64],
        passes: usize,
    ) -> Answer {
        let mut polls = rates[self.len()..].iter();
        let pair = |(j, app): (usize, &Application)| {
            let apart = self.is_apart(j).then(|| polls.next()).flatten();
            let free = if app.kappa > 0.0 { MOST_POLLS } else { 0.0 };
            (rates[j], apart.copied().unwrap_or(free))
        };
        let mut pairs: Vec<(f64, f64)> = self.applications.iter().enumerate().map(pair).collect();
        self.fit(&mut pairs);
        let rows = supplies.iter().zip(prices);
        let prices: Vec<f64> = rows
            .map(|(supply, price)| price.min(supply.highest()))
            .collect();
        let worth = supplies.iter().zip(&prices);
        let worth: f64 = worth.map(|(supply, price)| supply.worth(*price)).sum();
        let kept: f64 = (0..self.len()).map(|j| self.keeps(&prices, j).0).sum();
        let bound = worth + kept;
        Answer {
            objective: self.value(&pairs) - self.costs(supplies, &pairs),
            bound: if bound.is_nan() { f64::INFINITY } else { bound },
            rates: listed(&pairs),
            prices,
            passes,
        }
    }

    fn costs(&self, supplies: &[Staircase], rates: &[(f64, f64)]) -> f64 {
        let cost = |(r, supply): (usize, &Staircase)| supply.cost(self.usage(rates, r));
        supplies.iter().enumerate().map(cost).sum()
    }
}

/// Rates of requests, and then those of polls.
fn listed(pairs: &[(f64, f64)]) -> Vec<f64> {
    let requests = pairs.iter().map(|pair| pair.0);
    requests.chain(pairs.iter().map(|pair| pair.1)).collect()
}

/// Solves the problem; answers with rates of work requests and of polls.
pub(crate) fn solve(
    problem: &AtLeast,
    supplies: &[Staircase],
    start: Option<&[f64]>,
    options: &Options,
) -> Result<(Answer, Vec<f64>), Error> {
    let found = attempt(problem, supplies, start, &options.briefly())?;
    let mut answer = if fixed::is_enough(&found.0, found.1, options) {
        found.0
    } else {
        let program = problem.program(supplies);
        let point = program.solve_with(options.tolerance, |rates, prices, passes| {
            problem.certified(supplies, rates, &prices[..supplies.len()], passes)
        });
        match point {
            Some(point) => better(found, point),
            None => found.0,
        }
    };
    let polls = answer.rates.split_off(problem.len());
    Ok((answer, polls))
}

const ROWS: usize = Host::MOST_ROWS;

fn attempt(
    problem: &AtLeast,
    supplies: &[Staircase],
    start: Option<&[f64]>,
    options: &Options,
) -> Result<Found, Error> {
    let minimum = fixed::minimise_staircases::<ROWS, _>(problem, supplies, start, options, 0.0)?;
    let answer = |j: usize| {
        let rates = problem.answer(&minimum.prices[..supplies.len()], j);
        (rates.x, rates.z)
    };
    let mut rates: Vec<(f64, f64)> = (0..problem.len()).map(answer).collect();
    problem.fit(&mut rates);
    let objective = problem.value(&rates) - problem.costs(supplies, &rates);
    if !(objective > -fixed::GREATEST && objective.is_finite()) {
        return Err(Error::Range);
    }
    let answer = Answer {
        objective,
        bound: minimum.bound.max(objective),
        rates: listed(&rates),
        prices: minimum.prices[..supplies.len()].to_vec(),
        passes: minimum.passes,
    };
    Ok((answer, minimum.off))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixed::staircases;
    use crate::host::{Dependency, Fairness, Host, Utility};
    use crate::problem::everyone;
    use crate::table::{Application, Table};

    proptest! {
        #[test]
        fn unknown_rates_and_prices_certify_each_other(
            numbers in prop::collection::vec(prop::array::uniform5(0.3..3.0_f64), 1..8),
            alpha in 0.3..3.0_f64,
            latency in 0.01..1.0_f64,
            bought in any::<bool>(),
        ) {
            let mut table = Table::default();
            for [weight, latency_weight, completions, bytes, poll_cost] in numbers {
                table.push(Application {
                    weight,
                    latency_weight,
                    completions,
                    bytes,
                    poll_cost,
                    ..Application::default()
                });
            }
            let fairness = Fairness::Alpha(alpha);
            let size = table.len() as f64;
            let mut host = Host::new(table.view(), Utility { fairness, latency }, size, 3.0 * size);
            host.dependency = Dependency::AtLeast;
            let price = [(0.0, 0.2), (0.5 * size, 1.0), (size, 20.0)];
            if bought {
                host.rows[0].supply = Supply::Price(&price);
            }
            let supplies = staircases(&host);
            let problem = AtLeast::new(&host, everyone(table.len()));
            let point = problem.program(&supplies).solve_with(1e-12, |rates, prices, passes| {
                problem.certified(&supplies, rates, &prices[..supplies.len()], passes)
            });
            let point = point.expect("a point");
            prop_assert!(point.gap() < 1e-9, "{:e} {point:?}", point.gap());
            let (answer, _) = solve(&problem, &supplies, None, &Options::default()).expect("an answer");
            let scale = answer.objective.abs().max(point.objective.abs());
            prop_assert!((answer.objective - point.objective).abs() <= 1e-9 * scale);
        }
    }
}
