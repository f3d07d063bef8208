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
    /// As [`Kind::Word`], or nothing.
    OptionalWord,
    /// Yes or no.
    Flag,
}

impl Kind {
    /// Whether there may be nothing.
    pub const fn is_optional(self) -> bool {
        matches!(
            self,
            Self::OptionalInteger(_) | Self::OptionalReal | Self::OptionalWord
        )
    }
}

/// One cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'r> {
    /// The cell of a [`Kind::Integer`] column.
    Integer(u64),
    /// The cell of a [`Kind::Real`] column.
    Real(f64),
    /// The cell of a [`Kind::Word`] column.
    Word(&'r str),
    /// The cell of a [`Kind::Flag`] column.
    Flag(bool),
    /// Nothing.
    Null,
}

/// A type that says what a column holds.
pub trait Typed {
    /// The kind of such a column.
    const KIND: Kind;
}

macro_rules! integers {
    ($($bits:literal: $type:ty),*) => {$(
        impl From<$type> for Value<'_> {
            fn from(number: $type) -> Self {
                Self::Integer(number.into())
            }
        }

        impl Typed for $type {
            const KIND: Kind = Kind::Integer($bits);
        }

        impl Typed for Option<$type> {
            const KIND: Kind = Kind::OptionalInteger($bits);
        }
    )*};
}

integers!(8: u8, 16: u16, 32: u32, 64: u64);

macro_rules! kinds {
    ($($type:ty: $kind:ident),*) => {$(
        impl Typed for $type {
            const KIND: Kind = Kind::$kind;
        }
    )*};
}

kinds!(f64: Real, Option<f64>: OptionalReal, &str: Word, Option<&str>: OptionalWord, bool: Flag);

/// Columns of their names, types and values: `id: u32 = |row| row.id`.
macro_rules! columns {
    ($($name:ident: $type:ty = |$row:ident| $value:expr),* $(,)?) => {
        [$($crate::column::Column::new(
            stringify!($name),
            <$type as $crate::column::Typed>::KIND,
            |$row| {
                let value: $type = $value;
                value.into()
            },
        )),*]
    };
}

pub(crate) use columns;

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

#[cfg(test)]
pub(crate) fn kinds<R>(columns: &[Column<R>]) -> Vec<(&'static str, Kind)> {
    columns
        .iter()
        .map(|column| (column.name, column.kind))
        .collect()
}
