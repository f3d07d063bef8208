//! A simulated fabric, or a part of it: links and switches, hosts, what runs on them, and the run as a whole.

mod account;
mod applications;
mod faults;
mod ideal;
mod merge;
mod notices;
mod outlasting;
mod part;
mod rates;
mod sampler;
mod schedule;
mod signals;
mod steps;
mod storm;
mod subflows;
mod watch;

pub(crate) use account::Account;
pub(crate) use merge::merge;
pub(crate) use outlasting::applications_go_on;
pub(crate) use watch::look;

use std::sync::Arc;

use fairlane_engine::Event;
use fairlane_network::AtHost;
use fairlane_network::Network;
use fairlane_network::deflection;
use fairlane_network::log::Log;
use fairlane_network::packet::Side;
use fairlane_network::waking::{Waking, timer};
use fairlane_nic::{Event as Heard, InTurn, PairId};
use fairlane_scenario::Tenant;
use fairlane_transport::Status;
use fairlane_units::{Bytes, Duration, FlowId, HostId, MessageId, Time};

use crate::chosen::Chosen;
use crate::endpoint::{Contexts, Endpoints};
use crate::events::control;
use crate::faults::Faults;
use crate::hosts::Hosts;
use crate::multipath::Multipath;
use crate::nic::{AttachedNic, Sent};
use crate::notice::Notices;
use crate::placed::Placed;
use crate::rates::Rates;
use crate::sampler::Sampler;
use crate::schedule::{Schedule, arrives_at_source};
use crate::spread::PathProfiles;
use crate::storm::Storms;
use crate::traffic::{FlowKind, Traffic};
use crate::watch::Watch;
use crate::{Ending, Flux, MessageRecord};

/// A simulated fabric, or a part of one that is cut at links: which event wakes what, and who hears of it.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) net: Network,
    pub(crate) traffic: Arc<Traffic>,
    /// The profiles of paths, where flows have more than one.
    pub(crate) profiles: PathProfiles,
    pub(crate) hosts: Hosts,
    pub(crate) endpoints: Option<Box<Endpoints>>,
    /// If messages have several paths.
    pub(crate) multipath: Option<Box<Multipath>>,
    pub(crate) tenants: Vec<Tenant>,
    pub(crate) schedule: Schedule,
    pub(crate) notices: Notices,
    pub(crate) records: Log<MessageRecord>,
    /// By record, its flow and the least that its ideal time can be if that was moved; empty if flows aren't.
    pub(crate) moved: Log<(FlowId, Option<Duration>)>,
    /// Records that there must be at the end; applications that haven't ended count as one each.
    pub(crate) owed: usize,
    pub(crate) sampler: Sampler,
    pub(crate) placed: Placed,
    /// Only if ports are chosen.
    pub(crate) chosen: Option<Box<Chosen>>,
    /// Only if rates are recorded.
    pub(crate) rates: Option<Box<Rates>>,
    pub(crate) watch: Watch,
    pub(crate) faults: Faults,
    pub(crate) storms: Storms,
    /// Set when the run must end before all messages have.
    pub(crate) ending: Option<Ending>,
    /// Set when nothing can move a message any more.
    pub(crate) stuck: bool,
    /// Events about the run as a whole: how many there are depends on the parts.
    pub(crate) controls: u64,
    /// Events handled by other parts that have been taken in.
    pub(crate) handled: u64,
    /// Packets that were under way at the end, once they have been counted.
    pub(crate) left: Option<Flux>,
    /// The message that was found last to have so much to send that the run goes on.
    pub(crate) outlasting: Option<MessageId>,
}

impl World {
    /// Handles `most` events at most, those before `bound`, and if this is all of a run only up to its end;
    /// returns how many it has handled.
    ///
    /// This is the only loop over events, so that what is most frequent becomes part of it.
    pub(crate) fn handle(&mut self, most: u64, bound: Event, alone: bool) -> u64 {
        let mut handled = 0;
        if alone && has_ended(self) {
            return handled;
        }
        while handled < most {
            if self.net.engine.near().is_empty() && !self.net.find_events() {
                break;
            }
            let Some(event) = self.net.engine.next_event_before(bound) else {
                break;
            };
            handled += 1;
            let (waking, index) = Waking::of(event.component());
            match waking {
                Waking::Arrival => match self.net.on_arrival(index, event) {
                    // Between switches nothing ends.
                    None => continue,
                    Some(at_host) => self.on_host_arrival(index, at_host),
                },
                Waking::PortFree => {
                    self.net.on_port_free(index);
                    self.send_from(index);
                }
                Waking::Nic => self.on_nic_wake(index, event),
                Waking::Alarm => self.on_alarm(index, event),
                Waking::Control => self.on_control(index),
                Waking::Unit => self.on_nic_unit(index, event),
                Waking::Client => self.on_application(index, event),
                Waking::Agent => self.on_agent(index, event),
            }
            if alone && has_ended(self) {
                break;
            }
        }
        handled
    }

