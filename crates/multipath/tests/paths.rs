//! What is measured of paths, who gets what, and what becomes of paths that fail.

mod common;

use common::links::Links;
use fairlane_multipath::{BalancerKind, Cause, Health, LimiterKind, Settings};
use fairlane_units::{Bytes, Duration, Rate, Time};

const MS: u64 = 1_000_000;

fn with(balancer: BalancerKind) -> Settings {
    Settings {
        balancer,
        ..Settings::default()
    }
}

fn ms(time: u64) -> Time {
    Time::from_ns(time * MS)
}

/// Shares in percent of the capacities, and their greatest deviation from exact ones in percent.
fn deviation(carried: &[u64], capacities: &[u64]) -> f64 {
    let (bytes, all): (u64, u64) = (carried.iter().sum(), capacities.iter().sum());
    let off = carried.iter().zip(capacities).map(|(&carried, &capacity)| {
        let exact = bytes as f64 * capacity as f64 / all as f64;
        (carried as f64 / exact - 1.0).abs() * 100.0
    });
    off.fold(0.0, f64::max)
}

#[test]
fn proportional_shares_are_within_two_percent_of_probed_capacities() {
    let speeds = [10, 40, 25, 100, 1, 3];
    // One work request per path and message, nearly, as S3 has it.
    let settings = Settings {
        chunk: Bytes::new(4 << 20),
        ..with(BalancerKind::Proportional)
    };
    let mut links = Links::new(settings, &speeds);
    links.probe();
    for (path, &speed) in speeds.iter().enumerate() {
        let capacity = links
            .connection
            .paths()
            .capacity(path)
            .expect("it was measured");
        let off = capacity.as_f64() / Rate::from_gbps(speed).as_f64() - 1.0;
        assert!(off.abs() < 0.005, "path {path}: {capacity}");
        assert_eq!(
            links.connection.paths().round_trip(path),
            Some(links.round_trip)
        );
    }
    for _ in 0..4 {
        links.write(50_000_000);
        links.finish();
    }
    let off = deviation(&links.carried, &speeds);
    assert!(off < 2.0, "{:?}: {off} %", links.carried);
    // All paths end at one time, so that the message takes what the sum of them takes.
    let ideal = Bytes::new(50_000_000).serialization(Rate::from_gbps(speeds.iter().sum()));
    let took = links.completed[3].1 - links.completed[2].1;
    assert!(
        took.as_ns() < ideal.as_ns() * 105 / 100,
        "{took} for {ideal}"
    );
}

#[test]
fn capacity_is_found_from_completions_alone() {
    let speeds = [40, 10, 20];
    let mut links = Links::new(with(BalancerKind::Proportional), &speeds);
    for _ in 0..12 {
        links.write(20_000_000);
    }
    links.finish();
    for (path, &speed) in speeds.iter().enumerate() {
        let capacity = links
            .connection
            .paths()
            .capacity(path)
            .expect("it was measured");
        let off = capacity.as_f64() / Rate::from_gbps(speed).as_f64() - 1.0;
        assert!(off.abs() < 0.02, "path {path}: {capacity}");
    }
    links.carried.fill(0);
    links.write(100_000_000);
    links.finish();
    let off = deviation(&links.carried, &speeds);
    assert!(off < 2.0, "{:?}: {off} %", links.carried);
}

/// The time of 20 MB over four paths, one of them a tenth as fast, in units of the ideal.
fn slowness(balancer: BalancerKind) -> f64 {
    let speeds = [40, 40, 4, 40];
    let mut links = Links::new(with(balancer), &speeds);
    links.probe();
    let start = links.now;
    for _ in 0..4 {
        links.write(20_000_000);
    }
    links.finish();
    let ideal = Bytes::new(80_000_000).serialization(Rate::from_gbps(124));
    (links.completed[3].1 - start).as_ns_f64() / ideal.as_ns_f64()
}

#[test]
fn balancers_that_listen_get_what_there_is() {
    for balancer in [BalancerKind::Completion, BalancerKind::Proportional] {
        let factor = slowness(balancer);
        assert!(factor < 1.2, "{balancer}: {factor}");
    }
    for balancer in [
        BalancerKind::LeastDelay,
        BalancerKind::TwoChoices,
        BalancerKind::Reps,
    ] {
        let factor = slowness(balancer);
        assert!(factor < 1.3, "{balancer}: {factor}");
    }
    // Four times what the slow path carries: 124 / 16.
    for balancer in [
        BalancerKind::StaticEven,
        BalancerKind::RoundRobin,
        BalancerKind::Spray,
    ] {
        let factor = slowness(balancer);
        assert!((7.0..8.5).contains(&factor), "{balancer}: {factor}");
    }
}

