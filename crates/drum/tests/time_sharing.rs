//! From long-run rates to who is active when.

use fairlane_drum::schedule::Frame;
use fairlane_drum::{Mode, Options, Solution, solve};

use crate::instances::{Instance, Random};

fn shares(solution: &Solution, peak: &[f64]) -> Vec<f64> {
    solution
        .x
        .iter()
        .zip(peak)
        .map(|(x, peak)| x / peak)
        .collect()
}

#[test]
fn everyone_is_served_and_more_is_sent_than_by_the_best_few() {
    let mut random = Random(21);
    let (m, k) = (300, 20);
    let instance = Instance::random(&mut random, m, k, 0.5, 0.0);
    let host = instance.host();
    // An active application gets what a fair share of the capacities among k is.
    let peak: Vec<f64> = (0..m)
        .map(|j| (instance.egress / host.applications.bytes[j]).min(instance.poll) / k as f64)
        .collect();
    let mode = Mode::TimeShare {
        k: k as f64,
        peak: &peak,
    };
    let solution = solve(&host, &mode, &Options::default()).expect("a solution");
    assert!(solution.relative_gap() < 1e-12);
    assert!(solution.x.iter().all(|x| *x > 0.0));
    let fixed = solve(
        &host,
        &Mode::ActiveSet { k, outage: None },
        &Options::default(),
    );
    let fixed = fixed.expect("a solution");
    assert!(solution.objective > 1.5 * fixed.dual_bound);
    let tau = shares(&solution, &peak);
    let frame = Frame::new(&tau, k, Frame::shortest(&tau)).expect("a frame");
    assert!((0..frame.epochs()).all(|epoch| frame.active(epoch).count() <= k));
    assert!(frame.longest_wait_of_all() <= frame.epochs());
    for (j, tau) in tau.iter().enumerate() {
        assert!(frame.active_epochs(j) >= 1);
        let got = frame.active_epochs(j) as f64 - tau * frame.epochs() as f64;
        assert!(got.abs() < 1.0 + 1e-6, "{j}: {got}");
    }
}

#[test]
fn minima_make_any_frame_long_enough() {
    let mut random = Random(22);
    let (m, k, epochs) = (60, 8, 20);
    let mut instance = Instance::random(&mut random, m, k, 0.5, 0.0);
    for weight in &mut instance.table.weight {
        *weight *= random.pick(&[1.0, 0.05]);
    }
    let peak: Vec<f64> = (0..m).map(|_| random.within(0.1, 0.4)).collect();
    let mode = Mode::TimeShare {
        k: k as f64,
        peak: &peak,
    };
    let free = solve(&instance.host(), &mode, &Options::default()).expect("a solution");
    assert!(Frame::new(&shares(&free, &peak), k, epochs).is_err());
    instance.table.minimum = peak.iter().map(|peak| peak / epochs as f64).collect();
    let held = solve(&instance.host(), &mode, &Options::default()).expect("a solution");
    assert!(held.objective < free.objective);
    let frame = Frame::new(&shares(&held, &peak), k, epochs).expect("a frame");
    assert!((0..m).all(|j| frame.longest_wait(j).is_some_and(|wait| wait <= epochs)));
}

#[test]
fn a_pin_is_always_active_on_a_slot_of_its_own() {
    let mut random = Random(23);
    let mut instance = Instance::random(&mut random, 10, 3, 1.0, 0.0);
    let peak = vec![0.2; 10];
    instance.table.minimum[4] = 0.2;
    let mode = Mode::TimeShare {
        k: 3.0,
        peak: &peak,
    };
    let solution = solve(&instance.host(), &mode, &Options::default()).expect("a solution");
    let tau = shares(&solution, &peak);
    let frame = Frame::new(&tau, 3, Frame::shortest(&tau)).expect("a frame");
    assert!((0..frame.epochs()).all(|epoch| frame.active(epoch).any(|j| j == 4)));
    assert!((0..frame.epochs()).all(|epoch| frame.active(epoch).count() <= 3));
    assert_eq!(frame.longest_wait(4), Some(1));
}
