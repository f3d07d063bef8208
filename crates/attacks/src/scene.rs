//! What an attack is made from: the attacker, the fabric, and the time.

use std::collections::BTreeSet;

use fairlane_engine::Stream;
use fairlane_fabric::{BaseRoundTrip, MessageSpec, base_round_trip};
use fairlane_scenario::{Attack, Error, HostSet, Loaded, Scenario, Verb, Workload, hosts, layout};
use fairlane_units::{Bytes, Duration, NodeId, Rate, TenantId, Time};

use crate::matching::matching;
use crate::rotation::shuffle;

/// Sets the streams of attacks apart from those of workloads and of the fabric's components.
const STREAMS: u64 = 1 << 60;
/// Messages of an attack; a run holds no more in all.
pub(crate) const MOST_MESSAGES: u64 = 1 << 24;
/// Destination port of ordinary messages.
const ORDINARY_PORT: u16 = 100;
/// What RDMA traffic has where nothing is said.
const USUAL_CLASS: u8 = 3;

/// The stream that belongs to no host.
pub(crate) const SHARED: u32 = u32::MAX;

/// An attack in its surroundings.
pub(crate) struct Scene<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) attack: &'a Attack,
    /// The attacker's number and name.
    pub(crate) tenant: TenantId,
    pub(crate) name: String,
    /// The attacker's hosts, in ascending order.
    pub(crate) own: Vec<NodeId>,
    /// The hosts that send, and those that receive.
    pub(crate) sources: Vec<NodeId>,
    pub(crate) destinations: Vec<NodeId>,
    pub(crate) trip: BaseRoundTrip,
    /// The honest messages of all tenants, in order of start.
    pub(crate) honest: &'a [MessageSpec],
    all: Vec<NodeId>,
    /// Rates of hosts' links by node number.
    rates: Vec<Rate>,
}

/// From where and to where a tenant's workloads send.
struct Endpoints {
    sources: Vec<NodeId>,
    destinations: Vec<NodeId>,
}

impl Endpoints {
    /// The sources of some messages, and of the destinations those that are the tenant's own; if these aren't two
    /// at least, all destinations. Where there aren't two of them either, or no source, any of the tenant's own
    /// hosts: whoever rotates needs a choice.
    fn of<'m>(own: &[NodeId], messages: impl Iterator<Item = &'m MessageSpec>) -> Self {
        let ends: Vec<_> = messages.map(|it| (it.source, it.destination)).collect();
        let set = |hosts: &mut dyn Iterator<Item = NodeId>| {
            let hosts: BTreeSet<NodeId> = hosts.collect();
            hosts.into_iter().collect::<Vec<_>>()
        };
        let is_own = |host: &NodeId| own.binary_search(host).is_ok();
        let sources = set(&mut ends.iter().map(|ends| ends.0).filter(is_own));
        let all = set(&mut ends.iter().map(|ends| ends.1));
        let within = set(&mut all.iter().copied().filter(is_own));
        let or_own = |hosts: Vec<NodeId>, least: usize| match hosts.len() < least {
            true => own.to_vec(),
            false => hosts,
        };
        Self {
            sources: or_own(sources, 1),
            destinations: or_own(if within.len() > 1 { within } else { all }, 2),
        }
    }
}

/// When traffic of an attack's own is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// When it begins.
    pub start: Time,
    /// When it ends.
    pub end: Time,
}

impl Window {
    /// How long it is.
    pub fn span(&self) -> Duration {
        self.end - self.start
    }
}

