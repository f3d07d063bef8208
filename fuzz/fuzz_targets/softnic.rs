//! Datagrams from the network, each with its length in front in two bytes: a device touches only what it may.
#![no_main]

use fairlane_softnic::Sandbox;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let (mut sandbox, mut rest) = (Sandbox::new(), input);
    while let Some((length, behind)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes(*length)).min(behind.len());
        let (datagram, behind) = behind.split_at(length);
        sandbox.take(datagram);
        rest = behind;
    }
    assert!(sandbox.is_untouched());
});
