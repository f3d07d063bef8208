//! Tables of the scenario file: what is known of a key stands in one place.

use std::fmt::Display;

use fairlane_congestion::Parameters;
use fairlane_units::{Bytes, Duration, Rate};

use crate::error::Error;
use crate::types::Profile;
use crate::validate::limits;
use fairlane_hpcc_files::{LONGEST_DELAY, Times};

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

/// Declares a table without a default, as [`section!`] does; of its keys those have one that state it to serde.
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
                let Self { $($key),* } = self;
                $crate::section::rules!(place, profile; $($key $([$low, $high])? $(=> $rule $(($($limit),+))?)?,)*);
                Ok(())
            }
        }
    };
}

/// Declares a table that is one of several kinds, as its key `kind` says; keys are declared as those of [`element!`], but
/// for rules with limits.
macro_rules! choice {
    (
        $(#[$attribute:meta])*
        $name:ident {
            $(
                $(#[$doc:meta])*
                $kind:ident {
                    $(
                        $(#[$about:meta])*
                        $key:ident $([$low:expr, $high:expr])?: $type:ty $(=> $rule:ident)?,
                    )*
                },
            )*
        }
    ) => {
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        $(#[$attribute])*
        pub enum $name {
            $(
                $(#[$doc])*
                $kind {
                    $(
                        $(#[$about])*
                        $(#[schemars(range(min = $low, max = $high))])?
                        $(#[schemars(transform = $crate::range::$rule())])?
                        $key: $type,
                    )*
                },
            )*
        }

        impl $crate::section::Section for $name {
            fn check(&self, place: &str, profile: $crate::types::Profile) -> Result<(), $crate::Error> {
                match self {
                    $(Self::$kind { $($key),* } => {
                        $crate::section::rules!(place, profile; $($key $([$low, $high])? $(=> $rule)?,)*);
                    })*
                }
                Ok(())
            }
        }
    };
}

/// Checks keys, each in a variable of its name, by their rules.
macro_rules! rules {
    ($place:expr, $profile:expr; $(
        $key:ident $([$low:expr, $high:expr])? $(=> $rule:ident $(($($limit:expr),+))?)?,
    )*) => {
        $(
            let _key = $crate::section::Key::new($place, stringify!($key), $profile);
            $(_key.within($key, $low, $high)?;)?
            $(_key.$rule($key $($(, $limit)+)?)?;)?
            let _ = $key;
        )*
    };
}

pub(crate) use {choice, element, rules, section};

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
pub(crate) struct Key<'a> {
    table: &'a str,
    name: &'static str,
    profile: Profile,
}

impl<'a> Key<'a> {
    pub(crate) const fn new(table: &'a str, name: &'static str, profile: Profile) -> Self {
        Self {
            table,
            name,
            profile,
        }
    }

    fn place(&self) -> String {
        match self.table {
            "" => self.name.to_owned(),
            table => format!("{table}.{}", self.name),
        }
    }

    /// Checks a value unless it is left out; its place is only made where there is a mistake.
    fn stated<'v, T: Copy + 'v>(
        &self,
        value: impl Into<Option<&'v T>>,
        rule: impl FnOnce(T) -> Check,
    ) -> Check {
        let checked = value.into().map_or(Ok(()), |value| rule(*value));
        checked.map_err(|error| error.at(self.place()))
    }

    /// From `low` to `high`.
    pub(crate) fn within<'v, T>(&self, value: impl Into<Option<&'v T>>, low: T, high: T) -> Check
    where
        T: Copy + PartialOrd + Display + 'v,
    {
        self.stated(value, |value| limits::within(value, low, high))
    }

    /// A time, zero included.
    pub(crate) fn span<'v>(&self, value: impl Into<Option<&'v Duration>>) -> Check {
        self.stated(value, |value| limits::span(self.profile, value))
    }

    /// A time above zero.
    pub(crate) fn period<'v>(&self, value: impl Into<Option<&'v Duration>>) -> Check {
        self.stated(value, |value| limits::positive_span(self.profile, value))
    }

    /// What light takes along a link.
    pub(crate) fn delay(&self, value: &Duration) -> Check {
        self.span(value)?;
        self.within(
            value,
            Times::from(self.profile).shortest_delay(),
            LONGEST_DELAY,
        )
    }

    /// A rate at which packets can be sent.
    pub(crate) fn rate<'v>(&self, value: impl Into<Option<&'v Rate>>) -> Check {
        self.stated(value, limits::rate)
    }

    /// The size of a message.
    pub(crate) fn message<'v>(&self, value: impl Into<Option<&'v Bytes>>) -> Check {
        self.stated(value, limits::message_size)
    }

    /// At least one.
    pub(crate) fn positive<'v>(&self, value: impl Into<Option<&'v u32>>) -> Check {
        self.stated(value, limits::positive)
    }

    /// A traffic class.
    pub(crate) fn class(&self, value: &u8) -> Check {
        self.stated(value, limits::class)
    }

    /// A share above 0 and at most 1.
    pub(crate) fn share(&self, value: &f64) -> Check {
        self.stated(value, limits::share)
    }

    /// What shares are in proportion to.
    pub(crate) fn weight(&self, value: &f64) -> Check {
        self.stated(value, limits::weight)
    }

    /// A probability that may be 0 but not 1.
    pub(crate) fn loss(&self, value: &f64) -> Check {
        self.stated(value, limits::loss)
    }

    /// Parameters, which know their own rules.
    pub(crate) fn parameters(&self, value: &impl Parameters) -> Check {
        value.limits().iter().try_for_each(|limit| {
            let checked = limits::obeys(self.profile, &limit.rule);
            checked.map_err(|error| error.at(format!("{}.{}", self.place(), limit.key)))
        })
    }

    /// A table, whose keys have their own rules.
    pub(crate) fn table(&self, value: &impl Section) -> Check {
        value.check(&self.place(), self.profile)
    }

    /// A list of tables.
    pub(crate) fn each(&self, list: &[impl Section]) -> Check {
        let place = |index| format!("{}[{index}]", self.place());
        let mut numbered = list.iter().enumerate();
        numbered.try_for_each(|(index, table)| table.check(&place(index), self.profile))
    }
}
