//! Tables of the scenario file: what is known of a key stands in one place.

use std::fmt::Display;

use fairlane_congestion::Parameters;
use fairlane_units::{Bytes, Duration, Rate};

use crate::error::Error;
use crate::types::Profile;
use crate::validate::limits;

type Check = Result<(), Error>;

/// Declares a table of the scenario file. A line for each key gives its doc, name, type, default (left out, the type's) and
/// rule, a method of [`Key`]; what is left out of an `Option` obeys every rule. A range in brackets is for numbers. The schema
/// states ranges, and rules by the functions of `range`; the page `docs/scenario.md` follows from it. A doc whose last
/// paragraph begins with `Source:` says where the default comes from.
///
/// ```text
/// section! {
///     /// Parameters of forwarding `flowlet`.
///     #[derive(Eq)]
///     FlowletParameters {
///         /// A flow that was idle at a switch for longer than this may take another port.
///         ///
///         /// Source: ConWeave (SIGCOMM 2023), artefact.
///         gap: Duration = Duration::from_us(100) => within(Duration::from_ns(1), LONGEST_GAP),
///         /// Entries of a switch's table; flows with the same entry count as one.
///         entries [1, 1 << 20]: u32 = 1 << 16,
///     }
/// }
/// ```
///
/// This makes the struct, its `Default`, and its check as a [`Section`]. What several keys must obey together is checked in
/// `validate/`.
macro_rules! section {
    (
        $(#[$attribute:meta])*
        $name:ident {
            $(
                $(#[$about:meta])*
                $key:ident $([$low:expr, $high:expr])?: $type:ty $(= $default:expr)?
                    $(=> $rule:ident $(($($limit:expr),+))?)?,
            )*
        }
    ) => {
        $crate::section::element! {
            $(#[$attribute])*
            #[serde(default)]
            #[schemars(transform = Self::state_defaults)]
            $name {
                $($(#[$about])* $key $([$low, $high])?: $type $(=> $rule $(($($limit),+))?)?,)*
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $crate::section::section!(@default $($default)?),)* }
            }
        }

        impl $name {
            /// States defaults in the schema, also of keys that a resolved scenario leaves out.
            fn state_defaults(table: &mut schemars::Schema) {
                let default = Self::default();
                $($crate::range::state_default(table, stringify!($key), &default.$key);)*
            }
        }
    };
    (@default) => { Default::default() };
    (@default $default:expr) => { $default };
}

/// Declares a table that is an element of a list, as [`section!`] does; its keys have no default.
macro_rules! element {
    (
        $(#[$attribute:meta])*
        $name:ident {
            $(
                $(#[$about:meta])*
                $key:ident $([$low:expr, $high:expr])?: $type:ty $(=> $rule:ident $(($($limit:expr),+))?)?,
            )*
        }
    ) => {
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        $(#[$attribute])*
        pub struct $name {
            $(
                $(#[$about])*
                $(#[schemars(range(min = $low, max = $high))])?
                $(#[schemars(transform = $crate::range::$rule($($($limit),+)?))])?
                pub $key: $type,
            )*
        }

        impl $crate::section::Section for $name {
            fn check(&self, place: &str, profile: $crate::types::Profile) -> Result<(), $crate::Error> {
                let key = |name| $crate::section::Key::new(place, name, profile);
                $(
                    $(key(stringify!($key)).within(self.$key, $low, $high)?;)?
                    $(key(stringify!($key)).$rule(self.$key.clone() $($(, $limit)+)?)?;)?
                )*
                Ok(())
            }
        }
    };
}

pub(crate) use {element, section};

/// A table whose values have rules.
pub(crate) trait Section {
    /// Checks every value; `place` is the path of the table, empty for that of the file itself.
    fn check(&self, place: &str, profile: Profile) -> Check;
}

impl<T: Section> Section for Option<T> {
    fn check(&self, place: &str, profile: Profile) -> Check {
        self.as_ref()
            .map_or(Ok(()), |table| table.check(place, profile))
    }
}

/// A key whose value is checked; the methods are the rules.
pub(crate) struct Key {
    place: String,
    profile: Profile,
}

impl Key {
    pub(crate) fn new(table: &str, name: &str, profile: Profile) -> Self {
        let place = match table {
            "" => name.to_owned(),
            _ => format!("{table}.{name}"),
        };
        Self { place, profile }
    }

    /// From `low` to `high`.
    pub(crate) fn within<T>(&self, value: impl Into<Option<T>>, low: T, high: T) -> Check
    where
        T: PartialOrd + Display,
    {
        stated(value, |value| limits::within(&self.place, value, low, high))
    }

    /// A time, zero included.
    pub(crate) fn span(&self, value: impl Into<Option<Duration>>) -> Check {
        stated(value, |value| {
            limits::span(self.profile, &self.place, value)
        })
    }

    /// A time above zero.
    pub(crate) fn period(&self, value: impl Into<Option<Duration>>) -> Check {
        stated(value, |value| {
            limits::positive_span(self.profile, &self.place, value)
        })
    }

    /// A rate at which packets can be sent.
    pub(crate) fn rate(&self, value: impl Into<Option<Rate>>) -> Check {
        stated(value, |value| limits::rate(&self.place, value))
    }

    /// The size of a message.
    pub(crate) fn message(&self, value: impl Into<Option<Bytes>>) -> Check {
        stated(value, |value| limits::message_size(&self.place, value))
    }

    /// At least one.
    pub(crate) fn positive(&self, value: u32) -> Check {
        limits::positive(&self.place, value)
    }

    /// A traffic class.
    pub(crate) fn class(&self, value: u8) -> Check {
        limits::class(&self.place, value)
    }

    /// A probability that may be 0 but not 1.
    pub(crate) fn loss(&self, value: f64) -> Check {
        limits::loss(&self.place, value)
    }

    /// Parameters, which know their own rules.
    pub(crate) fn parameters(&self, value: impl Parameters) -> Check {
        value.limits().iter().try_for_each(|limit| {
            let place = format!("{}.{}", self.place, limit.key);
            limits::obeys(self.profile, &place, &limit.rule)
        })
    }

    /// A table, whose keys have their own rules.
    pub(crate) fn table(&self, value: impl Section) -> Check {
        value.check(&self.place, self.profile)
    }

    /// A list of tables.
    pub(crate) fn each(&self, list: Vec<impl Section>) -> Check {
        let place = |index| format!("{}[{index}]", self.place);
        let mut numbered = list.iter().enumerate();
        numbered.try_for_each(|(index, table)| table.check(&place(index), self.profile))
    }
}

/// Checks a value unless it is left out.
fn stated<T>(value: impl Into<Option<T>>, rule: impl FnOnce(T) -> Check) -> Check {
    value.into().map_or(Ok(()), rule)
}
