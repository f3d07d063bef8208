//! Random problems.

mod draws;
mod network;

use fairlane_drum::coupled::{Flows, Rows, Source};
use fairlane_drum::{Fairness, Table, Utility};

pub use self::network::{RANDOM_HOST, RandomNetwork, random_host};

use crate::error::Error;
use crate::inputs::{
    Alpha, CoupledInputs, Document, HostInputs, Inputs, Mode, NetworkRow, RowKind,
};

/// Which random problems.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Random {
    /// Hosts: a problem each, unless they are coupled.
    pub hosts: u32,
    /// Applications of each host.
    pub applications: u32,
    /// What the random numbers derive from.
    pub seed: u64,
    /// Fairness exponent.
    pub alpha: f64,
    /// How much latency counts against throughput.
    pub beta: f64,
    /// How applications are selected.
    pub mode: Mode,
    /// Queue pairs that may be active at a time; needed by modes that select.
    pub k: Option<u32>,
    /// One network of the hosts, with ingress, polling of arrivals, and core links.
    pub coupled: bool,
}

impl Random {
    /// The problems, one by one.
    ///
    /// # Errors
    /// If what is asked doesn't go together; flags are those of the command.
    pub fn documents(self) -> Result<impl Iterator<Item = Document>, Error> {
        check(&self)?;
        let count = if self.coupled { 1 } else { self.hosts };
        Ok((0..count).map(move |host| match self.coupled {
            true => one_network(&self),
            false => one_host(&self, host),
        }))
    }
}

fn check(arguments: &Random) -> Result<(), Error> {
    if arguments.coupled && arguments.mode == Mode::Timeshare {
        let hint = "leave --coupled out, or use topk_utility";
        return Err(Error::new(
            "--mode timeshare",
            "networks aren't time-shared",
            hint,
        ));
    }
    for (name, value) in [("alpha", arguments.alpha), ("beta", arguments.beta)] {
        if !(value.is_finite() && value >= 0.0) {
            let message = format!("{value} is not a number that is not negative");
            let hint = format!("leave --{name} out for its default, or give a number from 0 on");
            return Err(Error::new(format!("--{name}"), message, hint));
        }
    }
    let selects = !matches!(
        arguments.mode,
        Mode::Fixed | Mode::Admm | Mode::DualDecomposition
    );
    match arguments.k {
        None if selects => {
            let hint = "modes that select need it, as in --k 20";
            Err(Error::new("--k", "missing", hint))
        }
        Some(k) if k == 0 || k > arguments.applications => {
            let most = arguments.applications;
            let message =
                format!("{k} is not a number from 1 to the number of applications, {most}");
            Err(Error::new("--k", message, ""))
        }
        _ => Ok(()),
    }
}

/// One of the hosts.
fn one_host(arguments: &Random, host: u32) -> Document {
    let mut table = Table::default();
    let size = (host as usize, arguments.applications as usize);
    random_host(&mut table, size, arguments.seed);
    let utility = Utility {
        fairness: Fairness::Alpha(arguments.alpha),
        latency: arguments.beta,
    };
    let (egress, poll) = RANDOM_HOST;
    let mut inputs = HostInputs::of(&table, utility, egress, poll);
    inputs.k = arguments.k.map(f64::from);
    let problem = match arguments.mode {
        Mode::Timeshare => {
            inputs.peak_rate = arguments
                .k
                .map(|k| peaks(&table, (egress, poll), f64::from(k)));
            Inputs::HostTimeshare(inputs)
        }
        Mode::Fixed => Inputs::HostFixed(inputs),
        other => {
            inputs.outage = outages(arguments, &table);
            inputs.mode = Some(other);
            Inputs::HostTopk(inputs)
        }
    };
    Document {
        name: Some(format!("random-{}-{host}", arguments.seed)),
        problem,
    }
}

/// What applications are worth that don't send, where that isn't naturally 0: as much as at a thousandth of
/// a fair share, which is about 1.
fn outages(arguments: &Random, table: &Table) -> Option<Vec<f64>> {
    let worth = |index| {
        let application = table.application(index);
        let completions = application.completions * application.completions;
        let latency = application.latency_weight / completions;
        small_worth(arguments, application.weight, latency)
    };
    (0..table.len()).map(worth).collect()
}

