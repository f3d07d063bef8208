//! What proves that a run doesn't end soon.

use fairlane_units::Time;

use crate::connections::Side;
use crate::endpoint::Endpoints;
use crate::world::World;

impl World {
    /// Whether something of this part can't end `until` then, which is at most a round trip away.
    pub(crate) fn goes_on(&mut self, until: Time) -> bool {
        let timeout = self.net.rules.transport.ack_timeout;
        let span = until.saturating_since(self.net.now());
        // Failures end messages early, after timeouts.
        if timeout.is_some_and(|timeout| timeout <= span) {
            return false;
        }
        if self.schedule.is_pending() || self.notices.are_pending() {
            return true;
        }
        if let Some(endpoints) = self.endpoints.as_deref()
            && self.applications_go_on(endpoints, until)
        {
            return true;
        }
        self.has_to_send(self.witness, until) || self.find_witness(until)
    }

    /// Looks for a message that has a long way to go, the latest one first.
    fn find_witness(&mut self, until: Time) -> bool {
        let mut messages = self.hosts.connections.posted.keys().rev().copied();
        let found = messages.find(|&message| self.has_to_send(message, until));
        if let Some(message) = found {
            self.witness = message;
        }
        found.is_some()
    }

    /// Whether a message has packets that haven't been sent, or data that can't have come `until` then, and
    /// doesn't fail by then.
    fn has_to_send(&self, message: u32, until: Time) -> bool {
        if !self.hosts.connections.posted.contains_key(&message) {
            return false;
        }
        let Some(pair) = self.hosts.connections.pair(message, Side::Requester) else {
            return false;
        };
        let nic =
            &self.hosts.nics[self.hosts.host(self.net.specs[message as usize].source) as usize];
        let requester = nic.host.requester(pair);
        let waits = requester.deadline().is_none_or(|at| at > until);
        let room = self.net.ports[nic.port as usize]
            .rate
            .bytes_in(until.saturating_since(self.net.now()));
        let unread = requester.unacknowledged_packets() * u64::from(self.net.rules.mtu);
        let reads = requester.awaits_data() && unread > 2 * room.get();
        waits && (!requester.has_sent_all() || reads)
    }

    /// Whether an application that the end of the run waits for has batches still to post.
    fn applications_go_on(&self, endpoints: &Endpoints, until: Time) -> bool {
        endpoints.channels.iter().any(|channel| {
            let application = &endpoints.applications[channel.application as usize];
            let pair = &endpoints.pairs[channel.pair as usize];
            let more = match channel.left {
                // Of an unreliable service, operations end as soon as they are sent.
                Some(left) => left > 0 && endpoints.reliable,
                None => application.end > until,
            };
            let open = self.hosts.connections.pair(pair.message, Side::Requester);
            let host = &self.hosts.nics[pair.host as usize].host;
            let waits = |pair| {
                let deadline = host.requester(pair).deadline();
                deadline.is_none_or(|at| at > until)
            };
            !application.background && more && !pair.failed && open.is_some_and(waits)
        })
    }

    /// Applications that end by themselves and haven't.
    pub(crate) fn applications_ending(&self) -> usize {
        self.endpoints.as_deref().map_or(0, |all| all.ending)
    }

    /// Whether applications of other parts go on.
    pub(crate) fn hear_of_others(&mut self, go_on: bool) {
        if let Some(endpoints) = self.endpoints.as_deref_mut() {
            endpoints.others_go_on = go_on;
        }
    }
}
