//! Topology text; the first byte chooses how times are read.
#![no_main]

use fairlane_hpcc_files::{Times, TopologyText};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, &str)| {
    let (exact, text) = input;
    let times = if exact { Times::Exact } else { Times::Ns3 };
    let Ok(topology) = TopologyText::parse(text, "topology.txt", times) else {
        return;
    };
    assert!(topology.hosts().len() + topology.switches.len() == topology.nodes as usize);
    if exact {
        let written = topology.to_text();
        assert_eq!(
            TopologyText::parse(&written, "again.txt", times),
            Ok(topology),
            "{written}"
        );
    }
});
