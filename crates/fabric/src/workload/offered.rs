//! What a list of messages amounts to.

use fairlane_units::{Bytes, Rate, Time};

use crate::MessageSpec;

/// What a list of messages amounts to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// Messages.
    pub messages: u64,
    /// Their payload.
    pub bytes: Bytes,
    /// The first start; zero if there are no messages.
    pub first_start: Time,
    /// The last start; zero if there are no messages.
    pub last_start: Time,
}

impl Offered {
    /// Payload over the time from the first to the last start, `None` if that is no time at all.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a figure for people; the cast saturates"
    )]
    pub fn rate(&self) -> Option<Rate> {
        let span = (self.last_start - self.first_start).as_secs_f64();
        (span > 0.0).then(|| Rate::from_bps((self.bytes.as_f64() * 8.0 / span) as u64))
    }
}

/// Counts what `messages`, in order of start, amount to.
pub fn offered(messages: &[MessageSpec]) -> Offered {
    Offered {
        messages: messages.len() as u64,
        bytes: messages.iter().map(|message| message.size).sum(),
        first_start: messages
            .first()
            .map(|message| message.start)
            .unwrap_or_default(),
        last_start: messages
            .last()
            .map(|message| message.start)
            .unwrap_or_default(),
    }
}
