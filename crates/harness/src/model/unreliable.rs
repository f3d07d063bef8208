//! Unreliable connections and datagrams: a message comes whole or not at all.

use fairlane_transport::{Access, Operation, Placement, Service, Status};
use fairlane_units::{Bytes, QpNumber};

use super::flow::Op;
use super::{Effect, Model, Violation, data, ended, ensure};
use crate::generate::{QUEUE_KEY, number};
use crate::program::Side;

impl Model {
    /// A request has arrived at the queue pair `to`.
    pub(super) fn heard_unreliable(
        &mut self,
        to: (Side, usize),
        effect: &Effect<'_>,
    ) -> Result<(), Violation> {
        let flow = &self.flows[to.1][to.0.other().index()];
        let at = flow.number(effect.packet.psn);
        let found = at.and_then(|at| Some((at, flow.locate(at)?)));
        let Some((at, index)) = found else {
            return Err("a packet that nobody posted was heard".into());
        };
        ensure!(!effect.failed, "an unreliable service failed");
        ensure!(
            effect.deeds.is_empty(),
            "an unreliable service did {:?}",
            effect.deeds
        );
        let op = &flow.ops[index];
        // A message is in progress as long as each packet follows the one before.
        let continues = at == op.first || flow.taken == at;
        let fits = self.fits(to, op, at);
        let taken = continues && fits == Some(true);
        match effect.placement {
            Some(placement) => {
                ensure!(
                    taken,
                    "packet {at} was placed: follows {continues}, fits {fits:?}"
                );
                self.place_unreliable(to, at, index, placement, effect)
            }
            None => {
                ensure!(
                    !(taken && self.is_clean()),
                    "packet {at} was lost on a clean network"
                );
                self.lose(to, at, index, continues && fits == Some(false))
            }
        }
    }

    /// Whether a packet is to be placed; `Some(false)` if its receive is too short, `None` if it is
    /// dropped.
    fn fits(&self, (side, connection): (Side, usize), op: &Op, at: u64) -> Option<bool> {
        let dead = self.endpoints[connection][side.index()].death.is_some();
        let flow = &self.flows[connection][side.other().index()];
        let (offset, length) = op.part(at, flow.mtu);
        let whole = op.request.length;
        let last = at + 1 == op.end();
        if dead {
            return None;
        }
        match op.request.operation {
            Operation::Write(remote) | Operation::WriteImmediate(remote, _) => {
                let allowed = whole.is_zero() || self.allows(side, Access::Write, remote, whole);
                let takes = last && op.request.operation.takes_receive();
                (allowed && (!takes || flow.receive().is_some())).then_some(true)
            }
            Operation::Datagram { queue_key, .. } if queue_key != QUEUE_KEY => None,
            _ => Some(offset + length <= flow.receive()?.length.get()),
        }
    }

    fn place_unreliable(
        &mut self,
        to: (Side, usize),
        at: u64,
        index: usize,
        placement: Placement,
        effect: &Effect<'_>,
    ) -> Result<(), Violation> {
        let flow = &self.flows[to.1][to.0.other().index()];
        let op = &flow.ops[index];
        let (offset, length) = op.part(at, flow.mtu);
        let from = (to.0.other(), to.1);
        let bytes = data(&self.pattern, from, op.request.id, (offset, length));
        ensure!(
            bytes == effect.payload,
            "packet {at} has other data than was posted"
        );
        let offset = Bytes::new(offset);
        let expected = match op.request.operation {
            Operation::Write(remote) | Operation::WriteImmediate(remote, _) => {
                let remote = remote.behind(offset);
                let memory = &mut self.memories[to.0.index()];
                ensure!(
                    memory.write(remote.address, bytes),
                    "placed outside of memory"
                );
                Placement::Memory(remote)
            }
            _ => {
                let id = flow.receive().map_or(0, |receive| receive.id);
                Placement::Receive { id, offset }
            }
        };
        ensure!(
            placement == expected,
            "placed at {placement:?} instead of {expected:?}"
        );
        let flow = &mut self.flows[to.1][to.0.other().index()];
        flow.taken = at + 1;
        if at + 1 < flow.ops[index].end() {
            return Ok(());
        }
        // A repeated datagram or message of one packet may come twice.
        flow.taken = u64::MAX;
        flow.ops[index].delivered = true;
        let op = &flow.ops[index];
        if op.request.operation.takes_receive() {
            let mut filled = flow.receive().map(|receive| flow.filled(op, receive));
            if let Some(filled) = &mut filled
                && flow.service == Service::UnreliableDatagram
            {
                filled.source = Some(QpNumber::new(number(to.1, to.0.other())));
            }
            flow.due.extend(filled);
            flow.received += 1;
        }
        Ok(())
    }

    /// A packet wasn't placed: its message is lost.
    fn lose(
        &mut self,
        to: (Side, usize),
        _: u64,
        _: usize,
        too_long: bool,
    ) -> Result<(), Violation> {
        let flow = &mut self.flows[to.1][to.0.other().index()];
        flow.taken = u64::MAX;
        if let Some(receive) = flow.receive().filter(|_| too_long) {
            flow.due.push_back(ended(receive, Status::LocalLength));
            flow.received += 1;
        }
        Ok(())
    }
}
