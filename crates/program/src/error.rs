//! What is wrong with a program.

use alloc::string::String;
use core::fmt;

/// A program that can't be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The rank whose program is wrong.
    pub rank: u32,
    /// The operation of that rank, by index.
    pub operation: u32,
    /// What is wrong, and what was expected.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl Error {
    /// A mistake of an operation of a rank.
    pub fn new(
        (rank, operation): (u32, u32),
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            rank,
            operation,
            message: message.into(),
            hint: hint.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rank,
            operation,
            message,
            ..
        } = self;
        write!(f, "rank {rank}, operation {operation}: {message}")
    }
}

impl core::error::Error for Error {}
