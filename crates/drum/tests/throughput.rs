//! Greatest throughput with a latency term: utilities that bend by latency alone.

mod common;

use common::{Owned, Random};
use fairlane_drum::{Mode, Options, solve};

/// The largest gap of hosts that all have a latency term, and of those where some applications have none and
/// nothing has a maximum.
fn worst_gaps() -> (f64, f64) {
    let mut random = Random(11);
    let (mut bent, mut mixed) = (0.0_f64, 0.0_f64);
    for number in 0..300 {
        let m = 1 + (random.bits() % 30) as usize;
        let beta = random.pick(&[1e-4, 0.01, 1.0]);
        let mut owned = Owned::random(&mut random, m, 0.0, beta);
        if number % 3 == 0 {
            for latency in owned.table.latency_weight.iter_mut().step_by(2) {
                *latency = 0.0;
            }
            owned.table.maximum.fill(f64::INFINITY);
        }
        let host = owned.host();
        let solution = solve(&host, &Mode::All, &Options::default())
            .unwrap_or_else(|error| panic!("host {number}: {error}"));
        assert!(solution.dual_bound >= solution.objective);
        let worst = if number % 3 == 0 {
            &mut mixed
        } else {
            &mut bent
        };
        *worst = worst.max(solution.relative_gap());
    }
    (bent, mixed)
}

#[test]
fn throughput_with_latency_is_exact() {
    let (bent, mixed) = worst_gaps();
    assert!(bent < 1e-9, "{bent:e}");
    // Where some applications bend and others don't, a gap may remain; it is certified.
    assert!(mixed < 0.1, "{mixed:e}");
}
