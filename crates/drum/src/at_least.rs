//! Polls as attempts: `z >= a x`, so that polling may be faster than completions come.
//!
//! At prices `p_x` of a work request and `p_z` of a poll, an application that polls more often than it
//! must takes `w U'(x) = p_x` and `2 beta v z^-3 = p_z`; if that has fewer polls than completions, both
//! rates are tied and it answers to `p_x + a p_z`.

use alloc::vec::Vec;

use crate::error::Error;
use crate::fixed::{Answer, staircases};
use crate::host::{Host, Supply};
use crate::interior::{Column, Program, offered};
use crate::math::clamp;
use crate::mode::Options;
use crate::problem::{AnyKernel, Member, alpha, unit};
use crate::solve::MOST;
use crate::supply::Staircase;

/// Polls that cost nothing are as many.
const MOST_POLLS: f64 = 1e100;

/// The problem of a host whose polls are attempts, each row over its unit.
pub(crate) struct AtLeast {
    /// Rates of requests, and then those of polls that may be more than they must. After the rows of the host there is one
    /// for each of the latter: completions are at most polls.
    program: Program,
    applications: Vec<Application>,
    /// Rows of the host.
    rows: usize,
}

/// One application.
#[derive(Clone, Copy, Debug)]
struct Application {
    completions: f64,
    polls: Polls,
}

/// How often an application polls.
#[derive(Clone, Copy, Debug)]
enum Polls {
    /// As often as it must.
    Tied,
    /// As often as it likes, since that costs nothing.
    Free,
    /// As this column says.
    Apart(usize),
}

impl AtLeast {
    pub(crate) fn new(host: &Host<'_>, members: impl Iterator<Item = Member> + Clone) -> Self {
        let apps = &host.applications;
        let mut program = Program {
            kernel: AnyKernel::new(alpha(host)),
            alpha: alpha(host),
            columns: Vec::new(),
            uses: Vec::new(),
            supplies: staircases(host),
        };
        let (mut applications, mut next) = (Vec::new(), members.clone().count());
        for m in members.clone() {
            let completions = apps.completions[m.index];
            let polls = match (latency(host, m) > 0.0, most_polls(host, m) > 0.0) {
                (true, true) => Polls::Apart(next),
                (true, false) => Polls::Free,
                (false, _) => Polls::Tied,
            };
            let apart = matches!(polls, Polls::Apart(_));
            for row in 0..host.rows.len() {
                match is_polled(host, row) {
                    true if apart => {}
                    true => program.use_row(row, completions * load(host, row, m)),
                    false => program.use_row(row, load(host, row, m)),
                }
            }
            if apart {
                program.use_row(program.supplies.len(), completions * most_polls(host, m));
                program.supplies.push(Staircase::tie());
                next += 1;
            }
            let weight = if m.counts { apps.weight[m.index] } else { 0.0 };
            let floor = apps.minimum[m.index];
            program.columns.push(Column {
                weight,
                low: floor,
                high: match apart && weight == 0.0 {
                    true => floor,
                    false => apps.maximum[m.index],
                },
                end: program.uses.len(),
                ..Column::default()
            });
            applications.push(Application { completions, polls });
        }
        let mut built = Self {
            program,
            applications,
            rows: host.rows.len(),
        };
        built.add_polls(host, members);
        built
    }

    /// Adds columns of polls that are apart.
    fn add_polls(&mut self, host: &Host<'_>, members: impl Iterator<Item = Member>) {
        let apps = &host.applications;
        let mut tie = self.rows;
        for (m, application) in members.zip(&self.applications) {
            let Polls::Apart(_) = application.polls else {
                continue;
            };
            for row in (0..self.rows).filter(|row| is_polled(host, *row)) {
                self.program.use_row(row, load(host, row, m));
            }
            self.program.use_row(tie, -most_polls(host, m));
            tie += 1;
            self.program.columns.push(Column {
                kappa: latency(host, m),
                low: application.completions * apps.minimum[m.index],
                high: f64::INFINITY,
                end: self.program.uses.len(),
                ..Column::default()
            });
        }
    }

    /// Number of applications.
    pub(crate) fn len(&self) -> usize {
        self.applications.len()
    }

    /// Uses of the host's rows by a rate.
    fn uses(&self, column: usize) -> impl Iterator<Item = (usize, f64)> {
        let uses = self.program.uses(column).iter();
        let uses = uses.map(|(row, load)| (*row as usize, *load));
        uses.filter(|(row, _)| *row < self.rows)
    }

