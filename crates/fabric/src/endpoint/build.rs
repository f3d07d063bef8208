//! From the workloads of a scenario to applications, channels and queue pairs.

use std::collections::{BTreeMap, VecDeque};

use fairlane_engine::{Stream, Wake};
use fairlane_middleware::{Member, MemberId};
use fairlane_network::topology::Topology;
use fairlane_scenario::{
    Error, HostSet, Inputs, KeyValue, Loaded, Policy, Scenario, Service, Spread, Verb, Workload,
};
use fairlane_units::{Duration, HostId, NodeId, QpId, TenantId, Time};

use super::agent::limits;
use super::costs::Costs;
use super::pipeline::{Lock, Pipeline};
use super::{Agent, Application, Channel, Endpoints, OpenPair, Pacer, ValueSizes};
use crate::spec::ConnectionSpec;
use crate::traffic::{OpenQueuePairs, Traffic};
use crate::workload::number_of;

/// Sets the streams of connections apart from those of the fabric's components.
const STREAMS: u64 = 1 << 63;
/// Destination port of ordinary messages.
const ORDINARY_PORT: u16 = 100;
/// Operations of a run have numbers of 32 bits, as messages.
const FIRST_START_LIMIT: Time = Time::from_ps(u64::MAX / 2);

/// Which channels may share a queue pair: tenant, host, server, class and verb.
type Sharing = (TenantId, HostId, NodeId, u8, &'static str);

/// Builds what stands behind the `key-value` workloads; `None` if there are none. Each queue pair gets a
/// specification.
///
/// # Errors
/// If a workload names no hosts, or a size that isn't there.
pub(crate) fn build(
    loaded: &Loaded,
    topology: &Topology,
    host_of: &[HostId],
    messages: usize,
    specs: &mut Vec<ConnectionSpec>,
) -> Result<Option<Box<Endpoints>>, Error> {
    let scenario = &loaded.scenario;
    let charged = scenario.nic.costs.is_some() && scenario.multipath.is_some();
    if !charged && !scenario.workload.iter().any(Workload::is_key_value) {
        return Ok(None);
    }
    let hosts: Vec<NodeId> = topology.hosts().collect();
    let ports = topology.planes().map_or(1, |planes| planes.ports);
    let mut builder = Builder {
        endpoints: empty(scenario, (hosts.len(), ports), messages),
        sharing: BTreeMap::new(),
        ratio: scenario.nic.share.ratio as usize,
        messages,
        specs,
        host_of,
        hosts: &hosts,
        seed: scenario.seed,
        tenant: TenantId::default(),
    };
    for (index, workload) in (0u32..).zip(&scenario.workload) {
        let Workload::KeyValue(it) = workload else {
            continue;
        };
        builder.tenant = number_of(&scenario.tenant, index, workload)?;
        builder.workload(index, it, &loaded.inputs)?;
    }
    let mut endpoints = builder.endpoints;
    let counted = |application: &&Application| !application.background;
    endpoints.ending = endpoints.applications.iter().filter(counted).count();
    endpoints.endless = endpoints.ending == 0 && !endpoints.applications.is_empty();
    let rates = topology.host_rates();
    for (host, node) in hosts.iter().enumerate() {
        let rate = rates[node.index()];
        endpoints
            .agents
            .push(Agent::new(limits(scenario, &endpoints.costs, rate)));
        endpoints
            .pacers
            .push(Pacer::new(&scenario.nic.justitia, rate));
        debug_assert_eq!(host_of[node.index()].index(), host);
    }
    for channel in 0..endpoints.channels.len() {
        let own = &mut endpoints.channels[channel];
        let application = &endpoints.applications[own.application as usize];
        let member = Member {
            weight: own.weight,
            bytes: own.mean,
            batch: application.batch,
            start: application.start,
        };
        let agent = &mut endpoints.agents[application.host.index()];
        own.member = agent.join(channel as u32, member);
    }
    Ok(Some(Box::new(endpoints)))
}

/// Has NICs take the work requests of paths, which are behind the queue pairs of applications.
pub(crate) fn add_paths(
    endpoints: &mut Endpoints,
    qps: &OpenQueuePairs,
    messages: usize,
    host_of: &[HostId],
) {
    let paths = (0..).map(QpId::new).zip(&qps.specs).skip(qps.applications);
    endpoints.pairs.extend(paths.map(|(qp, spec)| {
        let flow = Traffic::flow_of_qp(messages, qp);
        let host = host_of[spec.source.index()];
        OpenPair::of_path(flow, host, spec)
    }));
}

fn empty(scenario: &Scenario, (hosts, ports): (usize, u8), messages: usize) -> Endpoints {
    let costs = Costs::new(scenario);
    Endpoints {
        pipelines: (0..hosts).map(|_| Pipeline::new(&costs, ports)).collect(),
        costs,
        policy: scenario.nic.policy,
        cached: scenario.transport.service != Service::Ud,
        reliable: scenario.transport.service == Service::Rc,
        datagrams: scenario.transport.service == Service::Ud,
        max_reads: u32::from(fairlane_transport::Config::default().max_reads),
        agents: Vec::with_capacity(hosts),
        pacers: Vec::with_capacity(hosts),
        pairs: Vec::new(),
        applications: Vec::new(),
        channels: Vec::new(),
        operations: Vec::new(),
        free_operations: Vec::new(),
        next_id: messages as u32,
        births: Vec::new(),
        others_go_on: false,
        outputs: Vec::new(),
        begun: 0,
        ended: 0,
        ending: 0,
        endless: false,
    }
}

struct Builder<'a> {
    endpoints: Endpoints,
    /// The queue pair that is being filled, and how many channels it has.
    sharing: BTreeMap<Sharing, (QpId, usize)>,
    ratio: usize,
    /// How many messages there are.
    messages: usize,
    specs: &'a mut Vec<ConnectionSpec>,
    host_of: &'a [HostId],
    hosts: &'a [NodeId],
    seed: u64,
    /// The tenant of the workload at hand.
    tenant: TenantId,
}

