//! Networks held in memory, from vectors or random, and a generic solver for them.

use fairlane_drum::coupled::{Flows, Network, RowKind, Rows, SharedRow, Source};
use fairlane_drum::{Application, Fairness, Host, Table, Utility};
use serde_json::Value;

use crate::common::{clarabel, value};
use crate::random::RandomNetwork;

/// A coupled vector's problem and its optimum.
pub(crate) fn coupled_vector() -> (Network, Value) {
    let text = include_str!("coupled_n3m3_alpha05.json");
    let vector: Value = serde_json::from_str(text).expect("a vector");
    let inputs = &vector["inputs"];
    let list = |name: &str| numbers(&inputs[name]);
    let rows = inputs["rows"].as_array().expect("rows").iter().map(row);
    let network = Network {
        hosts: inputs["n"].as_u64().expect("n") as usize,
        applications: inputs["m"].as_u64().expect("m") as usize,
        utility: Utility {
            fairness: Fairness::Alpha(inputs["alpha"].as_f64().expect("alpha")),
            latency: inputs["beta"].as_f64().expect("beta"),
        },
        weight: list("weight"),
        latency_weight: list("latency_weight"),
        completions: list("a"),
        minimum: Vec::new(),
        maximum: Vec::new(),
        rows: rows.collect(),
    };
    (network, vector["optimum"].clone())
}

pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().expect("a list");
    list.iter()
        .map(|value| value.as_f64().expect("a number"))
        .collect()
}

fn row(row: &Value) -> SharedRow {
    let entry = |entry: &Value| {
        (
            entry[0].as_u64().expect("a flow") as usize,
            entry[1].as_f64().expect("a coefficient"),
        )
    };
    SharedRow {
        kind: match row["kind"].as_str() {
            Some("egress") => RowKind::Egress,
            Some("ingress") => RowKind::Ingress,
            Some("poll") => RowKind::Poll,
            _ => RowKind::Core,
        },
        host: row["host"].as_u64().map(|host| host as usize),
        capacity: row["capacity"].as_f64().expect("a capacity"),
        entries: row["entries"]
            .as_array()
            .expect("entries")
            .iter()
            .map(entry)
            .collect(),
    }
}

/// A random network, held.
pub(crate) fn held(source: &RandomNetwork) -> Network {
    let (hosts, m) = (source.hosts(), source.flows(0));
    let row = |(index, &capacity): (usize, &f64)| SharedRow {
        kind: match index / hosts {
            0 => RowKind::Egress,
            1 => RowKind::Ingress,
            2 => RowKind::Poll,
            _ => RowKind::Core,
        },
        host: (index < 3 * hosts).then_some(index % hosts),
        capacity,
        entries: Vec::new(),
    };
    let mut network = Network {
        hosts,
        applications: m,
        utility: source.utility(),
        weight: Vec::new(),
        latency_weight: Vec::new(),
        completions: Vec::new(),
        minimum: Vec::new(),
        maximum: Vec::new(),
        rows: source.capacities().iter().enumerate().map(row).collect(),
    };
    let mut flows = Flows::default();
    for host in 0..hosts {
        source.fill(host, &mut flows);
        network.weight.extend_from_slice(&flows.weight);
        let beta = network.utility.latency;
        let latency = |kappa: &f64| {
            if beta > 0.0 {
                kappa / (2.0 * beta)
            } else {
                1.0
            }
        };
        network
            .latency_weight
            .extend(flows.kappa.iter().map(latency));
        network.completions.extend(flows.kappa.iter().map(|_| 1.0));
        for column in &flows.columns {
            for (j, &coefficient) in column.coefficient.iter().enumerate() {
                let row = match &column.rows {
                    Rows::One(row) => *row,
                    Rows::Each(rows) => rows[j],
                };
                if coefficient > 0.0 {
                    network.rows[row as usize]
                        .entries
                        .push((host * m + j, coefficient));
                }
            }
        }
    }
    network
}

/// Use of each row.
pub(crate) fn uses(network: &Network, x: &[f64]) -> Vec<f64> {
    let used = |row: &SharedRow| row.entries.iter().map(|&(flow, t)| t * x[flow]).sum();
    network.rows.iter().map(used).collect()
}

/// Best value according to Clarabel, which takes the network for one large host.
pub(crate) fn clarabel_objective(network: &Network) -> Option<f64> {
    let mut table = Table::default();
    for f in 0..network.weight.len() {
        table.push(Application {
            weight: network.weight[f],
            latency_weight: network.latency_weight[f],
            completions: network.completions[f],
            ..Application::default()
        });
    }
    let host = Host::new(table.view(), network.utility, 1.0, 1.0);
    let dense = |row: &SharedRow| {
        let mut list = vec![0.0; network.weight.len()];
        for &(flow, coefficient) in &row.entries {
            list[flow] += coefficient;
        }
        (list, row.capacity)
    };
    let rows: Vec<_> = network.rows.iter().map(dense).collect();
    clarabel(&host, &rows).map(|x| value(&host, &x, |_| true))
}
