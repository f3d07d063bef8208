//! What local steps set off.

use std::collections::VecDeque;

use fairlane_units::MessageId;

use crate::MessageSpec;
use crate::events::control;
use crate::schedule::Node;
use crate::world::World;

/// Nodes that wait for nothing any more have their turn, with all that follows at once: a message is posted, or will be in time; a step begins.
pub(super) fn go_on(world: &mut World, mut ready: VecDeque<u32>) {
    while let Some(node) = ready.pop_front() {
        match world.schedule.node(node) {
            Node::Message(message) => post_in_time(world, message),
            Node::Step(step) if world.schedule.local.claim(step) => begin(world, step, &mut ready),
            Node::Step(_) => {}
        }
    }
}

/// A step begins, at the earliest time that it may; what it sets off that is ready goes to `ready`.
fn begin(world: &mut World, step: u32, ready: &mut VecDeque<u32>) {
    let it = *world.schedule.local.step(step);
    let node = world.schedule.node_of(step);
    if let Some(begins) = it.begins {
        let begins = world.schedule.node_of(begins);
        free(world, (begins, node), ready);
    }
    let now = world.net.now();
    let due = it.start.max(now).saturating_add(it.time);
    if due <= now {
        end(world, step, ready);
    } else {
        world.schedule.delayed.insert((due, node));
        world.net.schedule_control(due, control::DELAYED);
    }
}

/// A step ends.
pub(super) fn end(world: &mut World, step: u32, ready: &mut VecDeque<u32>) {
    let node = world.schedule.node_of(step);
    // Until then it counts among what there must be at the end.
    world.owed -= 1;
    if let Some(next) = world.schedule.local.end(step, world.net.now()) {
        ready.push_front(world.schedule.node_of(next));
    }
    for successor in world.schedule.waiting_for(world.traffic.messages(), node) {
        free(world, (successor, node), ready);
    }
}

/// One fewer is missing of those that a node waits for: `before`. If it was the last, the node is ready.
pub(super) fn free(world: &mut World, (node, before): (u32, u32), ready: &mut VecDeque<u32>) {
    if world.schedule.precedence.arrived(node) {
        if let Node::Step(step) = world.schedule.node(node) {
            world.schedule.local.last[step as usize] = Some(before);
        }
        ready.push_back(node);
    }
}

/// A message is posted, or will be in time.
pub(super) fn post_in_time(world: &mut World, message: MessageId) {
    let now = world.net.now();
    let MessageSpec { start, delay, .. } = *world.traffic.message(message);
    let due = start.max(now).saturating_add(delay);
    if due <= now {
        world.post(message);
    } else {
        world.schedule.delayed.insert((due, message.get()));
        world.net.schedule_control(due, control::DELAYED);
    }
}
