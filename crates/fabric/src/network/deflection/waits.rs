//! What last switches wait for: whoever looks for circles needs it.

use crate::fork::Fork;
use crate::network::Network;

/// A packet, or a tail, that a switch holds, and one of the forks that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The switch that holds it, by number.
    pub(crate) switch: u32,
    /// The port that sent it there.
    pub(crate) sender: u32,
    /// Its flow.
    pub(crate) flow: u32,
    /// The fork, of which the tail hasn't passed; it names the switch that sent that.
    pub(crate) fork: Fork,
    /// The port by which that switch sent the tail, if it still knows.
    pub(crate) old_port: Option<u32>,
}

/// What the switches of a fabric wait for, of which `parts` are all.
pub(crate) fn waits(parts: &[&Network]) -> Vec<Wait> {
    let old_port = |fork: Fork| {
        let mut streams = parts
            .iter()
            .filter_map(|part| part.forwarders[fork.switch() as usize].known_streams());
        // Only the part that owns the switch knows the fork.
        streams.find_map(|streams| streams.old_port(fork))
    };
    let mut waits = Vec::new();
    for part in parts {
        let holds = part.deflection.iter().flat_map(|all| &all.holds);
        for (switch, hold) in (0..).zip(holds) {
            for item in hold.held() {
                let packet = part.packets.get(item.at);
                waits.extend(hold.waits_for(item).map(|fork| Wait {
                    switch,
                    sender: packet.sender,
                    flow: packet.flow,
                    fork,
                    old_port: old_port(fork),
                }));
            }
        }
    }
    waits
}
