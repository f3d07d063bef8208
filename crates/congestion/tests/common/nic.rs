//! A NIC of one tenant.

use std::sync::Arc;

use fairlane_congestion::scope::{Config, Enforcer, Setting, Weight};
use fairlane_congestion::{Algorithm, Environment, PacingRounding, Params, Scope, WindowMode};
use fairlane_units::{Bytes, Duration, Rate, TenantId};

pub const LINE: Rate = Rate::from_gbps(100);

/// On the wire.
pub const PACKET: Bytes = Bytes::new(1000);

/// A hundred packets in a round trip.
pub const ROUND_TRIP: Environment = Environment {
    line_rate: LINE,
    base_rtt: Duration::from_us(8),
    bdp: Bytes::new(100_000),
    mtu: PACKET,
};

/// Of tenant 0, under scope `tenant`, without windows.
pub fn nic(algorithm: Algorithm, config: Config) -> Enforcer {
    let setting = Setting {
        scope: Scope::Tenant,
        config,
        params: Params::new(algorithm),
        window: WindowMode::None,
        rounding: PacingRounding::Picosecond,
        paced: true,
        told_apart: false,
    };
    let tenant = Weight {
        tenant: TenantId::new(0),
        weight: 1.0,
        guarantee: None,
    };
    Enforcer::new(Arc::new(setting), ROUND_TRIP, &[tenant])
}
