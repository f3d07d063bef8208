//! Workloads.

use fairlane_units::{Bytes, Duration, NodeId, Rate};

use super::{Check, Subject, tenants};
use crate::error::{Error, bail, ensure};
use crate::planes::Planes;
use crate::rules::{LONGEST, message};
use crate::section::Section;
use crate::sizes::SizeDistribution;
use crate::types::{Flow, HostSet, Incast, Poisson, RingAllReduce, Tenant, Workload};

/// The most messages of one workload; more would not fit in memory.
const MOST_MESSAGES: u64 = 50_000_000;

pub(super) fn check(subject: &Subject<'_>) -> Check {
    for (i, workload) in subject.scenario.workload.iter().enumerate() {
        let scope = Scope {
            subject,
            index: i,
            tenant: tenants::tenant(subject, i)?,
        };
        match workload {
            Workload::Poisson(it) => scope.poisson(it)?,
            Workload::Incast(it) => scope.incast(it)?,
            Workload::Permutation(it) => scope.messages(scope.several(&it.hosts)?)?,
            Workload::AllToAll(it) => {
                let count = scope.several(&it.hosts)?;
                scope.messages(count.saturating_mul(count - 1))?;
            }
            Workload::RingAllReduce(it) => scope.ring(it)?,
            Workload::Collective(it) => super::programs::collective(&scope, it)?,
            Workload::Training(it) => super::programs::training(&scope, it)?,
            Workload::Program(it) => super::programs::trace(&scope, it)?,
            Workload::KeyValue(it) => super::key_value::check(&scope, it)?,
            Workload::Flows(it) => scope.flows(it.path.is_some(), &it.flow)?,
        }
        scope.plane(workload.plane())?;
        tenants::belongs(&scope, workload)?;
    }
    Ok(())
}

/// One workload.
pub(super) struct Scope<'a> {
    pub(super) subject: &'a Subject<'a>,
    pub(super) index: usize,
    /// Its tenant and the tenant's hosts, `None` if it may use all.
    pub(super) tenant: Option<(&'a Tenant, Vec<NodeId>)>,
}

