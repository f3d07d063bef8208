//! The problem of one host, as it is asked.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::error::{Error, Place};

/// The applications of a host by column, one entry each; see [`Application`](crate::Application).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Applications<'a> {
    /// Weights `w` of throughput.
    pub weight: &'a [f64],
    /// Weights `v` of latency.
    pub latency_weight: &'a [f64],
    /// Completions for each work request, `a` (CQE/WQE).
    pub completions: &'a [f64],
    /// Bytes for each work request, `b` (B/WQE).
    pub bytes: &'a [f64],
    /// What a poll costs, `d` (CPU-s/CQE).
    pub poll_cost: &'a [f64],
    /// Least rates (WQE/s).
    pub minimum: &'a [f64],
    /// Greatest rates (WQE/s), infinity where there is none.
    pub maximum: &'a [f64],
}

impl Applications<'_> {
    /// Number of applications.
    pub fn len(&self) -> usize {
        self.weight.len()
    }

    /// Whether there is no application.
    pub fn is_empty(&self) -> bool {
        self.weight.is_empty()
    }

    fn check(&self) -> Result<(), Error> {
        let columns: [(&'static str, &[f64], Range); 7] = [
            ("weight", self.weight, Range::NotNegative),
            ("latency_weight", self.latency_weight, Range::NotNegative),
            ("a", self.completions, Range::Positive),
            ("bytes_per_wqe", self.bytes, Range::NotNegative),
            ("poll_cost", self.poll_cost, Range::NotNegative),
            ("x_min", self.minimum, Range::NotNegative),
            ("x_max", self.maximum, Range::PositiveOrInfinite),
        ];
        if self.is_empty() {
            return Err(Error::Empty);
        }
        for (name, column, range) in columns {
            range.check_column(name, column, self.len())?;
        }
        for (index, (&least, &most)) in self.minimum.iter().zip(self.maximum).enumerate() {
            if least > most {
                return Err(Error::Number {
                    place: Place::Entry("x_max", index),
                    value: most,
                    expected: "at least x_min",
                });
            }
        }
        Ok(())
    }
}

/// How throughput is weighed between applications.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fairness {
    /// Alpha-fair: `w x^(1 - alpha) / (1 - alpha)`, and `w log x` at 1. 0 is the greatest throughput.
    Alpha(f64),
    /// Weighted max-min, the limit of great alpha where weights are shares of rate.
    MaxMin,
}

/// What rates are worth: throughput by [`Fairness`], and `-beta v z^-2` for latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Utility {
    /// How throughput is weighed.
    pub fairness: Fairness,
    /// How much latency counts against throughput, `beta`.
    pub latency: f64,
}

/// How completions depend on work requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dependency {
    /// As many completions are polled as there are: `z = a x`.
    #[default]
    Equality,
    /// Polls are attempts, some in vain: `z >= a x`.
    AtLeast,
}

/// What a row is called in results and errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowName<'a> {
    /// Egress of the NIC.
    Egress,
    /// The budget for polling.
    Poll,
    /// Active queue pairs.
    Slots,
    /// Any other.
    Other(&'a str),
}

impl RowName<'_> {
    /// The name in results.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Egress => "egress",
            Self::Poll => "poll",
            Self::Slots => "slots",
            Self::Other(name) => name,
        }
    }

    pub(crate) fn place(&self) -> Place {
        Place::Row(self.owned())
    }

    fn owned(&self) -> String {
        self.as_str().to_string()
    }
}

/// How much of a row each application uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load<'a> {
    /// Its bytes for each work request.
    Bytes,
    /// Its poll cost for each completion.
    Polls,
    /// So much for each work request, by application.
    Requests(&'a [f64]),
    /// So much for each completion, by application.
    Completions(&'a [f64]),
}

/// How much of a row there is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Supply<'a> {
    /// So much and no more.
    Capacity(f64),
    /// As much as is worth its price: slopes of a convex piecewise linear cost, each with the use from
    /// which on it holds. The first begins at 0.
    Price(&'a [(f64, f64)]),
}

/// Something that applications share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<'a> {
    /// What it is called.
    pub name: RowName<'a>,
    /// How much of it each application uses.
    pub load: Load<'a>,
    /// How much of it there is.
    pub supply: Supply<'a>,
}

