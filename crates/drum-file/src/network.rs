//! A network as the solver takes it.

use std::collections::BTreeMap;

use fairlane_drum::coupled::{
    Choice, CoupledOptions, CoupledSolution, Network, RowKind as Kind, Selection, SharedRow,
    solve_chosen,
};
use fairlane_drum::{Fairness, Utility, Workers};

use crate::error::{Error, of_solver};
use crate::inputs::{Alpha, CoupledInputs, Mode, NetworkRow, RowKind};
use crate::problem::{Columns, Request, check_count, whole};

/// The problem of a network with everything filled in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NetworkProblem {
    pub(crate) network: Network,
    pub(crate) mode: Mode,
    selection: Option<Selection>,
    pub(crate) tolerance: f64,
}

impl NetworkProblem {
    /// Fills in what the inputs of a network leave out.
    ///
    /// # Errors
    /// If the inputs don't go together.
    pub(crate) fn new(inputs: CoupledInputs, request: &Request) -> Result<Self, Error> {
        let count = inputs.n.checked_mul(inputs.m).ok_or_else(too_many)?;
        let length = |column: &Option<Vec<f64>>| column.as_ref().map(Vec::len);
        let stated = [
            ("weight", length(&inputs.weight)),
            ("share", length(&inputs.share)),
            ("latency_weight", length(&inputs.latency_weight)),
            ("a", length(&inputs.a)),
            ("x_min", length(&inputs.x_min)),
            ("x_max", inputs.x_max.as_ref().map(Vec::len)),
        ];
        for (name, length) in stated {
            length.map_or(Ok(()), |length| check_count(Some(count), length, name))?;
        }
        let columns = Columns {
            alpha: inputs.alpha,
            count,
        };
        let mode = request.mode.or(inputs.mode).unwrap_or(Mode::Fixed);
        let selection = selection(mode, request.k.or(inputs.k), &inputs)?;
        let weight = columns.weight(inputs.weight, inputs.share)?;
        let ones = |column: Option<Vec<f64>>| column.unwrap_or_else(|| vec![1.0; count]);
        let problem = Self {
            network: Network {
                hosts: inputs.n,
                applications: inputs.m,
                utility: Utility {
                    fairness: columns.fairness(),
                    latency: inputs.beta,
                },
                weight,
                latency_weight: ones(inputs.latency_weight),
                completions: ones(inputs.a),
                minimum: inputs.x_min.unwrap_or_default(),
                maximum: inputs
                    .x_max
                    .map_or_else(Vec::new, |column| columns.maximum(Some(column))),
                rows: inputs
                    .rows
                    .iter()
                    .enumerate()
                    .map(|entry| row(entry, inputs.n))
                    .collect::<Result<_, _>>()?,
            },
            mode,
            selection,
            tolerance: request.tolerance.unwrap_or(1e-13),
        };
        problem.network.indexed().map_err(of_solver)?;
        Ok(problem)
    }

    /// Names of the rows.
    pub(crate) fn rows(&self) -> Vec<String> {
        let name = |row: &SharedRow| {
            let kind = match row.kind {
                Kind::Egress => "egress",
                Kind::Ingress => "ingress",
                Kind::Poll => "poll",
                Kind::Core => "core",
            };
            row.host
                .map_or_else(|| kind.to_owned(), |host| format!("{kind}[{host}]"))
        };
        self.network.rows.iter().map(name).collect()
    }

    /// Sum of the sizes of the terms of a solution's value, of those that are finite.
    pub(crate) fn scale(&self, found: &CoupledSolution) -> f64 {
        let Fairness::Alpha(alpha) = self.network.utility.fairness else {
            return found.objective.abs();
        };
        let term = |(flow, rate): (usize, &f64)| {
            let counts = found.counts.get(flow).copied().unwrap_or(true);
            let utility = if alpha == 1.0 {
                libm::log(*rate)
            } else {
                libm::pow(*rate, 1.0 - alpha) / (1.0 - alpha)
            };
            let polls = self.network.completions[flow] * rate;
            let latency =
                self.network.utility.latency * self.network.latency_weight[flow] / (polls * polls);
            let throughput = if counts {
                (self.network.weight[flow] * utility).abs()
            } else {
                0.0
            };
            throughput + latency
        };
        let terms = found.x.iter().enumerate().map(term);
        terms.filter(|term| term.is_finite()).sum()
    }

