//! Reliable connections: everything happens once, in order.

use fairlane_transport::{
    Access, Extension, Operation, Outgoing, Packet, Placement, Remote, Source, Status,
};
use fairlane_units::Bytes;
use fairlane_wire::{NakCode, Syndrome};

use super::flow::{Flow, Op};
use super::{Effect, Model, Violation, data, ensure, execute};
use crate::memory::Deed;
use crate::program::Side;

/// What must become of a packet that is next in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The packet is carried out.
    Fine,
    /// The packet waits for a receive.
    NotReady,
    /// The connection ends; the request has this status.
    Refused(Status),
}

impl Model {
    /// What must become of a packet of a request.
    pub(super) fn verdict(
        &self,
        (side, connection): (Side, usize),
        op: &Op,
        number: u64,
    ) -> Verdict {
        let flow = &self.flows[connection][side.other().index()];
        let allowed = |access, remote: Remote, length: u64| {
            length == 0 || self.allows(side, access, remote, Bytes::new(length))
        };
        let denied = Verdict::Refused(Status::RemoteAccess);
        let (offset, length) = op.part(number, flow.mtu);
        let last = number + 1 == op.end();
        match op.request.operation {
            Operation::Write(remote) | Operation::WriteImmediate(remote, _) => {
                let whole = op.request.length.get();
                let (remote, length) = if flow.direct {
                    (remote.behind(Bytes::new(offset)), length)
                } else {
                    (remote, whole)
                };
                let takes_receive = last && op.request.operation.takes_receive();
                if !allowed(Access::Write, remote, length) {
                    denied
                } else if takes_receive && flow.receive().is_none() {
                    Verdict::NotReady
                } else {
                    Verdict::Fine
                }
            }
            Operation::Read(remote) if !allowed(Access::Read, remote, op.request.length.get()) => {
                denied
            }
            Operation::FetchAdd { remote, .. } | Operation::CompareSwap { remote, .. }
                if !allowed(Access::Atomic, remote, 8) =>
            {
                denied
            }
            Operation::Read(_) | Operation::FetchAdd { .. } | Operation::CompareSwap { .. } => {
                Verdict::Fine
            }
            _ => self.verdict_on_send(side, flow, op, number, offset + length),
        }
    }

    fn verdict_on_send(&self, side: Side, flow: &Flow, op: &Op, number: u64, end: u64) -> Verdict {
        let Some(receive) = flow.receive() else {
            return Verdict::NotReady;
        };
        if end > receive.length.get() {
            return Verdict::Refused(Status::RemoteInvalidRequest);
        }
        match op.request.operation {
            Operation::SendInvalidate(key)
                if number + 1 == op.end() && self.invalid[side.index()].contains(&key) =>
            {
                Verdict::Refused(Status::RemoteAccess)
            }
            _ => Verdict::Fine,
        }
    }

    /// READs before `number` have been carried out if something behind them has.
    pub(super) fn pass_reads(&mut self, to: (Side, usize), number: u64) -> Result<(), Violation> {
        loop {
            let flow = &self.flows[to.1][to.0.other().index()];
            let taken = flow.taken;
            let Some(op) = flow.locate(taken).map(|index| &flow.ops[index]) else {
                return Ok(());
            };
            let is_read = matches!(op.request.operation, Operation::Read(_));
            if taken >= number || !is_read {
                return Ok(());
            }
            let verdict = self.verdict(to, op, op.first);
            ensure!(
                verdict == Verdict::Fine,
                "went past a READ that is {verdict:?}"
            );
            let end = op.end();
            let flow = &mut self.flows[to.1][to.0.other().index()];
            flow.taken = end - 1;
            flow.take();
        }
    }

    /// A request has arrived at the queue pair `to`.
    pub(super) fn heard_reliable(
        &mut self,
        to: (Side, usize),
        effect: &Effect<'_>,
    ) -> Result<(), Violation> {
        let flow = &self.flows[to.1][to.0.other().index()];
        let number = flow.number(effect.packet.psn);
        let found = number.and_then(|number| Some((number, flow.locate(number)?)));
        let Some((number, index)) = found else {
            return Err("a packet that nobody posted was heard".into());
        };
        ensure!(effect.deeds.len() <= 1, "one packet did {:?}", effect.deeds);
        if let Some(placement) = effect.placement {
            self.placed(to, number, index, placement, effect)?;
        }
        if let Some(&Deed::Executed {
            operation,
            original,
        }) = effect.deeds.first()
        {
            self.executed(to, number, index, operation, original)?;
        }
        if effect.failed {
            self.refused(to, number, index, effect)?;
        }
        Ok(())
    }