impl Row<'_> {
    /// Use of the row for each completion of an application, which isn't counted for each request.
    pub(crate) const fn is_per_completion(&self) -> bool {
        matches!(self.load, Load::Polls | Load::Completions(_))
    }

    /// Use of the row by an application for one of its work requests, or for one of its completions.
    pub(crate) fn load_of(&self, applications: &Applications<'_>, index: usize) -> f64 {
        self.loads(applications)[index]
    }

    /// [`load_of`](Self::load_of) each application.
    pub(crate) const fn loads<'b>(&self, applications: &Applications<'b>) -> &'b [f64]
    where
        Self: 'b,
    {
        match self.load {
            Load::Bytes => applications.bytes,
            Load::Polls => applications.poll_cost,
            Load::Requests(loads) | Load::Completions(loads) => loads,
        }
    }

    /// Use of the row by an application for one of its work requests and what follows from it.
    ///
    /// # Panics
    /// If there is no such application.
    pub fn coefficient(&self, applications: &Applications<'_>, index: usize) -> f64 {
        let load = self.load_of(applications, index);
        if self.is_per_completion() {
            load * applications.completions[index]
        } else {
            load
        }
    }

    fn check(&self, applications: usize) -> Result<(), Error> {
        if let Load::Requests(loads) | Load::Completions(loads) = self.load {
            check_length(self.name.place(), loads.len(), applications)?;
            for (index, &load) in loads.iter().enumerate() {
                let place = || Place::RowEntry(self.name.owned(), index);
                Range::NotNegative.check(place, load)?;
            }
        }
        match self.supply {
            Supply::Capacity(capacity) => Range::Positive.check(|| self.name.place(), capacity),
            Supply::Price(segments) => self.check_price(segments),
        }
    }

    fn check_price(&self, segments: &[(f64, f64)]) -> Result<(), Error> {
        let refuse = |value, expected| {
            Err(Error::Number {
                place: self.name.place(),
                value,
                expected,
            })
        };
        let Some(&(first, _)) = segments.first() else {
            return Err(Error::Unsupported {
                place: self.name.place(),
                reason: "its price has no segment",
                hint: "give at least [0, slope], or a capacity",
            });
        };
        if first != 0.0 {
            return refuse(first, "0, where the first segment of a price begins");
        }
        for &(start, slope) in segments {
            if !(start.is_finite() && slope.is_finite() && slope >= 0.0) {
                return refuse(
                    if start.is_finite() { slope } else { start },
                    "finite and not negative",
                );
            }
        }
        for pair in segments.windows(2) {
            if pair[1].0 <= pair[0].0 {
                return refuse(pair[1].0, "beyond the start of the segment before");
            }
            if pair[1].1 < pair[0].1 {
                return refuse(
                    pair[1].1,
                    "at least the slope before: a price must be convex",
                );
            }
        }
        Ok(())
    }
}

/// The problem of one host.
#[derive(Clone, Debug, PartialEq)]
pub struct Host<'a> {
    /// Its applications.
    pub applications: Applications<'a>,
    /// What their rates are worth.
    pub utility: Utility,
    /// How completions depend on work requests.
    pub dependency: Dependency,
    /// What they share, 1 to [`Host::MOST_ROWS`] rows.
    pub rows: Vec<Row<'a>>,
}

impl<'a> Host<'a> {
    /// Most rows of a host, the one for queue pairs included.
    pub const MOST_ROWS: usize = 8;

    /// A host that shares its egress (B/s) and its budget for polling (CPU-s/s).
    pub fn new(applications: Applications<'a>, utility: Utility, egress: f64, poll: f64) -> Self {
        let row = |name, load, capacity| Row {
            name,
            load,
            supply: Supply::Capacity(capacity),
        };
        Self {
            applications,
            utility,
            dependency: Dependency::Equality,
            rows: Vec::from([
                row(RowName::Egress, Load::Bytes, egress),
                row(RowName::Poll, Load::Polls, poll),
            ]),
        }
    }

    /// Whether all numbers are in range and rates have limits.
    ///
    /// # Errors
    /// The first thing that is wrong and where. Floors are checked by [`solve`](crate::solve), which
    /// knows whom they concern.
    pub fn check(&self) -> Result<(), Error> {
        self.applications.check()?;
        self.check_utility()?;
        if self.rows.len() > Self::MOST_ROWS {
            return Err(Error::Unsupported {
                place: Place::Field("rows"),
                reason: "a host has at most 8 rows",
                hint: "add rows up that applications use in the same proportion",
            });
        }
        for row in &self.rows {
            row.check(self.applications.len())?;
        }
        self.check_limits()?;
        self.check_scales()
    }

