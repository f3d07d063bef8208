//! A whole run, as far as `explain` needs it.

use std::collections::BTreeSet;
use std::path::Path;

use fairlane_explain::{Collective, Costs, LinkKeys, Message, Multipath, Port, Run, Settings, Way};
use fairlane_scenario::{Congestion, Scenario, Topology};
use fairlane_units::NodeId;
use serde::Deserialize;
use serde_json::Value;

use crate::backend::{self, PortPaths};
use crate::failure::Failure;
use crate::read::{DAMAGED, NOT_RESULTS, csv, json, parquet, require_results};

/// Reads the results of a run.
///
/// # Errors
/// If the directory doesn't hold any, or a file isn't what `run` writes.
pub(crate) fn run(directory: &Path) -> Result<Run, Failure> {
    require_results(directory)?;
    for name in [
        "summary.json",
        "scenario.toml",
        "flows.parquet",
        "ports.parquet",
    ] {
        if !directory.join(name).is_file() {
            return Err(Failure::at(directory, format!("holds no {name}")).hint(NOT_RESULTS));
        }
    }
    let (path, summary) = json(directory, "summary.json")?;
    let number = |name: &str| {
        let number = summary.get(name).and_then(Value::as_f64);
        number.ok_or_else(|| {
            Failure::at(&path, format!("there is no number \"{name}\"")).hint(DAMAGED)
        })
    };
    let (end_ns, bdp) = (number("end_ns")?, number("bdp_bytes")?);
    let (loaded, ways) =
        backend::load_results(directory).map_err(|failure| failure.hint(NOT_RESULTS))?;
    let scenario = &loaded.scenario;
    let mut run = Run {
        name: scenario.name.clone(),
        end_ps: rounded(end_ns * 1e3),
        interval_ps: rounded(number("sample_interval_ns")? * 1e3),
        bdp_bytes: rounded(bdp),
        settings: settings(scenario),
        multipath: multipath(directory, &summary, scenario)?,
        ..Run::default()
    };
    let (_, signals) = json(directory, "signals.json")?;
    run.cnps = signals["cnps"]["count"].as_u64().unwrap_or(0);
    ports(directory, scenario, &mut run)?;
    // A stated plane isn't in the results of a message.
    let stated = scenario.workload.iter().any(|one| one.plane().is_some());
    messages(directory, (!stated).then_some(&ways), &mut run)?;
    collectives(directory, &mut run)?;
    Ok(run)
}

/// A positive number as an integer, the largest if there is none so large.
fn rounded(number: f64) -> u64 {
    number.round() as u64
}

fn settings(scenario: &Scenario) -> Settings {
    let window = |control: &Congestion| {
        let window = serde_json::to_value(control.window_mode()).ok()?;
        window.as_str().map(str::to_owned)
    };
    Settings {
        algorithm: scenario.of_controls(|control| control.algorithm.name().into()),
        scope: scenario.of_controls(|control| control.scope.to_string()),
        window: scenario.of_controls(|control| window(control).unwrap_or_default()),
        link_faults: !scenario.faults.link.is_empty(),
        links: link_keys(&scenario.topology),
    }
}

/// The keys that this kind of topology has.
fn link_keys(topology: &Topology) -> LinkKeys {
    let all = LinkKeys::default();
    match topology {
        Topology::Dumbbell(_) => LinkKeys {
            fabric: "topology.core_link.rate",
            planes: false,
            ..all
        },
        // Every link of it is a host's.
        Topology::Star(_) => LinkKeys {
            fabric: all.host,
            ..all
        },
        Topology::Mesh(_) => LinkKeys {
            planes: false,
            ..all
        },
        Topology::LeafSpine(_) | Topology::FatTree(_) => all,
        Topology::File(_) => LinkKeys {
            host: "topology.path",
            fabric: "topology.path",
            planes: false,
        },
    }
}

/// Connections with several paths, if the run had any.
fn multipath(
    directory: &Path,
    summary: &Value,
    scenario: &Scenario,
) -> Result<Option<Multipath>, Failure> {
    let Some(several) = summary.get("multipath").filter(|value| value.is_object()) else {
        return Ok(None);
    };
    let count = |name: &str| several[name].as_u64().unwrap_or(0);
    let cost = |name: &str| several["cpu_ns"][name].as_f64().unwrap_or(0.0);
    Ok(Some(Multipath {
        chunks: count("chunks"),
        again: count("chunks_again"),
        depth: (scenario.multipath.as_ref()).map_or(0, |it| u64::from(it.depth)),
        coupled: several["coupled"] == true,
        costs: Costs {
            post_ns: cost("post"),
            poll_ns: cost("poll"),
            split_ns: cost("split"),
            reassemble_ns: cost("reassemble"),
        },
        paths: csv::rows(&directory.join("paths.csv"))?.collect::<Result<_, _>>()?,
    }))
}

/// A port in an interval.
#[derive(Deserialize)]
struct PortRow {
    time_ps: u64,
    port_id: usize,
    node: u32,
    on_switch: bool,
    port: u32,
    peer_node: u32,
    rate_bps: u64,
    sent_bytes: u64,
    paused_ns: u64,
}

