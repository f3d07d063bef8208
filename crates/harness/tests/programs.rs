//! Random programs against the reference: see [`fairlane_harness`].
//!
//! `cargo run --release -p fairlane-harness -- PROFILE SEED` runs one again.

use fairlane_harness::{Profile, Program, Statistics, check, run};
use fairlane_transport::Status;

/// Runs the programs of some seeds and adds up what happened.
fn programs(profile: Profile, seeds: std::ops::Range<u64>) -> Statistics {
    let mut sum = Statistics::default();
    for seed in seeds {
        match run(profile, seed) {
            Ok(statistics) => sum += statistics,
            Err(failure) => panic!(
                "{failure}\nrun again: cargo run --release -p fairlane-harness -- {} {seed}",
                profile.name()
            ),
        }
    }
    sum
}

const fn count(statistics: &Statistics, status: Status) -> u64 {
    statistics.requests[status as usize]
}

/// Most requests must end well, or the programs prove little; and each error must come up.
fn assert_telling(statistics: &Statistics, errors: &[Status]) {
    let ended: u64 = statistics.requests.iter().sum();
    let succeeded = count(statistics, Status::Success);
    assert!(succeeded * 2 > ended, "{succeeded} of {ended} succeed");
    for &error in errors {
        assert!(count(statistics, error) > 0, "{error:?} never comes up");
    }
}

const ERRORS: [Status; 5] = [
    Status::RemoteAccess,
    Status::RemoteInvalidRequest,
    Status::RetryExceeded,
    Status::RnrRetryExceeded,
    Status::Flushed,
];

#[test]
fn clean_networks_need_no_retransmission() {
    assert_telling(&programs(Profile::Clean, 0..3_000), &ERRORS);
}

#[test]
fn go_back_n_survives_loss_duplicates_and_reordering() {
    let statistics = programs(Profile::GoBackN, 0..3_500);
    assert_telling(&statistics, &ERRORS);
    assert!(statistics.retransmitted > 10_000 && statistics.lost > 10_000);
}

#[test]
fn go_back_n_survives_more_of_it() {
    assert_telling(&programs(Profile::GoBackN, 3_500..7_000), &ERRORS);
}

#[test]
fn selective_repeat_survives_loss_duplicates_and_reordering() {
    let statistics = programs(Profile::Selective, 0..3_500);
    assert_telling(&statistics, &ERRORS);
    assert!(statistics.retransmitted > 10_000 && statistics.lost > 10_000);
}

#[test]
fn selective_repeat_survives_more_of_it() {
    assert_telling(&programs(Profile::Selective, 3_500..7_000), &ERRORS);
}

#[test]
fn unreliable_connections_deliver_whole_messages() {
    assert_telling(&programs(Profile::Unreliable, 0..2_000), &[Status::Flushed]);
}

#[test]
fn datagrams_arrive_whole_or_not_at_all() {
    assert_telling(&programs(Profile::Datagram, 0..2_000), &[Status::Flushed]);
}

#[test]
fn unreliable_services_lose_nothing_on_clean_networks() {
    assert_telling(
        &programs(Profile::UnreliableClean, 0..2_000),
        &[Status::Flushed],
    );
}

/// Programs that a fuzzer begins with: one of each profile, and those that once failed.
#[test]
fn programs_that_fuzzing_found_do_what_they_must() {
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/pair");
    let files = std::fs::read_dir(seeds).expect("the fuzz target has seeds");
    let mut names: Vec<_> = files
        .map(|file| file.expect("a file of the folder").path())
        .collect();
    names.sort();
    assert!(names.len() > Profile::ALL.len(), "{names:?}");
    for name in names {
        let input = std::fs::read(&name).expect("a seed can be read");
        if let Err(failure) = check(&Program::from_bytes(&input)) {
            panic!("{failure}\nin {}", name.display());
        }
    }
}

/// Seeds that once failed, beyond those that the tests above try.
#[test]
fn programs_that_once_failed_do_what_they_must() {
    programs(Profile::Selective, 39_788..39_789);
    programs(Profile::Clean, 50_583_804..50_583_805);
}

#[test]
fn a_seed_is_a_program() {
    for profile in Profile::ALL {
        let twice = [run(profile, 7), run(profile, 7)];
        assert_eq!(twice[0], twice[1]);
    }
}
