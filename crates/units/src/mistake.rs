//! What is wrong with something from outside.

use alloc::string::String;
use core::fmt;

/// A mistake in a file, an argument or a parameter: where it is, what was expected and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// `file:line:column`, `file:line`, or the path of a key such as `workload[0].load`.
    pub place: String,
    /// What was found and what was expected.
    pub message: String,
    /// What to do about it; empty if nothing sensible can be said.
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

    /// This mistake at another place.
    #[must_use]
    pub fn at(self, place: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            ..self
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error {}: {}", self.place, self.message)?;
        if !self.hint.is_empty() {
            write!(f, "\nhint: {}", self.hint)?;
        }
        Ok(())
    }
}

impl core::error::Error for Mistake {}
