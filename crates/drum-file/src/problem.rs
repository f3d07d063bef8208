//! Inputs as the solver takes them.

use fairlane_drum::{
    Application, Fairness, Host, Load, Mode as Selection, Row, RowName, Supply, Table, Utility,
};

use crate::error::{Error, SCHEMA};
use crate::inputs::{Alpha, Dependency, HostInputs, HostRow, Inputs, Mode, Per};

/// What is asked beyond what the document says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Request {
    /// Instead of the document's mode.
    pub mode: Option<Mode>,
    /// Instead of the document's `k`.
    pub k: Option<f64>,
    /// Relative gap between value and bound at which the solver stops, instead of its own.
    pub tolerance: Option<f64>,
}

/// The problem of one host with everything filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct HostProblem {
    /// Its applications.
    pub table: Table,
    /// What rates are worth.
    pub utility: Utility,
    /// How completions depend on work requests.
    pub dependency: fairlane_drum::Dependency,
    /// How applications are selected.
    pub mode: Mode,
    /// Queue pairs that may be active at a time.
    pub k: Option<f64>,
    /// Rates of applications while they are active (WQE/s).
    pub peak: Option<Vec<f64>>,
    /// Values of applications that don't send.
    pub outage: Option<Vec<f64>>,
    rows: Vec<OwnRow>,
    /// What applications are called.
    pub(crate) names: Option<Vec<String>>,
}

/// A row with storage of its own.
#[derive(Clone, Debug, PartialEq)]
struct OwnRow {
    name: OwnName,
    supply: OwnSupply,
}

#[derive(Clone, Debug, PartialEq)]
enum OwnName {
    Egress,
    Poll,
    Other(String, Per, Vec<f64>),
}

#[derive(Clone, Debug, PartialEq)]
enum OwnSupply {
    Capacity(f64),
    Price(Vec<(f64, f64)>),
}

impl HostProblem {
    /// Fills in what the inputs of a host leave out.
    ///
    /// # Errors
    /// If the inputs are of another kind, or don't go together.
    pub fn new(inputs: Inputs, request: &Request) -> Result<Self, Error> {
        let (host, mode, priced) = match inputs {
            Inputs::HostFixed(host) => (host, Some(Mode::Fixed), false),
            Inputs::HostPwl(host) => (host, Some(Mode::Fixed), true),
            Inputs::HostTopk(host) => (host, None, false),
            Inputs::HostTimeshare(host) => (host, Some(Mode::Timeshare), false),
            Inputs::Coupled(_) => {
                let hint = "give a problem of one host: kind host_fixed, host_pwl, host_topk or host_timeshare";
                return Err(Error::new(
                    "kind",
                    "a network of hosts, expected one host",
                    hint,
                ));
            }
        };
        let mode = request.mode.or(host.mode).or(mode).ok_or_else(|| {
            let hint = "add \"mode\": \"topk_utility\" or \"active_set\"";
            Error::new("inputs.mode", "missing", hint)
        })?;
        build(host, priced, mode, request)
    }

