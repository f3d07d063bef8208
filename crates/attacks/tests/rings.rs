//! Rings share no directed link and visit every host.

use std::collections::BTreeSet;

use fairlane_attacks::Rings;
use proptest::prelude::*;

/// Rings that visit every host once, and no directed link twice.
fn check(hosts: usize) -> usize {
    let rings = Rings::over(hosts);
    let mut links = BTreeSet::new();
    for ring in 0..rings.len() {
        let (mut host, mut visited) = (0, 0);
        loop {
            let next = rings.successor(ring, host);
            assert!(
                links.insert((host, next)),
                "{hosts} hosts: {host} to {next} twice"
            );
            (host, visited) = (next, visited + 1);
            if host == 0 {
                break;
            }
        }
        assert_eq!(visited, hosts, "ring {ring} of {hosts} hosts");
    }
    rings.len()
}

#[test]
fn every_link_is_on_exactly_one_ring() {
    let small = [3, 5, 7].into_iter();
    for hosts in small.chain(8..=128) {
        // n - 1 rings of n links are all n (n - 1) links.
        assert_eq!(check(hosts), hosts - 1);
    }
}

#[test]
fn where_no_complete_set_exists_there_are_both_directions_of_each_cycle() {
    assert_eq!([2, 4, 6].map(check), [1, 2, 4]);
    assert!(Rings::over(0).is_empty() && Rings::over(1).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn large_numbers_of_hosts_have_rings_too(hosts in 129usize..400) {
        prop_assert_eq!(check(hosts), if hosts % 2 == 1 { hosts - 1 } else { hosts - 2 });
    }
}
