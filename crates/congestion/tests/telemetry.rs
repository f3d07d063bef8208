//! Telemetry as it shouldn't be: counters that jump, paths that change, tenants that are told different things.

use std::sync::Arc;

use fairlane_congestion::scope::{Config, Enforcer, Offer, Scope, Sent, Setting, Weight};
use fairlane_congestion::{
    Ack, Algorithm, Controller, Hop, PacingRounding, Params, Reading, Telemetry, TelemetryFormat,
    WindowMode,
};
use fairlane_units::{Bytes, HostId, Rate, TenantId, Time};
use proptest::prelude::*;

use crate::common::{ENVIRONMENT, exact, hop, telemetry, us};

/// Algorithms that look at telemetry.
const LOOKING: [Algorithm; 2] = [Algorithm::Hpcc, Algorithm::PowerTcp];

fn acknowledge<'a>(at: u64, reading: Reading<'a>) -> Ack<'a> {
    Ack {
        acknowledged: Bytes::new(at * 1000),
        next_to_send: Bytes::new(at * 1000 + 50_000),
        telemetry: Some(reading),
        ..Ack::default()
    }
}

#[test]
fn an_acknowledgement_that_was_overtaken_changes_nothing() {
    for algorithm in LOOKING {
        let mut controller = Controller::new(&Params::new(algorithm), &ENVIRONMENT);
        let mut hear = |at: u64, hop: Hop| {
            let record = telemetry(&[hop]);
            let adjusted = controller.on_ack(us(at), &acknowledge(at, exact(&record)));
            (adjusted, controller.rate())
        };
        hear(1, hop(1_000_000, 10_000, 0));
        let (adjusted, rate) = hear(2, hop(3_000_000, 30_000, 40_000));
        assert!(adjusted, "{algorithm}");
        let overtaken = hear(3, hop(2_000_000, 20_000, 0));
        assert_eq!(overtaken, (false, rate), "{algorithm}");
        // From there on it goes on as usual.
        assert!(hear(4, hop(4_000_000, 45_000, 0)).0, "{algorithm}");
    }
}

#[test]
fn a_port_that_counts_from_zero_again_starts_anew() {
    for algorithm in LOOKING {
        let mut controller = Controller::new(&Params::new(algorithm), &ENVIRONMENT);
        let mut hear = |at: u64, sent: u64| {
            let record = telemetry(&[hop(at * 1_000_000, sent, 0)]);
            controller.on_ack(us(at), &acknowledge(at, exact(&record)))
        };
        assert_eq!([hear(1, 900_000), hear(2, 910_000)], [false, true]);
        assert_eq!([hear(3, 1000), hear(4, 11_000)], [false, true]);
    }
}

/// The rate of tenant 0 to a host to which tenant 1 sends as well. Both pass one port that is half busy; tenant 1 is told
/// of a tenth of that.
fn beside_one_that_is_told_less(scope: Scope) -> Rate {
    let setting = Setting {
        scope,
        config: Config::default(),
        params: Params::new(Algorithm::Hpcc),
        window: WindowMode::Scaled,
        rounding: PacingRounding::Picosecond,
        paced: true,
        per_tenant_feedback: true,
    };
    let tenants = [0, 1].map(|tenant| Weight {
        tenant: TenantId::new(tenant),
        weight: 1.0,
        guarantee: None,
    });
    let mut enforcer = Enforcer::new(Arc::new(setting), ENVIRONMENT, &tenants);
    let peer = HostId::new(9);
    let ids = tenants.map(|one| enforcer.open(us(0), one.tenant, peer, &ENVIRONMENT));
    let size = Bytes::new(1000);
    for at in 1..400 {
        let id = ids[at as usize % 2];
        enforcer.offer(
            id,
            Offer {
                in_flight: Bytes::ZERO,
                message: ENVIRONMENT.bdp,
            },
        );
        let in_flight = size;
        enforcer.on_sent(us(at), id, Sent { size, in_flight });
        let told = if at % 2 == 0 { 1 } else { 10 };
        let record = telemetry(&[hop(at * 1_000_000, at * 6250 / told, 0)]);
        let ack = acknowledge(at, exact(&record));
        enforcer.on_ack(us(at), id, &ack);
        enforcer.withdraw(id);
    }
    enforcer.rate_of(ids[0])
}

#[test]
fn what_tenants_are_told_is_compared_for_each() {
    for scope in [Scope::DestinationUnsplit, Scope::Pair, Scope::Tenant] {
        let rate = beside_one_that_is_told_less(scope);
        assert_eq!(rate, ENVIRONMENT.line_rate, "{scope}");
    }
}

fn any_hop() -> impl Strategy<Value = Hop> {
    let number = || {
        let wide = any::<u64>();
        prop_oneof![0u64..1000, 0u64..50_000_000, wide]
    };
    let rate = prop_oneof![Just(0), Just(100_000), any::<u32>()];
    (number(), number(), any::<u32>(), rate).prop_map(|(time, sent, queue, rate_mbps)| Hop {
        time,
        sent,
        queue,
        rate_mbps,
    })
}

/// Records of up to four hops at a few ports.
fn any_record() -> impl Strategy<Value = Telemetry> {
    prop::collection::vec((0u32..3, any_hop()), 0..=4).prop_map(|hops| {
        let mut record = Telemetry::EMPTY;
        hops.iter().for_each(|&(port, hop)| record.push(port, hop));
        record
    })
}

fn any_format() -> impl Strategy<Value = TelemetryFormat> {
    let header = (1u64..=1 << 16).prop_map(TelemetryFormat::hpcc_header);
    prop_oneof![Just(TelemetryFormat::EXACT), header]
}

/// Whether a rate is one that a controller may have.
fn is_possible(rate: Rate) -> bool {
    !rate.is_zero() && rate <= ENVIRONMENT.line_rate
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_telemetry_gives_a_possible_rate(
        records in prop::collection::vec(any_record(), 1..60),
        format in any_format(),
        core_only in any::<bool>(),
    ) {
        for algorithm in LOOKING {
            let mut controller = Controller::new(&Params::new(algorithm), &ENVIRONMENT);
            for (at, record) in (1..).zip(&records) {
                let reading = Reading {
                    core_only,
                    ..Reading::new(record, &format)
                };
                controller.on_ack(us(at), &acknowledge(at, reading));
                prop_assert!(is_possible(controller.rate()), "{}", controller.rate());
                if let Controller::Hpcc(state) = &controller {
                    prop_assert!(state.utilization() >= 0.0 && state.utilization().is_finite());
                }
            }
        }
    }

    #[test]
    fn any_telemetry_gives_a_possible_rate_to_those_that_share(
        records in prop::collection::vec(any_record(), 1..60),
        scope in prop::sample::select(vec![Scope::Pair, Scope::Tenant]),
    ) {
        for algorithm in LOOKING {
            let setting = Setting {
                scope,
                config: Config::default(),
                params: Params::new(algorithm),
                window: WindowMode::Scaled,
                rounding: PacingRounding::Picosecond,
                paced: true,
                per_tenant_feedback: false,
            };
            let tenant = Weight { tenant: TenantId::new(0), weight: 1.0, guarantee: None };
            let mut enforcer = Enforcer::new(Arc::new(setting), ENVIRONMENT, &[tenant]);
            let id = enforcer.open(Time::ZERO, tenant.tenant, HostId::new(1), &ENVIRONMENT);
            for (at, record) in (1..).zip(&records) {
                enforcer.on_ack(us(at), id, &acknowledge(at, exact(record)));
                prop_assert!(is_possible(enforcer.rate_of(id)));
            }
        }
    }
}
