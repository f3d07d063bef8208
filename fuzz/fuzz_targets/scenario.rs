//! A scenario is refused with a message or accepted, and what is accepted can be written and read.
#![no_main]

use std::path::Path;

use fairlane_scenario::parse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // A folder without files: what a scenario names isn't found, whatever machine this is.
    let folder = Path::new("/nonexistent");
    match parse(text, "input.toml", folder, &[], None) {
        Err(error) => {
            assert!(
                !error.place.is_empty() && !error.message.is_empty(),
                "{error:?}"
            );
        }
        Ok(loaded) => {
            let written = loaded.to_toml().expect("what was read can be written");
            let again = parse(&written, "resolved.toml", folder, &[], None);
            assert_eq!(again.as_ref(), Ok(&loaded), "{written}");
        }
    }
});
