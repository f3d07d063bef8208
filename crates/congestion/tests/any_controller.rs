//! Random operations against every algorithm: what holds of any controller.

use fairlane_congestion::{
    Algorithm, Environment, Loss, Params, dcqcn, dctcp, hpcc, infiniband, nscc, powertcp, swift,
    timely,
};
use fairlane_units::{Bytes, Duration, Rate};
use proptest::prelude::*;

use crate::common::sender::{Sender, Step};

fn step() -> impl Strategy<Value = Step> {
    let advance = 0u64..20_000;
    // Coarse clocks can stamp two packets with the same time.
    let span = prop_oneof![1 => Just(0), 20 => 0u64..40_000_000];
    prop_oneof![
        (0u64..500_000).prop_map(Step::Wait),
        (any::<bool>(), advance.clone())
            .prop_map(|(marked, advance)| Step::Plain { marked, advance }),
        (
            any::<bool>(),
            advance,
            0u64..2_000_000,
            span,
            0u32..4_000_000,
            0u64..2_000_000
        )
            .prop_map(
                |(marked, advance, sent, span, queue, round_trip)| Step::Measured {
                    marked,
                    advance,
                    sent,
                    span,
                    queue,
                    round_trip
                }
            ),
        Just(Step::Cnp),
        Just(Step::Lost(Loss::Nak)),
        Just(Step::Lost(Loss::Timeout)),
        Just(Step::Elsewhere),
    ]
}

fn environment() -> impl Strategy<Value = Environment> {
    (1u64..=800, 500u64..2_000_000).prop_map(|(gbps, rtt_ns)| {
        let (line_rate, base_rtt) = (Rate::from_gbps(gbps), Duration::from_ns(rtt_ns));
        Environment {
            line_rate,
            base_rtt,
            bdp: line_rate.bytes_in(base_rtt),
            mtu: Bytes::new(1024),
        }
    })
}

fn dcqcn_params() -> impl Strategy<Value = dcqcn::Config> {
    (
        0.0..=1.0,
        1u64..200,
        1u64..200,
        1u64..2000,
        0u32..6,
        any::<bool>(),
    )
        .prop_map(
            |(gain, alpha, decrease, increase, fast_recovery_stages, clamp_target_rate)| {
                dcqcn::Config {
                    gain,
                    alpha_interval: Duration::from_us(alpha),
                    decrease_interval: Duration::from_us(decrease),
                    increase_interval: Duration::from_us(increase),
                    fast_recovery_stages,
                    clamp_target_rate,
                    ..dcqcn::Config::default()
                }
            },
        )
}

/// Every algorithm with parameters that a scenario may state.
fn params() -> impl Strategy<Value = Params> {
    let hpcc = (0.01..=1.0, 0u32..6, any::<bool>()).prop_map(|(eta, max_stage, fast_react)| {
        hpcc::Config {
            target_utilization: eta,
            max_stage,
            fast_react,
            ..hpcc::Config::default()
        }
    });
    let timely = (0.0..=1.0, 0.0..=1.0, 0u64..100, 0u32..8).prop_map(
        |(gain, decrease_gain, low, hyper_after)| timely::Config {
            gain,
            decrease_gain,
            low_threshold: Duration::from_us(low),
            hyper_after,
            ..timely::Config::default()
        },
    );
    let dctcp = (0.0..=1.0).prop_map(|gain| dctcp::Config {
        gain,
        ..dctcp::Config::default()
    });
    let swift = (1u64..100, 0u64..200, 0.0..=1.0, 0.0..=1.0).prop_map(
        |(target, range, decrease_gain, max_decrease)| swift::Config {
            base_target: Duration::from_us(target),
            flow_range: Duration::from_us(range),
            decrease_gain,
            max_decrease,
            ..swift::Config::default()
        },
    );
    let nscc = (0.001..=10.0, 0.01..=10.0, 0.0..=1.0, 0.0..=1.0, 0u8..8).prop_map(
        |(target_delay, max_window, decrease_gain, max_decrease, quick_adapt_gate)| nscc::Config {
            target_delay,
            max_window,
            decrease_gain,
            max_decrease,
            quick_adapt_gate,
            ..nscc::Config::default()
        },
    );
    let powertcp = (0.01..=1.0, 1u32..1000).prop_map(|(gain, expected_flows)| powertcp::Config {
        gain,
        expected_flows,
        ..powertcp::Config::default()
    });
    let infiniband = (any::<u8>(), 1u16..16_000).prop_map(|(increase, limit)| infiniband::Config {
        ccti_increase: increase,
        ccti_limit: limit,
        ..infiniband::Config::default()
    });
    prop_oneof![
        prop::sample::select(Algorithm::ALL.to_vec()).prop_map(Params::new),
        dcqcn_params().prop_map(Params::from),
        hpcc.prop_map(Params::from),
        timely.prop_map(Params::from),
        dctcp.prop_map(Params::from),
        swift.prop_map(Params::from),
        nscc.prop_map(Params::from),
        powertcp.prop_map(Params::from),
        infiniband.prop_map(Params::from),
    ]
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn stays_within_bounds_whatever_happens(
        params in params(),
        environment in environment(),
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut sender = Sender::new(&params, environment);
        prop_assert_eq!(sender.controller.rate(), environment.line_rate);
        steps.into_iter().for_each(|step| sender.apply(step));
    }

    #[test]
    fn equal_inputs_give_equal_outputs(
        params in params(),
        environment in environment(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let (mut one, mut two) = (Sender::new(&params, environment), Sender::new(&params, environment));
        for step in steps {
            one.apply(step);
            two.apply(step);
            prop_assert_eq!(one.controller.rate(), two.controller.rate());
            prop_assert_eq!(one.controller.timers(), two.controller.timers());
        }
    }
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn comes_back_to_the_line_rate(
        environment in environment(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        for algorithm in Algorithm::ALL {
            let mut sender = Sender::new(&Params::new(algorithm), environment);
            steps.iter().for_each(|&step| sender.apply(step));
            // DCQCN adds 0.2 Gb/s to its target every 300 us, then halves the distance.
            let rounds = environment.line_rate.as_bps() / 200_000_000 * 3 / 100 + 3;
            (0..rounds).for_each(|_| sender.calm());
            // Halves are truncated, so the last two bits a second may stay out of reach.
            let reached = sender.controller.rate() + Rate::from_bps(2);
            prop_assert!(reached >= environment.line_rate, "{algorithm}: {reached}");
        }
    }
}
