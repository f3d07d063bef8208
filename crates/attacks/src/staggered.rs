//! A fresh queue pair for each bandwidth-delay product: a queue pair begins at line rate, and feedback on
//! it comes when it has nothing left to send.
//!
//! S2, section III.B. Long messages are cut into pieces that are posted one after the other. Exploits every
//! scope under which a fresh queue pair is a fresh start.

use fairlane_fabric::MessageSpec;
use fairlane_scenario::{Error, Verb};
use fairlane_units::{Bytes, Duration, Time};

use crate::plan::Draft;
use crate::scene::{Scene, error_at};
use crate::split::{Cut, replace_long};

pub(crate) fn cut(scene: &Scene<'_>, draft: &mut Draft) -> Result<(), Error> {
    let gap = scene.attack.gap.unwrap_or(scene.trip.time);
    let how = Cut::Pieces(scene.piece());
    replace_long(scene, draft, how, |_, message, sizes| {
        let piece = |(number, size)| {
            let later = gap.saturating_mul(number);
            // When what the message waits for arrives isn't known; the gap counts from there.
            let (start, delay) = match message.after {
                Some(_) => (message.start, later),
                None => (message.start.saturating_add(later), Duration::ZERO),
            };
            MessageSpec {
                size,
                start,
                delay,
                after: None,
                ..*message
            }
        };
        (0..).zip(sizes).map(piece).collect()
    })?;
    let last = draft.last_due() - Time::ZERO;
    let checked = scene
        .scenario
        .check_message(Verb::Write, Bytes::new(1), scene.class(), last);
    checked.map_err(|error| {
        let message = format!("is {gap}, so that the last piece's start {}", error.message);
        error_at("gap", message, "shorten it, or send larger pieces")
    })
}
