//! What is wrong with a problem, where, and what to do about it.

use std::fmt;

/// A mistake in the JSON form of a problem, or a problem without a solution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Path in the JSON such as `inputs.weight[3]`, or a row such as `row egress`.
    pub place: String,
    /// What was found and what was expected.
    pub message: String,
    /// What to do about it; empty if nothing sensible can be said.
    pub hint: String,
}

impl Error {
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
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for Error {}

/// Where every key is described.
pub(crate) const SCHEMA: &str = "`fairlane schema drum` has every key with its type and unit";

impl From<fairlane_drum::Error> for Error {
    /// The solver names columns as the file does; here they get their place in the document.
    fn from(error: fairlane_drum::Error) -> Self {
        let text = error.to_string();
        let hint = error.hint().unwrap_or(SCHEMA);
        let (place, message) = text.split_once(": ").unwrap_or(("problem", &text));
        let word = place.split(['[', ' ']).next().unwrap_or_default();
        let place = match word {
            // Rows of a network have no names but their numbers.
            "row" if place.starts_with("row rows[") => place.replacen("row ", "inputs.", 1),
            "row" | "problem" | "application" => place.to_owned(),
            _ => format!("inputs.{place}"),
        };
        Self::new(place, message, hint)
    }
}
