//! A standing problem has the solutions of problems solved from nothing, in fewer passes.

use fairlane_drum::{
    Allocator, Application, Claim, DualFunction, Error, Fairness, Host, Key, Mode, Options, Place,
    Sharing, Solution, Status, Table, Utility, solve,
};

use crate::instances::Random;

fn claim(random: &mut Random) -> Claim {
    Claim {
        application: Application {
            weight: random.within(0.5, 2.0),
            latency_weight: random.within(0.5, 2.0),
            completions: random.within(0.5, 2.0),
            bytes: random.within(0.5, 2.0),
            poll_cost: random.within(0.5, 2.0),
            ..Application::default()
        },
        peak: random.within(2.0, 4.0),
        outage: 0.0,
    }
}

/// Passes from the last prices and from nothing over a random life of a host.
fn life(sharing: Sharing, alpha: f64, beta: f64, seed: u64) -> (usize, usize) {
    let utility = Utility {
        fairness: Fairness::Alpha(alpha),
        latency: beta,
    };
    let mut random = Random(seed);
    let options = Options {
        nodes: 200,
        ..Options::default()
    };
    let mut standing = Allocator::new(utility, 15.0, 25.0, sharing).with_options(options);
    let mut keys: Vec<Key> = (0..40)
        .map(|_| standing.insert(claim(&mut random)))
        .collect();
    standing.resolve().expect("a solution");
    let (mut warm, mut cold) = (0, 0);
    for _ in 0..60 {
        let chosen = (random.bits() % keys.len() as u64) as usize;
        match random.bits() % 4 {
            0 => keys.push(standing.insert(claim(&mut random))),
            1 => assert!(standing.remove(keys.swap_remove(chosen)).is_some()),
            2 => assert!(standing.update(keys[chosen], claim(&mut random))),
            _ => standing.set_capacities(random.within(12.0, 18.0), random.within(20.0, 30.0)),
        }
        let mut fresh = standing.clone();
        fresh.forget();
        let (here, there) = (standing.resolve(), fresh.resolve());
        let (here, there) = (here.expect("a solution"), there.expect("a solution"));
        let scale = there.objective.abs().max(1e-3);
        assert!(
            (here.objective - there.objective).abs() <= 1e-9 * scale,
            "{sharing:?} alpha {alpha}: {here:?} instead of {there:?}"
        );
        if here.status == Status::Optimal && here.selected == there.selected {
            for (own, other) in here.x.iter().zip(&there.x) {
                assert!(
                    (own - other).abs() <= 1e-5 * other.max(1e-3),
                    "{own} instead of {other}"
                );
            }
        }
        warm += here.iterations;
        cold += there.iterations;
    }
    (warm, cold)
}

#[test]
fn a_standing_problem_has_the_same_solutions_in_fewer_passes() {
    let kinds = [
        (Sharing::All, 0.5, 0.01),
        (Sharing::All, 1.0, 0.0),
        (Sharing::All, 2.0, 0.05),
        (Sharing::TimeShare { k: 8.0 }, 0.5, 0.0),
        (Sharing::TimeShare { k: 8.0 }, 2.0, 0.0),
        (Sharing::TopUtilities { k: 8 }, 0.5, 0.01),
        (Sharing::ActiveSet { k: 8 }, 0.5, 0.0),
    ];
    for (sharing, alpha, beta) in kinds {
        let (warm, cold) = life(sharing, alpha, beta, 11);
        println!("{sharing:?}, alpha {alpha}, beta {beta}: {warm} passes instead of {cold}");
        assert!(
            warm < cold,
            "{sharing:?} alpha {alpha}: {warm} passes, {cold} from nothing"
        );
    }
}

#[test]
fn nothing_is_computed_twice_and_strangers_are_known() {
    let utility = Utility {
        fairness: Fairness::Alpha(1.0),
        latency: 0.0,
    };
    let mut standing = Allocator::new(utility, 4.0, 4.0, Sharing::ActiveSet { k: 3 });
    assert_eq!(standing.resolve(), Err(Error::Empty));
    let claim = Claim {
        outage: -5.0,
        ..Claim::default()
    };
    let first = standing.insert(claim);
    let second = standing.insert(claim);
    let before = standing.resolve().expect("a solution").clone();
    assert_eq!(standing.resolve(), Ok(&before));
    assert_eq!(before.selected, [0, 1]);
    assert_eq!(standing.remove(first), Some(claim));
    assert_eq!(standing.remove(first), None);
    assert!(!standing.update(first, claim));
    assert_eq!((standing.position(second), standing.len()), (Some(0), 1));
    let alone = standing.resolve().expect("a solution");
    assert!((alone.x[0] - 4.0).abs() < 1e-9);
}