    fn placed(
        &mut self,
        to: (Side, usize),
        number: u64,
        index: usize,
        placement: Placement,
        effect: &Effect<'_>,
    ) -> Result<(), Violation> {
        let flow = &self.flows[to.1][to.0.other().index()];
        // A packet that may be early says nothing about READs before it.
        let ahead = number.saturating_sub(flow.taken);
        if !flow.ops[index].may_be_early(number) || ahead >= flow.window {
            self.pass_reads(to, number)?;
        }
        let flow = &self.flows[to.1][to.0.other().index()];
        let op = &flow.ops[index];
        ensure!(flow.refused.is_empty(), "placed after a refusal");
        ensure!(
            !op.has_result(),
            "placed data of {:?}",
            op.request.operation
        );
        let early = number > flow.taken;
        if early {
            let inside = number - flow.taken < flow.window && op.may_be_early(number);
            ensure!(inside, "packet {number} placed while {} is due", flow.taken);
            ensure!(
                !flow.early.contains(&number),
                "packet {number} placed twice"
            );
        } else {
            ensure!(number == flow.taken, "packet {number} placed again");
        }
        let verdict = self.verdict(to, op, number);
        ensure!(
            verdict == Verdict::Fine,
            "packet {number} was taken, it is {verdict:?}"
        );
        let (offset, length) = op.part(number, flow.mtu);
        let from = (to.0.other(), to.1);
        let bytes = data(&self.pattern, from, op.request.id, (offset, length));
        ensure!(
            bytes == effect.payload,
            "packet {number} has other data than was posted"
        );
        self.put(to, index, offset, placement, effect)?;
        let flow = &mut self.flows[to.1][to.0.other().index()];
        if early {
            flow.early.insert(number);
            return Ok(());
        }
        flow.take();
        let op = &flow.ops[index];
        if number + 1 == op.end() && op.request.operation.takes_receive() {
            let filled = flow.receive().map(|receive| flow.filled(op, receive));
            flow.due.extend(filled);
            flow.received += 1;
        }
        Ok(())
    }

