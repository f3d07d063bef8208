//! What has been counted, and what it is of.

use std::net::IpAddr;
use std::ops::Range;

use fairlane_transport::{Service, State};
use fairlane_units::{QpNumber, TenantId};

use super::Engine;
use crate::counters::Counters;
use crate::queue_pair::QueuePair;

/// What others are told of a queue pair.
#[derive(Debug)]
pub(crate) struct PairFigures {
    pub(crate) number: QpNumber,
    pub(crate) service: Service,
    /// Its partition key, which is that of its tenant.
    pub(crate) partition: TenantId,
    pub(crate) state: State,
    /// The other end, of a connection from RTR on.
    pub(crate) peer: Option<(IpAddr, QpNumber)>,
    pub(crate) counters: Counters,
}

/// Counts something at a queue pair and at the device.
#[inline]
pub(super) fn count_at(engine: &mut Engine, slot: u32, count: impl Fn(&mut Counters)) {
    count(&mut engine.counters);
    if let Some(pair) = engine.pairs.get_mut(slot) {
        count(&mut pair.counters);
    }
}

/// What the device has counted.
pub(crate) fn of_device(engine: &Engine) -> Counters {
    Counters {
        local_ack_timeout_err: engine.nic.ledger().all.timeouts,
        ..engine.counters
    }
}

/// What a queue pair has counted.
pub(crate) fn of_pair(engine: &Engine, pair: &QueuePair) -> Counters {
    let timeouts = pair.id.map_or(0, |id| engine.nic.pair(id).timeouts());
    let mut counters = pair.counters;
    counters.local_ack_timeout_err += u64::from(timeouts);
    counters
}

/// The queue pairs in those slots; `None` if there are no more behind them.
pub(crate) fn of_pairs(engine: &Engine, slots: Range<u32>) -> Option<Vec<PairFigures>> {
    let figures = |pair: &QueuePair| PairFigures {
        number: pair.number,
        service: pair.options.service,
        partition: pair.options.partition,
        state: pair.state,
        peer: pair
            .id
            .filter(|_| !pair.is_datagram())
            .map(|_| (pair.peer.address, pair.peer.number)),
        counters: of_pair(engine, pair),
    };
    let known = engine.pairs.part(slots)?;
    Some(known.map(|pair| figures(pair)).collect())
}
