//! Flow text, of HPCC's simulator and of ConWeave's; the first byte chooses how times are read.
#![no_main]

use fairlane_hpcc_files::{Times, flows};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, &str)| {
    let (exact, text) = input;
    let times = if exact { Times::Exact } else { Times::Ns3 };
    if let Ok(messages) = flows::parse(text, "flows.txt", times) {
        assert!(messages.is_sorted_by_key(|message| message.start));
        assert!(messages.iter().all(|message| message.size.get() > 0));
    }
    if let Ok(messages) = flows::parse_conweave(text, "flows.txt") {
        let again = flows::to_text(&messages);
        let read = flows::parse(&again, "flows.txt", Times::Exact);
        assert_eq!(read.expect("what was written can be read"), messages);
    }
});
