//! What an empty fabric needs for a round trip.

use fairlane_network::routing::Graph;
use fairlane_scenario::{Error, Loaded};
use fairlane_units::{Bytes, Duration, NodeId};

use crate::baseline::Baseline;
use crate::rules::Rules;
use crate::simulation::build_topology;

/// A round trip without queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseRoundTrip {
    /// Its time, the largest of all host pairs, as [`Totals::base_rtt`](crate::Totals::base_rtt).
    pub time: Duration,
    /// The bandwidth-delay product, the largest of all host pairs.
    pub bdp: Bytes,
}

/// What a round trip takes on the fabric of a scenario while nothing else is on it.
///
/// # Errors
/// If the fabric can't be built.
pub fn base_round_trip(loaded: &Loaded) -> Result<BaseRoundTrip, Error> {
    let topology = build_topology(loaded)?;
    let hosts: Vec<NodeId> = topology.hosts().collect();
    let rules = Rules::new(&loaded.scenario);
    let largest = Baseline::new(&Graph::new(&topology), &hosts, &rules).largest;
    Ok(BaseRoundTrip {
        time: largest.rtt,
        bdp: largest.bdp,
    })
}