    /// What application `j` keeps after paying, and its use of each row.
    pub(crate) fn keeps(&self, prices: &[f64], j: usize) -> (f64, [f64; Host::MOST_ROWS]) {
        let price = |column: usize| {
            let uses = self.uses(column);
            uses.fold(0.0, |price, (row, load)| price + load * prices[row])
        };
        let gains = |column: &Column, price: f64| {
            let rate = self.program.answer(column, price).min(MOST);
            // Nothing is paid for what is used without end at no price.
            let paid = if price > 0.0 { price * rate } else { 0.0 };
            (rate, self.program.worth(column, rate) - paid)
        };
        let mut usage = [0.0; Host::MOST_ROWS];
        let mut used = |column: usize, rate: f64| {
            self.uses(column)
                .for_each(|(row, load)| usage[row] += load * rate);
        };
        let (column, request) = (&self.program.columns[j], price(j));
        let (x, mut kept) = gains(column, request);
        let Application { completions, polls } = self.applications[j];
        let Polls::Apart(apart) = polls else {
            used(j, x);
            return (kept, usage);
        };
        let (own, poll) = (&self.program.columns[apart], price(apart));
        let (z, more) = match poll > 0.0 {
            true => gains(own, poll),
            false => (MOST_POLLS, 0.0),
        };
        if z >= completions * x {
            used(j, x);
            used(apart, z);
            return (kept + more, usage);
        }
        let tied = Column {
            kappa: own.kappa / (completions * completions),
            ..*column
        };
        let x;
        (x, kept) = gains(&tied, request + completions * poll);
        used(j, x);
        used(apart, completions * x);
        (kept, usage)
    }

    /// Rates made feasible, and what prices of the host's rows bound them by. The rates are those of requests, and then of
    /// polls.
    fn certified(&self, rates: &[f64], prices: &[f64], passes: usize) -> Answer {
        let mut rates = rates.to_vec();
        let columns = &self.program.columns;
        for (j, Application { completions, polls }) in self.applications.iter().enumerate() {
            rates[j] = clamp(rates[j], columns[j].low, columns[j].high);
            if let Polls::Apart(apart) = *polls {
                rates[apart] = rates[apart].max(completions * rates[j]);
            }
        }
        self.program.reduce(&mut rates);
        let mut all = Vec::with_capacity(self.len());
        for (j, Application { completions, polls }) in self.applications.iter().enumerate() {
            all.push(match *polls {
                Polls::Tied => completions * rates[j],
                Polls::Free => MOST_POLLS.max(completions * rates[j]),
                Polls::Apart(apart) => {
                    rates[j] = rates[j].min(rates[apart] / completions).max(columns[j].low);
                    rates[apart].max(completions * rates[j])
                }
            });
        }
        let supplies = &self.program.supplies[..self.rows];
        let prices = offered(supplies, prices);
        let worth = supplies.iter().zip(&prices);
        let worth: f64 = worth.map(|(supply, price)| supply.worth(*price)).sum();
        let kept: f64 = (0..self.len()).map(|j| self.keeps(&prices, j).0).sum();
        let bound = worth + kept;
        let objective = self.program.value(&rates);
        rates.truncate(self.len());
        rates.append(&mut all);
        Answer {
            objective,
            bound: if bound.is_nan() { f64::INFINITY } else { bound },
            rates,
            prices,
            passes,
        }
    }
}

/// Whether a row is used by polls.
fn is_polled(host: &Host<'_>, row: usize) -> bool {
    host.rows[row].is_per_completion()
}

/// Use of a row for a request or a poll, over the row's unit.
fn load(host: &Host<'_>, row: usize, m: Member) -> f64 {
    let row = &host.rows[row];
    row.load_of(&host.applications, m.index) / unit(&row.supply)
}

/// The most that a poll uses of a row that costs something.
fn most_polls(host: &Host<'_>, m: Member) -> f64 {
    let costs = |row: &usize| match host.rows[*row].supply {
        Supply::Capacity(_) => true,
        Supply::Price(segments) => segments.iter().any(|(_, slope)| *slope > 0.0),
    };
    let rows = (0..host.rows.len()).filter(|row| is_polled(host, *row));
    let rows = rows.filter(costs);
    rows.map(|row| load(host, row, m)).fold(0.0, f64::max)
}

/// `2 beta v`, the latency coefficient of polls.
fn latency(host: &Host<'_>, m: Member) -> f64 {
    2.0 * host.utility.latency * host.applications.latency_weight[m.index]
}

/// Solves the problem; answers with rates of work requests and of polls.
pub(crate) fn solve(problem: &AtLeast, options: &Options) -> Result<(Answer, Vec<f64>), Error> {
    let certify = |rates: &[f64], prices: &[f64], passes| problem.certified(rates, prices, passes);
    let found = problem.program.solve_with(options.tolerance, certify);
    let mut answer = found.ok_or(Error::Range)?;
    let polls = answer.rates.split_off(problem.len());
    Ok((answer, polls))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::host::{Dependency, Fairness, Utility};
    use crate::problem::everyone;
    use crate::table::{Application, Table};

    proptest! {
        #[test]
        fn rates_and_prices_certify_each_other(
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
            let problem = AtLeast::new(&host, everyone(table.len()));
            let (answer, polls) = solve(&problem, &Options::default()).expect("an answer");
            prop_assert!(answer.gap() < 1e-12, "{:e} {answer:?}", answer.gap());
            for (j, (x, z)) in answer.rates.iter().zip(polls).enumerate() {
                prop_assert!(z >= table.application(j).completions * x);
            }
        }
    }
}
