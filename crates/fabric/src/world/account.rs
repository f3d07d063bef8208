//! What a run amounts to, once it has ended.

use std::collections::{BTreeMap, BTreeSet};

use fairlane_network::ledger::Ledger;
use fairlane_network::packet::Side;
use fairlane_network::port::{CLASSES, Port};
use fairlane_scenario::Tenant;
use fairlane_units::{Bytes, MessageId, PortId, Time};

use super::ideal::lower_ideals;
use super::subflows;
use crate::collectives;
use crate::faults::Change;
use crate::outside::Outside;
use crate::waits;
use crate::world::World;
use crate::{
    ContendedPort, Ending, Flux, LinkChange, MessageRecord, Outcome, Results, TenantRecord, Totals,
};

/// Looks at a fabric, or a part of one.
pub(crate) struct Account<'a> {
    pub(crate) world: &'a World,
}

impl World {
    /// The results of a run that has ended.
    pub(crate) fn into_results(mut self) -> Results {
        let ending = self.take_ending();
        lower_ideals(&mut self);
        let account = Account { world: &self };
        let signals = account.signals();
        let totals = account.totals(ending);
        let series = match self.left {
            // Parts have taken theirs before they became one.
            Some(_) => self.sampler.take(),
            None => {
                if let Some(chosen) = &mut self.chosen {
                    chosen.close(&mut self.net);
                }
                self.take_series()
            }
        };
        let account = Account { world: &self };
        let (tenants, contended) = (account.tenants(), account.contended_ports());
        let mut messages = self.records.entries.clone();
        messages.extend(account.unfinished());
        // What responders sent more than once counts with the messages that asked for it.
        for record in &mut messages {
            let repeats = self.hosts.connections.repeats.get(&record.id);
            record.retransmitted += repeats.copied().unwrap_or(0);
        }
        messages.extend(self.unfinished_operations());
        let multipath = self.multipath.as_deref();
        let multipath = multipath.map(|all| all.record(&self.net));
        let outside = self.hosts.outside.as_deref();
        let opened = outside.into_iter().flat_map(Outside::opened);
        let flows = self.traffic.flows().chain(opened);
        let flows = flows.filter(|_| self.net.recorder.captures());
        let tuples = flows.map(|flow| self.net.flow(flow).tuple).collect();
        let recorded = self.net.recorder.take();
        let (endpoints, now) = (self.endpoints.as_deref(), self.net.now());
        Results {
            applications: endpoints.map_or_else(Vec::new, |all| all.application_records(now)),
            nics: endpoints.map_or_else(Vec::new, |all| all.nic_records(&self.hosts.nics)),
            ports: (0..self.net.ports().len() as u32)
                .map(|port| self.net.port_info(port))
                .collect(),
            series,
            chosen: self.chosen.map(|chosen| chosen.into_series()),
            collectives: collectives::records(
                &self.schedule.local,
                &messages,
                self.traffic.messages(),
                self.schedule.node_of(0),
            ),
            messages,
            tenants,
            contended,
            multipath,
            real_time: None,
            signals,
            totals,
            trace: recorded.trace,
            pauses: recorded.pauses,
            link_changes: self.faults.past.iter().map(link_change).collect(),
            rates: self.rates.map_or_else(Vec::new, |all| all.records.entries),
            tuples,
            capture: recorded.capture,
            contents: Vec::new(),
        }
    }

    fn take_ending(&mut self) -> Ending {
        if let Some(ending) = self.ending.take() {
            return ending;
        }
        if !self.is_done() {
            let circle = waits::circle(&[&self.net]);
            return Ending::Stalled(Account { world: self }.stall(&circle));
        }
        let mut records = self.records.entries.iter();
        match records.any(|record| record.outcome.is_failure()) {
            true => Ending::Failed,
            false => Ending::Complete,
        }
    }
}

fn link_change(change: &Change) -> LinkChange {
    LinkChange {
        time: change.at,
        // The two ports of a link have numbers that follow each other.
        port: PortId::new(change.link * 2),
        up: change.up,
    }
}

