//! What a workload knows of its scenario and of the fabric.

use std::borrow::Cow;

use fairlane_engine::Stream;
use fairlane_units::{Bytes, Duration, NodeId, Rate, TenantId, Time};

use super::flow::Flow;
use super::message::{MessageSpec, PAIR};
use super::verb::Verb;
use crate::error::{Error, ensure};
use crate::host_set::HostSet;
use crate::inputs::{Inputs, SideFile, TraceFile};
use crate::planes::Planes;
use crate::profile::Profile;
use crate::rules::LONGEST;
use crate::section::Check;
use crate::sizes::SizeDistribution;
use fairlane_hpcc_files::lines::shorten;

/// Sets the streams of workloads apart from those of the fabric's components.
const STREAMS: u64 = 1 << 63;
/// The stream that belongs to a workload and to no host.
const SHARED: u32 = u32::MAX;
/// Destination port of ordinary messages; HPCC's analysis tells messages apart by it.
const ORDINARY_PORT: u16 = 100;
/// The most messages of one workload; more would not fit in memory.
const MOST_MESSAGES: u64 = 50_000_000;

/// One workload in its surroundings.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    /// Index of the workload in the scenario.
    pub index: u32,
    /// The files that the scenario names.
    pub inputs: &'a Inputs,
    /// The hosts in ascending order.
    pub hosts: &'a [NodeId],
    /// The ports of hosts.
    pub planes: Planes,
    /// The plane that it names.
    pub plane: Option<u8>,
    /// By node number, rates of the links by which a host sends messages of the workload.
    pub rates: Cow<'a, [Rate]>,
    /// What its tenant may use, `None` if that is all hosts.
    pub owner: Option<Owner<'a>>,
    /// The tenant that it belongs to.
    pub tenant: TenantId,
    /// What the run has beside.
    pub run: RunRules,
    /// The part of its sources' links that it uses, if its messages come at random times.
    pub load: f64,
}

/// What workloads must know of their run.
#[derive(Clone, Copy, Debug)]
pub struct RunRules {
    /// The profile.
    pub profile: Profile,
    /// Seed of all random streams.
    pub seed: u64,
    /// Payload of a packet.
    pub mtu: Bytes,
    /// Whether messages are datagrams, of one packet each.
    pub datagrams: bool,
    /// Whether the run ends without this workload.
    pub ends: bool,
}

/// The tenant of a workload, which may use some hosts only.
#[derive(Clone, Debug)]
pub struct Owner<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its hosts as they are written.
    pub set: &'a HostSet,
    /// Its hosts in ascending order.
    pub hosts: Vec<NodeId>,
}

impl<'a> Context<'a> {
    /// The random numbers of one of its hosts.
    pub(super) fn stream(&self, host: NodeId) -> Stream {
        self.numbered_stream(host.get())
    }

    /// The random numbers that belong to no host.
    pub(super) fn shared_stream(&self) -> Stream {
        self.numbered_stream(SHARED)
    }

    fn numbered_stream(&self, number: u32) -> Stream {
        let stream = u64::from(self.index) << 32 | u64::from(number);
        Stream::new(self.run.seed, STREAMS | stream)
    }

    pub(super) fn error(&self, key: &str, message: impl Into<String>, hint: &str) -> Error {
        Error::new(self.key(key), message, hint)
    }

    /// Where the workload is.
    pub(super) fn place(&self) -> String {
        format!("workload[{}]", self.index)
    }

    /// Where a key of the workload is.
    pub fn key(&self, key: &str) -> String {
        format!("workload[{}].{key}", self.index)
    }

