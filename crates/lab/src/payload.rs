//! What is in memory before a message, and what is there when it has ended.

use fairlane_fabric::MessageSpec;
use fairlane_scenario::Verb;
use fairlane_units::MessageId;

/// What atomics add, or replace zero by.
pub(crate) const OPERAND: u64 = 0x0001_0000_0001;

/// The memory of a message at requester and responder before it is posted.
pub(crate) fn before(message: MessageId, spec: &MessageSpec) -> [Vec<u8>; 2] {
    let length = spec.size.get() as usize;
    match spec.verb {
        Verb::Write | Verb::Send => [pattern(message, length), vec![0; length]],
        Verb::Read => [vec![0; length], pattern(message, length)],
        Verb::FetchAdd | Verb::CompareSwap => [pattern(message, length), vec![0; length]],
    }
}

/// Whether memory at requester and responder is as it must be when the message has ended.
pub(crate) fn is_right(message: MessageId, spec: &MessageSpec, [here, there]: [&[u8]; 2]) -> bool {
    match spec.verb {
        Verb::Write | Verb::Send | Verb::Read => {
            here == there && here == pattern(message, here.len())
        }
        // What was there before has come back.
        Verb::FetchAdd | Verb::CompareSwap => {
            here.iter().all(|byte| *byte == 0) && there == OPERAND.to_ne_bytes()
        }
    }
}

/// Bytes that no other message has.
fn pattern(message: MessageId, length: usize) -> Vec<u8> {
    // SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = u64::from(message.get()) << 32;
    let mut bytes = Vec::with_capacity(length.next_multiple_of(8));
    while bytes.len() < length {
        state = state.wrapping_add(STEP);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bytes.extend((mixed ^ mixed >> 31).to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}