impl<'a> Scene<'a> {
    /// # Errors
    /// If the attacker or its hosts aren't there, or the fabric can't be built.
    pub(crate) fn new(
        loaded: &'a Loaded,
        attack: &'a Attack,
        honest: &'a [MessageSpec],
    ) -> Result<Self, Error> {
        let (scenario, inputs) = (&loaded.scenario, &loaded.inputs);
        let all = hosts(scenario, inputs);
        let (tenant, name, set) = attacker(scenario, attack)?;
        let resolve = |set: &HostSet, key: &str| {
            let resolved = set.resolve(&all);
            resolved.map_err(|error| error_at(key, error.message, &error.hint))
        };
        let own = resolve(&set, "tenant")?;
        let usual = Endpoints::of(&own, honest.iter().filter(|it| it.tenant == tenant));
        let members = |set: &Option<HostSet>, key: &str, usual: Vec<NodeId>| match set {
            Some(set) => resolve(set, key),
            None => Ok(usual),
        };
        let sources = members(&attack.sources, "sources", usual.sources)?;
        let destinations = members(&attack.destinations, "destinations", usual.destinations)?;
        Ok(Self {
            scenario,
            attack,
            tenant,
            name,
            sources,
            destinations,
            own,
            trip: base_round_trip(loaded)?,
            honest,
            rates: host_rates(loaded),
            all,
        })
    }

    /// Random numbers that belong to one part of the attack.
    pub(crate) fn stream(&self, number: u32) -> Stream {
        Stream::new(self.scenario.seed, STREAMS | u64::from(number))
    }

    /// Size of a piece: what is stated, else the bandwidth-delay product.
    pub(crate) fn piece(&self) -> Bytes {
        self.attack
            .piece
            .unwrap_or(self.trip.bdp)
            .max(Bytes::new(1))
    }

    /// Hosts that aren't the attacker's sources.
    pub(crate) fn others(&self) -> Vec<NodeId> {
        let mut others = self.all.clone();
        others.retain(|host| self.sources.binary_search(host).is_err());
        others
    }

    /// When traffic of its own is sent: until the run stops or, if nothing stops it, until the last
    /// message of a workload is due.
    ///
    /// # Errors
    /// If there is nothing that says when it ends, or it would end before it begins.
    pub(crate) fn window(&self) -> Result<Window, Error> {
        let start = self.attack.start.unwrap_or_default();
        let stated = self.attack.duration.map(|span| start + span);
        let stop = self.scenario.stop;
        let end = match (stated, stop) {
            (Some(end), Some(stop)) => end.min(stop),
            (Some(end), None) | (None, Some(end)) => end,
            (None, None) => self.last_due(),
        };
        if end <= start {
            return Err(self.no_window(start, end));
        }
        Ok(Window {
            start: Time::ZERO + start,
            end: Time::ZERO + end,
        })
    }

    /// Why there is no time for the attack between its start and what ends it.
    fn no_window(&self, start: Duration, end: Duration) -> Error {
        if let Some(stop) = self.scenario.stop.filter(|stop| *stop <= start) {
            let message = format!("is {start}, but the run stops at {stop}");
            return error_at("start", message, "begin earlier, or let the run stop later");
        }
        let message = format!(
            "is missing: the attack begins at {start}, and the last message of a workload is due at {end}"
        );
        let hint = "write how long it goes on, such as duration = \"5ms\"";
        error_at("duration", message, hint)
    }

    /// When the last message of a workload is due, or the last operation begins.
    fn last_due(&self) -> Duration {
        let operations = self
            .scenario
            .workload
            .iter()
            .map(|workload| match workload {
                Workload::KeyValue(it) => it.start + it.duration.unwrap_or_default(),
                _ => Duration::ZERO,
            });
        let messages = self.honest.last().map(|last| last.start - Time::ZERO);
        operations.chain(messages).max().unwrap_or_default()
    }

    /// The rate of a host's link.
    pub(crate) fn rate(&self, host: NodeId) -> Rate {
        self.rates[host.index()]
    }

    /// More than a host can send in a window.
    pub(crate) fn backlog(&self, host: NodeId, window: Window) -> Bytes {
        self.rate(host).bytes_in(window.span()) + self.trip.bdp
    }