    /// Whether rates are numbers that can be calculated with: what a row has over what a rate uses of it.
    fn check_scales(&self) -> Result<(), Error> {
        for row in &self.rows {
            let Supply::Capacity(capacity) = row.supply else {
                continue;
            };
            for index in 0..self.applications.len() {
                let use_of = row.coefficient(&self.applications, index);
                if use_of > 0.0 && !SCALES.contains(&(capacity / use_of)) {
                    return Err(Error::Unsupported {
                        place: Place::RowEntry(row.name.owned(), index),
                        reason: "its capacity over what a rate uses of it is no rate from 1e-100 to 1e100",
                        hint: "count bytes, time or work requests in other units, so that rates come closer to 1",
                    });
                }
            }
        }
        Ok(())
    }

    fn check_utility(&self) -> Result<(), Error> {
        let beta = self.utility.latency;
        Range::NotNegative.check(|| Place::Field("beta"), beta)?;
        if self.dependency == Dependency::AtLeast
            && self.utility.fairness == Fairness::Alpha(0.0)
            && beta > 0.0
        {
            return Err(Error::Unsupported {
                place: Place::Field("dependency"),
                reason: "alpha 0 with latency and polls as attempts has rates that aren't unique",
                hint: "use z = a x, or a small alpha such as 0.01",
            });
        }
        match self.utility.fairness {
            Fairness::Alpha(alpha) => Range::NotNegative.check(|| Place::Field("alpha"), alpha),
            Fairness::MaxMin if beta > 0.0 => Err(Error::Unsupported {
                place: Place::Field("beta"),
                reason: "max-min has no latency term",
                hint: "set beta to 0, or use a finite alpha",
            }),
            Fairness::MaxMin => Ok(()),
        }
    }

    /// Whether each application has a maximum, or uses a row with a limit or a price.
    fn check_limits(&self) -> Result<(), Error> {
        let limited = |index: usize| {
            let uses = |row: &Row<'_>| row.load_of(&self.applications, index) > 0.0;
            self.rows
                .iter()
                .any(|row| uses(row) && self.limits(row, index))
        };
        let unlimited = (0..self.applications.len())
            .find(|&index| self.applications.maximum[index].is_infinite() && !limited(index));
        match unlimited {
            Some(application) => Err(Error::Unbounded { application }),
            None => Ok(()),
        }
    }

    /// Whether a row that an application uses keeps its rate finite.
    fn limits(&self, row: &Row<'_>, index: usize) -> bool {
        match row.supply {
            Supply::Capacity(_) => true,
            Supply::Price(segments) => {
                let slope = segments.last().map_or(0.0, |last| last.1);
                let cost = slope * row.coefficient(&self.applications, index);
                let gain = match self.utility.fairness {
                    Fairness::Alpha(0.0) => self.applications.weight[index],
                    _ => 0.0,
                };
                cost > 0.0 && cost >= gain
            }
        }
    }
}

/// Rates that are calculated with: powers of them are numbers too.
pub(crate) const SCALES: core::ops::RangeInclusive<f64> = 1e-100..=1e100;

/// What a number may be.
#[derive(Clone, Copy)]
pub(crate) enum Range {
    Positive,
    NotNegative,
    PositiveOrInfinite,
}

impl Range {
    /// A column of so many numbers.
    pub(crate) fn check_column(
        self,
        name: &'static str,
        column: &[f64],
        applications: usize,
    ) -> Result<(), Error> {
        check_length(Place::Field(name), column.len(), applications)?;
        for (index, &value) in column.iter().enumerate() {
            self.check(|| Place::Entry(name, index), value)?;
        }
        Ok(())
    }

    pub(crate) fn check(self, place: impl FnOnce() -> Place, value: f64) -> Result<(), Error> {
        let (fits, expected) = match self {
            Self::Positive => (value > 0.0 && value.is_finite(), "a positive number"),
            Self::NotNegative => (
                value >= 0.0 && value.is_finite(),
                "a number that is not negative",
            ),
            Self::PositiveOrInfinite => (value > 0.0, "a positive number, or none"),
        };
        if fits {
            Ok(())
        } else {
            Err(Error::Number {
                place: place(),
                value,
                expected,
            })
        }
    }
}

pub(crate) fn check_length(place: Place, length: usize, applications: usize) -> Result<(), Error> {
    if length == applications {
        Ok(())
    } else {
        Err(Error::Shape {
            place,
            length,
            applications,
        })
    }
}