    /// Whether every message has ended.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.records.len() == self.owed
    }

    fn on_control(&mut self, index: u32) {
        self.controls += 1;
        match index {
            control::DUE => self.on_due(),
            control::POST => self.on_post(),
            control::DELAYED => self.on_delayed(),
            control::FAULT => self.on_fault(),
            control::SAMPLE => self.on_sample(),
            control::CHOSEN => {
                if let Some(chosen) = &mut self.chosen {
                    chosen.on_due(&mut self.net);
                }
            }
            control::WATCH => self.on_watch(),
            control::STORM => self.on_storm(),
            timer::WATCHDOG => self.net.on_watchdog(),
            control::NOTICE => self.on_notices(),
            control::RATES => rates::look(self),
            timer::DEFLECTION => deflection::on_due(&mut self.net),
            _ => self.ending = Some(Ending::Stopped),
        }
    }

    /// Sends the next packet of a port if it may.
    #[inline]
    fn send_from(&mut self, number: u32) {
        let port = &self.net.ports()[number as usize];
        if port.on_switch {
            self.net.send_from_switch(number);
        } else {
            let host = HostId::new(port.owner);
            let plane = self.hosts.nic(host).plane_of(number);
            if let Some(outside) = &mut self.hosts.outside {
                outside.edge(&mut self.net).send_from(number);
                if outside.takes_turn(number, host, plane) {
                    return;
                }
            }
            self.send_from_plane(host, plane);
            if let Some(outside) = &mut self.hosts.outside {
                outside.comes_again(&mut self.net, number, host, plane);
            }
        }
    }

    /// Something that `sender` sent has come to a host. Not part of what handles arrivals at switches, which
    /// would need more registers than there are.
    #[inline(never)]
    fn on_host_arrival(&mut self, sender: u32, came: AtHost) {
        let host = HostId::new(self.net.ports()[sender as usize].peer_owner);
        match came {
            AtHost::Packet(at) => {
                if let Some(outside) = &mut self.hosts.outside
                    && outside.take_in(&mut self.net, at)
                {
                    return;
                }
                if self.endpoints.is_none() || !self.is_held(host, at) {
                    self.on_packet(host, at);
                }
            }
            AtHost::Pause(ends) => {
                let receiver = self.net.ports()[sender as usize].peer;
                let nic = self.hosts.nic_mut(host);
                let plane = nic.plane_of(receiver);
                nic.on_pause(&self.net, plane);
                if let Some(outside) = &mut self.hosts.outside {
                    outside.tell_pauses(&self.net, receiver, host, plane);
                    outside.edge(&mut self.net).send_from(receiver);
                }
                if ends {
                    self.send_from_plane(host, plane);
                }
            }
        }
    }

    /// The NIC of a host takes in a packet.
    #[inline]
    fn on_packet(&mut self, host: HostId, at: u32) {
        let plane = self.hosts.receive(&mut self.net, host, at);
        self.on_events(host, self.net.now());
        self.send_from_plane(host, plane);
    }

    /// Sees to what applications hear from the NIC of a host; what was sent is on the wire `by` then.
    #[inline]
    fn on_events(&mut self, host: HostId, by: Time) {
        while let Some(event) = self.hosts.nic_mut(host).core.poll_event() {
            match event {
                Heard::Completed {
                    flow,
                    pair,
                    status,
                    id,
                } if self.traffic.is_path(flow) => {
                    subflows::on_completed(self, (flow, pair), id, status);
                }
                Heard::Completed {
                    flow,
                    pair,
                    status,
                    id,
                } => self.on_completed((flow, pair), id, status, by),
                Heard::Received { flow, placed, .. } => self.on_received(flow, placed),
            }
        }
    }

    /// A work request has ended.
    fn on_completed(&mut self, (flow, pair): (FlowId, PairId), id: u64, status: Status, by: Time) {
        if let Some(qp) = self.traffic.kind(flow).qp() {
            self.on_wqe_end(qp, status, by);
            return;
        }
        let message = MessageId::new(id as u32);
        let succeeded = status == Status::Success;
        self.finish(message, Some(pair), status);
        if self.hosts.end_one(flow, succeeded) {
            self.hosts
                .close_end(&self.net, flow, Side::Requester, succeeded);
            self.disconnect(flow, succeeded);
        }
        if succeeded {
            self.on_message_completed(message);
        }
    }

    /// Payload of a message has arrived; each packet is a message of its own for the transport if it is
    /// placed directly, so it is the application that knows how much there is to come.
    fn on_received(&mut self, flow: FlowId, placed: Bytes) {
        match self.traffic.kind(flow) {
            FlowKind::Shared(_) => {
                while let Some(message) = self.hosts.next_arrived(flow) {
                    // Those that fetch something have arrived at their source.
                    if !arrives_at_source(self.traffic.message(message).verb) {
                        self.on_message_received(message);
                    }
                }
            }
            FlowKind::Message(message) => {
                let in_order = !self.traffic.rules.transport.direct_placement;
                if in_order || placed == self.traffic.message(message).size {
                    self.on_message_received(message);
                }
            }
            FlowKind::Path(_) => subflows::on_received(self, flow),
            FlowKind::Application(_) => {}
        }
    }

    /// Sends the next packet of a host to each plane whose transmitter is free.
    pub(crate) fn send_from_host(&mut self, host: HostId) {
        for plane in self.hosts.nic(host).planes() {
            self.send_from_plane(host, plane);
        }
    }

    /// Sends the next packet of a host to a plane if its transmitter is free.
    #[inline]
    pub(crate) fn send_from_plane(&mut self, host: HostId, plane: u8) {
        let nic = &mut self.hosts.nics[host.index()];
        let sent = match self.endpoints.as_deref_mut() {
            None => nic.send(&mut self.net, plane, &mut InTurn),
            Some(endpoints) => send_admitted(&mut self.net, &self.traffic, nic, plane, endpoints),
        };
        if let Some(sent) = sent {
            self.on_sent((host, plane), &sent);
        }
        self.hosts.nics[host.index()].arm_alarm(&mut self.net.engine);
    }

    /// What a packet that leaves means to those behind it.
    #[inline]
    fn on_sent(&mut self, (host, plane): (HostId, u8), sent: &Sent) {
        if sent.again {
            let connections = &mut self.hosts.connections;
            match sent.from_responder {
                true => {
                    let kind = self.traffic.kind(sent.flow);
                    connections.count_response_again(sent.flow, kind, sent.psn);
                }
                false => connections.count_request_again(sent.flow, sent.psn),
            }
        }
        if self.endpoints.is_some()
            && let Some(qp) = self.traffic.charged_qp(sent.flow)
        {
            // Of an unreliable service, work requests end when their last packet is on the wire.
            let port = self.hosts.nic(host).port(plane);
            self.on_events(host, self.net.ports()[port as usize].free_at);
            if sent.ends {
                self.on_wqe_sent(qp);
            }
        }
    }

    fn on_nic_wake(&mut self, number: u32, event: Event) {
        let (host, plane) = self.hosts.nic_port(number);
        let nic_port = &mut self.hosts.nics[host.index()].ports[usize::from(plane)];
        if nic_port.wake.fires(&mut self.net.engine, event) {
            self.send_from_plane(host, plane);
        }
    }

    fn on_alarm(&mut self, number: u32, event: Event) {
        let Some(nic) = self.hosts.nics.get_mut(number as usize) else {
            self.hosts.on_controller_timer(&mut self.net, number, event);
            return;
        };
        if nic.on_alarm(&mut self.net.engine, event) {
            let host = HostId::new(number);
            self.on_events(host, self.net.now());
            self.send_from_host(host);
        }
    }
}

/// Whether nothing is left to be handled, or the run was told to end.
#[inline]
fn has_ended(world: &World) -> bool {
    world.is_done() || world.ending.is_some()
}

/// Sends the next packet of a host to a plane where what stands behind queue pairs has a say in it.
#[inline(never)]
fn send_admitted(
    net: &mut Network,
    traffic: &Traffic,
    nic: &mut AttachedNic,
    plane: u8,
    endpoints: &mut Endpoints,
) -> Option<Sent> {
    let mut contexts = Contexts {
        host: nic.number,
        plane,
        traffic,
        endpoints,
    };
    nic.send(net, plane, &mut contexts)
}
