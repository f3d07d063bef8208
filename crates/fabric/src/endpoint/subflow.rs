//! Work requests of messages with several paths on their way through NICs with costs. What they do is known to their
//! connections; here they are only work requests, and what NICs do for them.

use fairlane_engine::Engine;
use fairlane_units::{Bytes, FlowId, HostId, QpId};

use super::pipeline::{Lock, Wqe};
use super::{Endpoints, OpenPair, Output};
use crate::spec::ConnectionSpec;

/// Instead of an operation of an application.
const NO_OPERATION: u32 = u32::MAX;

impl Wqe {
    /// Whether it is of a message with several paths.
    pub(super) const fn is_of_path(&self) -> bool {
        self.operation == NO_OPERATION
    }
}

impl OpenPair {
    /// The queue pair with this flow number, at the host with this number.
    pub(super) fn of_path(flow: FlowId, host: HostId, spec: &ConnectionSpec) -> Self {
        Self {
            flow,
            host,
            verb: spec.verb,
            posted: std::collections::VecDeque::new(),
            parked: std::collections::VecDeque::new(),
            resuming: false,
            unsent: 0,
            busy: 0,
            shared: false,
            lock: Lock::default(),
            paths: Vec::new(),
            ideal: None,
            failed: false,
        }
    }
}

/// A doorbell is rung for a work request of a queue pair.
pub(crate) fn ring(all: &mut Endpoints, engine: &mut Engine, pair: QpId, size: Bytes) {
    let host = all.pairs[pair.index()].host;
    let at = engine.now() + all.costs.doorbell;
    let wqe = Wqe {
        pair,
        operation: NO_OPERATION,
        size,
    };
    let wqes = std::iter::once(wqe);
    all.pipelines[host.index()].ring(&all.costs, at, wqes);
    all.advance(engine, host);
}

/// The NIC is done with a work request, which goes to its queue pair.
pub(super) fn begin(all: &mut Endpoints, wqe: Wqe) {
    let pair = &mut all.pairs[wqe.pair.index()];
    pair.posted.push_back(wqe);
    all.outputs.push(Output::Begin(pair.flow));
}

/// The work request that was begun last doesn't go to its queue pair after all.
pub(crate) fn take_back(all: &mut Endpoints, engine: &mut Engine, pair: QpId) {
    let state = &mut all.pairs[pair.index()];
    state.posted.pop_back();
    state.unsent = state.unsent.saturating_sub(1);
    let host = state.host;
    let begun = &mut all.pipelines[host.index()].begun;
    *begun = begun.saturating_sub(1);
    all.advance(engine, host);
}

/// A work request of a queue pair has ended.
pub(crate) fn end(all: &mut Endpoints, engine: &mut Engine, pair: QpId) {
    let state = &mut all.pairs[pair.index()];
    state.posted.pop_front();
    let host = state.host;
    if let Some(parked) = state.parked.front().copied().filter(|_| !state.resuming) {
        state.parked.pop_front();
        state.resuming = true;
        all.pipelines[host.index()].resume(engine.now(), parked);
        all.advance(engine, host);
    }
}

/// A queue pair is replaced: what it hasn't sent it never will.
pub(crate) fn renew(all: &mut Endpoints, engine: &mut Engine, pair: QpId) {
    let state = &mut all.pairs[pair.index()];
    state.posted.clear();
    let unsent = std::mem::take(&mut state.unsent);
    let host = state.host;
    let pipeline = &mut all.pipelines[host.index()];
    let processing = u32::from(pipeline.processes(pair));
    all.pairs[pair.index()].unsent = processing;
    pipeline.begun -= unsent - processing.min(unsent);
    // What waits for a READ to end waits for nothing now.
    while let Some(parked) = all.pairs[pair.index()].parked.pop_front() {
        all.pipelines[host.index()].resume(engine.now(), parked);
    }
    all.advance(engine, host);
}
