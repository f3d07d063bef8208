//! One model of random operations drives the two ends of multipath connections (`fairlane-middleware`): over a pipe that
//! misbehaves and a simulated fabric, in virtual time, and over two software NICs. Nothing is lost, doubled or stuck, whatever paths do.
//!
//! `PROPTEST_CASES` sets how many cases each has.

mod carrier;
mod ends;
mod memory;
mod nics;
mod operations;
mod pipe;
mod simulated;

use fairlane_multipath::{Health, Settings};
use fairlane_units::{Bytes, Duration, PathId};
use proptest::prelude::*;

use carrier::Carrier;
use ends::Ends;
use nics::Nics;
use operations::{Case, Operation, case};
use pipe::Pipe;
use simulated::Simulated;

fn cases(count: u32) -> ProptestConfig {
    let mut config = ProptestConfig::with_cases(count);
    config.failure_persistence = None;
    if let Ok(Ok(asked)) = std::env::var("PROPTEST_CASES").map(|text| text.parse()) {
        config.cases = asked;
    }
    config
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn over_a_pipe_that_misbehaves_everything_ends_once(case in case(), seed: u64) {
        let Case { settings, paths, rough, .. } = &case;
        let mut ends = Ends::new(Pipe::new(seed, *paths, *rough), settings, *paths);
        ends.run(&case.operations)?;
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn over_a_simulated_fabric_everything_ends_once(case in case()) {
        let Case { settings, paths, rough, .. } = &case;
        let mut ends = Ends::new(Simulated::new(*paths, *rough), settings, *paths);
        ends.run(&case.operations)?;
    }
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn over_two_software_nics_everything_ends_once(case in case()) {
        let Case { settings, paths, rough, .. } = &case;
        let mut ends = Ends::new(Nics::new(*paths, *rough), settings, *paths);
        ends.run(&case.operations)?;
    }
}

/// Large WRITEs over two paths, the second of which dies and comes back.
fn dies_and_comes_back(carrier: impl Carrier) {
    let settings = Settings {
        chunk: Bytes::new(1000),
        retries: 100,
        first_timeout: Duration::from_ms(2),
        timeout_least: Duration::from_ms(1),
        timeout_most: Duration::from_ms(8),
        ..Settings::default()
    };
    let mut ends = Ends::new(carrier, &settings, 2);
    let write = Operation::Write {
        at: 0,
        size: 10_000,
    };
    ends.run(&[write; 4]).expect("all paths are there");
    assert_eq!(ends.replaced, 0);
    let pause = Operation::Pause(Duration::from_ms(30));
    let dies = [Operation::Kill(1), write, write, write, pause];
    ends.run(&dies).expect("one is");
    assert!(ends.replaced > 0);
    let health = ends.health(PathId::new(1));
    assert!(matches!(health, Health::Good | Health::Back), "{health:?}");
}

#[test]
fn a_path_of_a_pipe_dies_and_comes_back() {
    dies_and_comes_back(Pipe::new(7, 2, false));
}

#[test]
fn a_path_of_a_simulated_fabric_dies_and_comes_back() {
    dies_and_comes_back(Simulated::new(2, false));
}

#[test]
fn a_path_of_software_nics_dies_and_comes_back() {
    dies_and_comes_back(Nics::new(2, true));
}
