//! Why bytes aren't a message of connection management, or a message can't become bytes.

use core::fmt;

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The message has this many bytes instead of 256.
    Length(usize),
    /// A field of its header says that it is something else.
    Header(&'static str, u32),
    /// A field has a value that doesn't fit or has no meaning.
    Field(&'static str, u32),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(bytes) => write!(f, "MAD: {bytes} bytes, expected 256"),
            Self::Header(field, value) => {
                write!(
                    f,
                    "MAD header: {field} {value:#x} isn't one of connection management"
                )
            }
            Self::Field(field, value) => write!(f, "{field}: {value:#x} is out of range"),
        }
    }
}

impl core::error::Error for Malformed {}

/// An error unless `value` has at most `bits` bits.
pub(crate) fn fits(field: &'static str, value: u32, bits: u32) -> Result<(), Malformed> {
    if value >> bits == 0 {
        Ok(())
    } else {
        Err(Malformed::Field(field, value))
    }
}
