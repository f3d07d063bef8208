//! The harness notices faults: each of those below must fail a program within some hundred.
//!
//! The faults are put between queue pairs and model, one at a time: what the queue pair says, or what it
//! is told, is altered. [`Fault`] says how.

use fairlane_harness::{Fault, Pair, Profile, Program};

/// Programs that a fault must fail one of.
const PROGRAMS: u64 = 400;

/// The profiles that a fault is looked for in; some faults show only where nothing else is wrong.
const fn profiles(fault: Fault) -> [Profile; 2] {
    match fault {
        Fault::SwallowsNaks => [Profile::Clean, Profile::Clean],
        _ => [Profile::GoBackN, Profile::Selective],
    }
}

/// The first seed whose program notices the fault.
fn noticed(fault: Fault, profile: Profile) -> Option<(u64, String)> {
    (0..PROGRAMS).find_map(|seed| {
        let program = Program::from_seed(profile, seed);
        let result = Pair::new(&program).with_fault(fault).run();
        result.err().map(|failure| (seed, failure.violation))
    })
}

#[test]
fn every_fault_is_noticed() {
    for fault in Fault::ALL {
        for profile in profiles(fault) {
            let found = noticed(fault, profile);
            println!("{fault:?}, {}: {found:?}", profile.name());
            assert!(
                found.is_some(),
                "{fault:?} isn't noticed in {}",
                profile.name()
            );
        }
    }
}
