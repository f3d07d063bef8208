//! Hosts with two ports: nothing that belongs to one leaves by the other, whatever stops that one.

use std::sync::Arc;

use fairlane_congestion::scope::{Scope, Weight};
use fairlane_congestion::{Algorithm, Environment};
use fairlane_nic::{Arrival, Event, Extensions, Measured, Nic, Opening, PairId, Settings, Tenants};
use fairlane_transport::{Operation, Remote, Status, Unchecked, WorkRequest};
use fairlane_units::{Bytes, Duration, FlowId, HostId, Rate, TenantId, Time};

const RATE: Rate = Rate::from_gbps(100);
const PORTS: [u8; 2] = [0, 1];
const CLASS: u8 = 3;

/// Two hosts whose ports of equal number are joined by wires that take no time; flow k is bound to port k.
struct Hosts {
    hosts: [Nic; 2],
    pairs: [[PairId; 2]; 2],
    now: Time,
    /// Packets that have left each port of each host.
    sent: [[u32; 2]; 2],
    completed: Vec<u32>,
}

impl Hosts {
    fn new(scope: Scope) -> Self {
        let mut settings = Settings::new(Algorithm::Dcqcn);
        settings.scope = scope;
        settings.transport.ack_timeout = None;
        let settings = Arc::new(settings);
        let environment = Environment {
            line_rate: RATE,
            base_rtt: Duration::from_us(8),
            bdp: RATE.bytes_in(Duration::from_us(8)),
            mtu: settings.transport.mtu,
        };
        let tenant = Weight {
            tenant: TenantId::new(0),
            weight: 1.0,
            guarantee: None,
        };
        let tenants = Tenants {
            all: vec![tenant],
            here: vec![tenant],
        };
        let ports = [environment; 2];
        let mut hosts = [0, 1].map(|_| Nic::new(settings.clone(), &ports, &tenants));
        let pairs = [0, 1].map(|host: usize| {
            PORTS.map(|port| {
                let opening = Opening {
                    flow: FlowId::new(u32::from(port)),
                    port,
                    class: CLASS,
                    tenant: TenantId::new(0),
                    peer: HostId::new(1 - host as u32),
                    extensions: Extensions::with(RATE),
                    environment,
                    group: None,
                };
                hosts[host].open(Time::ZERO, &opening)
            })
        });
        Self {
            hosts,
            pairs,
            now: Time::ZERO,
            sent: [[0; 2]; 2],
            completed: Vec::new(),
        }
    }

    /// The first host writes on the queue pair of a port, or reads if it is to be sent to.
    fn post(&mut self, port: u8, reads: bool) {
        let remote = Remote::default();
        let operation = match reads {
            true => Operation::Read(remote),
            false => Operation::Write(remote),
        };
        let request = WorkRequest::new(u64::from(port), operation, Bytes::new(20_000));
        let pair = self.pairs[0][usize::from(port)];
        self.hosts[0].post(self.now, pair, request);
    }

    /// Hands over one packet, of any port of any host, that may go now.
    fn step(&mut self) -> bool {
        for (from, port) in [0, 1].into_iter().flat_map(|from| PORTS.map(|p| (from, p))) {
            let Some(departure) = self.hosts[from].poll_transmit(self.now, port) else {
                continue;
            };
            assert_eq!(departure.meta.flow.get(), u32::from(port), "{departure:?}");
            self.sent[from][usize::from(port)] += 1;
            let pair = self.pairs[1 - from][departure.meta.flow.index()];
            let arrival = Arrival::from_departure(&departure, Measured::default());
            let (memory, receives) = (&mut Unchecked, &mut Unchecked);
            self.hosts[1 - from].on_packet(self.now, pair, &arrival, memory, receives);
            return true;
        }
        false
    }

    /// Goes on until nothing may be sent, now or later.
    fn run(&mut self) {
        for _ in 0..10_000 {
            while self.step() {}
            while let Some(event) = self.hosts[0].poll_event() {
                if let Event::Completed { flow, status, .. } = event {
                    assert_eq!(status, Status::Success);
                    self.completed.push(flow.get());
                }
            }
            let ports = |host: &mut Nic| PORTS.map(|port| host.sends_at(port));
            let times = self.hosts.iter_mut().flat_map(ports).flatten();
            let Some(next) = times.min() else {
                return;
            };
            self.now = next.max(self.now);
        }
        panic!("no end is in sight at {}", self.now);
    }
}

#[test]
fn a_paused_port_waits_and_the_other_sends() {
    for (scope, reads) in [
        (Scope::Qp, false),
        (Scope::Qp, true),
        (Scope::Pair, false),
        (Scope::Tenant, false),
    ] {
        let mut hosts = Hosts::new(scope);
        let data = usize::from(reads);
        hosts.hosts[data].on_pause(Time::ZERO, 0, CLASS, true);
        PORTS.iter().for_each(|&port| hosts.post(port, reads));
        hosts.run();
        assert_eq!(hosts.completed, [1], "{scope:?}");
        assert_eq!(hosts.sent[data][0], 0, "{scope:?}");
        assert!(hosts.hosts[data].sends_at(0).is_none());
        hosts.hosts[data].on_pause(hosts.now, 0, CLASS, false);
        hosts.run();
        assert_eq!(hosts.completed, [1, 0], "{scope:?}");
        assert_eq!(hosts.sent[data][0], hosts.sent[data][1], "{scope:?}");
    }
}

#[test]
fn a_port_that_is_down_loses_its_answers_and_no_others() {
    let mut hosts = Hosts::new(Scope::Qp);
    PORTS.iter().for_each(|&port| hosts.post(port, false));
    // The first packet of each port arrives, and is to be answered.
    for port in PORTS {
        let departure = hosts.hosts[0].poll_transmit(Time::ZERO, port).unwrap();
        let pair = hosts.pairs[1][usize::from(port)];
        let arrival = Arrival::from_departure(&departure, Measured::default());
        let (memory, receives) = (&mut Unchecked, &mut Unchecked);
        hosts.hosts[1].on_packet(Time::ZERO, pair, &arrival, memory, receives);
    }
    for host in &mut hosts.hosts {
        host.on_link(Time::ZERO, 0, false, |_| {});
    }
    assert!(!hosts.hosts[1].port(0).has_answers() && hosts.hosts[1].port(1).has_answers());
    assert!(hosts.hosts[0].sends_at(0).is_none());
    assert!(hosts.hosts[0].sends_at(1).is_some());
    assert!(hosts.hosts[0].will_act());
}

#[test]
fn answers_leave_by_the_port_of_their_queue_pair() {
    let mut hosts = Hosts::new(Scope::Qp);
    PORTS.iter().for_each(|&port| hosts.post(port, false));
    hosts.run();
    assert_eq!(hosts.completed.len(), 2);
    // 20 packets for each, each of which is answered.
    assert_eq!(hosts.sent, [[20; 2]; 2]);
}