#[test]
fn reps_comes_back_to_paths_without_marks() {
    let settings = Settings {
        balancer: BalancerKind::Reps,
        ..Settings::default()
    };
    let mut links = Links::new(settings, &[10; 8]);
    links.line = Some(Rate::from_gbps(20));
    for path in 0..4 {
        links.marks[path] = true;
    }
    links.write(16_000_000);
    links.finish();
    let (marked, clean): (u64, u64) = (
        links.carried[..4].iter().sum(),
        links.carried[4..].iter().sum(),
    );
    assert!(clean > 10 * marked, "{:?}", links.carried);
}

#[test]
fn a_path_that_dies_loses_its_chunks_to_the_others_and_comes_back() {
    let settings = Settings {
        timeout_least: Duration::from_us(100),
        ..with(BalancerKind::Completion)
    };
    let mut links = Links::new(settings, &[10; 8]);
    for _ in 0..120 {
        links.write(1_000_000);
    }
    links.run(ms(2));
    links.dead[3] = true;
    links.run(ms(6));
    links.dead[3] = false;
    links.finish();
    assert_eq!(links.completed.len(), 120);
    assert!(links.failed.is_empty());
    let of_path: Vec<_> = links
        .health
        .iter()
        .filter(|it| it.1 == 3)
        .map(|it| it.2)
        .collect();
    let expected = [Health::Suspect, Health::Quarantined, Health::Probing];
    assert_eq!(of_path[..3], expected);
    assert_eq!(of_path[of_path.len() - 2..], [Health::Back, Health::Good]);
    assert!(links.health.iter().all(|it| it.1 == 3), "others stay good");
    let down = links
        .health
        .iter()
        .find(|it| it.2 == Health::Quarantined)
        .expect("seen")
        .0;
    // A timeout here is twice a chunk's 113 us in flight, or less: silence for two of them is enough.
    assert!(down < ms(2) + Duration::from_us(700), "{down}");
    let good = links.health.iter().rfind(|it| it.2 == Health::Good);
    let good = good.expect("it came back").0;
    // The pause has doubled while the path was dead: it was probed again after no longer than it was away.
    assert!(good < ms(10), "{good}");
    let whole = (good.as_ns() / 100_000) as usize + 1;
    let before = links.gbps(5, 20);
    let during = links.gbps(28, 60);
    let after = links.gbps(whole, whole + 10);
    assert!(before > 79.0, "{before}");
    assert!(during > 69.0 && during < 71.0, "{during}");
    assert!(after > 79.0, "{after}");
}

#[test]
fn no_path_means_one_clear_error() {
    for balancer in BalancerKind::ALL {
        let settings = Settings {
            retries: 3,
            ..with(balancer)
        };
        let mut links = Links::new(settings, &[10, 10]);
        links.write(1_000_000);
        links.write(10);
        links.run(Time::from_ns(50_000));
        links.dead.fill(true);
        links.finish();
        assert!(links.completed.is_empty());
        assert_eq!(links.failed.len(), 2, "{balancer}");
        let cause = Cause::NoPath {
            paths: 2,
            probes: 3,
        };
        assert_eq!(links.failed[0].cause, cause);
        assert_eq!(links.failed[1].cause, Cause::Flushed);
        let text = links.failed[0].to_string();
        assert!(
            text.starts_with("error message 0: none of 2 paths answers"),
            "{text}"
        );
        assert!(text.contains("\nhint: "), "{text}");
        assert!(links.now < ms(500), "{}", links.now);
    }
}

#[test]
fn twins_are_found_by_probes_and_dropped() {
    let mut links = Links::shared(
        with(BalancerKind::Completion),
        &[10, 10, 5],
        vec![0, 1, 0, 2, 1],
    );
    links.probe();
    let health: Vec<Health> = (0..5).map(|path| links.health(path)).collect();
    assert_eq!(
        health,
        [
            Health::Good,
            Health::Good,
            Health::Twin,
            Health::Good,
            Health::Twin
        ]
    );
    let paths = links.connection.paths();
    assert_eq!(
        (paths.twin_of(2), paths.twin_of(4), paths.twin_of(3)),
        (Some(0), Some(1), None)
    );
    links.write(5_000_000);
    links.finish();
    assert_eq!((links.carried[2], links.carried[4]), (0, 0));
}