    /// A number of pieces of `size` that is more than a host can send in a window, with `outstanding` of them
    /// under way at its end.
    ///
    /// # Errors
    /// If all hosts together need more messages than a run can hold.
    pub(crate) fn pieces(
        &self,
        window: Window,
        size: Bytes,
        outstanding: u32,
    ) -> Result<u32, Error> {
        let most = self.sources.iter().map(|host| self.rate(*host)).max();
        let bytes = most.unwrap_or_default().bytes_in(window.span()).get();
        let count = bytes.div_ceil(size.get()) + u64::from(outstanding);
        self.check_count("duration", count)?;
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Checks that a run can hold so many messages of each source, or pauses, before they are made.
    ///
    /// # Errors
    /// If it can't, at `key`.
    pub(crate) fn check_count(&self, key: &str, count: u64) -> Result<(), Error> {
        if count.saturating_mul(self.sources.len() as u64) <= MOST_MESSAGES {
            return Ok(());
        }
        let message = format!("asks for {count} of each host, too many for a run");
        let hint = "shorten the attack, or send larger pieces less often";
        Err(error_at(key, message, hint))
    }

    /// A message of the attack whose ends and size are to be filled in.
    pub(crate) fn template(&self, start: Time) -> MessageSpec {
        MessageSpec {
            workload: u32::try_from(self.scenario.workload.len()).unwrap_or(u32::MAX),
            source: NodeId::new(0),
            destination: NodeId::new(0),
            size: self.piece(),
            start,
            class: self.class(),
            verb: Verb::Write,
            destination_port: ORDINARY_PORT,
            after: None,
            joins: None,
            delay: Duration::ZERO,
            part_of: None,
            connection: None,
            iteration: 0,
            tenant: self.tenant,
            plane: None,
        }
    }

    /// The class of the scenario's traffic.
    pub(crate) fn class(&self) -> u8 {
        let other = self
            .honest
            .iter()
            .find(|message| message.tenant != self.tenant);
        let any = other.or_else(|| self.honest.first());
        any.map_or(USUAL_CLASS, |message| message.class)
    }

    /// To whom each source sends if it sends to one destination only: at random, but so that nobody receives
    /// from more sources than it must.
    ///
    /// # Errors
    /// If a source has nobody to send to.
    pub(crate) fn partners(&self) -> Result<Vec<(NodeId, NodeId)>, Error> {
        let mut order = self.destinations.clone();
        shuffle(&mut order, &mut self.stream(SHARED));
        matching(&self.sources, &order).map_err(|source| self.nobody(source))
    }

    /// The error that a source has nobody to send to.
    pub(crate) fn nobody(&self, source: NodeId) -> Error {
        let message = format!("leaves host {source} nobody to send to");
        error_at("destinations", message, "name another host")
    }
}

/// An error at a key of the attack.
pub(crate) fn error_at(key: &str, message: impl Into<String>, hint: &str) -> Error {
    Error::new(format!("attack.{key}"), message, hint)
}

fn attacker(scenario: &Scenario, attack: &Attack) -> Result<(TenantId, String, HostSet), Error> {
    let tenants = scenario.tenants();
    let stated = attack.tenant.as_deref();
    let mut numbered = (0..).zip(&tenants);
    let found = numbered.find(|(_, tenant)| stated.is_none_or(|name| tenant.name == name));
    let Some((number, tenant)) = found else {
        let message = format!("no tenant is called \"{}\"", stated.unwrap_or_default());
        return Err(error_at(
            "tenant",
            message,
            "name one of the scenario's tenants",
        ));
    };
    Ok((
        TenantId::new(number),
        tenant.name.clone(),
        tenant.hosts.clone(),
    ))
}

/// Rates of hosts' links by node number, those of several ports added up.
pub(crate) fn host_rates(loaded: &Loaded) -> Vec<Rate> {
    let fabric = layout(&loaded.scenario, &loaded.inputs);
    let mut rates = vec![Rate::ZERO; fabric.nodes as usize];
    for link in &fabric.links {
        for node in [link.a, link.b] {
            let rate = &mut rates[node as usize];
            *rate = Rate::from_bps(rate.as_bps().saturating_add(link.rate.as_bps()));
        }
    }
    rates
}
