//! Programs of the pair harness, spelled out by the input: the model must not object to any.
#![no_main]

use fairlane_harness::{Program, check};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Err(failure) = check(&Program::from_bytes(input)) {
        panic!("{failure}");
    }
});
