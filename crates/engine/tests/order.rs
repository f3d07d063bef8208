//! The queue pops what a sorted list would, and wakes behave like deadlines.

use std::collections::BTreeSet;

use fairlane_engine::{Calendar, Component, Engine, Event, Key, Stream, Ties, Wake};
use fairlane_units::{Duration, Time};
use proptest::prelude::*;

/// Delays that hit the slot being emptied, the wheel, its end, and the heap beyond it.
fn delay() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        0u64..300,
        0u64..2_000_000,
        3_900_000u64..4_300_000,
        0u64..1 << 40
    ]
}

proptest! {
    #[test]
    fn pops_in_order_of_time_and_key(
        steps in prop::collection::vec((delay(), 0u32..50, any::<bool>()), 1..400),
        span in prop_oneof![Just(1u64), Just(1 << 14), Just(4_000_000), Just(1 << 40)],
    ) {
        let mut calendar = Calendar::new(Duration::from_ps(span));
        let mut engine = Engine::new(Ties::Insertion, Duration::from_us(1));
        let mut model = BTreeSet::new();
        let mut now = 0;
        for (delay, component, pop) in steps {
            let key = engine.reserve(0, Component::new(component));
            let event = Event { time: Time::from_ps(now + delay), key };
            calendar.push(event);
            model.insert(event);
            if pop {
                let expected = model.pop_first();
                prop_assert_eq!(calendar.pop(), expected);
                now = expected.map_or(now, |event| event.time.as_ps());
            }
            prop_assert_eq!(calendar.len(), model.len());
        }
        while let Some(expected) = model.pop_first() {
            prop_assert_eq!(calendar.pop(), Some(expected));
        }
        prop_assert_eq!(calendar.pop(), None);
        prop_assert!(calendar.is_empty());
    }

    /// Few and many events in a slot, with the same time, with the same key, and before slots that have
    /// been opened.
    #[test]
    fn crowded_slots_are_in_order(
        steps in prop::collection::vec(
            (prop_oneof![0u64..4, 0u64..3_000, 5_000u64..6_000], 0u64..4, 0u32..3, 0usize..12),
            1..400,
        ),
        span in prop_oneof![Just(1u64), Just(1 << 22), Just(1 << 26)],
    ) {
        let mut calendar = Calendar::new(Duration::from_ps(span));
        let mut engine = Engine::new(Ties::Rank, Duration::from_us(1));
        let mut model = Vec::new();
        let mut now = 0;
        for (delay, rank, component, pops) in steps {
            let key = engine.reserve(rank, Component::new(component));
            let event = Event { time: Time::from_ps(now + delay), key };
            calendar.push(event);
            let at = model.partition_point(|&other| other > event);
            model.insert(at, event);
            // Most steps only add.
            for _ in 6..pops {
                let expected = model.pop();
                prop_assert_eq!(calendar.pop(), expected);
                now = expected.map_or(now, |event| event.time.as_ps());
            }
        }
        while let Some(expected) = model.pop() {
            prop_assert_eq!(calendar.pop(), Some(expected));
        }
        prop_assert_eq!(calendar.pop(), None);
    }

    #[test]
    fn a_wake_fires_once_at_its_last_deadline(
        moves in prop::collection::vec((0u64..5_000, prop::option::weighted(0.8, 0u64..20_000)), 1..60),
        ties in prop_oneof![Just(Ties::Rank), Just(Ties::Insertion)],
    ) {
        // A ticker makes time pass; at given ticks the deadline is moved or cancelled.
        let mut engine = Engine::new(ties, Duration::from_ns(1));
        let (ticker, waker) = (Component::new(0), Component::new(1));
        let mut wake = Wake::default();
        let mut expected = None;
        let mut moves = moves.into_iter();
        let mut upcoming = moves.next();
        let key = engine.reserve(0, ticker);
        engine.schedule(Time::from_ps(upcoming.map_or(0, |(gap, _)| gap)), key);
        while let Some(event) = engine.next_event() {
            if event.component() == waker {
                if wake.fires(&mut engine, event) {
                    prop_assert_eq!(Some(engine.now()), expected.take());
                }
                continue;
            }
            let now = engine.now();
            prop_assert!(expected.is_none_or(|at| at >= now), "a deadline was missed");
            if let Some((_, target)) = upcoming {
                match target {
                    Some(after) => {
                        let at = now + Duration::from_ps(after);
                        wake.arm(&mut engine, at, 1, waker);
                        expected = Some(at);
                    }
                    None => {
                        wake.cancel();
                        expected = None;
                    }
                }
                prop_assert_eq!(wake.is_armed(), expected.is_some());
            }
            upcoming = moves.next();
            if let Some((gap, _)) = upcoming {
                let key = engine.reserve(0, ticker);
                engine.schedule(now + Duration::from_ps(gap), key);
            }
        }
        prop_assert_eq!(expected, None, "the last deadline never fired");
    }
}

#[test]
fn insertion_ties_are_first_in_first_out() {
    let mut engine = Engine::new(Ties::Insertion, Duration::from_us(1));
    for component in [5, 3, 9, 3] {
        let key = engine.reserve(0, Component::new(component));
        engine.schedule(Time::from_ns(7), key);
    }
    let order: Vec<u32> = std::iter::from_fn(|| engine.next_event())
        .map(|e| e.component().get())
        .collect();
    assert_eq!(order, [5, 3, 9, 3]);
}

#[test]
fn a_reserved_place_is_kept() {
    let mut engine = Engine::new(Ties::Insertion, Duration::from_us(1));
    let early = engine.reserve(0, Component::new(1));
    let late = engine.reserve(0, Component::new(2));
    engine.schedule(Time::from_ns(1), late);
    engine.schedule(Time::from_ns(1), early);
    assert_eq!(engine.next_event().map(|event| event.key), Some(early));
    assert!(engine.is_ahead(Time::from_ns(1), late));
    assert!(!engine.is_ahead(Time::from_ns(1), early));
}

#[test]
fn keys_hold_the_largest_numbers() {
    let mut engine = Engine::new(Ties::Rank, Duration::from_us(1));
    let component = Component::new(Component::LIMIT - 1);
    let key = engine.reserve(Key::ORDER_MAX, component);
    assert_eq!(key.component(), component);
    assert!(key > engine.reserve(Key::ORDER_MAX - 1, component));
}

#[test]
#[should_panic(expected = "used up")]
fn running_out_of_order_numbers_is_loud() {
    let mut engine = Engine::new(Ties::Rank, Duration::from_us(1));
    let _ = engine.reserve(Key::ORDER_MAX + 1, Component::new(0));
}

#[test]
fn streams_are_independent_and_even() {
    let mut counts = [0u32; 10];
    for component in 0..1000 {
        let mut stream = Stream::new(7, component);
        for _ in 0..100 {
            counts[usize::try_from(stream.below(10)).expect("below 10")] += 1;
        }
    }
    // 10,000 expected in each, standard deviation 95.
    assert!(
        counts.iter().all(|&count| (9_500..10_500).contains(&count)),
        "{counts:?}"
    );
    assert_ne!(Stream::new(1, 2).next_u64(), Stream::new(2, 1).next_u64());
    let mean = (0..10_000)
        .map(|c| Stream::new(3, c).next_f64())
        .sum::<f64>()
        / 10_000.0;
    assert!((mean - 0.5).abs() < 0.02, "{mean}");
}
