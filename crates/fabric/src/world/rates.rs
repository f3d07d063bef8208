//! Looks at the rates of messages under way.

use fairlane_network::packet::Side;
use fairlane_scenario::Verb;
use fairlane_units::MessageId;

use crate::RateRecord;
use crate::events::control;
use crate::world::World;

/// Records the rates that have changed, of messages whose data their source sends.
pub(super) fn look(world: &mut World) {
    let Some(rates) = world.rates.as_deref_mut() else {
        return;
    };
    let (net, hosts) = (&world.net, &world.hosts);
    let (now, event) = (net.now(), net.engine.latest());
    for &message in hosts.connections.posted.keys() {
        let spec = world.traffic.message(message);
        let sends = matches!(spec.verb, Verb::Write | Verb::Send);
        let flow = world.traffic.flow_of(message);
        let pair = hosts.connections.pair(flow, Side::Requester);
        // Messages behind others on their connection aren't sent yet.
        let behind = |first: MessageId| first != message;
        let waits = hosts
            .connections
            .first_of_standing(flow)
            .is_some_and(behind);
        let Some(pair) = pair.filter(|_| sends && !waits) else {
            continue;
        };
        let rate = hosts.nic_at(spec.source).core.rate_at(now, pair);
        let record = RateRecord {
            time: now,
            message,
            rate,
        };
        rates.see(event, record);
    }
    let next = rates.next(now);
    world.net.schedule_control(next, control::RATES);
}