impl Account<'_> {
    /// When the first message was to be posted; where there are operations of applications alone, when the first one began.
    fn first_start(&self) -> Time {
        let messages = self.world.traffic.messages().iter();
        let endpoints = self.world.endpoints.as_deref();
        let applications = endpoints.map_or(&[][..], |all| &all.applications);
        let mut starts = messages.map(|spec| spec.start);
        let first = starts.next();
        let first = first.or_else(|| applications.first().map(|one| one.start));
        first.unwrap_or(Time::ZERO)
    }

    fn totals(&self, ending: Ending) -> Totals {
        let World { net, hosts, .. } = self.world;
        let counters = net.counters();
        Totals {
            ending,
            end: net.now(),
            first_start: self.first_start(),
            transmissions: counters.transmissions,
            message_transmissions: counters.transmissions - counters.pause_transmissions,
            events: self.world.handled + net.engine.handled() - self.world.controls,
            data_packets: hosts.heard().data_packets,
            injected: counters.injected,
            delivered: counters.delivered,
            dropped: counters.dropped,
            in_flight: self.in_flight(),
            queue_max: self.deepest_queue(),
            base_rtt: hosts.baseline.largest.rtt,
            bdp: hosts.baseline.largest.bdp,
        }
    }

    /// Data and acknowledgements on links, in switches and at NICs, counted one by one.
    pub(crate) fn in_flight(&self) -> Flux {
        if let Some(left) = self.world.left {
            return left;
        }
        let net = &self.world.net;
        let mut flux = Flux::default();
        if let Some(endpoints) = &self.world.endpoints {
            endpoints
                .held(&net.packets)
                .for_each(|packet| flux.add(packet.wire));
        }
        let holds = net.deflection().into_iter().flat_map(|all| &all.holds);
        let held = holds.flat_map(|hold| hold.held().map(|item| net.packets.get(item.at)));
        held.filter(|packet| packet.kind.is_of_hosts())
            .for_each(|packet| flux.add(packet.wire));
        for port in net.ports() {
            let queued = (0..CLASSES).flat_map(|class| port.queued(&net.packets, class));
            let flight = port.flight.packets();
            let flying = flight.iter(&net.packets);
            for packet in queued.chain(flying) {
                if packet.kind.is_of_hosts() {
                    flux.add(packet.wire);
                }
            }
        }
        flux
    }

    /// The deepest egress queue that any switch port ever had.
    fn deepest_queue(&self) -> Bytes {
        let ports = self.world.net.ports().iter();
        let deepest = ports.filter(|port| port.on_switch).map(Port::deepest_yet);
        Bytes::new(deepest.max().unwrap_or(0))
    }

    /// Records of messages that have not ended, in order of start.
    pub(crate) fn unfinished(&self) -> Vec<MessageRecord> {
        let world = self.world;
        let posted = world.hosts.connections.posted.keys().map(|&message| {
            if subflows::has_several(world, message) {
                return (message, subflows::record(world, message));
            }
            let flow = world.traffic.flow_of(message);
            let pair = world.hosts.connections.pair(flow, Side::Requester);
            let ended = (None, Outcome::Unfinished);
            let record = world.hosts.record(&world.net, (message, pair), ended);
            let placed = world.hosts.placed_of(&record);
            (message, MessageRecord { placed, ..record })
        });
        let mut open: BTreeMap<MessageId, MessageRecord> = posted.collect();
        let ended: BTreeSet<MessageId> = world
            .records
            .entries
            .iter()
            .map(|record| record.id)
            .collect();
        for id in (0..world.traffic.messages().len() as u32).map(MessageId::new) {
            if !ended.contains(&id) && !open.contains_key(&id) {
                open.insert(id, world.hosts.never_posted(&world.net, id));
            }
        }
        open.into_values().collect()
    }

    fn tenants(&self) -> Vec<TenantRecord> {
        let World { net, hosts, .. } = self.world;
        let record = |(number, tenant): (usize, &Tenant)| {
            let several = net.counters().ledger.is_some();
            TenantRecord {
                name: tenant.name.clone(),
                weight: tenant.weight,
                placed: Bytes::new(hosts.placed_by(number, several)),
                placed_series: self.world.placed.of(number),
            }
        };
        self.world.tenants.iter().enumerate().map(record).collect()
    }

    fn contended_ports(&self) -> Vec<ContendedPort> {
        let ledger = self.world.net.counters().ledger.as_deref();
        ledger.map_or_else(Vec::new, Ledger::contended_ports)
    }
}