/// Reads the time series. Packets of full size are taken to have made it, as far as gaps behind them are concerned.
fn ports(directory: &Path, scenario: &Scenario, run: &mut Run) -> Result<(), Failure> {
    let packet = &scenario.packet;
    let size = packet.mtu.get() + packet.header.get();
    let gap = packet.gap.get();
    let mut begun = false;
    let add = |row: PortRow| {
        if !begun {
            (run.start_ps, begun) = (row.time_ps, true);
        }
        if row.port_id == run.ports.len() {
            run.ports.push(Port {
                node: row.node,
                on_switch: row.on_switch,
                number: row.port,
                peer: row.peer_node,
                rate_bps: row.rate_bps,
                ..Port::default()
            });
        }
        let port = run.ports.get_mut(row.port_id)?;
        port.sent.push(with_gaps(row.sent_bytes, gap, size));
        port.paused_ns.push(row.paused_ns);
        Some(())
    };
    parquet::rows(&directory.join("ports.parquet"), DAMAGED, add)?.collect()
}

/// Bytes with the gaps behind packets of a size.
fn with_gaps(sent: u64, gap: u64, size: u64) -> u64 {
    sent.saturating_add(sent.saturating_mul(gap) / size.max(1))
}

/// A collective, or a step of training.
#[derive(Deserialize)]
struct CollectiveRow {
    operation: String,
    algorithm: String,
    name: String,
    step: u32,
    time_ps: Option<u64>,
    slowest_rank: Option<u32>,
    slowest_host: Option<u32>,
    last_message: Option<u32>,
}

/// Reads the collectives that have ended, if the run had any.
fn collectives(directory: &Path, run: &mut Run) -> Result<(), Failure> {
    let path = directory.join("collectives.parquet");
    if !path.is_file() {
        return Ok(());
    }
    let add = |row: CollectiveRow| {
        let Some(time_ps) = row.time_ps.filter(|_| row.operation != "step") else {
            return Some(());
        };
        let words = [row.operation, row.algorithm, row.name].into_iter();
        let words = words.filter(|word| !word.is_empty());
        run.collectives.push(Collective {
            what: words.collect::<Vec<_>>().join(" "),
            step: row.step,
            time_ps,
            slowest_rank: row.slowest_rank?,
            slowest_host: row.slowest_host?,
            last_message: row.last_message,
        });
        Some(())
    };
    parquet::rows(&path, DAMAGED, add)?.collect()
}

/// A message.
#[derive(Deserialize)]
struct MessageRow {
    id: u32,
    source: u32,
    destination: u32,
    source_port: u16,
    destination_port: u16,
    verb: String,
    size_bytes: u64,
    start_ps: u64,
    finish_ps: Option<u64>,
    ideal_ps: u64,
    retransmitted_packets: u64,
    outcome: String,
}

/// Reads the messages that were posted, with their ways as far as these are known.
fn messages(directory: &Path, ways: Option<&PortPaths>, run: &mut Run) -> Result<(), Failure> {
    let several = run.multipath.iter().flat_map(|it| &it.paths);
    let several: BTreeSet<_> = several
        .map(|path| (path.source, path.destination))
        .collect();
    let path = directory.join("flows.parquet");
    for message in parquet::rows(&path, DAMAGED, |row| Some(message(row, ways)))? {
        let mut message = message?;
        if several.contains(&(message.source, message.destination)) {
            message.way = Way::default();
        }
        if message.start_ps < run.end_ps {
            run.messages.push(message);
        }
    }
    Ok(())
}

fn message(row: MessageRow, ways: Option<&PortPaths>) -> Message {
    let mut ends = (row.source, row.destination);
    let mut way = Way::default();
    if row.verb == "read" {
        // Its data goes to whoever posted it.
        ends = (ends.1, ends.0);
    } else if let Some(ways) = ways {
        let nodes = (NodeId::new(ends.0), NodeId::new(ends.1));
        let ports = (row.source_port, row.destination_port);
        let found = ways.of(nodes, ports).unwrap_or_default();
        way = Way {
            nodes: found.nodes.into_iter().map(NodeId::get).collect(),
            indices: found
                .indices
                .into_iter()
                .map(Option::unwrap_or_default)
                .collect(),
        };
    }
    Message {
        id: row.id,
        source: ends.0,
        destination: ends.1,
        size: row.size_bytes,
        start_ps: row.start_ps,
        finish_ps: row.finish_ps,
        ideal_ps: row.ideal_ps,
        retransmitted: row.retransmitted_packets,
        failed: matches!(
            row.outcome.as_str(),
            "retry-exceeded" | "flushed" | "refused"
        ),
        way,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_damaged_file_end_at_the_largest_number() {
        assert_eq!(with_gaps(1000, 20, 100), 1200);
        assert_eq!(with_gaps(u64::MAX, 20, 1), u64::MAX);
    }
}
