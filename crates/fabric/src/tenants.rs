//! What a run says of each tenant.

use std::collections::BTreeMap;

use fairlane_units::{Bytes, Duration, PortId};
use serde::Serialize;

use crate::Signal;

/// A tenant and what reached its receivers.
#[derive(Clone, Debug, PartialEq)]
pub struct TenantRecord {
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: f64,
    /// Payload placed at receivers of its messages.
    pub placed: Bytes,
    /// Of that, bytes in each interval of [`PortSeries`](crate::PortSeries); empty if it is the only
    /// tenant.
    pub placed_series: Vec<u64>,
}

/// A port that more wanted to use than could, in at least one interval of
/// [`PortSeries`](crate::PortSeries): its packets and the gaps behind them took 90 % of the interval, or
/// its queue passed kmin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContendedPort {
    /// The port.
    pub port: PortId,
    /// Length of the intervals in which it was contended.
    pub contended_for: Duration,
    /// By tenant, bytes of data packets sent in the whole run, headers included.
    pub sent: Vec<u64>,
    /// By tenant, those of them in intervals in which the port was contended.
    pub contended: Vec<u64>,
}

/// What the network said to one tenant, and where it was silent, why.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TenantSignals {
    /// Its packets marked by switches.
    pub ecn_marks: Signal,
    /// Congestion notifications that reached its senders.
    pub cnps: Signal,
    /// Its packets sent more than once.
    pub retransmissions: Signal,
    /// Its packets lost, for whatever reason.
    pub drops: Signal,
}

/// The signals of tenants by name.
pub type SignalsByTenant = BTreeMap<String, TenantSignals>;
