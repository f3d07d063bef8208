//! Flow text, of HPCC's simulator and of ConWeave's; the first byte chooses the profile.
#![no_main]

use fairlane_scenario::{Profile, flow_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, &str)| {
    let (exact, text) = input;
    let profile = if exact {
        Profile::Exact
    } else {
        Profile::HpccNs3
    };
    if let Ok(flows) = flow_text::parse(text, "flows.txt", profile) {
        assert!(flows.is_sorted_by_key(|flow| flow.start));
        assert!(flows.iter().all(|flow| flow.size.get() > 0));
    }
    if let Ok(flows) = flow_text::parse_conweave(text, "flows.txt") {
        let again = flow_text::to_text(&flows);
        let read = flow_text::parse(&again, "flows.txt", Profile::Exact);
        assert_eq!(read.expect("what was written can be read"), flows);
    }
});
