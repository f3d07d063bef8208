//! Messages of a list.

use fairlane_units::{Duration, NodeId};

use super::{Kind, Scope, Stated};
use crate::error::ensure;
use crate::section::Section;
use crate::types::{Flow, Flows};
use crate::validate::guarantees::Traffic;
use crate::validate::{Check, Subject};

impl Kind for Flows {
    fn check(&self, scope: &Scope<'_>) -> Check {
        check(scope, self)
    }

    fn sizes(&self, subject: &Subject<'_>, index: usize) -> Option<Stated> {
        let flows = subject.inputs.flows.get(index)?.as_ref()?;
        let sizes = || flows.iter().map(|flow| flow.size);
        Some(Stated {
            key: if self.path.is_some() { "path" } else { "flow" },
            smallest: sizes().min()?,
            largest: sizes().max()?,
        })
    }

    /// By sender.
    fn traffic(&self, subject: &Subject<'_>, index: usize) -> Option<Vec<Traffic>> {
        let read = subject.inputs.flows.get(index).and_then(Option::as_ref);
        let mut flows: Vec<_> = read.unwrap_or(&self.flow).iter().collect();
        flows.sort_by_key(|flow| flow.source);
        let of_source = flows.chunk_by(|one, other| one.source == other.source);
        let traffic = of_source.map(|flows| {
            let asked = flows.iter().map(|flow| NodeId::new(flow.destination));
            let asking = [NodeId::new(flows[0].source)].into();
            Traffic::of(self.verb, asking, asked.collect())
        });
        Some(traffic.collect())
    }
}

fn check(scope: &Scope<'_>, it: &Flows) -> Check {
    let (from_file, listed) = (it.path.is_some(), &it.flow);
    ensure!(!from_file || listed.is_empty(), scope.place(),
        "both `path` and `flow`, expected one of them"; "make two workloads of it");
    ensure!(from_file || !listed.is_empty(), scope.place(),
        "neither `path` nor `flow`, expected one of them";
        "add `path = \"flows.txt\"` or `[[workload.flow]]` tables");
    let inputs = scope.subject.inputs;
    let flows = inputs.flows.get(scope.index).and_then(Option::as_deref);
    let flows = flows.unwrap_or(listed);
    scope.messages(flows.len() as u64)?;
    let file = inputs.file(&scope.key("path")).filter(|_| from_file);
    let mut before = Duration::ZERO;
    for (i, flow) in flows.iter().enumerate() {
        let place = |key: &str| match file {
            Some(file) => file.line(i + 1),
            None => scope.key(&format!("flow[{i}].{key}")),
        };
        one(scope, flow, before, &place)?;
        before = flow.start;
    }
    Ok(())
}

fn one(scope: &Scope<'_>, flow: &Flow, before: Duration, place: &dyn Fn(&str) -> String) -> Check {
    // The place of a line in a file is costly: it is asked for only when there is a mistake.
    flow.check(scope.subject.scenario.profile)
        .map_err(|error| {
            let key = place(&error.place);
            error.at(key)
        })?;
    for (key, node) in [("source", flow.source), ("destination", flow.destination)] {
        ensure!(scope.subject.is_host(node), place(key), "{key} {node} isn't a host";
            "`fairlane topology` lists the hosts");
    }
    scope.owns(NodeId::new(flow.source), || place("source"))?;
    ensure!(flow.source != flow.destination, place("destination"),
        "a message from host {} to itself", flow.source; "name two hosts");
    ensure!(flow.start >= before, place("start"),
        "starts at {}, before the one above, expected ascending starts", flow.start;
        "sort by start");
    Ok(())
}