/// What an application with these weights is worth at a thousandth of a fair share, where whoever doesn't send isn't
/// naturally worth 0.
fn small_worth(arguments: &Random, weight: f64, latency_weight: f64) -> Option<f64> {
    const RATE: f64 = 1e-3;
    let Random { alpha, beta, .. } = *arguments;
    if arguments.mode != Mode::ActiveSet || (beta == 0.0 && alpha < 1.0) {
        return None;
    }
    let utility = if alpha == 1.0 {
        RATE.ln()
    } else {
        RATE.powf(1.0 - alpha) / (1.0 - alpha)
    };
    Some(weight * utility - beta * latency_weight / (RATE * RATE))
}

/// The rate of an application that shares the host equally with those in the other slots.
fn peaks(table: &Table, (egress, poll): (f64, f64), slots: f64) -> Vec<f64> {
    let peak = |index| {
        let application = table.application(index);
        let cost = application.poll_cost * application.completions;
        (egress / (slots * application.bytes)).min(poll / (slots * cost))
    };
    (0..table.len()).map(peak).collect()
}

/// All hosts as one network. Its flows are told host by host, its rows are put together here.
fn one_network(arguments: &Random) -> Document {
    let (hosts, applications) = (arguments.hosts as usize, arguments.applications as usize);
    let utility = (arguments.alpha, arguments.beta);
    let source = RandomNetwork::new(hosts, applications, utility, arguments.seed);
    let mut rows: Vec<NetworkRow> = source
        .capacities()
        .iter()
        .enumerate()
        .map(row(hosts))
        .collect();
    let mut inputs = CoupledInputs {
        n: hosts,
        m: applications,
        alpha: Alpha::Number(arguments.alpha),
        beta: arguments.beta,
        weight: Some(Vec::new()),
        share: None,
        latency_weight: (arguments.beta > 0.0).then(Vec::new),
        a: None,
        x_min: None,
        x_max: None,
        k: arguments.k.map(f64::from),
        mode: (arguments.mode != Mode::Fixed).then_some(arguments.mode),
        outage: None,
        rows: Vec::new(),
    };
    let mut flows = Flows::default();
    for host in 0..hosts {
        source.fill(host, &mut flows);
        inputs
            .weight
            .iter_mut()
            .for_each(|column| column.extend(&flows.weight));
        // The coefficient is 2 beta v / a^2; the file has it as latency weights with a = 1.
        let weight = |kappa: &f64| kappa / (2.0 * arguments.beta);
        inputs
            .latency_weight
            .iter_mut()
            .for_each(|column| column.extend(flows.kappa.iter().map(weight)));
        for application in 0..applications {
            for column in &flows.columns {
                let row = match &column.rows {
                    Rows::One(row) => *row,
                    Rows::Each(rows) => rows[application],
                };
                let coefficient = column.coefficient[application];
                if coefficient > 0.0 {
                    let flow = host * applications + application;
                    add(&mut rows[row as usize].entries, flow, coefficient);
                }
            }
        }
    }
    inputs.rows = rows;
    inputs.outage = least_worth(arguments, &inputs);
    Document {
        name: Some(format!("random-{}", arguments.seed)),
        problem: Inputs::Coupled(inputs),
    }
}

/// One value for all flows that don't send: that of the flow which is worth least.
fn least_worth(arguments: &Random, inputs: &CoupledInputs) -> Option<f64> {
    let latency = |flow: usize| {
        inputs
            .latency_weight
            .as_ref()
            .map_or(0.0, |column| column[flow])
    };
    let weights = inputs.weight.iter().flatten().enumerate();
    let worth = weights.filter_map(|(flow, weight)| small_worth(arguments, *weight, latency(flow)));
    worth.reduce(f64::min)
}

/// An empty row of a network whose rows are egress, ingress and polling of each host, then core links.
fn row(hosts: usize) -> impl Fn((usize, &f64)) -> NetworkRow {
    move |(index, capacity)| {
        let kind = match index / hosts {
            0 => RowKind::Egress,
            1 => RowKind::Ingress,
            2 => RowKind::Poll,
            _ => RowKind::Core,
        };
        let host = if kind == RowKind::Core {
            index - 3 * hosts
        } else {
            index % hosts
        };
        NetworkRow {
            row: Some(index),
            kind,
            host: Some(host),
            capacity: *capacity,
            entries: Vec::new(),
        }
    }
}

/// Adds a use of a row; one flow may use a row more than once.
fn add(entries: &mut Vec<(usize, f64)>, flow: usize, coefficient: f64) {
    match entries.last_mut() {
        Some((last, sum)) if *last == flow => *sum += coefficient,
        _ => entries.push((flow, coefficient)),
    }
}
