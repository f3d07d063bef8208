//! What is wrong with what a user wrote, where, and what to do about it.

use alloc::format;
use alloc::string::String;
use core::fmt;

/// A mistake in parameters, in a plan of paths, or in a message that is posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// `file:line`, or a key such as `multipath.chunk`.
    pub place: String,
    /// What was found and what was expected.
    pub message: String,
    /// What to write instead.
    pub hint: String,
}

impl Mistake {
    /// A mistake at `place`.
    pub fn new(
        place: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            place: place.into(),
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// A name that stands in no list.
    pub(crate) fn unknown(place: &str, what: &str, name: &str, known: &[&str]) -> Self {
        let name: String = name.chars().take(40).collect();
        let message = format!("no {what} is called \"{name}\"");
        Self::new(place, message, format!("take one of {}", known.join(", ")))
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "error {}: {}\nhint: {}",
            self.place, self.message, self.hint
        )
    }
}

impl core::error::Error for Mistake {}
