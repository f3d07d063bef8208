//! Why a problem is refused.

use alloc::string::String;
use core::fmt;

/// Where in a problem something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The problem as a whole.
    Problem,
    /// A field by name.
    Field(&'static str),
    /// An entry of a column.
    Entry(&'static str, usize),
    /// A row by name.
    Row(String),
    /// An entry of a row: its name and the application.
    RowEntry(String, usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Problem => f.write_str("problem"),
            Self::Field(name) => f.write_str(name),
            Self::Entry(name, index) => write!(f, "{name}[{index}]"),
            Self::Row(row) => write!(f, "row {row}"),
            Self::RowEntry(row, index) => write!(f, "row {row}, application {index}"),
        }
    }
}

/// Why a problem has no solution or isn't one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// There is no application.
    Empty,
    /// A number is out of range or not a number.
    Number {
        /// Where it stands.
        place: Place,
        /// The number.
        value: f64,
        /// What was expected.
        expected: &'static str,
    },
    /// A column has another length than there are applications.
    Shape {
        /// The column.
        place: Place,
        /// Its length.
        length: usize,
        /// Number of applications.
        applications: usize,
    },
    /// Floors alone need more of a row than there is.
    Infeasible {
        /// The row.
        place: Place,
        /// What the floors need.
        needed: f64,
        /// What there is.
        capacity: f64,
    },
    /// A rate, and with it the value, has no limit.
    Unbounded {
        /// The application.
        application: usize,
    },
    /// More are to be selected than there are applications, or more must be than may.
    Selection {
        /// What is wrong.
        expected: String,
    },
    /// Parts of the problem don't go together.
    Unsupported {
        /// Where.
        place: Place,
        /// What doesn't go together.
        reason: &'static str,
        /// What to do about it.
        hint: &'static str,
    },
    /// Values leave the range of double precision.
    Range,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("problem: there is no application"),
            Self::Number {
                place,
                value,
                expected,
            } => write!(f, "{place}: {value} is not {expected}"),
            Self::Shape {
                place,
                length,
                applications,
            } => write!(
                f,
                "{place}: {length} entries for {applications} applications"
            ),
            Self::Infeasible {
                place,
                needed,
                capacity,
            } => write!(
                f,
                "{place}: infeasible: the least rates need {needed}, the capacity is {capacity}"
            ),
            Self::Unbounded { application } => write!(
                f,
                "application {application}: its rate has no limit: no row with a capacity uses it, and it has no maximum"
            ),
            Self::Selection { expected } => write!(f, "k: {expected}"),
            Self::Unsupported { place, reason, .. } => write!(f, "{place}: {reason}"),
            Self::Range => f.write_str("problem: values leave the range of double precision"),
        }
    }
}

impl core::error::Error for Error {}

impl Error {
    /// What to do about it, where that isn't obvious.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Shape { .. } => Some("every column has one entry for each application"),
            Self::Infeasible { .. } => Some("lower some minimum, or raise the row's capacity"),
            Self::Unbounded { .. } => {
                Some("give the application a maximum, bytes per WQE or a poll cost")
            }
            Self::Unsupported { hint, .. } => Some(hint),
            Self::Range => Some(
                "scale rates and weights towards 1, or ask for max-min instead of a large alpha",
            ),
            Self::Empty | Self::Number { .. } | Self::Selection { .. } => None,
        }
    }
}
