//! What proves that a run doesn't end soon.

use fairlane_network::Network;
use fairlane_network::packet::Side;
use fairlane_units::{MessageId, Time};

use super::subflows;
use crate::endpoint::Endpoints;
use crate::hosts::Hosts;
use crate::world::World;

impl World {
    /// Whether something of this part can't end `until` then, which is at most a round trip away.
    pub(crate) fn goes_on(&mut self, until: Time) -> bool {
        let timeout = self.traffic.rules.transport.ack_timeout;
        let span = until.saturating_since(self.net.now());
        // Failures end messages early, after timeouts.
        if timeout.is_some_and(|timeout| timeout <= span) {
            return false;
        }
        if self.schedule.outlasts(until) || self.notices.set_off() {
            return true;
        }
        if applications_go_on(self, until) {
            return true;
        }
        let long = |message: MessageId| {
            has_to_send(&self.net, &self.hosts, message, until)
                || subflows::has_to_send(self, message, until)
        };
        if self.outlasting.is_some_and(long) {
            return true;
        }
        // The latest one first.
        let mut messages = self.hosts.connections.posted.keys().rev().copied();
        let found = messages.find(|&message| long(message));
        self.outlasting = found.or(self.outlasting);
        found.is_some()
    }
}

/// Whether an application that others, in the background, go on for can't end `until` then.
pub(crate) fn applications_go_on(world: &World, until: Time) -> bool {
    let endpoints = world.endpoints.as_deref();
    endpoints.is_some_and(|all| go_on(&world.hosts, all, until))
}

/// Whether a message has packets that haven't been sent, or data that can't have come `until` then, and
/// doesn't fail by then.
fn has_to_send(net: &Network, hosts: &Hosts, message: MessageId, until: Time) -> bool {
    if !hosts.connections.posted.contains_key(&message) {
        return false;
    }
    let flow = hosts.traffic.flow_of(message);
    let Some(pair) = hosts.connections.pair(flow, Side::Requester) else {
        return false;
    };
    let nic = hosts.nic_at(hosts.traffic.message(message).source);
    let requester = nic.core.pair(pair).requester();
    let waits = requester.deadline().is_none_or(|at| at > until);
    let room = net.ports()[nic.port(net.port_at(flow, Side::Requester)) as usize]
        .rate
        .bytes_in(until.saturating_since(net.now()));
    // The last packet may be short, and the one before it may be about to arrive.
    let packets = requester.unacknowledged_packets().saturating_sub(2);
    let unread = packets * u64::from(net.settings().mtu);
    let reads = requester.awaits_data() && unread > 2 * room.get();
    waits && (!requester.has_sent_all() || reads)
}

/// Whether an application that the end of the run waits for has batches still to post.
fn go_on(hosts: &Hosts, endpoints: &Endpoints, until: Time) -> bool {
    endpoints.channels.iter().any(|channel| {
        let application = &endpoints.applications[channel.application as usize];
        let pair = &endpoints.pairs[channel.pair.index()];
        let more = match channel.left {
            // Of an unreliable service, operations end as soon as they are sent.
            Some(left) => left > 0 && endpoints.reliable,
            None => application.end > until,
        };
        let open = hosts.connections.pair(pair.flow, Side::Requester);
        let nic = &hosts.nic(pair.host).core;
        let waits = |pair| {
            let deadline = nic.pair(pair).requester().deadline();
            deadline.is_none_or(|at| at > until)
        };
        !application.background && more && !pair.failed && open.is_some_and(waits)
    })
}