/// Solves the host of these claims from nothing. Gives what `prices` prove, too.
fn from_nothing(
    claims: &[Claim],
    utility: Utility,
    (egress, poll): (f64, f64),
    prices: &[f64],
) -> (Solution, f64) {
    let mut table = Table::default();
    claims
        .iter()
        .for_each(|claim| table.push(claim.application));
    let host = Host::new(table.view(), utility, egress, poll);
    let solution = solve(&host, &Mode::All, &Options::default()).expect("a solution");
    let dual = DualFunction::new(&host).expect("a host");
    (solution, dual.at(prices))
}

/// What rates are worth.
fn value(claims: &[Claim], utility: Utility, rates: &[f64]) -> f64 {
    let Fairness::Alpha(alpha) = utility.fairness else {
        return f64::NAN;
    };
    let worth = |(claim, x): (&Claim, &f64)| {
        let app = claim.application;
        let throughput = match alpha {
            1.0 => x.ln(),
            alpha => x.powf(1.0 - alpha) / (1.0 - alpha),
        };
        let polls = app.completions * x;
        app.weight * throughput - utility.latency * app.latency_weight / (polls * polls)
    };
    claims.iter().zip(rates).map(worth).sum()
}

/// What is kept between changes is that of a host built anew: with blocks that fill and empty, bounds that come and go, and
/// capacities that bind or don't.
#[test]
fn a_problem_that_is_kept_is_that_of_its_claims() {
    for (alpha, beta) in [
        (0.5, 0.0),
        (0.5, 0.01),
        (1.0, 0.01),
        (2.0, 0.05),
        (0.7, 0.0),
        (0.1, 0.0),
        (5.0, 0.01),
    ] {
        let utility = Utility {
            fairness: Fairness::Alpha(alpha),
            latency: beta,
        };
        let mut random = Random(5);
        let mut capacities = (150.0, 250.0);
        let mut standing = Allocator::new(utility, capacities.0, capacities.1, Sharing::All);
        let mut claims: Vec<Claim> = (0..402).map(|_| claim(&mut random)).collect();
        let mut keys: Vec<Key> = claims.iter().map(|claim| standing.insert(*claim)).collect();
        for step in 0..60 {
            let mut new = claim(&mut random);
            if step >= 20 && random.bits().is_multiple_of(3) {
                new.application.minimum = 0.1;
                new.application.maximum = random.within(0.3, 0.6);
            }
            let chosen = (random.bits() % keys.len() as u64) as usize;
            match random.bits() % 4 {
                0 => {
                    keys.push(standing.insert(new));
                    claims.push(new);
                }
                1 => {
                    let gone = claims.swap_remove(chosen);
                    assert_eq!(standing.remove(keys.swap_remove(chosen)), Some(gone));
                }
                2 => {
                    assert!(standing.update(keys[chosen], new));
                    claims[chosen] = new;
                }
                _ => {
                    capacities = (random.within(100.0, 200.0), random.within(100.0, 400.0));
                    standing.set_capacities(capacities.0, capacities.1);
                }
            }
            let own = standing.resolve().expect("a solution");
            let (right, bound) = from_nothing(&claims, utility, capacities, &own.dual_prices);
            assert_eq!(own.status, Status::Optimal, "alpha {alpha}, step {step}");
            assert!(own.objective <= right.proven_bound + 1e-12 * right.scale);
            assert!(right.objective <= own.proven_bound + 1e-12 * right.scale);
            // Sizes are those before the last step, where rows are off by 1e-5 at most.
            assert!((own.scale / right.scale - 1.0).abs() < 1e-5);
            let worth = value(&claims, utility, &own.x);
            assert!((own.objective - worth).abs() <= 1e-13 * own.scale);
            assert!((own.dual_bound - bound).abs() <= 1e-13 * own.scale);
            for (x, other) in own.x.iter().zip(&right.x) {
                assert!((x - other).abs() <= 1e-6 * other, "{x} instead of {other}");
            }
            for (used, other) in own.usage.iter().zip(&right.usage) {
                assert!(
                    (used / other - 1.0).abs() < 1e-7,
                    "{used} instead of {other}"
                );
            }
            assert!(own.usage[0] <= capacities.0 * (1.0 + 1e-13));
            assert!(own.usage[1] <= capacities.1 * (1.0 + 1e-13));
        }
    }
}

