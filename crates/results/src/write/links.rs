//! The links of a fabric: a row for each direction.

use fairlane_fabric::{PortInfo, Results, metrics};

use crate::column::{Column, Kind, Table};
use crate::error::Error;

/// A port that sends on its link.
pub(crate) struct Row<'a> {
    number: usize,
    port: &'a PortInfo,
    utilization: f64,
}

const fn columns<'a>() -> [Column<Row<'a>>; 8] {
    [
        Column::new("port_id", Kind::Integer(32), |r| (r.number as u64).into()),
        Column::new("node", Kind::Integer(32), |r| r.port.node.get().into()),
        Column::new("on_switch", Kind::Flag, |r| r.port.on_switch.into()),
        Column::new("port", Kind::Integer(32), |r| r.port.number.into()),
        Column::new("peer_port_id", Kind::Integer(32), |r| {
            r.port.peer.get().into()
        }),
        Column::new("peer_node", Kind::Integer(32), |r| {
            r.port.peer_node.get().into()
        }),
        Column::new("rate_bps", Kind::Integer(64), |r| {
            r.port.rate.as_bps().into()
        }),
        Column::new("utilization", Kind::Real, |r| r.utilization.into()),
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
