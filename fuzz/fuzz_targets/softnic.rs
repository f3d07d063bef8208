//! Datagrams from the network, each with its length in front in two bytes: a device touches only what it may.
#![no_main]

use fairlane_softnic::Sandbox;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut sandbox = Sandbox::new();
    sandbox.take_all(input);
    assert!(sandbox.is_untouched());
});
