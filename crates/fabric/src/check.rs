//! Messages that didn't come from a workload of the scenario.

use fairlane_network::topology::Topology;
use fairlane_scenario::traffic::{MAX_MESSAGES, MessageSpec, Steps};
use fairlane_scenario::{Error, Scenario};
use fairlane_units::{NodeId, Time};

use crate::precedence::Precedence;

/// Checks that messages can be run in a scenario. Their order doesn't matter.
///
/// # Errors
/// At `message[N].KEY`: ends that aren't two hosts, a size, class, start or verb that the scenario can't
/// have, a tenant that it doesn't have, a predecessor that isn't there or waits for the message itself.
pub(crate) fn check(
    messages: &[MessageSpec],
    scenario: &Scenario,
    topology: &Topology,
) -> Result<(), Error> {
    if messages.len() > MAX_MESSAGES {
        let message = format!("{}, expected at most {MAX_MESSAGES}", messages.len());
        return Err(Error::new("messages", message, "send fewer messages"));
    }
    let hosts: Vec<NodeId> = topology.hosts().collect();
    let tenants = scenario.tenants().len();
    for (index, message) in messages.iter().enumerate() {
        let checked = check_one(message, scenario, &hosts, tenants, messages.len());
        checked.map_err(|error| at(index, &error))?;
    }
    acyclic(messages)
}

fn at(index: usize, error: &Error) -> Error {
    let place = format!("message[{index}].{}", error.place);
    Error::new(place, error.message.as_str(), error.hint.as_str())
}

fn check_one(
    message: &MessageSpec,
    scenario: &Scenario,
    hosts: &[NodeId],
    tenants: usize,
    messages: usize,
) -> Result<(), Error> {
    let MessageSpec {
        source,
        destination,
        tenant,
        ..
    } = *message;
    for (key, node) in [("source", source), ("destination", destination)] {
        if hosts.binary_search(&node).is_err() {
            let text = format!("node {node} isn't a host, expected a host");
            return Err(Error::new(key, text, "`fairlane topology` lists the hosts"));
        }
    }
    if source == destination {
        let text = format!("is the source, host {source}, expected another host");
        return Err(Error::new("destination", text, "send to another host"));
    }
    if tenant.index() >= tenants {
        let text = format!("is {tenant}, expected 0 to {}", tenants - 1);
        let hint = "a tenant's number is its place in the scenario";
        return Err(Error::new("tenant", text, hint));
    }
    let named = [
        ("after", message.after),
        ("joins", message.joins),
        ("part_of", message.part_of),
    ];
    for (key, other) in named {
        if let Some(other) = other.filter(|other| other.index() >= messages) {
            let text = format!("is message {other}, expected one of {messages}");
            return Err(Error::new(key, text, "messages are counted from 0"));
        }
    }
    let start = message.start - Time::ZERO;
    scenario.check_message(message.verb, message.size, message.class, start)
}

/// Whether every message is posted one day.
fn acyclic(messages: &[MessageSpec]) -> Result<(), Error> {
    let mut order = Precedence::new(messages, &Steps::default());
    let numbered = || (0u32..).zip(messages);
    let free = numbered().filter(|(_, message)| message.after.is_none());
    let mut ready: Vec<u32> = free.map(|(number, _)| number).collect();
    let mut posted = ready.len();
    while let Some(message) = ready.pop() {
        let successors: Vec<u32> = order.successors(messages, message).collect();
        let free = successors.into_iter().filter(|&next| order.arrived(next));
        let before = ready.len();
        ready.extend(free);
        posted += ready.len() - before;
    }
    if posted == messages.len() {
        return Ok(());
    }
    let stuck = numbered().find(|&(number, _)| order.waits(number));
    let index = stuck.map_or(0, |(number, _)| number as usize);
    let text = "waits for itself through those that it waits for, or for such a message";
    let error = Error::new("after", text, "let one of them wait for nobody");
    Err(at(index, &error))
}
