//! Requests that are carried out at this end alone: binding of memory windows, invalidation of keys.

use fairlane_transport::{State, Status};
use fairlane_units::Time;

use super::Engine;
use crate::work::Operation;

impl Engine {
    /// Carries out requests of a queue pair at its turn that are for this end, once all before them have ended, so that they
    /// complete in order. Returns whether the next one is for the NIC.
    pub(super) fn carry_out(&mut self, slot: u32, now: Time) -> bool {
        loop {
            let Some(pair) = self.pairs.get_mut(slot) else {
                return false;
            };
            let Some(&number) = pair.waiting.front() else {
                return true;
            };
            let Some(work) = self.works.get(number) else {
                return false;
            };
            let operation = work.request.operation;
            if !operation.is_local() {
                return true;
            }
            let first = pair.outstanding as usize == pair.waiting.len();
            if !first || pair.state != State::ReadyToSend {
                return false;
            }
            let (domain, fault) = (pair.options.domain, work.fault);
            let (done, known) = match operation {
                _ if fault.is_some() => (false, pair.id),
                Operation::Bind(to) => (self.keys.bind(domain, slot, &to), pair.id),
                Operation::Invalidate(key) => (self.keys.invalidate(domain, slot, key), pair.id),
                _ => (false, pair.id),
            };
            pair.waiting.pop_front();
            if done {
                self.end(slot, number, Status::Success);
                continue;
            }
            self.end(slot, number, fault.unwrap_or(Status::WindowBind));
            if let Some(id) = known {
                self.nic.fail(now, id);
            }
            self.hear_events(now, None);
            self.follow(slot, now);
            return false;
        }
    }
}
