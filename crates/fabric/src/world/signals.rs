//! What the network said, and where it was silent, why.

use fairlane_network::counters::Drop;
use fairlane_network::forwarding::Forwarder;
use fairlane_network::ledger::Tally;
use fairlane_network::port::Port;
use fairlane_scenario::{Policy, Tenant};

use super::account::Account;
use crate::world::World;
use crate::{Deflections, Signal, Signals, SignalsByTenant, TenantSignals};

impl Account<'_> {
    /// Every signal with its count, and the reason of each that never came.
    pub(crate) fn signals(&self) -> Signals {
        let (counters, heard) = (self.world.net.counters(), self.world.hosts.heard());
        let now = self.world.net.now();
        let paused_ns = self
            .world
            .net
            .ports()
            .iter()
            .map(|port| port.paused_until(now).as_ns())
            .sum();
        let reasons = match self.world.net.deflection() {
            Some(_) => &Drop::ALL[..],
            None => &Drop::ALL[..Drop::PLAIN],
        };
        let drops = reasons.iter().map(|&reason| {
            let count = counters.drops[reason as usize];
            (reason.name(), signal(count, || self.why_no_drop(reason)))
        });
        Signals {
            ecn_marks: signal(counters.marks, || self.why_no_marks()),
            filtered_marks: (!self.world.net.settings().host_ports_mark)
                .then(|| signal(counters.filtered, || self.why_none_filtered())),
            cnps_sent: signal(heard.cnps_sent, || self.why_none_sent()),
            cnps: signal(heard.cnps, || self.why_no_cnps()),
            pauses: signal(counters.pauses, || self.why_no_pauses()),
            paused_ns: signal(paused_ns, || self.why_no_pauses()),
            watchdogs: self
                .world
                .net
                .watchdog()
                .is_on()
                .then(|| signal(self.world.net.watchdog().bites, || self.why_no_bites())),
            drops: drops.collect(),
            retransmissions: signal(heard.retransmissions, || self.why_no_retransmissions()),
            naks: signal(heard.naks, || self.why_no_retransmissions()),
            timeouts: signal(heard.timeouts, || self.why_no_timeouts()),
            cache_misses: self.world.endpoints.as_ref().map(|_| self.cache_misses()),
            lock_waits: self.world.endpoints.as_ref().map(|_| self.lock_waits()),
            equal_plans: self.equal_plans(),
            deflection: self.deflection(),
            tenants: self.signals_by_tenant(),
        }
    }

    /// What became of flows that were moved in order, if any could be.
    fn deflection(&self) -> Option<Deflections> {
        let World { net, hosts, .. } = self.world;
        let deflection = net.deflection()?;
        let streams = || net.forwarders().iter().filter_map(Forwarder::known_streams);
        Some(Deflections {
            forks: streams().map(|streams| streams.forks).sum(),
            detours: streams().map(|streams| streams.detours).sum(),
            refused: streams().map(|streams| streams.refused).sum(),
            tails: deflection.counts.tails,
            tails_again: deflection.counts.again,
            clears: deflection.counts.clears,
            held_packets: deflection.holds.iter().map(|hold| hold.packets).sum(),
            held_bytes_max: deflection.most_held().get(),
            reordered: hosts.heard().reordered,
        })
    }

    fn equal_plans(&self) -> Option<Signal> {
        let endpoints = self.world.endpoints.as_deref();
        let endpoints = endpoints.filter(|endpoints| endpoints.policy == Policy::Drum)?;
        let plans: u64 = endpoints
            .agents
            .iter()
            .map(|agent| agent.arbiter.plans().0)
            .sum();
        let equal = endpoints
            .agents
            .iter()
            .map(|agent| agent.arbiter.plans().1)
            .sum();
        Some(signal(equal, || {
            format!("the solver found all {plans} plans")
        }))
    }

    fn signals_by_tenant(&self) -> Option<SignalsByTenant> {
        let ledger = self.world.net.counters().ledger.as_deref()?;
        let named = self.world.tenants.iter().zip(&ledger.tallies);
        let signals = |(number, (tenant, tally)): (usize, (&Tenant, &Tally))| {
            let signals = self.signals_of_tenant(number, tally);
            (tenant.name.clone(), signals)
        };
        Some(named.enumerate().map(signals).collect())
    }

    fn signals_of_tenant(&self, number: usize, tally: &Tally) -> TenantSignals {
        let silent = tally.transmissions == 0;
        let why = |others: u64, all: &dyn Fn() -> String, own: &str| match (silent, others) {
            (true, _) => "it sent nothing".into(),
            (false, 0) => all(),
            (false, _) => own.to_owned(),
        };
        let (counters, heard) = (self.world.net.counters(), self.world.hosts.heard_by(number));
        TenantSignals {
            ecn_marks: signal(tally.marks, || {
                let own = "only packets of others met queues that were long enough";
                why(counters.marks, &|| self.why_no_marks(), own)
            }),
            cnps: signal(heard.cnps, || match tally.marks {
                0 => "none of its packets was marked".into(),
                _ => why(
                    self.world.hosts.heard().cnps,
                    &|| self.why_no_cnps(),
                    "none that told of its marks had come back",
                ),
            }),
            retransmissions: signal(heard.retransmissions, || match tally.drops {
                0 if !silent => "none of its packets was lost".into(),
                _ => why(0, &|| self.why_no_retransmissions(), ""),
            }),
            drops: signal(tally.drops, || {
                let none = || "no packet was lost".into();
                let own = "only packets of others were lost";
                why(counters.dropped.packets, &none, own)
            }),
        }
    }

    fn cache_misses(&self) -> Signal {
        let endpoints = self.world.endpoints.iter();
        let pipelines = endpoints.flat_map(|all| &all.pipelines);
        let count = pipelines.map(|pipeline| pipeline.counters.misses).sum();
        signal(count, || "the NIC keeps nothing of datagrams".into())
    }

    fn lock_waits(&self) -> Signal {
        let endpoints = self.world.endpoints.iter();
        let pairs = endpoints.flat_map(|all| &all.pairs);
        let count = pairs.map(|pair| pair.lock.waits).sum();
        signal(count, || match self.world.endpoints.as_deref() {
            Some(endpoints) if endpoints.policy == Policy::Share => {
                "no two threads used a queue pair at the same time".into()
            }
            _ => "no queue pair is shared (nic.policy)".into(),
        })
    }

    fn why_no_marks(&self) -> String {
        if !self.world.net.settings().ecn {
            return "marking is off (switch.ecn.enabled = false)".into();
        }
        let switch_ports = || self.world.net.ports().iter().filter(|port| port.on_switch);
        let passed = |port: &&Port| port.deepest_yet() > u64::from(port.marking.kmin);
        if switch_ports().any(|port| passed(&port)) {
            return "queues passed kmin of their port too rarely for a random mark".into();
        }
        let deepest = switch_ports().max_by_key(|port| port.deepest_yet());
        deepest.map_or_else(
            || "there is no switch".into(),
            |port| {
                let (depth, kmin) = (port.deepest_yet(), port.marking.kmin);
                format!("no queue passed kmin of its port; the deepest had {depth} B of {kmin} B")
            },
        )
    }

    fn why_none_filtered(&self) -> String {
        if !self.world.net.settings().ecn {
            return "marking is off (switch.ecn.enabled = false)".into();
        }
        "no queue in front of a host was long enough for a mark".into()
    }

    fn why_none_sent(&self) -> String {
        if self.world.net.counters().marks == 0 {
            return "no data packet was marked".into();
        }
        "no marked packet had arrived".into()
    }

    fn why_no_cnps(&self) -> String {
        if self.world.hosts.heard().cnps_sent == 0 {
            return self.why_none_sent();
        }
        match self.world.traffic.rules.cnp_interval {
            None => "no acknowledgement of a marked packet had come back".into(),
            Some(_) => "no CNP had come back".into(),
        }
    }

    fn why_no_pauses(&self) -> String {
        if !self.world.net.settings().pfc {
            return "priority flow control is off (switch.pfc.enabled = false)".into();
        }
        if self.world.net.buffers().is_empty() {
            return "there is no switch".into();
        }
        "no ingress port reached its pause threshold".into()
    }

    fn why_no_bites(&self) -> String {
        if self.world.net.counters().pauses == 0 {
            return "no port was paused".into();
        }
        "every pause ended before switch.pfc.watchdog".into()
    }

    fn why_no_drop(&self, reason: Drop) -> String {
        match reason {
            Drop::BufferFull if self.world.net.settings().pfc => {
                "pauses come before the buffer is full (lossless)".into()
            }
            Drop::BufferFull => "no ingress port reached its threshold".into(),
            Drop::LinkError
                if self
                    .world
                    .net
                    .ports()
                    .iter()
                    .all(|port| port.loss_rate == 0.0) =>
            {
                "no link loses packets (faults.loss_rate = 0)".into()
            }
            Drop::LinkError => "too few packets for the loss rate".into(),
            Drop::LinkDown | Drop::NoRoute => "no link went down with packets on its way".into(),
            Drop::HoldFull => {
                "there was room for all packets that were held (switch.iofd.hold)".into()
            }
            Drop::HoldTimeout => "no packet was held for switch.iofd.hold_timeout".into(),
            Drop::Rerouted => "routes changed under no packet on its way".into(),
        }
    }

    fn why_no_retransmissions(&self) -> String {
        if self.world.net.counters().dropped.packets == 0 {
            return "no packet was lost".into();
        }
        "the lost packets needed none, or nobody noticed in time".into()
    }

    fn why_no_timeouts(&self) -> String {
        match self.world.traffic.rules.transport.ack_timeout {
            None => "there is no acknowledgement timeout (transport.ack_timeout)".into(),
            Some(timeout) => format!("every sender made progress within {timeout}"),
        }
    }
}

fn signal(count: u64, why: impl FnOnce() -> String) -> Signal {
    Signal {
        count,
        why_zero: (count == 0).then(why),
    }
}
