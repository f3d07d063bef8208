//! What a process writes into the memory of its port: the owner's calls return errors or bytes.
//!
//! The input is read as acts of the writer, each followed by calls of the owner: a place in two bytes, of the words at the beginning of both
//! rings or anywhere, a length in one, and the bytes that are written there.
#![no_main]

use fairlane_rings::{Frame, MOST_BYTES, Port, Refused, Shared};
use libfuzzer_sys::fuzz_target;

/// Bytes before the rings.
const WORDS: usize = 4096;

fuzz_target!(|input: &[u8]| {
    let (mut owner, other) = Port::pair().expect("there is memory");
    let mut room = [0; MOST_BYTES];
    let mut rest = input;
    while let [high, low, length, bytes @ ..] = rest {
        let (written, behind) = bytes.split_at(usize::from(*length).min(bytes.len()));
        rest = behind;
        let place = usize::from(u16::from_be_bytes([*high, *low]));
        let ring = (Shared::LENGTH - WORDS) / 2;
        let at = match place % 4 {
            0 => WORDS + place / 4 % 256,
            1 => WORDS + ring + place / 4 % 256,
            _ => place * 36,
        };
        let fits = written.len().min(Shared::LENGTH.saturating_sub(at));
        if fits > 0 {
            other.shared.scribble(at, &written[..fits]);
        }
        let sent = owner.sender.send(&Frame::default(), written);
        assert_ne!(sent, Err(Refused::TooLong));
        if let Ok(Some((_, length))) = owner.receiver.receive(&mut room) {
            assert!(length <= MOST_BYTES);
        }
        let _ = (owner.receiver.sleep(), owner.receiver.peek_time());
        assert!(owner.shared.text().len() <= 3 * WORDS);
    }
});
