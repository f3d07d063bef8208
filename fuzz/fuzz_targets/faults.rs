//! Faults on purpose, in words: what is accepted is written and read again.
#![no_main]

use fairlane_softnic::Faults;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match text.parse::<Faults>() {
        Ok(faults) => {
            assert_eq!(faults.to_string().parse(), Ok(faults));
        }
        Err(mistake) => assert!(!mistake.message.is_empty() && !mistake.hint.is_empty()),
    }
});
