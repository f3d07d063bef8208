//! Messages that didn't come from a workload of the scenario.

use fairlane_scenario::{Error, Scenario};
use fairlane_units::{NodeId, Time};

use super::context::MAX_MESSAGES;
use crate::MessageSpec;
use crate::topology::Topology;

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
        let checked = check_one(message, scenario, (&hosts, tenants, messages.len()));
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
    (hosts, tenants, messages): (&[NodeId], usize, usize),
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
    if let Some(after) = message.after.filter(|after| *after as usize >= messages) {
        let text = format!("is message {after}, expected one of {messages}");
        return Err(Error::new("after", text, "messages are counted from 0"));
    }
    if let Some(whole) = message.part_of.filter(|whole| *whole as usize >= messages) {
        let text = format!("is message {whole}, expected one of {messages}");
        return Err(Error::new("part_of", text, "messages are counted from 0"));
    }
    let start = message.start - Time::ZERO;
    scenario.check_message(message.verb, message.size, message.class, start)
}

/// Whether every message is posted one day: each has at most one predecessor, so that following them
/// either ends or comes back.
fn acyclic(messages: &[MessageSpec]) -> Result<(), Error> {
    const UNSEEN: u32 = u32::MAX;
    // By message, from which one it was first reached.
    let mut reached_from = vec![UNSEEN; messages.len()];
    for (index, message) in (0u32..).zip(messages) {
        if message.after.is_none() {
            continue;
        }
        let mut next = Some(index);
        while let Some(at) = next {
            let from = &mut reached_from[at as usize];
            if *from == index {
                let text = "waits for itself through those that it waits for";
                let error = Error::new("after", text, "let one of them wait for nobody");
                return Err(self::at(at as usize, &error));
            }
            if *from != UNSEEN {
                break;
            }
            *from = index;
            next = messages[at as usize].after;
        }
    }
    Ok(())
}