    /// Solves it.
    ///
    /// # Errors
    /// If it has no solution.
    pub(crate) fn solve(&self, workers: &impl Workers) -> Result<CoupledSolution, Error> {
        let source = self.network.indexed().map_err(of_solver)?;
        let options = CoupledOptions {
            tolerance: self.tolerance,
            ..CoupledOptions::default()
        };
        Ok(match self.selection {
            None => fairlane_drum::coupled::solve(&source, &options, workers).map_err(of_solver)?,
            Some(selection) => {
                solve_chosen(&source, selection, &options, workers).map_err(of_solver)?
            }
        })
    }
}

/// Which flows of each host count.
fn selection(
    mode: Mode,
    k: Option<f64>,
    inputs: &CoupledInputs,
) -> Result<Option<Selection>, Error> {
    let choice = match mode {
        Mode::Fixed => return Ok(None),
        Mode::TopkUtility => Choice::TopUtilities(whole(k, inputs.m)?),
        Mode::ActiveSet => Choice::ActiveSet(whole(k, inputs.m)?),
        other => {
            let message = format!("{} is no mode of a network", other.name());
            let hint = "use fixed, topk_utility or active_set";
            return Err(Error::new("inputs.mode", message, hint));
        }
    };
    let below = matches!(inputs.alpha, Alpha::Number(alpha) if alpha < 1.0);
    let natural = below && inputs.beta == 0.0;
    let needed = matches!(choice, Choice::ActiveSet(_)) && !natural;
    if needed && inputs.outage.is_none() {
        let message = "not sending has no natural value with a latency term or alpha from 1 on";
        let hint =
            "give the value of a flow that doesn't send, such as that of a thousandth of its share";
        return Err(Error::new("inputs.outage", message, hint));
    }
    Ok(Some(Selection {
        choice,
        outage: inputs.outage.unwrap_or(0.0),
    }))
}

fn too_many() -> Error {
    Error::new(
        "inputs.n",
        "n times m is more than a machine can number",
        "split the network, or leave hosts out",
    )
}

fn row((index, row): (usize, &NetworkRow), hosts: usize) -> Result<SharedRow, Error> {
    if let Some(stated) = row.row
        && stated != index
    {
        let message = format!("{stated}, expected {index}: rows are numbered in order, from 0");
        return Err(Error::new(
            format!("inputs.rows[{index}].row"),
            message,
            "leave it out",
        ));
    }
    check_host(index, row, hosts)?;
    check_entries(index, row)?;
    Ok(SharedRow {
        kind: match row.kind {
            RowKind::Egress => Kind::Egress,
            RowKind::Ingress => Kind::Ingress,
            RowKind::Poll => Kind::Poll,
            RowKind::Core => Kind::Core,
        },
        host: row.host,
        capacity: row.capacity,
        entries: row.entries.clone(),
    })
}

/// A row of a host must name one that there is.
fn check_host(index: usize, row: &NetworkRow, hosts: usize) -> Result<(), Error> {
    let place = || format!("inputs.rows[{index}].host");
    match (row.kind, row.host) {
        (RowKind::Core, _) => Ok(()),
        (_, None) => Err(Error::new(
            place(),
            "missing: only rows of kind core belong to no host",
            "add \"host\": the number of the host, from 0",
        )),
        (_, Some(host)) if host >= hosts => Err(Error::new(
            place(),
            format!("{host} is not one of {hosts} hosts"),
            "hosts are numbered from 0",
        )),
        _ => Ok(()),
    }
}

/// A row must name each flow once.
fn check_entries(index: usize, row: &NetworkRow) -> Result<(), Error> {
    let mut seen = BTreeMap::new();
    for (entry, (flow, _)) in row.entries.iter().enumerate() {
        if let Some(first) = seen.insert(*flow, entry) {
            return Err(Error::new(
                format!("inputs.rows[{index}].entries[{entry}]"),
                format!("flow {flow} is there already, in entries[{first}]"),
                "add the coefficients of a flow up",
            ));
        }
    }
    Ok(())
}
