//! A standing problem has the solutions of problems solved from nothing, in fewer passes.

mod instances;

use fairlane_drum::{
    Allocator, Application, Claim, Error, Fairness, Key, Options, Sharing, Status, Utility,
};
use instances::Random;

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
