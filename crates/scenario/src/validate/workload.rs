//! Workloads: what all kinds must obey. What only one must, its own file has.

mod exchange;
mod flows;
mod incast;
mod key_value;
mod poisson;
mod programs;
mod ring_all_reduce;

use fairlane_units::{Bytes, Duration, NodeId, Rate};

use super::guarantees::Traffic;
use super::{Check, Subject, tenants};
use crate::error::{Error, ensure};
use crate::planes::Planes;
use crate::rules::LONGEST;
use crate::types::{HostSet, Tenant, Workload};

/// The most messages of one workload; more would not fit in memory.
const MOST_MESSAGES: u64 = 50_000_000;

pub(super) fn check(subject: &Subject<'_>) -> Check {
    for (i, workload) in subject.scenario.workload.iter().enumerate() {
        let scope = Scope {
            subject,
            index: i,
            tenant: tenants::tenant(subject, i)?,
        };
        workload.kind().check(&scope)?;
        scope.plane(workload.plane())?;
        tenants::belongs(&scope, workload)?;
    }
    Ok(())
}

/// The sizes of a workload's messages, as it states them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stated {
    /// The key.
    pub(super) key: &'static str,
    pub(super) smallest: Bytes,
    pub(super) largest: Bytes,
}

impl Stated {
    /// Messages of one size.
    const fn one(size: Bytes) -> Self {
        Self {
            key: "size",
            smallest: size,
            largest: size,
        }
    }

    /// The sizes of a workload's distribution, once that has been read.
    fn distribution(subject: &Subject<'_>, index: usize) -> Option<Self> {
        let sizes = subject.inputs.sizes.get(index)?.as_ref()?;
        let (first, last) = (sizes.points().first()?, sizes.points().last()?);
        Some(Self {
            key: "sizes",
            smallest: first.size,
            largest: last.size,
        })
    }
}

/// A kind of workload: what can be known of it before a run.
pub(super) trait Kind {
    /// Checks what only this kind must obey.
    fn check(&self, scope: &Scope<'_>) -> Check;

    /// The sizes of its messages; `None` if the fabric checks each message.
    fn sizes(&self, subject: &Subject<'_>, index: usize) -> Option<Stated>;

    /// Between whom its data flows; `None` if between any of its hosts.
    fn traffic(&self, _subject: &Subject<'_>, _index: usize) -> Option<Vec<Traffic>> {
        None
    }

    /// A host that posts beside those that must be its tenant's, and its key.
    fn posts(&self) -> Option<(&'static str, NodeId)> {
        None
    }
}

impl Workload {
    pub(super) fn kind(&self) -> &dyn Kind {
        match self {
            Self::Poisson(it) => it,
            Self::Incast(it) => it,
            Self::Permutation(it) => it,
            Self::AllToAll(it) => it,
            Self::RingAllReduce(it) => it,
            Self::Collective(it) => it,
            Self::Training(it) => it,
            Self::Program(it) => it,
            Self::KeyValue(it) => it,
            Self::Flows(it) => it,
        }
    }
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

    /// About how many bits per second so many hosts can send.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn capacity(&self, plane: Option<u8>, hosts: usize) -> f64 {
        // A load is that of all links of a host, or of the one of its plane.
        let ports = plane.map_or_else(|| self.subject.planes().ports, |_| 1);
        let rates = self.subject.fabric.links.iter().map(|link| link.rate);
        let fastest = rates.max().unwrap_or(Rate::ZERO).as_f64() * f64::from(ports);
        hosts as f64 * fastest
    }

    /// How many hosts take part: two at least.
    pub(super) fn several(&self, hosts: &HostSet) -> Result<u64, Error> {
        let count = self.hosts("hosts", hosts)?.len() as u64;
        ensure!(count >= 2, self.key("hosts"),
            "{count} host, expected at least 2"; "name more hosts");
        Ok(count)
    }
}
