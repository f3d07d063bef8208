//! Messages of a list.

use std::path::PathBuf;

use fairlane_units::{Bytes, Duration, MessageId, NodeId};

use super::context::Context;
use super::flow::Flow;
use super::kind::{Figures, Kind, Source, StatedSizes, workload};
use super::message::MessageSpec;
use super::messages::Messages;
use super::traffic::Traffic;
use crate::error::{Error, ensure};
use crate::section::{Check, Section};

workload! {
    /// Messages of a flow file, or listed here.
    Flows {
        /// Flow file, relative to the scenario; this or `flow` is required.
        path: Option<PathBuf>,
        // What they must obey is checked below, as it is for those of a file.
        /// Messages, in order of start.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        flow: Vec<Flow>,
    } + message + owner & paths
}

impl Kind for Flows {
    fn check(&self, context: &Context<'_>) -> Check {
        check(context, self)
    }

    fn sizes(&self, context: &Context<'_>) -> Option<StatedSizes> {
        let sizes = || context.flows().into_iter().flatten().map(|flow| flow.size);
        Some(StatedSizes {
            key: if self.path.is_some() { "path" } else { "flow" },
            smallest: sizes().min()?,
            largest: sizes().max()?,
        })
    }

    fn source(&self) -> Source<'_> {
        Source::Messages(self.path.as_deref(), &self.flow)
    }

    /// By sender.
    fn traffic(&self, context: &Context<'_>) -> Option<Vec<Traffic>> {
        let mut flows: Vec<_> = context.flows().unwrap_or(&self.flow).iter().collect();
        flows.sort_by_key(|flow| flow.source);
        let of_source = flows.chunk_by(|one, other| one.source == other.source);
        let traffic = of_source.map(|flows| {
            let asked = flows.iter().map(|flow| NodeId::new(flow.destination));
            let asking = [NodeId::new(flows[0].source)].into();
            Traffic::of(self.verb, asking, asked.collect())
        });
        Some(traffic.collect())
    }

    fn generate(&self, context: &Context<'_>, messages: &mut Messages) -> Result<(), Error> {
        for (index, flow) in context.flows().unwrap_or(&self.flow).iter().enumerate() {
            let message = MessageSpec {
                source: NodeId::new(flow.source),
                destination: NodeId::new(flow.destination),
                size: flow.size,
                destination_port: flow.destination_port,
                ..context.template(self.verb, flow.class, flow.start)
            };
            for part in parts(message, flow.subflows, messages.next_index()) {
                let at = |error: Error| {
                    let key = error.place.rsplit('.').next().unwrap_or_default();
                    let place = context.key(&format!("flow[{index}].{key}"));
                    error.at(place)
                };
                messages.push(context, part).map_err(at)?;
            }
        }
        Ok(())
    }

    fn heading(&self, _: &dyn Figures) -> String {
        match &self.path {
            Some(path) => format!("flows from {}", path.display()),
            None => format!("{} flows", self.flow.len()),
        }
    }
}

fn check(context: &Context<'_>, it: &Flows) -> Check {
    let (from_file, listed) = (it.path.is_some(), &it.flow);
    ensure!(!from_file || listed.is_empty(), context.place(),
        "both `path` and `flow`, expected one of them"; "make two workloads of it");
    ensure!(from_file || !listed.is_empty(), context.place(),
        "neither `path` nor `flow`, expected one of them";
        "add `path = \"flows.txt\"` or `[[workload.flow]]` tables");
    let flows = context.flows().unwrap_or(listed);
    context.messages(flows.len() as u64)?;
    let file = context.file("path").filter(|_| from_file);
    let mut before = Duration::ZERO;
    for (i, flow) in flows.iter().enumerate() {
        let place = |key: &str| match file {
            Some(file) => file.line(i + 1),
            None => context.key(&format!("flow[{i}].{key}")),
        };
        one(context, flow, before, &place)?;
        before = flow.start;
    }
    Ok(())
}

fn one(
    context: &Context<'_>,
    flow: &Flow,
    before: Duration,
    place: &dyn Fn(&str) -> String,
) -> Check {
    // The place of a line in a file is costly: it is asked for only when there is a mistake.
    flow.check(context.run.profile).map_err(|error| {
        let key = place(&error.place);
        error.at(key)
    })?;
    for (key, node) in [("source", flow.source), ("destination", flow.destination)] {
        let is_host = context.hosts.binary_search(&NodeId::new(node)).is_ok();
        ensure!(is_host, place(key), "{key} {node} isn't a host";
            "`fairlane topology` lists the hosts");
    }
    context.owns(NodeId::new(flow.source), || place("source"))?;
    ensure!(flow.source != flow.destination, place("destination"),
        "a message from host {} to itself", flow.source; "name two hosts");
    ensure!(flow.start >= before, place("start"),
        "starts at {}, before the one above, expected ascending starts", flow.start;
        "sort by start");
    Ok(())
}

/// The parts of a message that will have the indices from `first` on: as equal as can be.
fn parts(message: MessageSpec, count: u32, first: u32) -> impl Iterator<Item = MessageSpec> {
    let whole = message.size.get();
    let count = u64::from(count).clamp(1, whole);
    (0..count).map(move |part| MessageSpec {
        size: Bytes::new(whole / count + u64::from(part < whole % count)),
        part_of: (count > 1).then_some(MessageId::new(first)),
        // Parts have queue pairs of their own.
        connection: message.connection.filter(|_| count == 1),
        ..message
    })
}
