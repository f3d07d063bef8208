//! A software NIC at a port of a simulated host.

use std::collections::HashMap;
use std::net::IpAddr;

use fairlane_fabric::{CarriedFlow, FlowEnd, Side};
use fairlane_nic::Ledger;
use fairlane_scenario::Tenant as Weighted;
use fairlane_softnic::{
    Completion, CompletionQueue, Connection, DetachedDevice, Domain, Error, Modify, QpNumber,
    QueuePairOptions, Region, Rights, Sending, Settings, Tenant, TenantId,
};
use fairlane_transport::Config;
use fairlane_units::{Duration, FlowId, HostId, Time};

use crate::address::Place;
use crate::partition;

/// Completions that a NIC may have that nobody has taken.
const COMPLETIONS: u32 = 1 << 16;
/// Tenants whose tallies say nothing: that of queue pairs whose partition keys aren't listed.
const UNLISTED: usize = 1;

/// A software NIC at a port of a host, and what is known of its queue pairs.
#[derive(Debug)]
pub(crate) struct SoftNic {
    pub(crate) host: HostId,
    pub(crate) plane: u8,
    pub(crate) device: DetachedDevice,
    domain: Domain,
    queue: CompletionQueue,
    /// Which end of which flow a queue pair is.
    pub(crate) flows: HashMap<QpNumber, (FlowId, Side)>,
    completions: Vec<Completion>,
    /// What it had counted when it was asked last.
    counted: Ledger,
}

/// The address of the NIC at an end of flows.
pub(crate) fn address(end: &FlowEnd) -> Option<IpAddr> {
    let place = Place {
        host: end.node,
        plane: end.plane,
        program: 0,
    };
    place.address().map(IpAddr::V4)
}

impl SoftNic {
    /// One at an end of flows, of a scenario whose NICs have these settings.
    pub(crate) fn new(
        end: &FlowEnd,
        nic: &fairlane_nic::Settings,
        tenants: &[Weighted],
    ) -> Result<Self, Error> {
        let own = address(end).ok_or(Error::Invalid("host", "one of 0 to 65534"))?;
        let mut settings = Settings::new(own);
        settings.line_rate = end.environment.line_rate;
        settings.base_rtt = end.environment.base_rtt;
        settings.burst = Duration::ZERO;
        settings.scope = nic.scope;
        if tenants.len() > 1 {
            let listed = (0..).map(TenantId::new).zip(tenants);
            let listed = listed.map(|(number, tenant)| Tenant {
                guarantee: tenant.guarantee,
                ..Tenant::new(partition::of(tenants, number), tenant.weight)
            });
            settings.tenants = listed.collect();
        }
        let mut device = DetachedDevice::attached(&settings, nic.clone())?;
        let tallies = device.ledger().tallies.len();
        let domain = device.allocate_domain()?;
        let queue = device.create_completion_queue(COMPLETIONS)?;
        Ok(Self {
            host: end.host,
            plane: end.plane,
            device,
            domain,
            queue,
            flows: HashMap::new(),
            completions: Vec::new(),
            counted: Ledger::of(tallies),
        })
    }

    /// A queue pair for one end of a flow.
    pub(crate) fn open(
        &mut self,
        carried: &CarriedFlow,
        side: Side,
        tenants: &[Weighted],
    ) -> Result<QpNumber, Error> {
        let options = QueuePairOptions {
            partition: partition::of(tenants, carried.tenant),
            most_requests: carried.messages,
            most_receives: carried.messages,
            ..QueuePairOptions::new(self.domain, self.queue)
        };
        let pair = self.device.create_queue_pair(&options)?;
        self.flows.insert(pair, (carried.flow, side));
        Ok(pair)
    }

    /// Connects a queue pair with that at the other end of its flow.
    pub(crate) fn connect(
        &mut self,
        now: Time,
        pair: QpNumber,
        peer: &Self,
        other: QpNumber,
        carried: &CarriedFlow,
        config: &Config,
    ) -> Result<(), Error> {
        let environment = self.flows.get(&pair).map(|(_, side)| {
            let end = &carried.ends[*side as usize];
            end.environment
        });
        self.device.meet(now, &peer.device);
        let connection = Connection {
            mtu: config.mtu.get() as u16,
            selective: config.selective_window,
            class: carried.class,
            environment,
            ..Connection::new(peer.device.address(), other)
        };
        let sending = Sending {
            timeout: config.ack_timeout,
            retries: config.retry_limit,
            ..Sending::default()
        };
        for modify in [
            Modify::Init(Rights::ALL),
            Modify::ReadyToReceive(connection),
            Modify::ReadyToSend(sending),
        ] {
            self.device.modify(now, pair, &modify)?;
        }
        Ok(())
    }

    /// Forgets a queue pair.
    pub(crate) fn close(&mut self, now: Time, pair: QpNumber) -> Result<(), Error> {
        self.flows.remove(&pair);
        self.device.destroy_queue_pair(now, pair)
    }

    /// Memory with these contents that the other end may use.
    pub(crate) fn memory(&mut self, contents: &[u8]) -> Result<Region, Error> {
        let region = self
            .device
            .allocate(self.domain, contents.len(), Rights::ALL)?;
        self.device.write(&region, 0, contents)?;
        Ok(region)
    }

    /// Which end of which flow a queue pair is, if it is one's.
    pub(crate) fn end_of(&self, pair: QpNumber) -> Option<(FlowId, Side)> {
        self.flows.get(&pair).copied()
    }

    /// Something that has ended and wasn't returned yet.
    pub(crate) fn next_completion(&mut self) -> Result<Option<Completion>, Error> {
        self.device.poll(self.queue, 1, &mut self.completions)?;
        Ok(self.completions.pop())
    }

    /// Adds what it has counted since it was asked last.
    pub(crate) fn report(&mut self, sum: &mut Ledger) {
        let ledger = self.device.ledger();
        sum.all += ledger.all - self.counted.all;
        self.counted.all = ledger.all;
        let known = self.counted.tallies.iter_mut().zip(&ledger.tallies);
        let of_tenants = known.skip(UNLISTED);
        for (sum, (counted, tally)) in sum.tallies.iter_mut().zip(of_tenants) {
            *sum += *tally - *counted;
            *counted = *tally;
        }
    }
}
