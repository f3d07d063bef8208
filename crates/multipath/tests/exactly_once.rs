//! Every byte arrives, every message completes once, whatever the network does.

mod common;

use common::{Outage, SHARED, Step, Weather, World, us};
use fairlane_multipath::{BalancerKind, Cause, LimiterKind, Settings, TwoSided};
use fairlane_units::{Bytes, Duration};
use proptest::prelude::*;

fn step() -> impl Strategy<Value = Step> {
    let range = |(at, size): (u64, u64)| (at, size.min(SHARED - at));
    let place = (0..SHARED, prop_oneof![Just(0), 1..700u64, 1..SHARED]).prop_map(range);
    let read = place.clone();
    prop_oneof![
        3 => place.prop_map(|(at, size)| Step::Write(at, size)),
        2 => read.prop_map(|(at, size)| Step::Read(at, size)),
        3 => prop_oneof![Just(0), 1..64u64, 1..3000u64].prop_map(Step::Send),
        1 => (0..SHARED - 8).prop_map(Step::Add),
    ]
}

fn settings() -> impl Strategy<Value = Settings> {
    let kinds = (
        proptest::sample::select(&BalancerKind::ALL[..]),
        proptest::sample::select(&LimiterKind::ALL[..]),
        prop_oneof![Just(TwoSided::WriteThenSend), Just(TwoSided::Stream)],
    );
    let numbers = (1..600u64, 1..4u32, 2..5usize, 0..200u64, 0..4u8);
    (kinds, numbers).prop_map(|((balancer, limiter, two_sided), numbers)| {
        let (chunk, depth, segments, single, retries) = numbers;
        Settings {
            balancer,
            limiter,
            two_sided,
            chunk: Bytes::new(chunk),
            chunk_least: Bytes::new(chunk.min(32)),
            chunk_most: Bytes::new(1000),
            mtu: Bytes::new(64),
            depth,
            segments,
            single_send: Bytes::new(single),
            retries: retries + 4,
            probe: Bytes::new(2000),
            first_timeout: Duration::from_us(500),
            timeout_most: Duration::from_ms(2),
            ..Settings::default()
        }
    })
}

fn outages() -> impl Strategy<Value = Vec<Outage>> {
    let outage = (0..4usize, 0..3000u32, 1..20_000u32).prop_map(|(path, from, span)| Outage {
        path,
        from,
        until: from + span,
    });
    proptest::collection::vec(outage, 0..4)
}

fn weather() -> impl Strategy<Value = Weather> {
    (0..6u8, 0..6u8, 0..30u8, 1..40u32).prop_map(|(lost, unheard, doubled, delay)| Weather {
        lost,
        unheard,
        doubled,
        delay,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_calm_network_does_what_one_queue_pair_does(
        steps in proptest::collection::vec(step(), 1..40),
        settings in settings(),
        paths in 1..5usize,
        seed: u64,
        delay in 1..60u32,
    ) {
        let weather = Weather { delay, ..Weather::default() };
        let mut world = World::new(settings, paths, seed, weather);
        for step in steps {
            // READs must not see what comes later.
            world.post(step, true);
        }
        world.run(us(60_000_000));
        prop_assert!(world.failed.is_empty(), "{:?}", world.failed);
        world.compare(true);
    }

    #[test]
    fn a_rough_network_loses_and_repeats_nothing(
        steps in proptest::collection::vec((step(), any::<bool>(), 0..300u32), 1..40),
        settings in settings(),
        paths in 1..5usize,
        seed: u64,
        weather in weather(),
        outages in outages(),
    ) {
        let mut world = World::new(settings, paths, seed, weather).with_outages(&outages);
        let mut time = 0;
        for (step, fence, pause) in steps {
            time += pause;
            world.step_to(us(time));
            world.post(step, fence);
        }
        world.run(us(60_000_000));
        world.compare(false);
        // An atomic is never executed twice, and what is behind a failure is flushed.
        for failure in world.failed.iter().skip(1) {
            prop_assert_eq!(failure.cause, Cause::Flushed);
        }
        // 40 messages, 4 paths.
        prop_assert!(world.footprint < 64 << 10, "{} bytes", world.footprint);
    }
}
