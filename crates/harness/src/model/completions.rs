//! What is sent, and how work requests may end.

use fairlane_transport::{Completion, Outgoing, Service, Status};

use super::flow::{Flow, Op};
use super::{Death, Model, Violation, ensure};
use crate::program::Side;

/// More packets than wait at a transmitter at any time.
const QUEUED: u64 = 1_000;

impl Model {
    /// A packet of a work request leaves.
    pub(super) fn request_sent(
        &mut self,
        from: (Side, usize),
        outgoing: &Outgoing,
    ) -> Result<(), Violation> {
        let endpoint = &self.endpoints[from.1][from.0.index()];
        let peer = &self.endpoints[from.1][from.0.other().index()];
        let ready = !self.flows[from.1][from.0.index()].not_ready;
        let clean = self.is_clean() && ready && peer.death.is_none();
        let flow = &mut self.flows[from.1][from.0.index()];
        let number = flow.number(outgoing.packet.psn);
        let found = number.and_then(|number| Some((number, flow.locate(number)?)));
        let Some((number, index)) = found else {
            return Err("a packet that nobody posted was sent".into());
        };
        let again = number < flow.sent;
        ensure!(
            again == outgoing.retransmitted,
            "packet {number} was sent again: {again}"
        );
        ensure!(
            !(again && clean),
            "packet {number} was sent again on a clean network"
        );
        ensure!(
            number <= flow.sent,
            "packet {number} was sent before {}",
            flow.sent
        );
        ensure!(
            !flow.broken && endpoint.death.is_none(),
            "sent after the end"
        );
        let op = &flow.ops[index];
        if number == op.first && !again {
            let reads = flow.reads_under_way();
            let has_room = !op.has_result() || reads < flow.depths.0;
            ensure!(
                !endpoint.draining,
                "packet {number} begins a request in state SQD"
            );
            ensure!(
                !op.request.fence || reads == 0,
                "packet {number} has passed its fence"
            );
            ensure!(
                has_room,
                "{reads} READs are under way, request {index} is one more"
            );
        }
        let end = if op.has_result() {
            op.end()
        } else {
            number + 1
        };
        flow.sent = flow.sent.max(end);
        Ok(())
    }

    pub(super) fn completion(
        &mut self,
        from: (Side, usize),
        completion: Completion,
    ) -> Result<(), Violation> {
        let flow = &self.flows[from.1][from.0.index()];
        let index = flow
            .find(completion.id)
            .filter(|&index| index >= flow.completed);
        let Some(index) = index else {
            return Err(format!(
                "{completion:?} is not of a request that is under way"
            ));
        };
        for op in &flow.ops[flow.completed..index] {
            let id = op.request.id;
            ensure!(
                !op.request.signaled,
                "request {id} has not completed, {index} has"
            );
            ensure!(
                is_finished(flow, op),
                "request {id} is not finished, {index} is completed"
            );
        }
        let op = &flow.ops[index];
        if completion.status == Status::Success {
            ensure!(op.request.signaled, "success of an unsignalled request");
            ensure!(!flow.broken, "success after a failure");
            ensure!(is_finished(flow, op), "request {index} is not finished");
        } else if completion.status == Status::Flushed {
            let dead = self.endpoints[from.1][from.0.index()].death.is_some();
            ensure!(
                dead || flow.broken,
                "request {index} flushed without a failure"
            );
        } else {
            self.justify(from, index, completion.status)?;
            if flow.service == Service::ReliableConnection {
                self.endpoints[from.1][from.0.index()].death = Some(Death::Requester);
            }
        }
        if completion.status == Status::Success {
            // Progress begins the count of retries anew.
            let endpoint = &mut self.endpoints[from.1][from.0.index()];
            endpoint.timeouts.clear();
            // The RNR NAK that was heard last may have been the progress.
            endpoint.rnr_naks = endpoint.rnr_naks.min(1);
        }
        let flow = &mut self.flows[from.1][from.0.index()];
        flow.broken |= completion.status != Status::Success;
        flow.completed = index + 1;
        Ok(())
    }