    /// The distribution of sizes that was read for this workload.
    pub(super) fn sizes(&self) -> Result<&'a SizeDistribution, Error> {
        let sizes = self.inputs.sizes.get(self.index as usize);
        sizes
            .and_then(Option::as_ref)
            .ok_or_else(|| self.unread("sizes"))
    }

    /// The messages that were read for this workload.
    pub(super) fn flows(&self) -> Option<&'a [Flow]> {
        let flows = self.inputs.flows.get(self.index as usize);
        flows.and_then(Option::as_deref)
    }

    /// The file that a key of the workload names, once it has been read.
    pub(super) fn file(&self, key: &str) -> Option<&'a SideFile> {
        self.inputs.file(&self.key(key))
    }

    /// The files of the trace that was read for this workload.
    pub(super) fn trace(&self) -> Result<&'a [TraceFile], Error> {
        let trace = self.inputs.traces.get(self.index as usize);
        trace
            .and_then(Option::as_deref)
            .ok_or_else(|| self.unread("path"))
    }

    fn unread(&self, key: &str) -> Error {
        let hint = "load the scenario from its file so that side files are read";
        self.error(key, "hasn't been read", hint)
    }

    /// The hosts that a key names.
    pub(crate) fn members(&self, key: &str, set: &HostSet) -> Result<Vec<NodeId>, Error> {
        set.resolve(self.hosts)
            .map_err(|error| error.at(self.key(key)))
    }

    /// How many hosts take part: two at least.
    pub(super) fn several(&self, hosts: &HostSet) -> Result<u64, Error> {
        let count = self.members("hosts", hosts)?.len() as u64;
        ensure!(count >= 2, self.key("hosts"),
            "{count} host, expected at least 2"; "name more hosts");
        Ok(count)
    }

    /// Whether a node is a host.
    pub(super) fn check_host(&self, node: u32, place: impl FnOnce() -> String) -> Check {
        let is_host = self.hosts.binary_search(&NodeId::new(node)).is_ok();
        ensure!(is_host, place(), "node {node} isn't a host";
            "`fairlane topology` lists the hosts");
        Ok(())
    }

    /// Whether a host that posts is one of the tenant's.
    pub(crate) fn owns(&self, host: NodeId, place: impl FnOnce() -> String) -> Check {
        if let Some(Owner { name, set, hosts }) = &self.owner {
            ensure!(hosts.binary_search(&host).is_ok(), place(),
                "host {host} isn't one of tenant \"{name}\", expected hosts of {}", shorten(&set.0);
                "name hosts of the tenant, or add the host to the tenant's `hosts`");
        }
        Ok(())
    }

    /// Whether so many messages can be generated.
    pub(super) fn messages(&self, count: u64) -> Check {
        ensure!(count <= MOST_MESSAGES, self.place(),
            "about {count} messages, expected at most {MOST_MESSAGES}";
            "shorten it, or name fewer hosts");
        Ok(())
    }

    /// So many times, one after the other, must not overflow when they are added up.
    pub(super) fn in_all(&self, key: &str, count: u32, each: Duration) -> Check {
        ensure!(each.saturating_mul(u64::from(count)) <= LONGEST, self.key(key),
            "{count} {key} of {each}, expected at most {LONGEST} in all"; "write fewer {key}");
        Ok(())
    }

    /// About how many bits per second so many hosts can send.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn capacity(&self, hosts: usize) -> f64 {
        let rates = self.hosts.iter().map(|host| self.rates[host.index()]);
        hosts as f64 * rates.max().unwrap_or(Rate::ZERO).as_f64()
    }

    /// An ordinary message whose ends and size are to be filled in.
    pub(super) fn template(&self, verb: Verb, class: u8, start: Duration) -> MessageSpec {
        MessageSpec {
            workload: self.index,
            source: NodeId::new(0),
            destination: NodeId::new(0),
            size: Bytes::new(1),
            start: Time::ZERO.saturating_add(start),
            class,
            verb,
            destination_port: ORDINARY_PORT,
            after: None,
            joins: None,
            delay: Duration::ZERO,
            part_of: None,
            connection: Some(PAIR),
            iteration: 0,
            tenant: self.tenant,
            plane: None,
        }
    }
}
