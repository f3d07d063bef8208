//! What a mode that selects allows, and whether that makes sense.

use alloc::vec::Vec;

use super::chooser::selected;
use super::dual::Unselected;
use crate::error::{Error, Place};
use crate::host::{Applications, Fairness, Host, Row, Supply};
use crate::mode::Mode;
use crate::problem::kappa;
use crate::search::State;
use crate::solve::{check_floors, members};

/// What the mode allows.
pub(crate) struct Rules {
    pub(crate) k: usize,
    /// What applications are worth that don't send; none if all send.
    pub(super) outages: Option<Vec<f64>>,
    /// Who has to be selected.
    pub(crate) states: Vec<State>,
}

impl Rules {
    pub(super) fn new(host: &Host<'_>, mode: &Mode<'_>) -> Result<Self, Error> {
        let applications = host.applications.len();
        if host.utility.fairness == Fairness::MaxMin {
            return Err(Error::Unsupported {
                place: Place::Field("mode"),
                reason: "max-min serves everyone, so it can't select",
                hint: "use time sharing, or a finite alpha",
            });
        }
        let rules = match *mode {
            Mode::ActiveSet { k, outage } => Self::active(host, k, outage)?,
            Mode::TopUtilities { k } => {
                check_floors(host, members(host, &[]).into_iter())?;
                Self {
                    k,
                    outages: None,
                    states: alloc::vec![State::Free; applications],
                }
            }
            Mode::All | Mode::Selected(_) | Mode::TimeShare { .. } => {
                unreachable!("the caller knows that applications are selected")
            }
        };
        if rules.k == 0 || rules.k > applications {
            return Err(Error::Selection {
                expected: alloc::format!(
                    "{} of {applications} applications can't be selected",
                    rules.k
                ),
            });
        }
        Ok(rules)
    }

    fn active(host: &Host<'_>, k: usize, outage: Option<&[f64]>) -> Result<Self, Error> {
        let floors = host.applications.minimum;
        // A floor holds for those who send; only who is worth nothing at all otherwise has to.
        let must = |index: usize| outage.is_some_and(|outage| outage[index] == f64::NEG_INFINITY);
        check_outage(host, outage)?;
        let state = |index| if must(index) { State::In } else { State::Free };
        let states: Vec<State> = (0..floors.len()).map(state).collect();
        let forced: Vec<usize> = (0..floors.len()).filter(|index| must(*index)).collect();
        if forced.len() > k {
            return Err(Error::Selection {
                expected: alloc::format!(
                    "{} applications have to be active, {k} may",
                    forced.len()
                ),
            });
        }
        check_floors(host, selected(&forced))?;
        let value = |index: usize| match outage {
            Some(outage) if !must(index) => outage[index],
            _ => 0.0,
        };
        Ok(Self {
            k,
            outages: Some((0..floors.len()).map(value).collect()),
            states,
        })
    }

    pub(crate) fn unselected(&self) -> Unselected<'_> {
        match &self.outages {
            Some(outages) => Unselected::Outage(outages),
            None => Unselected::Sends,
        }
    }
}

/// Maxima under which the dual function is finite: without a latency term and at alpha 0, rates without a
/// maximum get what rows have.
pub(crate) fn caps(host: &Host<'_>) -> Vec<f64> {
    let caps = host.applications.maximum;
    if host.utility.fairness != Fairness::Alpha(0.0) {
        return caps.to_vec();
    }
    let cap = |(index, cap): (usize, &f64)| {
        if cap.is_finite() {
            return *cap;
        }
        let implied = implied_cap(host, index).min(worthwhile(host, index));
        if implied.is_finite() { implied } else { *cap }
    };
    caps.iter().enumerate().map(cap).collect()
}

/// The most that prices let an application without latency send at alpha 0: beyond the start of the last slope
/// that is at least its weight nothing is gained.
fn worthwhile(host: &Host<'_>, index: usize) -> f64 {
    let apps = &host.applications;
    if kappa(host, index) > 0.0 {
        return f64::INFINITY;
    }
    let most = |row: &Row<'_>| match row.supply {
        Supply::Capacity(_) => f64::INFINITY,
        Supply::Price(segments) => {
            let load = row.coefficient(apps, index);
            let dear = segments
                .iter()
                .find(|(_, slope)| slope * load >= apps.weight[index]);
            dear.map_or(f64::INFINITY, |(start, _)| start / load)
        }
    };
    let rows = host.rows.iter().map(most);
    let most = rows.fold(
        f64::INFINITY,
        |most, row| if row < most { row } else { most },
    );
    most.max(apps.minimum[index]).max(f64::MIN_POSITIVE)
}

/// The most that capacities leave an application if it has them for itself.
pub(crate) fn implied_cap(host: &Host<'_>, index: usize) -> f64 {
    let room = |row: &Row<'_>| match row.supply {
        Supply::Capacity(capacity) => capacity / row.coefficient(&host.applications, index),
        Supply::Price(_) => f64::INFINITY,
    };
    let rows = host.rows.iter().map(room);
    rows.fold(host.applications.maximum[index], f64::min)
}

fn check_outage(host: &Host<'_>, outage: Option<&[f64]>) -> Result<(), Error> {
    let natural = host.utility.latency == 0.0
        && matches!(host.utility.fairness, Fairness::Alpha(alpha) if alpha < 1.0);
    let Some(outage) = outage else {
        return if natural {
            Ok(())
        } else {
            Err(Error::Unsupported {
                place: Place::Field("outage"),
                reason: "not sending has no natural value with a latency term or alpha from 1 on",
                hint: "give each application an outage value, such as its utility at a thousandth of \
                       the fair share",
            })
        };
    };
    if outage.len() != host.applications.len() {
        return Err(Error::Shape {
            place: Place::Field("outage"),
            length: outage.len(),
            applications: host.applications.len(),
        });
    }
    let wrong = outage
        .iter()
        .position(|o| o.is_nan() || *o == f64::INFINITY);
    match wrong {
        Some(index) => Err(Error::Number {
            place: Place::Entry("outage", index),
            value: outage[index],
            expected: "a number, or minus infinity for an application that has to be active",
        }),
        None => Ok(()),
    }
}

/// A host's applications with other maxima.
pub(crate) fn with_caps<'a>(host: &Host<'a>, caps: &'a [f64]) -> Host<'a> {
    Host {
        applications: Applications {
            maximum: caps,
            ..host.applications
        },
        ..host.clone()
    }
}