impl Builder<'_> {
    fn workload(&mut self, index: u32, it: &KeyValue, inputs: &Inputs) -> Result<(), Error> {
        let sizes = value_sizes(index, it, inputs)?;
        let from = self.members(index, &it.clients, "clients")?;
        let to = self.members(index, &it.servers, "servers")?;
        let mut ordinal = 0u32;
        for client in from {
            for number in 0..it.applications {
                let application = self.application(index, it, client, number);
                for _ in 0..it.connections {
                    let server = to[ordinal as usize % to.len()];
                    let pair = self.pair(index, application, (server, it.class, it.verb));
                    let mean = sizes.mean();
                    self.endpoints.channels.push(Channel {
                        application,
                        pair,
                        server,
                        sizes: sizes.clone(),
                        stream: Stream::new(
                            self.seed,
                            STREAMS | u64::from(index) << 32 | u64::from(ordinal),
                        ),
                        left: it.count,
                        batch: Vec::new(),
                        outstanding: 0,
                        mean,
                        weight: it.weight,
                        pending: VecDeque::new(),
                        member: MemberId::default(),
                    });
                    let channel = (self.endpoints.channels.len() - 1) as u32;
                    let application = &mut self.endpoints.applications[application as usize];
                    application.idle.push_back(channel);
                    application.open += 1;
                    ordinal += 1;
                }
            }
        }
        Ok(())
    }

    fn members(&self, index: u32, set: &HostSet, key: &str) -> Result<Vec<NodeId>, Error> {
        let place = |error: Error| Error {
            place: format!("workload[{index}].{key}"),
            ..error
        };
        let members = set.resolve(self.hosts).map_err(place)?;
        if members.is_empty() {
            let hint = "name at least one host";
            return Err(place(Error::new("", "has no host", hint)));
        }
        Ok(members)
    }

    fn application(&mut self, index: u32, it: &KeyValue, node: NodeId, number: u32) -> u32 {
        let start = Time::ZERO.saturating_add(it.start).min(FIRST_START_LIMIT);
        let duration = it.duration;
        self.endpoints.applications.push(Application {
            workload: index,
            host: self.host_of[node.index()],
            node,
            number,
            batch: it.batch,
            poll_interval: it.poll_interval,
            start,
            end: duration.map_or(Time::MAX, |span| start.saturating_add(span)),
            background: it.count.is_none() && duration.is_none(),
            task: None,
            idle: VecDeque::new(),
            completions: VecDeque::new(),
            polled: start,
            wake: Wake::default(),
            open: 0,
            operations: 0,
            bytes: 0,
            longest_wait: Duration::ZERO,
        });
        (self.endpoints.applications.len() - 1) as u32
    }

    /// The queue pair of the next channel of an application.
    fn pair(&mut self, index: u32, application: u32, to: (NodeId, u8, Verb)) -> QpId {
        let (server, class, verb) = to;
        let application = &self.endpoints.applications[application as usize];
        let (host, node) = (application.host, application.node);
        let shares = self.endpoints.policy == Policy::Share;
        let key = (self.tenant, host, server, class, verb.name());
        if let Some((pair, members)) = self.sharing.get_mut(&key).filter(|_| shares)
            && *members < self.ratio
        {
            *members += 1;
            self.endpoints.pairs[pair.index()].shared = true;
            return *pair;
        }
        let pair = QpId::new(self.endpoints.pairs.len() as u32);
        self.sharing.insert(key, (pair, 1));
        self.endpoints.pairs.push(OpenPair {
            flow: Traffic::flow_of_qp(self.messages, pair),
            host,
            verb,
            posted: VecDeque::new(),
            parked: VecDeque::new(),
            resuming: false,
            unsent: 0,
            busy: 0,
            shared: false,
            lock: Lock::default(),
            paths: Vec::new(),
            ideal: None,
            failed: false,
        });
        self.specs.push(ConnectionSpec {
            workload: index,
            source: node,
            destination: server,
            class,
            verb,
            destination_port: ORDINARY_PORT,
            tenant: self.tenant,
            plane: None,
            group: None,
        });
        pair
    }
}

fn value_sizes(index: u32, it: &KeyValue, inputs: &Inputs) -> Result<ValueSizes, Error> {
    if let Some(size) = it.size {
        return Ok(ValueSizes::Fixed(size));
    }
    if let Some(range) = it.range {
        return Ok(ValueSizes::Range(range));
    }
    let read = inputs.sizes.get(index as usize).and_then(Option::as_ref);
    read.cloned().map(ValueSizes::Distribution).ok_or_else(|| {
        let hint = "load the scenario from its file so that side files are read";
        Error::new(format!("workload[{index}].sizes"), "hasn't been read", hint)
    })
}

impl ValueSizes {
    /// The mean size in bytes.
    fn mean(&self) -> f64 {
        match self {
            Self::Fixed(size) => size.as_f64(),
            Self::Distribution(sizes) => sizes.mean(),
            Self::Range(range) => {
                let (low, high) = (range.low.as_f64(), range.high.as_f64());
                match range.spread {
                    Spread::Uniform => (low + high) / 2.0,
                    Spread::LogUniform if high > low => (high - low) / libm::log(high / low),
                    Spread::LogUniform => low,
                }
            }
        }
    }
}