impl Scope<'_> {
    pub(super) fn place(&self) -> String {
        format!("workload[{}]", self.index)
    }

    pub(super) fn key(&self, key: &str) -> String {
        format!("workload[{}].{key}", self.index)
    }

    pub(super) fn hosts(&self, key: &str, set: &HostSet) -> Result<Vec<NodeId>, Error> {
        self.subject.members(set, self.key(key))
    }

    /// Messages take a plane that there is.
    fn plane(&self, plane: Option<u8>) -> Check {
        let Some(plane) = plane else { return Ok(()) };
        let Planes { count, ports } = self.subject.planes();
        ensure!(plane == 0 || ports > 1, self.key("plane"),
            "is {plane}, expected 0: hosts have one port";
            "leave it out, or build a star, leaf-spine or fat-tree with `planes`");
        ensure!(count > 1 || ports == 1, self.key("plane"),
            "is {plane}, but the ports of hosts make no planes";
            "leave it out: messages take the ports with the best path");
        let last = count - 1;
        ensure!(plane <= last, self.key("plane"),
            "is {plane}, expected 0 to {last}, a plane of the topology";
            "write a plane from 0 to {last}");
        Ok(())
    }

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

    fn poisson(&self, it: &Poisson) -> Check {
        let from = self.hosts("sources", &it.sources)?;
        let to = self.hosts("destinations", &it.destinations)?;
        if let ([only], Some(source)) = (to.as_slice(), from.iter().find(|source| to == [**source]))
        {
            bail!(self.key("destinations"),
                "host {only} is all there is, and host {source} can't send to itself";
                "name another destination");
        }
        match self.subject.inputs.sizes.get(self.index) {
            Some(Some(sizes)) => self.messages(self.arrivals(it, sizes, from.len())),
            _ => Ok(()),
        }
    }

    /// About how many messages arrive.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate; the cast saturates"
    )]
    fn arrivals(&self, it: &Poisson, sizes: &SizeDistribution, hosts: usize) -> u64 {
        let bits = self.capacity(it.plane, hosts) * it.load * it.duration.as_secs_f64();
        (bits / 8.0 / sizes.mean()) as u64
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate; the cast saturates"
    )]
    fn incast(&self, it: &Incast) -> Check {
        let (degree, rounds, period) = (it.degree, it.rounds(), it.period());
        self.incast_times(it)?;
        ensure!(rounds == 1 || !period.is_zero(), self.key("period"),
            "is 0, expected a time between rounds"; "write a time such as \"1ms\"");
        self.in_all("rounds", rounds, period)?;
        let hosts = self.hosts("hosts", &it.hosts)?;
        if let Some(node) = it.receiver {
            self.subject.check_host(node, || self.key("receiver"))?;
        }
        let member = |node| hosts.binary_search(&NodeId::new(node)).is_ok();
        let available = hosts.len() - usize::from(it.receiver.is_none_or(member));
        ensure!(degree as usize <= available, self.key("degree"),
            "is {degree}, expected at most {available}, the hosts beside the receiver";
            "lower it, or name more hosts");
        let rounds = match (it.load, it.duration) {
            (Some(load), Some(duration)) => {
                let bytes = self.capacity(it.plane, hosts.len()) / 8.0 * duration.as_secs_f64();
                (bytes * load / (it.size.as_f64() * f64::from(degree))) as u64
            }
            _ => u64::from(rounds),
        };
        self.messages(u64::from(degree).saturating_mul(rounds))
    }

    /// Rounds are at regular times or at random ones, not both.
    fn incast_times(&self, it: &Incast) -> Check {
        if it.load.is_none() {
            ensure!(it.duration.is_none(), self.key("duration"),
                "is stated without a load, expected `rounds`";
                "add `load` for rounds at Poisson times, or write `period` and `rounds`");
            return Ok(());
        }
        let stated = [
            ("period", it.period.is_some()),
            ("rounds", it.rounds.is_some()),
        ];
        for (key, stated) in stated {
            ensure!(!stated, self.key(key), "is stated beside `load`, expected one of them";
                "`load` has rounds at Poisson times for `duration`; remove one of the two");
        }
        ensure!(it.duration.is_some(), self.key("duration"),
            "is missing beside `load`, expected a time"; "write how long rounds come, such as \"10ms\"");
        Ok(())
    }

    /// About how many bits per second so many hosts can send.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn capacity(&self, plane: Option<u8>, hosts: usize) -> f64 {
        // A load is that of all links of a host, or of the one of its plane.
        let ports = plane.map_or_else(|| self.subject.planes().ports, |_| 1);
        let rates = self.subject.fabric.links.iter().map(|link| link.rate);
        let fastest = rates.max().unwrap_or(Rate::ZERO).as_f64() * f64::from(ports);
        hosts as f64 * fastest
    }

    /// How many hosts take part: two at least.
    fn several(&self, hosts: &HostSet) -> Result<u64, Error> {
        let count = self.hosts("hosts", hosts)?.len() as u64;
        ensure!(count >= 2, self.key("hosts"),
            "{count} host, expected at least 2"; "name more hosts");
        Ok(count)
    }

    fn ring(&self, it: &RingAllReduce) -> Check {
        let (size, hosts) = (it.size, self.several(&it.hosts)?);
        // A message carries a part for each host.
        let profile = self.subject.scenario.profile;
        let part = message(profile, &Bytes::new(size.get().div_ceil(hosts)));
        part.map_err(|error| error.at(self.key("size")))?;
        ensure!(size.get() >= hosts, self.key("size"),
            "is {size}, expected at least a byte for each of {hosts} hosts";
            "raise it, or name fewer hosts");
        let step = hosts.saturating_mul(2 * (hosts - 1));
        self.messages(step.saturating_mul(u64::from(it.rounds)))
    }

    fn flows(&self, from_file: bool, listed: &[Flow]) -> Check {
        ensure!(!from_file || listed.is_empty(), self.place(),
            "both `path` and `flow`, expected one of them"; "make two workloads of it");
        ensure!(from_file || !listed.is_empty(), self.place(),
            "neither `path` nor `flow`, expected one of them";
            "add `path = \"flows.txt\"` or `[[workload.flow]]` tables");
        let inputs = self.subject.inputs;
        let flows = inputs.flows.get(self.index).and_then(Option::as_deref);
        let flows = flows.unwrap_or(listed);
        self.messages(flows.len() as u64)?;
        let file = inputs.file(&self.key("path")).filter(|_| from_file);
        let mut before = Duration::ZERO;
        for (i, flow) in flows.iter().enumerate() {
            let place = |key: &str| match file {
                Some(file) => file.line(i + 1),
                None => self.key(&format!("flow[{i}].{key}")),
            };
            self.flow(flow, before, &place)?;
            before = flow.start;
        }
        Ok(())
    }

    fn flow(&self, flow: &Flow, before: Duration, place: &dyn Fn(&str) -> String) -> Check {
        // The place of a line in a file is costly: it is asked for only when there is a mistake.
        flow.check(self.subject.scenario.profile).map_err(|error| {
            let key = place(&error.place);
            error.at(key)
        })?;
        for (key, node) in [("source", flow.source), ("destination", flow.destination)] {
            ensure!(self.subject.is_host(node), place(key), "{key} {node} isn't a host";
                "`fairlane topology` lists the hosts");
        }
        self.owns(NodeId::new(flow.source), || place("source"))?;
        ensure!(flow.source != flow.destination, place("destination"),
            "a message from host {} to itself", flow.source; "name two hosts");
        ensure!(flow.start >= before, place("start"),
            "starts at {}, before the one above, expected ascending starts", flow.start;
            "sort by start");
        Ok(())
    }
}
