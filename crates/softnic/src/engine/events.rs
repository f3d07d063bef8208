//! Who is told of what.

use fairlane_units::Time;
use fairlane_wire::NakCode;

use super::Engine;
use crate::completion::CompletionQueue;
use crate::error::Error;
use crate::event::{Arm, AsyncEvent, Channel};

impl Engine {
    pub(crate) fn set_channel(
        &mut self,
        queue: CompletionQueue,
        channel: Option<Channel>,
    ) -> Result<(), Error> {
        if channel.is_some_and(|channel| self.channels.get(channel).is_err()) {
            return Err(Error::Unknown("completion channel"));
        }
        let own = self.completions.get_mut(queue.0);
        let own = own.ok_or(Error::Unknown("completion queue"))?;
        let before = std::mem::replace(&mut own.channel, channel);
        own.armed = own.armed.filter(|_| channel.is_some());
        if let Some(before) = before.and_then(|before| self.channels.get(before).ok()) {
            before.users -= 1;
            before.purge(|waiting| *waiting == queue);
        }
        if let Some(now) = channel.and_then(|channel| self.channels.get(channel).ok()) {
            now.users += 1;
        }
        Ok(())
    }

    pub(crate) fn arm(&mut self, queue: CompletionQueue, arm: Arm) -> Result<(), Error> {
        let own = self.completions.get_mut(queue.0);
        let own = own.ok_or(Error::Unknown("completion queue"))?;
        if own.channel.is_none() {
            let expected = "one with a completion channel";
            return Err(Error::Invalid("completion queue to arm", expected));
        }
        if own.armed != Some(Arm::Any) {
            own.armed = Some(arm);
        }
        self.channels.tell_of_left(queue, own);
        Ok(())
    }

    /// A completion queue has had no room.
    #[cold]
    pub(super) fn on_overrun(&mut self, queue: CompletionQueue) {
        self.counters.cq_overrun += 1;
        self.overrun = true;
        let told = self.completions.get_mut(queue.0);
        if let Some(own) = told.filter(|own| !own.overrun) {
            own.overrun = true;
            self.events.push(AsyncEvent::QueueError(queue));
        }
    }

    /// A queue pair has come into state ERR.
    #[cold]
    pub(super) fn on_failed(&mut self, slot: u32) {
        let Some(pair) = self.pairs.get(slot) else {
            return;
        };
        let known = pair.id.map(|id| self.nic.pair(id));
        let fault = known.and_then(|own| own.responder().fault());
        match fault {
            Some(NakCode::RemoteAccess) => self.events.push(AsyncEvent::AccessError(pair.number)),
            Some(_) => self.events.push(AsyncEvent::RequestError(pair.number)),
            None => {}
        }
        if pair.options.shared.is_some() {
            self.events.push(AsyncEvent::LastReceive(pair.number));
        }
    }

    /// Drains a queue pair, and tells if everything has ended that had begun. The NIC, which knows parts of READs only, goes
    /// on until those have ended.
    #[cold]
    pub(super) fn drain(&mut self, slot: u32, now: Time) {
        let Some(pair) = self.pairs.get(slot) else {
            return;
        };
        if let Some(id) = pair.id.filter(|_| pair.reads == 0) {
            self.nic.drain(now, id);
        }
        let drained = pair.is_drained(&self.nic);
        if let Some(pair) = self.pairs.get_mut(slot)
            && pair.drains
            && drained
        {
            pair.drains = false;
            self.events.push(AsyncEvent::Drained(pair.number));
        }
    }
}