#[test]
fn the_hosts_own_link_makes_no_twins() {
    let settings = |line_rate| Settings {
        line_rate,
        ..with(BalancerKind::Completion)
    };
    for (known, twins) in [(Rate::from_gbps(10), 0), (Rate::ZERO, 3)] {
        let mut links = Links::new(settings(known), &[10; 4]);
        links.line = Some(Rate::from_gbps(10));
        links.probe();
        let found = (0..4)
            .filter(|&path| links.health(path) == Health::Twin)
            .count();
        assert_eq!(found, twins, "line {known}");
    }
}

#[test]
fn twins_are_found_by_routes_and_tried_again_when_theirs_fails() {
    let mut links = Links::new(with(BalancerKind::Completion), &[10; 3]);
    links.tell_route(0, 77);
    links.tell_route(1, 78);
    links.tell_route(2, 77);
    assert_eq!(links.health(2), Health::Twin);
    for _ in 0..20 {
        links.write(1_000_000);
    }
    links.run(ms(1));
    links.dead[0] = true;
    links.finish();
    assert_eq!(links.completed.len(), 20);
    assert_eq!(
        links.health(2),
        Health::Good,
        "its way was another one after all"
    );
    assert!(links.carried[2] > 1_000_000);
}

#[test]
fn doubling_finds_the_size_that_a_path_bears() {
    let settings = Settings {
        balancer: BalancerKind::StaticEven,
        limiter: LimiterKind::Doubling,
        chunk: Bytes::new(16 << 10),
        chunk_most: Bytes::new(4 << 20),
        // S3, section 3.5: each chunk is posted after the success of the one before.
        depth: 1,
        ..Settings::default()
    };
    for clogged in [Duration::ZERO, Duration::from_us(50)] {
        finds_what_is_borne(settings.clone(), clogged);
    }
}

fn finds_what_is_borne(settings: Settings, clogged: Duration) {
    let mut links = Links::new(settings, &[10, 10]);
    links.loses_above = vec![700_417, 200_000];
    links.clogged = clogged;
    for _ in 0..10 {
        links.write(10_000_000);
    }
    links.finish();
    assert!(links.failed.is_empty());
    let found = |path: usize| links.connection.paths().limit(path).get();
    // Within a step of what is borne.
    for (path, borne) in [(0, 700_417), (1, 200_000)] {
        assert!(
            found(path) <= borne && found(path) + (16 << 10) > borne,
            "{}",
            found(path)
        );
        assert_eq!(links.health(path), Health::Good, "found, and back");
    }
}

#[test]
fn adaptive_chunks_take_their_time_on_each_path() {
    let settings = Settings {
        limiter: LimiterKind::Adaptive,
        ..with(BalancerKind::Completion)
    };
    let mut links = Links::new(settings, &[400, 100, 10, 1000]);
    for _ in 0..40 {
        links.write(20_000_000);
    }
    links.finish();
    let found = |path: usize| links.connection.paths().limit(path).get();
    assert!((350_000..=400_000).contains(&found(0)), "{}", found(0));
    assert!((88_000..=100_000).contains(&found(1)), "{}", found(1));
    assert_eq!(found(2), 16 << 10);
    assert_eq!(found(3), 512 << 10);
}

#[test]
fn subflows_say_that_they_are_one() {
    let links = Links::new(Settings::default(), &[10; 4]);
    let coupling = links.connection.coupling();
    assert_eq!((coupling.group, coupling.subflows), (9, 4));
}

/// Sixty of sixty-four ports share the way of another one; what is drawn must not fall to whichever is next behind them.
#[test]
fn draws_are_even_among_paths_that_are_open() {
    for balancer in [BalancerKind::Spray, BalancerKind::TwoChoices] {
        let settings = Settings {
            chunk: Bytes::new(4096),
            ..with(balancer)
        };
        let mut links = Links::new(settings, &[10; 64]);
        for path in 0..64 {
            links.tell_route(path, [0, 0, 0, 1, 2, 3][path.min(5)]);
        }
        links.write(20_000_000);
        links.finish();
        let carried: Vec<u64> = links.carried.iter().copied().filter(|&it| it > 0).collect();
        assert_eq!(carried.len(), 4);
        let off = deviation(&carried, &[1; 4]);
        assert!(off < 10.0, "{balancer}: {carried:?}");
    }
}
