//! Tables by column: one description serves Parquet and CSV, so that the two can't drift apart.

/// A column of a table whose rows are of type `R`.
pub struct Column<R> {
    /// The name, with the unit at its end where there is one.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Its value in a row.
    pub value: fn(&R) -> Value<'_>,
}

impl<R> Column<R> {
    /// A column of this name and kind, with these values.
    pub const fn new(name: &'static str, kind: Kind, value: fn(&R) -> Value<'_>) -> Self {
        Self { name, kind, value }
    }
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Unsigned integers of at most 8, 16, 32 or 64 bits.
    Integer(u8),
    /// As [`Kind::Integer`], or nothing.
    OptionalInteger(u8),
    /// Floats of 64 bits.
    Real,
    /// As [`Kind::Real`], or nothing.
    OptionalReal,
    /// Words, mostly from a small set.
    Word,
    /// Yes or no.
    Flag,
}

/// One cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'r> {
    /// Of a [`Kind::Integer`].
    Integer(u64),
    /// Of a [`Kind::Real`].
    Real(f64),
    /// Of a [`Kind::Word`].
    Word(&'r str),
    /// Of a [`Kind::Flag`].
    Flag(bool),
    /// Nothing.
    Null,
}

impl From<u64> for Value<'_> {
    fn from(number: u64) -> Self {
        Self::Integer(number)
    }
}

impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<u16> for Value<'_> {
    fn from(number: u16) -> Self {
        Self::Integer(number.into())
    }
}

impl From<u8> for Value<'_> {
    fn from(number: u8) -> Self {
        Self::Integer(number.into())
    }
}

impl From<f64> for Value<'_> {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl<'r> From<&'r str> for Value<'r> {
    fn from(word: &'r str) -> Self {
        Self::Word(word)
    }
}

impl From<bool> for Value<'_> {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value<'_> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A table: columns, and a way to get at each row.
pub struct Table<'a, R> {
    /// The columns in order.
    pub columns: &'a [Column<R>],
    /// The number of rows.
    pub rows: usize,
    /// The row of a number below `rows`.
    pub row: &'a dyn Fn(usize) -> R,
}
