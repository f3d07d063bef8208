//! Topology text; the first byte chooses the profile.
#![no_main]

use fairlane_scenario::{Profile, TopologyText};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, &str)| {
    let (exact, text) = input;
    let profile = if exact {
        Profile::Exact
    } else {
        Profile::HpccNs3
    };
    let Ok(topology) = TopologyText::parse(text, "topology.txt", profile) else {
        return;
    };
    assert!(topology.hosts().len() + topology.switches.len() == topology.nodes as usize);
    if exact {
        let written = topology.to_text();
        assert_eq!(
            TopologyText::parse(&written, "again.txt", profile),
            Ok(topology),
            "{written}"
        );
    }
});