    /// Whether a request may be the one that failed.
    fn justify(&self, from: (Side, usize), index: usize, status: Status) -> Result<(), Violation> {
        let endpoint = &self.endpoints[from.1][from.0.index()];
        let peer = &self.endpoints[from.1][from.0.other().index()];
        let flow = &self.flows[from.1][from.0.index()];
        let op = &flow.ops[index];
        ensure!(
            endpoint.death.is_none() && !flow.broken,
            "{status:?} after a failure"
        );
        let (retries, rnr_retries) = flow.retry_limits;
        match status {
            Status::RemoteAccess | Status::RemoteInvalidRequest => {
                let refused = &flow.refused;
                let denied = flow.denied.contains(&index) && status == Status::RemoteAccess;
                ensure!(
                    denied || refused.contains(&(index, status)),
                    "request {index} ended with {status:?}, refused is {refused:?}"
                );
            }
            Status::RetryExceeded => {
                // Without loss, a refusal comes as a NAK.
                let silent = peer.death.is_some() && flow.refused.is_empty();
                let explained = !self.is_clean() || silent;
                ensure!(explained, "{status:?} on a clean network");
                ensure!(
                    endpoint.timeouts.len() > retries as usize,
                    "{status:?} too early"
                );
                let silent = peer.death.is_some() || !self.is_patient(from);
                let explained = silent || endpoint.each_round_lost(retries as usize + 1);
                ensure!(explained, "{status:?} though nothing was lost");
                ensure!(op.first < flow.sent, "{status:?} of a request never sent");
            }
            Status::LocalProtection => {
                let unreadable = self.is_unreadable(from, op.request.id);
                ensure!(unreadable, "{status:?} of data that can be read");
            }
            Status::RnrRetryExceeded => {
                ensure!(endpoint.rnr_naks > rnr_retries, "{status:?} too early");
                let takes_receive = op.request.operation.takes_receive();
                ensure!(takes_receive, "{status:?} of {:?}", op.request.operation);
            }
            _ => return Err(format!("request {index} ended with {status:?}")),
        }
        Ok(())
    }

    /// Whether only a loss explains a timeout: every answer comes before it, to duplicates too.
    fn is_patient(&self, from: (Side, usize)) -> bool {
        let link = &self.program.link;
        let ends = &self.program.connections[from.1];
        let answers = ends[from.0.other().index()].config.ack_duplicates;
        let queues = link.slot * QUEUED;
        let longest = link.delay * 2 + queues;
        // Where packets overtake each other, go-back-N drops what comes early.
        let ordered = link.jitter.is_zero();
        let timeout = ends[from.0.index()].config.ack_timeout;
        // A responder with too few resources forgets results of atomics that may be asked for again.
        let flow = &self.flows[from.1][from.0.index()];
        let enough = flow.depths.0 <= flow.depths.1;
        answers && ordered && enough && timeout.is_some_and(|timeout| timeout > longest)
    }

    /// Nothing happens any more: everything must have ended.
    pub(in super::super) fn finish(&self) -> Result<(), Violation> {
        for connection in 0..self.flows.len() {
            for side in Side::BOTH {
                let place = |violation| format!("{side:?}, connection {connection}: {violation}");
                self.finish_flow((side, connection)).map_err(place)?;
            }
        }
        Ok(())
    }

    fn finish_flow(&self, from: (Side, usize)) -> Result<(), Violation> {
        let flow = &self.flows[from.1][from.0.index()];
        let target_dead = self.endpoints[from.1][from.0.other().index()]
            .death
            .is_some();
        for op in &flow.ops[flow.completed..] {
            let id = op.request.id;
            ensure!(!op.request.signaled, "request {id} never ended");
            ensure!(is_finished(flow, op), "request {id} was never finished");
        }
        ensure!(flow.due.is_empty(), "receives never ended: {:?}", flow.due);
        let unused = flow.receives.len() - flow.received.min(flow.receives.len());
        ensure!(
            !target_dead || unused == 0,
            "{unused} receives were never flushed"
        );
        Ok(())
    }
}

/// Whether a request may be reported as done.
fn is_finished(flow: &Flow, op: &Op) -> bool {
    match flow.service {
        Service::ReliableConnection if op.has_result() => op.results == op.packets,
        Service::ReliableConnection => {
            let refused = |&(index, _): &(usize, _)| flow.ops[index].first == op.first;
            flow.taken >= op.end() && !flow.refused.iter().any(refused)
        }
        _ => flow.sent >= op.end(),
    }
}
