//! Why a responder may fail.

use fairlane_transport::{Operation, Status};

use super::reliable::Verdict;
use super::{Death, Effect, Model, Violation, ended, ensure};
use crate::memory::Deed;
use crate::program::Side;

impl Model {
    /// The responder `to` has failed by a packet: by itself, or by one behind it that had come early.
    pub(super) fn refused(
        &mut self,
        to: (Side, usize),
        number: u64,
        index: usize,
        effect: &Effect<'_>,
    ) -> Result<(), Violation> {
        let executed = matches!(effect.deeds.first(), Some(Deed::Executed { .. }));
        let carried_out = effect.placement.is_some() || executed;
        let mut reasons = Vec::new();
        if !carried_out {
            self.pass_reads(to, number)?;
            reasons = self.own_fault(to, number, index)?;
        }
        let behind = self.fault_behind(to, number, index, carried_out)?;
        let flow = &mut self.flows[to.1][to.0.other().index()];
        let too_long = flow.ops[index].request.operation.takes_receive()
            && reasons.contains(&(index, Status::RemoteInvalidRequest));
        reasons.extend(behind);
        ensure!(
            !reasons.is_empty(),
            "packet {number} was refused without reason"
        );
        flow.refused = reasons;
        if let Some(receive) = flow.receive().filter(|_| too_long) {
            flow.due.push_back(ended(receive, Status::LocalLength));
            flow.received += 1;
        }
        let death = &mut self.endpoints[to.1][to.0.index()].death;
        *death = death.or(Some(Death::Flushed));
        Ok(())
    }

    /// What is wrong with the packet itself; it may be wrong and one too many at once.
    fn own_fault(
        &self,
        to: (Side, usize),
        number: u64,
        index: usize,
    ) -> Result<Vec<(usize, Status)>, Violation> {
        let flow = &self.flows[to.1][to.0.other().index()];
        let (op, taken) = (&flow.ops[index], flow.taken);
        ensure!(
            number == taken,
            "packet {number} was refused while {taken} is due"
        );
        let wrong = match self.verdict(to, op, number) {
            Verdict::Refused(status) => Some((index, status)),
            Verdict::Fine | Verdict::NotReady => None,
        };
        let lacks_resources = op.has_result() && flow.depths.0 > flow.depths.1;
        let too_many = lacks_resources.then_some((index, Status::RemoteInvalidRequest));
        Ok(wrong.into_iter().chain(too_many).collect())
    }

    /// A WRITE behind the packet that was placed early, and whose key was invalidated in between.
    fn fault_behind(
        &mut self,
        to: (Side, usize),
        number: u64,
        index: usize,
        carried_out: bool,
    ) -> Result<Option<(usize, Status)>, Violation> {
        let flow = &self.flows[to.1][to.0.other().index()];
        let op = &flow.ops[index];
        let is_read = matches!(op.request.operation, Operation::Read(_));
        let fine = is_read && self.verdict(to, op, number) == Verdict::Fine;
        if flow.direct || !(carried_out || fine && !flow.early.is_empty()) {
            return Ok(None);
        }
        if fine {
            self.pass_reads(to, op.end())?;
        }
        let flow = &self.flows[to.1][to.0.other().index()];
        let denied = Verdict::Refused(Status::RemoteAccess);
        let mut placed =
            (index + 1..flow.ops.len()).take_while(|&i| flow.ops[i].first < flow.taken);
        let culprit = placed.find(|&i| {
            let op = &flow.ops[i];
            op.packets > 1 && self.verdict(to, op, op.first) == denied
        });
        Ok(culprit.map(|culprit| (culprit, Status::RemoteAccess)))
    }
}
