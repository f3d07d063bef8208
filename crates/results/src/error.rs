//! What went wrong with files, in words for a person, with the remedy if one is known.

use std::fmt::{self, Display};
use std::path::Path;

use serde::Serialize;

/// Why results couldn't be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What, where, and what was expected.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Error {
    /// An error without a known remedy.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
        }
    }

    /// Adds a remedy to the error; one that it already has is kept.
    #[must_use]
    pub fn hint(mut self, text: impl Into<String>) -> Self {
        self.hint.get_or_insert_with(|| text.into());
        self
    }

    /// An error at a file.
    pub fn at(path: &Path, error: impl Display) -> Self {
        Self::new(format!("{}: {error}", path.display()))
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        (self.hint.iter()).try_for_each(|hint| write!(f, "\nhint: {hint}"))
    }
}

impl std::error::Error for Error {}

/// Records as comma-separated values: structs with a header, or lists of which the first may be one.
///
/// # Errors
/// If they aren't equally long.
pub fn to_csv(records: impl IntoIterator<Item = impl Serialize>) -> Result<String, Error> {
    let broken = |error: &dyn Display| Error::new(format!("CSV: {error}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in records {
        writer.serialize(record).map_err(|error| broken(&error))?;
    }
    let bytes = writer.into_inner().map_err(|error| broken(&error))?;
    String::from_utf8(bytes).map_err(|error| broken(&error))
}

/// A value as indented JSON.
///
/// # Errors
/// If the value has no JSON form.
pub fn to_json<T: Serialize>(value: &T) -> Result<String, Error> {
    serde_json::to_string_pretty(value).map_err(|error| Error::new(format!("JSON: {error}")))
}
