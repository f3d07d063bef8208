//! `fairlane drum random`.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use fairlane_drum::coupled::{Flows, RANDOM_HOST, RandomNetwork, Rows, Source, random_host};
use fairlane_drum::{Fairness, Table, Utility};
use fairlane_drum_file::{Alpha, CoupledInputs, Document, HostInputs, Inputs, NetworkRow, RowKind};

use crate::args::{Mode, Random};
use crate::failure::{Failure, from_stdout};

/// Writes random problems, one per line.
///
/// # Errors
/// If the arguments don't go together, or standard output can't be written.
pub(crate) fn random(arguments: &Random) -> Result<ExitCode, Failure> {
    check(arguments)?;
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout());
    let mut write = |document: &Document| {
        serde_json::to_writer(&mut out, document)
            .map_err(io::Error::from)
            .and_then(|()| out.write_all(b"\n"))
            .map_err(|error| from_stdout(&error))
    };
    if arguments.coupled {
        write(&network(arguments))?;
    } else {
        for host in 0..arguments.hosts {
            write(&one_host(arguments, host))?;
        }
    }
    out.flush().map_err(|error| from_stdout(&error))?;
    Ok(ExitCode::SUCCESS)
}

fn check(arguments: &Random) -> Result<(), Failure> {
    if arguments.coupled && arguments.mode == Mode::Timeshare {
        return Err(
            Failure::new("--mode timeshare: networks aren't time-shared")
                .hint("leave --coupled out, or use topk_utility"),
        );
    }
    for (name, value) in [("alpha", arguments.alpha), ("beta", arguments.beta)] {
        if !(value.is_finite() && value >= 0.0) {
            let message = format!("--{name}: {value} is not a number that is not negative");
            let hint = format!("leave --{name} out for its default, or give a number from 0 on");
            return Err(Failure::new(message).hint(hint));
        }
    }
    let selects = !matches!(
        arguments.mode,
        Mode::Fixed | Mode::Admm | Mode::DualDecomposition
    );
    match arguments.k {
        None if selects => {
            Err(Failure::new("--k: missing").hint("modes that select need it, as in --k 20"))
        }
        Some(k) if k == 0 || k > arguments.apps => {
            let most = arguments.apps;
            Err(Failure::new(format!(
                "--k: {k} is not a number from 1 to the number of applications, {most}"
            )))
        }
        _ => Ok(()),
    }
}

/// One of the hosts.
fn one_host(arguments: &Random, host: u32) -> Document {
    let mut table = Table::default();
    let size = (host as usize, arguments.apps as usize);
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
            inputs.mode = Some(other.into());
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
    let worth = |index| {
        let application = table.application(index);
        let polls = application.completions * RATE;
        application.weight * utility - beta * application.latency_weight / (polls * polls)
    };
    Some((0..table.len()).map(worth).collect())
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
fn network(arguments: &Random) -> Document {
    let (hosts, applications) = (arguments.hosts as usize, arguments.apps as usize);
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
        mode: (arguments.mode != Mode::Fixed).then(|| arguments.mode.into()),
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
    Document {
        name: Some(format!("random-{}", arguments.seed)),
        problem: Inputs::Coupled(inputs),
    }
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
