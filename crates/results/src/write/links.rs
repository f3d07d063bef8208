//! The links of a fabric: a row for each direction.

use fairlane_fabric::{PortInfo, Results, metrics};

use crate::column::{Column, Table, columns};
use crate::error::Error;

/// A port that sends on its link.
pub(crate) struct Row<'a> {
    number: usize,
    port: &'a PortInfo,
    utilization: f64,
}

pub(super) const fn columns<'a>() -> [Column<Row<'a>>; 8] {
    columns![
        port_id: u32 = |r| u32::try_from(r.number).expect("ports have 32 bits"),
        node: u32 = |r| r.port.node.get(),
        on_switch: bool = |r| r.port.on_switch,
        port: u32 = |r| r.port.number,
        peer_port_id: u32 = |r| r.port.peer.get(),
        peer_node: u32 = |r| r.port.peer_node.get(),
        rate_bps: u64 = |r| r.port.rate.as_bps(),
        utilization: f64 = |r| r.utilization,
    ]
}

/// Hands the table to `fill`.
///
/// # Errors
/// What `fill` returns.
pub(crate) fn with_table<T>(
    results: &Results,
    fill: impl FnOnce(&Table<'_, Row<'_>>) -> Result<T, Error>,
) -> Result<T, Error> {
    let uses = metrics::utilisation(results);
    let row = |number: usize| Row {
        number,
        port: &results.ports[number],
        utilization: uses.get(number).copied().unwrap_or(0.0),
    };
    fill(&Table {
        columns: &columns(),
        rows: results.ports.len(),
        row: &row,
    })
}