/// Rates that follow thousands of small changes are those of a host built anew.
#[test]
fn many_changes_leave_no_trace() {
    for (alpha, beta) in [
        (0.5, 0.01),
        (0.7, 0.01),
        (1.0, 0.01),
        (2.0, 0.01),
        (5.0, 0.0),
    ] {
        let utility = Utility {
            fairness: Fairness::Alpha(alpha),
            latency: beta,
        };
        let mut random = Random(7);
        let capacities = (150.0, 250.0);
        let mut standing = Allocator::new(utility, capacities.0, capacities.1, Sharing::All);
        let mut claims: Vec<Claim> = (0..400).map(|_| claim(&mut random)).collect();
        let keys: Vec<Key> = claims.iter().map(|claim| standing.insert(*claim)).collect();
        for step in 1..=2500 {
            let chosen = (random.bits() % keys.len() as u64) as usize;
            claims[chosen] = claim(&mut random);
            assert!(standing.update(keys[chosen], claims[chosen]));
            let own = standing.resolve().expect("a solution");
            if step % 500 != 0 {
                continue;
            }
            let (right, _) = from_nothing(&claims, utility, capacities, &own.dual_prices);
            assert!((own.objective - right.objective).abs() <= 1e-12 * right.scale);
            assert!((own.dual_bound - right.dual_bound).abs() <= 1e-12 * right.scale);
            for (x, other) in own.x.iter().zip(&right.x) {
                assert!((x - other).abs() <= 1e-7 * other, "{x} instead of {other}");
            }
        }
    }
}

/// After other capacities prices may seem near while rates that nobody asks for aren't.
#[test]
fn other_capacities_leave_no_trace() {
    let check = |standing: &mut Allocator, claims: &[Claim], utility, capacities| {
        let own = standing.resolve().expect("a solution");
        let (right, _) = from_nothing(claims, utility, capacities, &own.dual_prices);
        assert!((own.objective - right.objective).abs() <= 1e-12 * right.scale);
        assert!((own.dual_bound - right.dual_bound).abs() <= 1e-12 * right.scale);
    };
    let utility = Utility {
        fairness: Fairness::Alpha(0.5),
        latency: 0.01,
    };
    let mut standing = Allocator::new(utility, 1.0, 2.0, Sharing::All);
    let key = standing.insert(Claim::default());
    check(&mut standing, &[Claim::default()], utility, (1.0, 2.0));
    standing.set_capacities(1e6, 2e6);
    // A million times as much at the same price.
    let mut much = Claim::default();
    (much.application.weight, much.application.latency_weight) = (1e3, 1e18);
    standing.update(key, much);
    check(&mut standing, &[much], utility, (1e6, 2e6));

    let utility = Utility {
        fairness: Fairness::Alpha(0.01),
        latency: 0.0,
    };
    let mut random = Random(3);
    let mut standing = Allocator::new(utility, 15.0, 25.0, Sharing::All);
    let mut claims: Vec<Claim> = (0..101).map(|_| claim(&mut random)).collect();
    let keys: Vec<Key> = claims.iter().map(|claim| standing.insert(*claim)).collect();
    check(&mut standing, &claims, utility, (15.0, 25.0));
    let capacities = (15.0 * 1.039, 25.0 * 1.039);
    standing.set_capacities(capacities.0, capacities.1);
    for step in 0..30 {
        claims[step].application.weight *= 1.0 + 1e-6;
        standing.update(keys[step], claims[step]);
        check(&mut standing, &claims, utility, capacities);
    }
}

#[test]
fn what_is_wrong_is_said_and_mended() {
    let utility = Utility {
        fairness: Fairness::Alpha(1.0),
        latency: 0.0,
    };
    let mut standing = Allocator::new(utility, 4.0, 4.0, Sharing::All);
    let good = standing.insert(Claim::default());
    standing.resolve().expect("a solution");
    let claim = Claim {
        application: Application {
            bytes: -1.0,
            ..Application::default()
        },
        ..Claim::default()
    };
    let bad = standing.insert(claim);
    let place = Place::Entry("bytes_per_wqe", 1);
    assert!(matches!(standing.resolve(), Err(Error::Number { place: at, .. }) if at == place));
    standing.remove(bad);
    standing.resolve().expect("a solution");
    standing.set_capacities(0.0, 4.0);
    assert!(matches!(standing.resolve(), Err(Error::Number { .. })));
    standing.set_capacities(2.0, 4.0);
    let alone = standing.resolve().expect("a solution");
    assert!((alone.x[0] - 2.0).abs() < 1e-12);
    let greedy = Claim {
        application: Application {
            minimum: 3.0,
            ..Application::default()
        },
        ..Claim::default()
    };
    standing.update(good, greedy);
    assert!(matches!(standing.resolve(), Err(Error::Infeasible { .. })));
    standing.remove(good);
    assert_eq!(standing.resolve(), Err(Error::Empty));
}
