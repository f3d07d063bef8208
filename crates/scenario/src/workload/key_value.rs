//! Workloads of connections that stay open.

use fairlane_units::{Bytes, Duration};

use super::context::Context;
use super::kind::{Figures, Kind, Source, StatedSizes, workload};
use super::messages::Messages;
use super::traffic::Traffic;
use super::verb::Verb;
use crate::error::{Error, bail, ensure};
use crate::host_set::HostSet;
use crate::nic::SizeRange;
use crate::profile::Profile;
use crate::section::{Check, number};
use crate::sizes::Sizes;

/// Connections of one workload; each has a state of some kilobytes.
const MOST_CONNECTIONS: u64 = 1 << 16;

workload! {
    /// Closed loops over open connections: each posts a batch of operations, and the next once the thread has polled the
    /// last completion. Not under `hpcc-ns3`.
    KeyValue [clients] {
        /// Hosts of the applications.
        clients: HostSet = "HostSet::default",
        /// Hosts that they ask, in turn, connection by connection.
        servers: HostSet,
        /// Applications on each client, each a thread.
        applications: u32 = "number::<1, u32>" => positive,
        /// Connections of each application.
        connections: u32 = "number::<1, u32>" => positive,
        /// Size of every value; this, `range` or `sizes` is required.
        size: Option<Bytes> => message,
        /// Limits of random sizes.
        range: Option<SizeRange> => table,
        /// Distribution of sizes.
        sizes: Option<Sizes>,
        /// Operations posted at once; the last one's completion is signalled.
        batch [1, 1 << 16]: u32 = "number::<1, u32>",
        /// Operations of each connection.
        count: Option<u32> => positive,
        /// No batch begins at or after `start + duration`. Without this and `count`, connections run until all
        /// `key-value` workloads that have one of them are done, or the run stops.
        duration: Option<Duration> => period,
        /// The thread polls at multiples of this and takes one completion each time; 0: continuously.
        poll_interval: Duration = "Duration::default" => span,
        /// Utility weight of each connection under policy `drum`.
        weight: f64 = "number::<1, f64>" => weight,
        /// When it begins.
        start: Duration = "Duration::default" => span,
        /// Traffic class.
        class: u8 = "number::<3, u8>" => class,
        /// What each operation is.
        verb: Verb = "read",
    } + owner
}

fn read() -> Verb {
    Verb::Read
}

impl Kind for KeyValue {
    fn check(&self, context: &Context<'_>) -> Check {
        check(context, self)
    }

    fn sizes(&self, context: &Context<'_>) -> Option<StatedSizes> {
        match (self.size, self.range) {
            (Some(size), _) => Some(StatedSizes::one(size)),
            (_, Some(range)) => Some(StatedSizes {
                key: "range",
                smallest: range.low,
                largest: range.high,
            }),
            _ => StatedSizes::distribution(context),
        }
    }

    fn source(&self) -> Source<'_> {
        self.sizes.as_ref().map_or(Source::Keys, Source::Sizes)
    }

    fn traffic(&self, context: &Context<'_>) -> Option<Vec<Traffic>> {
        let ends = [&self.clients, &self.servers];
        Some(vec![Traffic::between(context, self.verb, ends)])
    }

    fn ends(&self) -> bool {
        self.count.is_some() || self.duration.is_some()
    }

    /// Its operations come into being as the run goes.
    fn generate(&self, _: &Context<'_>, _: &mut Messages) -> Result<(), Error> {
        Ok(())
    }

    fn heading(&self, _: &dyn Figures) -> String {
        format!(
            "{} key-value applications a client, {} connections each, batches of {}",
            self.applications, self.connections, self.batch
        )
    }
}

fn check(context: &Context<'_>, it: &KeyValue) -> Check {
    ensure!(context.run.profile != Profile::HpccNs3, context.key("kind"),
        "is \"key-value\", which profile \"hpcc-ns3\" doesn't have"; "use profile \"exact\"");
    connections(context, it)?;
    sizes(context, it)?;
    ensure!(context.run.ends || it.ends(), context.place(),
        "has neither `count` nor `duration`, and no other key-value workload ends";
        "add `duration = \"1ms\"`");
    Ok(())
}

/// Hosts and the number of connections.
fn connections(context: &Context<'_>, it: &KeyValue) -> Check {
    let from = context.members("clients", &it.clients)?;
    let to = context.members("servers", &it.servers)?;
    if let Some(both) = from.iter().find(|host| to.contains(host)) {
        bail!(context.key("servers"), "host {both} is a client too"; "name other hosts");
    }
    let all = (from.len() as u64)
        .saturating_mul(u64::from(it.applications))
        .saturating_mul(u64::from(it.connections));
    ensure!(all <= MOST_CONNECTIONS, context.key("connections"),
        "asks for {all} connections in all, expected at most {MOST_CONNECTIONS}";
        "lower it, or name fewer clients");
    Ok(())
}

fn sizes(context: &Context<'_>, it: &KeyValue) -> Check {
    let given = [it.size.is_some(), it.range.is_some(), it.sizes.is_some()];
    ensure!(given.iter().filter(|given| **given).count() == 1, context.place(),
        "expected one of `size`, `range` and `sizes`"; "add `size = \"32B\"`");
    if let Some(range) = it.range {
        ensure!(range.low <= range.high, context.key("range.low"),
            "is {}, above high, {}", range.low, range.high; "swap the two");
    }
    let mtu = context.run.mtu;
    if let Some(StatedSizes { key, largest, .. }) = it.sizes(context) {
        ensure!(!context.run.datagrams || largest <= mtu, context.key(key),
            "has more than a packet, expected at most {mtu} for datagrams";
            "raise packet.mtu, or use service \"rc\"");
    }
    Ok(())
}