    /// The problem as the solver reads it.
    pub fn host(&self) -> Host<'_> {
        Host {
            applications: self.table.view(),
            utility: self.utility,
            dependency: self.dependency,
            rows: self.rows.iter().map(OwnRow::view).collect(),
        }
    }

    /// What an application is called.
    pub(crate) fn name(&self, application: usize) -> Option<String> {
        let names = self.names.as_ref()?;
        names.get(application).cloned()
    }

    /// Names of the rows, that of the slots behind those of the document.
    pub(crate) fn row_names(&self) -> Vec<String> {
        let host = self.host();
        let rows = host.rows.iter().map(|row| row.name.as_str().to_owned());
        let slots = (self.mode == Mode::Timeshare && self.peak.is_some()).then(|| "slots".into());
        rows.chain(slots).collect()
    }

    /// Where in the document the supply of each row stands.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut others = 0;
        let path = |row: &OwnRow| match (&row.name, &row.supply) {
            (OwnName::Egress, OwnSupply::Capacity(_)) => "Q".to_owned(),
            (OwnName::Egress, OwnSupply::Price(_)) => "segments".to_owned(),
            (OwnName::Poll, _) => "C".to_owned(),
            (OwnName::Other(..), supply) => {
                let key = match supply {
                    OwnSupply::Capacity(_) => "capacity",
                    OwnSupply::Price(_) => "segments",
                };
                others += 1;
                format!("rows[{}].{key}", others - 1)
            }
        };
        self.rows.iter().map(path).collect()
    }

    /// The selection as the solver reads it; methods that aren't selections solve for everyone.
    ///
    /// # Errors
    /// If `k` or the peak rates are missing or no such numbers.
    pub fn selection(&self) -> Result<Selection<'_>, Error> {
        Ok(match self.mode {
            Mode::Fixed | Mode::Admm | Mode::DualDecomposition => Selection::All,
            Mode::TopkUtility | Mode::Paper => Selection::TopUtilities { k: self.whole_k()? },
            Mode::ActiveSet => Selection::ActiveSet {
                k: self.whole_k()?,
                outage: self.outage.as_deref(),
            },
            Mode::Timeshare => Selection::TimeShare {
                k: self.k.ok_or_else(no_k)?,
                peak: self.peak.as_deref().ok_or_else(no_peak)?,
            },
        })
    }

    /// `k` as a number of applications.
    ///
    /// # Errors
    /// If it is missing, not a whole number, below 1 or above the number of applications.
    pub fn whole_k(&self) -> Result<usize, Error> {
        whole(self.k, self.table.len())
    }
}

/// `k` as one of `most` applications of a host.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole and in range by the check before"
)]
pub(crate) fn whole(k: Option<f64>, most: usize) -> Result<usize, Error> {
    let k = k.ok_or_else(no_k)?;
    if !(k >= 1.0 && k <= most as f64 && k.fract() == 0.0) {
        let message =
            format!("{k} is not a whole number from 1 to the number of applications, {most}");
        return Err(Error::new("inputs.k", message, SCHEMA));
    }
    Ok(k as usize)
}

fn no_k() -> Error {
    Error::new(
        "inputs.k",
        "missing",
        "add \"k\": 20, or --k 20: queue pairs active at a time",
    )
}

fn no_peak() -> Error {
    let hint = "add \"peak_rate\": [...]: each application's rate while it is active (WQE/s)";
    Error::new("inputs.peak_rate", "missing", hint)
}

fn build(
    inputs: HostInputs,
    priced: bool,
    mode: Mode,
    request: &Request,
) -> Result<HostProblem, Error> {
    let bytes = required(
        &inputs.bytes_per_wqe,
        "bytes_per_wqe",
        "bytes of each work request",
    )?;
    required(
        &inputs.poll_cost,
        "poll_cost",
        "processor time of each poll (CPU-s)",
    )?;
    let count = inputs.m.unwrap_or(bytes.len());
    check_columns(&inputs, count)?;
    let rows = rows(&inputs, priced)?;
    let columns = Columns {
        alpha: inputs.alpha,
        count,
    };
    let ones = |column: Option<Vec<f64>>| column.unwrap_or_else(|| vec![1.0; count]);
    let table = Table {
        weight: columns.weight(inputs.weight, inputs.share)?,
        latency_weight: ones(inputs.latency_weight),
        completions: ones(inputs.a),
        bytes: inputs.bytes_per_wqe.unwrap_or_default(),
        poll_cost: inputs.poll_cost.unwrap_or_default(),
        minimum: inputs.x_min.unwrap_or_else(|| vec![0.0; count]),
        maximum: columns.maximum(inputs.x_max),
    };
    Ok(HostProblem {
        names: inputs.names,
        table,
        utility: Utility {
            fairness: columns.fairness(),
            latency: inputs.beta,
        },
        dependency: match inputs.dependency {
            Dependency::Equality => fairlane_drum::Dependency::Equality,
            Dependency::AtLeast => fairlane_drum::Dependency::AtLeast,
        },
        mode,
        k: request.k.or(inputs.k),
        peak: inputs.peak_rate,
        outage: inputs.outage,
        rows,
    })
}

/// What columns of applications have in common.
pub(crate) struct Columns {
    pub(crate) alpha: Alpha,
    pub(crate) count: usize,
}

