//! A whole run, as far as `explain` needs it.

use std::ops::ControlFlow;
use std::path::Path;

use fairlane_explain::{Collective, Costs, Message, Multipath, Port, Run, Settings};
use fairlane_scenario::{Scenario, Workload};
use fairlane_units::NodeId;
use parquet::record::Field;
use serde_json::Value;

use crate::backend::{self, Ways};
use crate::failure::Failure;
use crate::read::parquet::{Columns, flag, integer, word};
use crate::read::{NOT_RESULTS, paths, require_results, text};

const DAMAGED: &str = "the file is damaged; run the scenario again";

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
    let (path, words) = text(directory, "summary.json")?;
    let summary: Value =
        serde_json::from_str(&words).map_err(|error| Failure::at(&path, error).hint(DAMAGED))?;
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
    let (path, words) = text(directory, "signals.json")?;
    let signals: Value =
        serde_json::from_str(&words).map_err(|error| Failure::at(&path, error).hint(DAMAGED))?;
    run.cnps = signals["cnps"]["count"].as_u64().unwrap_or(0);
    ports(directory, scenario, &mut run)?;
    let known = Known {
        ways: &ways,
        // A stated plane isn't in the results of a message.
        stated: scenario.workload.iter().any(states_plane),
    };
    messages(directory, &known, &mut run)?;
    collectives(directory, &mut run)?;
    Ok(run)
}

/// A positive number as an integer.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates"
)]
fn rounded(number: f64) -> u64 {
    number.round() as u64
}

fn settings(scenario: &Scenario) -> Settings {
    let congestion = &scenario.congestion;
    let window = serde_json::to_value(congestion.window_mode());
    Settings {
        algorithm: congestion.algorithm.name().into(),
        scope: congestion.scope.to_string(),
        window: window
            .ok()
            .and_then(|window| Some(window.as_str()?.to_owned()))
            .unwrap_or_default(),
        link_faults: !scenario.faults.link.is_empty(),
    }
}

fn states_plane(workload: &Workload) -> bool {
    serde_json::to_value(workload).is_ok_and(|workload| workload.get("plane").is_some())
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
        paths: paths::paths(&directory.join("paths.csv"))?,
    }))
}

const PORT_COLUMNS: [&str; 9] = [
    "time_ps",
    "port_id",
    "node",
    "on_switch",
    "port",
    "peer_node",
    "rate_bps",
    "sent_bytes",
    "paused_ns",
];

/// Reads the time series. Packets of full size are taken to have made it, as far as gaps behind them are concerned.
fn ports(directory: &Path, scenario: &Scenario, run: &mut Run) -> Result<(), Failure> {
    let packet = &scenario.packet;
    let size = packet.mtu.get() + packet.header.get();
    let gap = packet.gap.get();
    let columns = Columns {
        path: &directory.join("ports.parquet"),
        names: &PORT_COLUMNS,
        remedy: DAMAGED,
    };
    let mut begun = false;
    columns.rows(&mut |cells| {
        let number = |column: usize| integer(cells[column])?;
        let id = usize::try_from(number(1)?).ok()?;
        if !begun {
            (run.start_ps, begun) = (number(0)?, true);
        }
        if id == run.ports.len() {
            run.ports.push(Port {
                node: number(2)?.try_into().ok()?,
                on_switch: flag(cells[3])?,
                number: number(4)?.try_into().ok()?,
                peer: number(5)?.try_into().ok()?,
                rate_bps: number(6)?,
                ..Port::default()
            });
        }
        let port = run.ports.get_mut(id)?;
        let sent = number(7)?;
        port.sent.push(sent + sent * gap / size.max(1));
        port.paused_ns.push(number(8)?);
        Some(Ok(ControlFlow::Continue(())))
    })
}

const COLLECTIVE_COLUMNS: [&str; 8] = [
    "operation",
    "algorithm",
    "name",
    "step",
    "time_ps",
    "slowest_rank",
    "slowest_host",
    "last_message",
];

/// Reads the collectives that have ended, if the run had any.
fn collectives(directory: &Path, run: &mut Run) -> Result<(), Failure> {
    let path = directory.join("collectives.parquet");
    if !path.is_file() {
        return Ok(());
    }
    let columns = Columns {
        path: &path,
        names: &COLLECTIVE_COLUMNS,
        remedy: DAMAGED,
    };
    columns.rows(&mut |cells| {
        let number = |column: usize| integer(cells[column]);
        let small = |column: usize| number(column).map(|it| it.map(u32::try_from));
        let words = [word(cells[0])?, word(cells[1])?, word(cells[2])?];
        let ended = (number(4)?, small(5)?, small(6)?);
        if let ("step", ..) | (_, (None, ..)) = (words[0], ended) {
            return Some(Ok(ControlFlow::Continue(())));
        }
        let words = words.into_iter().filter(|word| !word.is_empty());
        run.collectives.push(Collective {
            what: words.collect::<Vec<_>>().join(" "),
            step: small(3)??.ok()?,
            time_ps: ended.0?,
            slowest_rank: ended.1?.ok()?,
            slowest_host: ended.2?.ok()?,
            last_message: small(7)?.transpose().ok()?,
        });
        Some(Ok(ControlFlow::Continue(())))
    })
}

/// What is known of the ways of messages.
struct Known<'a> {
    ways: &'a Ways,
    /// Whether workloads state planes.
    stated: bool,
}

const MESSAGE_COLUMNS: [&str; 12] = [
    "id",
    "source",
    "destination",
    "source_port",
    "destination_port",
    "verb",
    "size_bytes",
    "start_ps",
    "finish_ps",
    "ideal_ps",
    "retransmitted_packets",
    "outcome",
];

/// Reads the messages that were posted.
fn messages(directory: &Path, known: &Known<'_>, run: &mut Run) -> Result<(), Failure> {
    let columns = Columns {
        path: &directory.join("flows.parquet"),
        names: &MESSAGE_COLUMNS,
        remedy: DAMAGED,
    };
    let several = run.multipath.iter().flat_map(|it| &it.paths);
    let several: std::collections::BTreeSet<_> = several
        .map(|path| (path.source, path.destination))
        .collect();
    let (end, messages) = (run.end_ps, &mut run.messages);
    columns.rows(&mut |cells| {
        let mut message = message(cells, known)?;
        if several.contains(&(message.source, message.destination)) {
            message.way.clear();
        }
        if message.start_ps < end {
            messages.push(message);
        }
        Some(Ok(ControlFlow::Continue(())))
    })
}

fn message(cells: &[&Field], known: &Known<'_>) -> Option<Message> {
    let number = |column: usize| integer(cells[column])?;
    let node = |column: usize| u32::try_from(number(column)?).ok();
    let port = |column: usize| u16::try_from(number(column)?).ok();
    let mut ends = (node(1)?, node(2)?);
    let ports = (port(3)?, port(4)?);
    let mut way = Vec::new();
    if word(cells[5])? == "read" {
        // Its data goes to whoever posted it.
        ends = (ends.1, ends.0);
    } else if !known.stated {
        let nodes = (NodeId::new(ends.0), NodeId::new(ends.1));
        let found = known.ways.of(nodes, ports).into_iter().flatten();
        way.extend(found.map(NodeId::get));
    }
    Some(Message {
        id: node(0)?,
        source: ends.0,
        destination: ends.1,
        size: number(6)?,
        start_ps: number(7)?,
        finish_ps: integer(cells[8])?,
        ideal_ps: number(9)?,
        retransmitted: number(10)?,
        failed: word(cells[11])? == "retry-exceeded",
        way,
    })
}