    /// Does what a placement must be, and compares.
    fn put(
        &mut self,
        to: (Side, usize),
        index: usize,
        offset: u64,
        placement: Placement,
        effect: &Effect<'_>,
    ) -> Result<(), Violation> {
        let flow = &self.flows[to.1][to.0.other().index()];
        let op = &flow.ops[index];
        let offset = Bytes::new(offset);
        let expected = match op.request.operation {
            Operation::Write(remote) | Operation::WriteImmediate(remote, _) => {
                let remote = remote.behind(offset);
                let payload = effect.payload;
                let written = self.memories[to.0.index()].write(remote.address, payload);
                ensure!(written, "placed outside of memory");
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
        if let Some(Deed::Invalidated { key, done }) = effect.deeds.first() {
            let asked = Operation::SendInvalidate(*key) == op.request.operation;
            ensure!(asked && *done, "key {key} was invalidated");
            self.invalid[to.0.index()].insert(*key);
        }
        Ok(())
    }

    fn executed(
        &mut self,
        to: (Side, usize),
        number: u64,
        index: usize,
        operation: Operation,
        original: u64,
    ) -> Result<(), Violation> {
        self.pass_reads(to, number)?;
        let flow = &self.flows[to.1][to.0.other().index()];
        let op = &flow.ops[index];
        ensure!(flow.refused.is_empty(), "carried out after a refusal");
        ensure!(
            number == flow.taken,
            "atomic {number} carried out while {} is due",
            flow.taken
        );
        ensure!(
            op.request.operation == operation,
            "another atomic was carried out"
        );
        let verdict = self.verdict(to, op, number);
        ensure!(
            verdict == Verdict::Fine,
            "atomic {number} was carried out, it is {verdict:?}"
        );
        let expected = execute(&mut self.memories[to.0.index()], &operation);
        ensure!(
            expected == Some(original),
            "atomic found {original}, expected {expected:?}"
        );
        let flow = &mut self.flows[to.1][to.0.other().index()];
        flow.ops[index].original = Some(original);
        flow.take();
        Ok(())
    }

    /// An acknowledgement or NAK leaves `from`.
    fn replied(&mut self, from: (Side, usize), reply: &Packet) -> Result<(), Violation> {
        let Extension::Acknowledge(aeth) = reply.extension else {
            return Err("a reply without AETH".into());
        };
        let flow = &self.flows[from.1][from.0.other().index()];
        let is_ack = matches!(aeth.syndrome, Syndrome::Ack { .. });
        let Some(number) = flow.number(reply.psn) else {
            return Err("a reply to a packet before the first".into());
        };
        let reached = number + u64::from(is_ack);
        self.pass_reads(from, reached)?;
        let flow = &self.flows[from.1][from.0.other().index()];
        ensure!(
            reached <= flow.taken,
            "acknowledged up to {reached}, taken are {}",
            flow.taken
        );
        match aeth.syndrome {
            Syndrome::RnrNak { .. } => {
                let op = flow.locate(number).map(|index| &flow.ops[index]);
                let takes = op.is_some_and(|op| op.request.operation.takes_receive());
                ensure!(takes, "packet {number} needs no receive");
                self.flows[from.1][from.0.other().index()].not_ready = true;
            }
            Syndrome::Nak(NakCode::RemoteAccess) if number < flow.taken => {
                let index = flow.locate(number).ok_or("a NAK of nothing")?;
                let op = &flow.ops[index];
                let denied =
                    self.verdict(from, op, op.first) == Verdict::Refused(Status::RemoteAccess);
                let is_read = matches!(op.request.operation, Operation::Read(_));
                let culprit = flow.refused.iter().any(|&(refused, _)| refused == index);
                ensure!(
                    culprit || is_read && denied,
                    "packet {number} was taken and is refused"
                );
                let flow = &mut self.flows[from.1][from.0.other().index()];
                flow.denied.insert(index);
            }
            Syndrome::Nak(NakCode::SequenceError) if self.is_clean() => {
                ensure!(flow.not_ready, "a sequence error on a clean network");
            }
            _ => {}
        }
        let flow = &self.flows[from.1][from.0.other().index()];
        if reply.selective && aeth.syndrome == Syndrome::Nak(NakCode::SequenceError) {
            let arrived = flow.number(fairlane_units::Psn::new(aeth.msn));
            let kept = arrived.is_some_and(|at| at <= flow.taken || flow.early.contains(&at));
            ensure!(kept, "reported packet {arrived:?}, which isn't kept");
        }
        Ok(())
    }

    /// A response leaves `from` in its turn.
    pub(super) fn responded(
        &mut self,
        from: (Side, usize),
        outgoing: &Outgoing,
        payload: &[u8],
    ) -> Result<(), Violation> {
        if let Extension::Acknowledge(_) = outgoing.packet.extension
            && !outgoing.packet.opcode.has_payload()
        {
            return self.replied(from, &outgoing.packet);
        }
        let flow = &self.flows[from.1][from.0.other().index()];
        let number = flow.number(outgoing.packet.psn);
        let found = number.and_then(|number| Some((number, flow.locate(number)?)));
        let Some((number, index)) = found else {
            return Err("a response to a packet that nobody posted".into());
        };
        self.pass_reads(from, flow.ops[index].end())?;
        let flow = &mut self.flows[from.1][from.0.other().index()];
        let (taken, mtu) = (flow.taken, flow.mtu);
        let op = &mut flow.ops[index];
        ensure!(op.end() <= taken, "response {number} while {taken} is due");
        match (
            op.request.operation,
            outgoing.source,
            outgoing.packet.extension,
        ) {
            (Operation::Read(remote), Source::Memory(place), _) => {
                let (offset, length) = op.part(number, mtu);
                let expected = remote.behind(Bytes::new(offset));
                ensure!(
                    place == expected,
                    "READ from {place:?} instead of {expected:?}"
                );
                ensure!(
                    length == payload.len() as u64,
                    "READ of {} bytes",
                    payload.len()
                );
                op.fetched.push((number, checksum(payload)));
            }
            (_, _, Extension::AtomicResult { original, .. }) => {
                let expected = op.original;
                ensure!(
                    expected == Some(original),
                    "atomic answers {original}, not {expected:?}"
                );
            }
            (operation, source, _) => {
                return Err(format!("{operation:?} is answered with {source:?}"));
            }
        }
        Ok(())
    }

    /// A response has arrived at the requester `to`.
    pub(super) fn heard_response(
        &mut self,
        to: (Side, usize),
        effect: &Effect<'_>,
    ) -> Result<(), Violation> {
        let flow = &mut self.flows[to.1][to.0.index()];
        if let Extension::Acknowledge(aeth) = effect.packet.extension
            && let Syndrome::RnrNak { .. } = aeth.syndrome
        {
            self.endpoints[to.1][to.0.index()].rnr_naks += 1;
        }
        let Some(placement) = effect.placement else {
            return Ok(());
        };
        let (Placement::Request { id, .. } | Placement::Result { id, .. }) = placement else {
            return Err(format!("a response was placed at {placement:?}"));
        };
        let index = flow
            .find(id)
            .ok_or("a result of a request that nobody posted")?;
        let mtu = flow.mtu;
        let op = &mut flow.ops[index];
        let number = op.first + op.results;
        ensure!(
            op.has_result() && op.results < op.packets,
            "a result of request {id} again"
        );
        let expected = match op.original {
            Some(original) => Placement::Result { id, original },
            None => {
                let offset = Bytes::new(op.part(number, mtu).0);
                Placement::Request { id, offset }
            }
        };
        ensure!(
            placement == expected,
            "result at {placement:?} instead of {expected:?}"
        );
        let known = op.fetched.contains(&(number, checksum(effect.payload)));
        ensure!(
            known || op.original.is_some(),
            "READ {id} got data that was never there"
        );
        op.results += 1;
        Ok(())
    }
}

/// FNV-1a.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
