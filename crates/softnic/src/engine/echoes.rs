//! What data has brought that answers take back to its sender: time stamps and telemetry.

use fairlane_nic::NO_ECHO;
use fairlane_wire::{Feth, Telemetry, Teth, TimeStamp};

/// What an answer takes back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Echo {
    time: Option<TimeStamp>,
    /// Telemetry as bytes, as many as that says.
    telemetry: Option<[u8; Telemetry::MAX_LENGTH]>,
}

/// Echoes of answers that haven't left, by number.
#[derive(Debug, Default)]
pub(super) struct Echoes {
    all: Vec<Echo>,
    free: Vec<u32>,
}

impl Echo {
    /// What a header of data asks to be taken back, if it does.
    fn of(teth: &Teth<'_>) -> Option<Self> {
        let telemetry = teth.telemetry.and_then(|telemetry| {
            let mut bytes = [0; Telemetry::MAX_LENGTH];
            // With the room that wasn't used: replies are as long as simulated ones.
            telemetry.emit(&mut bytes).ok()?;
            Some(bytes)
        });
        let is_there = teth.time.is_some() || telemetry.is_some();
        is_there.then_some(Self {
            time: teth.time,
            telemetry,
        })
    }

    /// The header that takes it back.
    pub(super) fn feth(&self) -> Feth<'_> {
        let read = |bytes| Telemetry::parse(bytes).ok().map(|(telemetry, _)| telemetry);
        Feth {
            time: self.time,
            telemetry: self.telemetry.as_ref().and_then(|bytes| read(bytes)),
            ..Feth::NOTHING
        }
    }
}

impl Echoes {
    /// Keeps what a header of data asks to be taken back; its number, or [`NO_ECHO`].
    pub(super) fn keep(&mut self, teth: &Teth<'_>) -> u32 {
        let Some(echo) = Echo::of(teth) else {
            return NO_ECHO;
        };
        match self.free.pop() {
            Some(number) => {
                self.all[number as usize] = echo;
                number
            }
            None => {
                self.all.push(echo);
                self.all.len() as u32 - 1
            }
        }
    }

    /// Takes what an answer is to take back, if there is something.
    pub(super) fn take(&mut self, number: u32) -> Option<Echo> {
        let echo = self.all.get(number as usize).copied()?;
        self.free.push(number);
        Some(echo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_data_brings_is_taken_back_once_and_its_room_used_again() {
        let mut echoes = Echoes::default();
        assert_eq!(echoes.keep(&Teth::NOTHING), NO_ECHO);
        assert!(echoes.take(NO_ECHO).is_none());
        let stamped = Teth {
            time: Some(TimeStamp::new(7)),
            ..Teth::NOTHING
        };
        let collecting = Teth {
            telemetry: Telemetry::collecting(5),
            ..stamped
        };
        let [first, second] = [stamped, collecting].map(|teth| echoes.keep(&teth));
        assert_eq!((first, second), (0, 1));
        let echo = echoes.take(first).unwrap();
        assert_eq!(echo.feth().time, stamped.time);
        assert_eq!(echo.feth().telemetry, None);
        let echo = echoes.take(second).unwrap();
        assert_eq!(echo.feth().telemetry, collecting.telemetry);
        assert_eq!([stamped; 2].map(|teth| echoes.keep(&teth)), [1, 0]);
    }
}