impl Columns {
    pub(crate) fn fairness(&self) -> Fairness {
        match self.alpha {
            Alpha::Number(alpha) => Fairness::Alpha(alpha),
            Alpha::MaxMin => Fairness::MaxMin,
        }
    }

    /// Weights, perhaps from shares.
    pub(crate) fn weight(
        &self,
        weight: Option<Vec<f64>>,
        share: Option<Vec<f64>>,
    ) -> Result<Vec<f64>, Error> {
        match (weight, share) {
            (Some(weight), None) => Ok(weight),
            (None, Some(share)) => self.of_shares(share),
            (None, None) => {
                let hint = "add \"weight\": [...], one number for each application";
                Err(Error::new("inputs.weight", "missing", hint))
            }
            (Some(_), Some(_)) => {
                let message = "given together with weight, expected one of them";
                Err(Error::new("inputs.share", message, "remove one of them"))
            }
        }
    }

    fn of_shares(&self, share: Vec<f64>) -> Result<Vec<f64>, Error> {
        let wrong = share
            .iter()
            .position(|share| share.is_nan() || *share < 0.0);
        if let Some(index) = wrong {
            let message = format!("{} is not a number that is not negative", share[index]);
            return Err(Error::new(
                format!("inputs.share[{index}]"),
                message,
                SCHEMA,
            ));
        }
        Ok(match self.alpha {
            Alpha::Number(alpha) => share.iter().map(|share| libm::pow(*share, alpha)).collect(),
            Alpha::MaxMin => share,
        })
    }

    /// Greatest rates with infinity for none.
    pub(crate) fn maximum(&self, maximum: Option<Vec<Option<f64>>>) -> Vec<f64> {
        match maximum {
            Some(column) => column
                .iter()
                .map(|rate| rate.unwrap_or(f64::INFINITY))
                .collect(),
            None => vec![f64::INFINITY; self.count],
        }
    }
}

/// A column that no problem of a host does without.
fn required<'a>(
    column: &'a Option<Vec<f64>>,
    key: &str,
    what: &str,
) -> Result<&'a Vec<f64>, Error> {
    column.as_ref().ok_or_else(|| {
        let hint = format!("add \"{key}\": [...], {what}");
        Error::new(format!("inputs.{key}"), "missing", hint)
    })
}

/// Every column that is there must have one entry for each application.
fn check_columns(inputs: &HostInputs, count: usize) -> Result<(), Error> {
    let length = |column: &Option<Vec<f64>>| column.as_ref().map(Vec::len);
    let columns = [
        ("names", inputs.names.as_ref().map(Vec::len)),
        ("weight", length(&inputs.weight)),
        ("share", length(&inputs.share)),
        ("latency_weight", length(&inputs.latency_weight)),
        ("a", length(&inputs.a)),
        ("bytes_per_wqe", length(&inputs.bytes_per_wqe)),
        ("poll_cost", length(&inputs.poll_cost)),
        ("x_min", length(&inputs.x_min)),
        ("x_max", inputs.x_max.as_ref().map(Vec::len)),
        ("peak_rate", length(&inputs.peak_rate)),
        ("outage", length(&inputs.outage)),
    ];
    for (name, length) in columns {
        length.map_or(Ok(()), |length| check_count(Some(count), length, name))?;
    }
    Ok(())
}

/// The document's own count of applications must be that of its columns.
pub(crate) fn check_count(stated: Option<usize>, count: usize, column: &str) -> Result<(), Error> {
    match stated {
        Some(stated) if stated != count => {
            let message = format!("{count} entries for {stated} applications");
            let hint = "every column has one entry for each application";
            Err(Error::new(format!("inputs.{column}"), message, hint))
        }
        _ => Ok(()),
    }
}

