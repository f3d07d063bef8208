//! One of the two hosts: its NIC, its memory, its transmitter, and what an application knows of its queue pairs.

use std::sync::Arc;

use fairlane_congestion::scope::{Scope, Weight};
use fairlane_congestion::{Environment, Params};
use fairlane_transport::{Receive, ReceiveQueue};
use fairlane_units::{Bytes, FlowId, HostId, Psn, Rate, TenantId, Time};

use super::fault::Fault;
use super::memory::HostMemory;
use super::program::{Capacity, Program, Side};
use fairlane_nic::{Departure, Extensions, Nic, Opening, PairId, Settings, Start, Tenants};

/// Faster than any [`Link`](super::Link), so that only that paces.
const RATE: Rate = Rate::from_gbps(400);

const TENANT: TenantId = TenantId::new(0);

/// A queue pair and what its application knows.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    pub(super) id: PairId,
    /// Tells its packets and events from those of the queue pairs before it.
    pub(super) flow: FlowId,
    capacity: Capacity,
    pub(super) receives: ReceiveQueue,
    /// Receives posted so far, which number them.
    posted: u64,
    pub(super) draining: bool,
}

impl Endpoint {
    /// Posts a receive of `length` bytes if there is room.
    pub(super) fn post_receive(&mut self, length: Bytes) -> Option<Receive> {
        self.posted += 1;
        if self.receives.len() >= self.capacity.receives as usize {
            return None;
        }
        let id = self.posted;
        let receive = Receive {
            id,
            length,
            closed: false,
        };
        self.receives.post(receive);
        Some(receive)
    }
}

/// A host.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub(super) nic: Nic,
    pub(super) memory: HostMemory,
    pub(super) endpoints: Vec<Endpoint>,
    /// When the transmitter is free.
    pub(super) free: Time,
    environment: Environment,
}

impl Machine {
    pub(super) fn new(program: &Program, side: Side, fault: Option<Fault>) -> Self {
        let settings = settings(program, side, fault);
        let rtt = program.link.delay * 2;
        let environment = Environment {
            line_rate: RATE,
            base_rtt: rtt,
            bdp: RATE.bytes_in(rtt),
            mtu: settings.transport.mtu,
        };
        let weight = Weight {
            tenant: TENANT,
            weight: 1.0,
            guarantee: None,
        };
        let tenants = Tenants {
            all: vec![weight],
            here: vec![weight],
        };
        let mut machine = Self {
            nic: Nic::new(Arc::new(settings), &[environment], &tenants),
            memory: HostMemory::new(&program.regions[side.index()]),
            endpoints: Vec::new(),
            free: Time::ZERO,
            environment,
        };
        for (flow, ends) in (0..).map(FlowId::new).zip(&program.connections) {
            let psns = [
                ends[side.index()].initial,
                ends[side.other().index()].initial,
            ];
            let id = machine.open(Time::ZERO, side, flow, psns);
            machine.endpoints.push(Endpoint {
                id,
                flow,
                capacity: ends[side.index()].capacity,
                receives: ReceiveQueue::default(),
                posted: 0,
                draining: false,
            });
        }
        machine
    }

    fn open(&mut self, now: Time, side: Side, flow: FlowId, psns: [Psn; 2]) -> PairId {
        let opening = Opening {
            flow,
            class: 3,
            tenant: TENANT,
            peer: HostId::new(side.other().index() as u32),
            extensions: Extensions::with(RATE),
            environment: self.environment,
            port: 0,
            group: None,
        };
        let [sends, expects] = psns;
        let start = Start {
            sends,
            expects,
            ..Start::default()
        };
        self.nic.open_at(now, &opening, start)
    }

    /// Closes a queue pair and opens another one in its place.
    pub(super) fn reopen(&mut self, now: Time, side: Side, connection: usize, psns: [Psn; 2]) {
        self.nic.close(now, self.endpoints[connection].id, true);
        let flow = self.endpoints[connection].flow.get() + self.endpoints.len() as u32;
        let flow = FlowId::new(flow);
        let id = self.open(now, side, flow, psns);
        let endpoint = &mut self.endpoints[connection];
        (endpoint.id, endpoint.flow, endpoint.draining) = (id, flow, false);
        endpoint.receives = ReceiveQueue::default();
    }

    /// The connection that has `flow`, unless that is of a queue pair that has gone.
    pub(super) fn connection(&self, flow: FlowId) -> Option<usize> {
        self.endpoints.iter().position(|end| end.flow == flow)
    }

    /// Whether the application may post another work request.
    pub(super) fn has_room(&self, connection: usize) -> bool {
        let end = &self.endpoints[connection];
        let held = self.nic.pair(end.id).requester().outstanding();
        held < end.capacity.requests as usize
    }

    /// When it may send something, or its NIC wants to be called.
    pub(super) fn next_event(&mut self) -> Option<Time> {
        let sends = self.nic.sends_at(0).map(|at| at.max(self.free));
        sends.into_iter().chain(self.nic.deadline()).min()
    }

    /// The next packet with its connection, if the transmitter is free.
    pub(super) fn poll_transmit(&mut self, now: Time) -> Option<(usize, Departure)> {
        while self.free <= now {
            let departure = self.nic.poll_transmit(now, 0)?;
            if let Some(connection) = self.connection(departure.meta.flow) {
                return Some((connection, departure));
            }
        }
        None
    }
}

/// What a host does under the parameters of its queue pairs. Which traffic shares a controller makes no difference to
/// what applications see.
fn settings(program: &Program, side: Side, fault: Option<Fault>) -> Settings {
    let mut settings = Settings::new(Params::uncontrolled().algorithm());
    settings.scope = Scope::ALL[program.link.seed as usize % Scope::ALL.len()];
    // The network knows one way to answer data of a READ: not at all.
    settings.read_feedback = false;
    settings.transport = program.connections[0][side.index()].config.clone();
    let config = &mut settings.transport;
    match fault {
        Some(Fault::ReadsTooMany) => config.max_reads += 1,
        Some(Fault::GivesUpEarly) => config.retry_limit = 0,
        _ => {}
    }
    settings
}
