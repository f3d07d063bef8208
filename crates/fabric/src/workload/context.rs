//! What every kind of workload needs: hosts, random streams, checks and a place for messages.

use fairlane_engine::Stream;
use fairlane_network::topology::Topology;
use fairlane_scenario::{Error, Flow, HostSet, Inputs, SizeDistribution, TraceFile, Verb};
use fairlane_units::{Bytes, Duration, NodeId, Rate, TenantId, Time};

use crate::MessageSpec;
use crate::steps::Steps;

/// Sets the streams of workloads apart from those of the fabric's components.
const STREAMS: u64 = 1 << 63;
/// The stream that belongs to a workload and to no host.
const SHARED: u32 = u32::MAX;
/// Messages of a run; 4,096 hosts all to all are just below.
pub(super) const MAX_MESSAGES: usize = 1 << 24;
/// No message starts later, so that no time in a run overflows: 106 days.
const LAST_START: Time = Time::from_ps(u64::MAX / 2);
/// The number of the connection of messages that belong to no communicator.
const PAIR: u32 = 0;
/// Destination port of ordinary messages; HPCC's analysis tells messages apart by it.
const ORDINARY_PORT: u16 = 100;

/// One workload in its surroundings.
pub(super) struct Context<'a> {
    /// Index of the workload in the scenario.
    pub(super) index: u32,
    pub(super) seed: u64,
    /// What each message is.
    pub(super) verb: Verb,
    /// The tenant that it belongs to.
    pub(super) tenant: TenantId,
    /// Connections of a communicator from one rank to another.
    pub(super) channels: u32,
    /// Time from when a message may be sent until it is posted.
    pub(super) send_latency: Duration,
    pub(super) inputs: &'a Inputs,
    /// The hosts in ascending order.
    pub(super) hosts: &'a [NodeId],
    pub(super) topology: &'a Topology,
    /// How many planes the fabric has.
    pub(super) planes: u8,
    /// The plane that the workload names.
    pub(super) plane: Option<u8>,
    /// By node number, rates of the links by which a host sends messages of the workload.
    pub(super) rates: Vec<Rate>,
}

impl<'a> Context<'a> {
    pub(super) fn stream(&self, host: NodeId) -> Stream {
        self.numbered_stream(host.get())
    }

    pub(super) fn shared_stream(&self) -> Stream {
        self.numbered_stream(SHARED)
    }

    fn numbered_stream(&self, number: u32) -> Stream {
        Stream::new(
            self.seed,
            STREAMS | u64::from(self.index) << 32 | u64::from(number),
        )
    }

    pub(super) fn error(&self, key: &str, message: impl Into<String>, hint: &str) -> Error {
        Error::new(self.place(key), message, hint)
    }

    /// Where a key of the workload is.
    pub(super) fn place(&self, key: &str) -> String {
        format!("workload[{}].{key}", self.index)
    }

    pub(super) fn sizes(&self) -> Result<&'a SizeDistribution, Error> {
        let sizes = self
            .inputs
            .sizes
            .get(self.index as usize)
            .and_then(Option::as_ref);
        sizes.ok_or_else(|| {
            let hint = "load the scenario from its file so that side files are read";
            self.error("sizes", "hasn't been read", hint)
        })
    }

    /// The flows that were read for this workload.
    pub(super) fn flows(&self) -> Option<&'a [Flow]> {
        self.inputs
            .flows
            .get(self.index as usize)
            .and_then(Option::as_deref)
    }

    /// The files of the trace that was read for this workload.
    pub(super) fn trace(&self) -> Result<&'a [TraceFile], Error> {
        let trace = self.inputs.traces.get(self.index as usize);
        trace.and_then(Option::as_deref).ok_or_else(|| {
            let hint = "load the scenario from its file so that side files are read";
            self.error("path", "hasn't been read", hint)
        })
    }

    pub(super) fn members(&self, set: &HostSet, key: &str) -> Result<Vec<NodeId>, Error> {
        set.resolve(self.hosts)
            .map_err(|error| self.error(key, error.message, &error.hint))
    }

    pub(super) fn host(&self, node: u32, key: &str) -> Result<NodeId, Error> {
        let host = NodeId::new(node);
        if self.hosts.binary_search(&host).is_err() {
            let hint = "`fairlane topology` lists the hosts";
            return Err(self.error(key, format!("node {node} isn't a host"), hint));
        }
        Ok(host)
    }

    pub(super) fn at_least_two(&self, hosts: &[NodeId]) -> Result<(), Error> {
        if hosts.len() < 2 {
            let message = format!("has {} host, expected two or more", hosts.len());
            return Err(self.error("hosts", message, "a host doesn't send to itself"));
        }
        Ok(())
    }

    pub(super) fn class(&self, class: u8) -> Result<u8, Error> {
        if !(1..=7).contains(&class) {
            let hint = "class 0 carries control packets; 3 is usual for RDMA";
            return Err(self.error("class", format!("is {class}, expected 1 to 7"), hint));
        }
        Ok(class)
    }

    pub(super) fn size(&self, size: Bytes) -> Result<Bytes, Error> {
        if size.is_zero() {
            let hint = "give a size such as \"64KiB\"";
            return Err(self.error("size", "is 0, expected at least one byte", hint));
        }
        Ok(size)
    }

    /// An ordinary message whose ends are to be filled in.
    pub(super) fn template(
        &self,
        size: Bytes,
        start: Duration,
        class: u8,
    ) -> Result<MessageSpec, Error> {
        Ok(MessageSpec {
            workload: self.index,
            source: NodeId::new(0),
            destination: NodeId::new(0),
            size: self.size(size)?,
            start: Time::ZERO.saturating_add(start),
            class: self.class(class)?,
            verb: self.verb,
            destination_port: ORDINARY_PORT,
            after: None,
            joins: None,
            delay: self.send_latency,
            part_of: None,
            connection: Some(PAIR),
            iteration: 0,
            tenant: self.tenant,
            plane: None,
        })
    }
}

/// The messages so far, in order of generation, and what programs do beside sending.
#[derive(Default)]
pub(super) struct Messages {
    all: Vec<MessageSpec>,
    pub(super) steps: Steps,
    /// Connections that have been numbered, of communicators.
    connections: u32,
}

impl Messages {
    /// Numbers for so many connections of communicators: the first of them.
    pub(super) fn number_connections(&mut self, count: u32) -> u32 {
        let first = PAIR + 1 + self.connections;
        self.connections += count;
        first
    }

    /// The index of the next message.
    pub(super) fn next_index(&self) -> u32 {
        u32::try_from(self.all.len()).unwrap_or(u32::MAX)
    }

    /// Adds a message, unless there are too many or it starts too late.
    pub(super) fn push(
        &mut self,
        context: &Context<'_>,
        message: MessageSpec,
    ) -> Result<(), Error> {
        if self.all.len() >= MAX_MESSAGES {
            let message = format!("asks for more than {MAX_MESSAGES} messages in all");
            return Err(context.error("kind", message, "shorten the workload or use fewer hosts"));
        }
        if message.start > LAST_START {
            let message = format!("a message starts later than {LAST_START}");
            return Err(context.error("start", message, "start earlier or send fewer rounds"));
        }
        self.all.push(message);
        Ok(())
    }

    pub(super) fn into_inner(self) -> (Vec<MessageSpec>, Steps) {
        (self.all, self.steps)
    }
}