/// Egress and polling as far as they have limits, then the others.
fn rows(inputs: &HostInputs, priced: bool) -> Result<Vec<OwnRow>, Error> {
    let mut rows = Vec::new();
    match (priced, &inputs.segments, inputs.egress) {
        (true, Some(segments), None) => {
            rows.push(OwnRow {
                name: OwnName::Egress,
                supply: OwnSupply::Price(segments.clone()),
            });
        }
        (false, None, Some(capacity)) => rows.extend(capacity.map(|capacity| OwnRow {
            name: OwnName::Egress,
            supply: OwnSupply::Capacity(capacity),
        })),
        (true, None, _) => return Err(needed("segments", "[[0.0, 0.2], [4.0, 0.5]]")),
        (true, Some(_), Some(_)) => {
            let hint = "remove it, or add a row with the capacity to \"rows\"";
            return Err(Error::new("inputs.Q", "given together with segments", hint));
        }
        (false, Some(_), _) => {
            let message = "a price of egress, which kind host_pwl has";
            return Err(Error::new(
                "inputs.segments",
                message,
                "set \"kind\": \"host_pwl\"",
            ));
        }
        (false, None, None) => return Err(needed("Q", "5e9 (B/s), or null for no limit")),
    }
    let poll = inputs
        .poll
        .ok_or_else(|| needed("C", "1.0 (CPU-s/s), or null for no limit"))?;
    rows.extend(poll.map(|capacity| OwnRow {
        name: OwnName::Poll,
        supply: OwnSupply::Capacity(capacity),
    }));
    for (index, row) in inputs.rows.iter().enumerate() {
        rows.push(other(index, row)?);
    }
    Ok(rows)
}

fn needed(key: &str, example: &str) -> Error {
    Error::new(
        format!("inputs.{key}"),
        "missing",
        format!("add \"{key}\": {example}"),
    )
}

fn other(index: usize, row: &HostRow) -> Result<OwnRow, Error> {
    let supply = match (row.capacity, &row.segments) {
        (Some(capacity), None) => OwnSupply::Capacity(capacity),
        (None, Some(segments)) => OwnSupply::Price(segments.clone()),
        _ => {
            let place = format!("inputs.rows[{index}]");
            return Err(Error::new(
                place,
                "expected either capacity or segments",
                SCHEMA,
            ));
        }
    };
    let name = OwnName::Other(row.name.clone(), row.per, row.coefficients.clone());
    Ok(OwnRow { name, supply })
}

impl OwnRow {
    fn view(&self) -> Row<'_> {
        let (name, load) = match &self.name {
            OwnName::Egress => (RowName::Egress, Load::Bytes),
            OwnName::Poll => (RowName::Poll, Load::Polls),
            OwnName::Other(name, Per::Wqe, loads) => (RowName::Other(name), Load::Requests(loads)),
            OwnName::Other(name, Per::Cqe, loads) => {
                (RowName::Other(name), Load::Completions(loads))
            }
        };
        let supply = match &self.supply {
            OwnSupply::Capacity(capacity) => Supply::Capacity(*capacity),
            OwnSupply::Price(segments) => Supply::Price(segments),
        };
        Row { name, load, supply }
    }
}

impl HostInputs {
    /// The inputs of a host that shares its egress (B/s) and its budget for polling (CPU-s/s).
    pub fn of(table: &Table, utility: Utility, egress: f64, poll: f64) -> Self {
        let maximum = table
            .maximum
            .iter()
            .map(|rate| rate.is_finite().then_some(*rate))
            .collect();
        let plain = Application::default();
        let unless = |column: &Vec<f64>, default: f64| {
            column
                .iter()
                .any(|value| *value != default)
                .then(|| column.clone())
        };
        Self {
            m: Some(table.len()),
            names: None,
            alpha: match utility.fairness {
                Fairness::Alpha(alpha) => Alpha::Number(alpha),
                Fairness::MaxMin => Alpha::MaxMin,
            },
            beta: utility.latency,
            weight: Some(table.weight.clone()),
            share: None,
            latency_weight: unless(&table.latency_weight, plain.latency_weight),
            a: unless(&table.completions, plain.completions),
            bytes_per_wqe: Some(table.bytes.clone()),
            poll_cost: Some(table.poll_cost.clone()),
            egress: Some(Some(egress)),
            poll: Some(Some(poll)),
            x_min: unless(&table.minimum, plain.minimum),
            x_max: unless(&table.maximum, plain.maximum).map(|_| maximum),
            segments: None,
            k: None,
            mode: None,
            peak_rate: None,
            outage: None,
            dependency: Dependency::Equality,
            rows: Vec::new(),
        }
    }
}
