//! Tables of the scenario file: what is known of a key stands in one place.

use std::fmt::Display;

use schemars::Schema;
use serde::Serialize;
use serde_json::Value;

use crate::error::Error;
use crate::profile::Profile;

pub(crate) type Check = Result<(), Error>;

/// Declares a table of the scenario file. A line for each key gives its doc, name, type, default (left out, the type's) and
/// rule, a function of `rules`; what is left out of an `Option` obeys every rule. A range in brackets is for numbers. The schema
/// states ranges and what rules say; the page `docs/scenario.md` follows from it. A doc whose last
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
                $($crate::section::state_default(table, stringify!($key), &default.$key);)*
            }
        }
    };
    (@default) => { Default::default() };
    (@default $default:expr) => { $default };
}

/// Declares a table without a default, as [`section!`] does; of its keys those have one that name its function in quotes, such
/// as `"number::<3, u8>"`.
macro_rules! element {
    (
        $(#[$attribute:meta])*
        $name:ident {
            $(
                $(#[$about:meta])*
                $key:ident $([$low:expr, $high:expr])?: $type:ty $(= $default:literal)?
                    $(=> $rule:ident $(($($limit:expr),+))?)?,
            )*
        }
    ) => {
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        $(#[$attribute])*
        pub struct $name {
            $(
                $(#[$about])*
                $(#[serde(default = $default)])?
                $(#[schemars(range(min = $low, max = $high))])?
                $(#[schemars(transform = $crate::rules::annotate($crate::rules::says::$rule($($($limit),+)?)))])?
                pub $key: $type,
            )*
        }

        impl $crate::section::Section for $name {
            fn check(&self, _profile: $crate::profile::Profile) -> $crate::section::Check {
                $(
                    let _at = |error| $crate::section::inside(error, stringify!($key));
                    $($crate::rules::within(_profile, &self.$key, $low, $high).map_err(_at)?;)?
                    $($crate::rules::$rule(_profile, &self.$key $($(, $limit)+)?).map_err(_at)?;)?
                )*
                Ok(())
            }
        }
    };
}

/// Declares a table that is one of several kinds, as its key `kind` says; each is a table as of [`element!`].
macro_rules! tagged_table {
    ($(#[$attribute:meta])* $name:ident { $($(#[$doc:meta])* $kind:ident($table:ident) $keys:tt,)* }) => {
        $crate::section::kinds! { $(#[$attribute])* $name { $($(#[$doc])* $kind($table),)* } }

        $($crate::section::element! { $(#[$doc])* $table $keys })*
    };
}

/// Declares a table that is one of others, as its key `kind` says.
macro_rules! kinds {
    ($(#[$attribute:meta])* $name:ident { $($(#[$doc:meta])* $kind:ident($table:ident),)* }) => {
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        $(#[$attribute])*
        pub enum $name {
            $($(#[$doc])* $kind($table),)*
        }

        impl $crate::section::Section for $name {
            fn check(&self, profile: $crate::profile::Profile) -> $crate::section::Check {
                match self {
                    $(Self::$kind(it) => $crate::section::Section::check(it, profile),)*
                }
            }
        }
    };
}

pub(crate) use crate::words::words;
pub(crate) use {element, kinds, section, tagged_table};

/// A table whose values have rules, or several.
pub(crate) trait Section {
    /// Checks every value; the place of a mistake is relative to the table.
    fn check(&self, profile: Profile) -> Check;
}

impl<T: Section> Section for Option<T> {
    fn check(&self, profile: Profile) -> Check {
        self.iter().try_for_each(|table| table.check(profile))
    }
}

impl<T: Section> Section for Box<T> {
    fn check(&self, profile: Profile) -> Check {
        (**self).check(profile)
    }
}

impl<T: Section> Section for Vec<T> {
    fn check(&self, profile: Profile) -> Check {
        let place = |index| move |error| inside(error, format_args!("[{index}]"));
        let mut numbered = self.iter().enumerate();
        numbered.try_for_each(|(index, table)| table.check(profile).map_err(place(index)))
    }
}

/// The default of a key, see [`element!`].
pub(crate) fn number<const N: u8, T: From<u8>>() -> T {
    N.into()
}

/// A mistake inside of a table or list, by the place of that.
pub(crate) fn inside(error: Error, outer: impl Display) -> Error {
    let is_element = error.place.is_empty() || error.place.starts_with('[');
    let dot = if is_element { "" } else { "." };
    let place = format!("{outer}{dot}{}", error.place);
    error.at(place)
}

/// States the default of a key unless it is stated already in another form than the type's.
pub(crate) fn state_default(table: &mut Schema, key: &str, default: &impl Serialize) {
    let key = table.pointer_mut(&format!("/properties/{key}"));
    if let (Some(Value::Object(key)), Ok(default)) = (key, serde_json::to_value(default)) {
        key.entry("default").or_insert(default);
    }
}
