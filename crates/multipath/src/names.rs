//! Lists of names, and names that stand in none.

use alloc::format;
use alloc::string::String;

use crate::Mistake;

/// That no `what` has such a name.
pub(crate) fn unknown(place: &str, what: &str, name: &str, known: &[&str]) -> Mistake {
    let name: String = name.chars().take(40).collect();
    let message = format!("no {what} is called \"{name}\"");
    Mistake::new(place, message, format!("take one of {}", known.join(", ")))
}

/// Defines an enum whose variants have names that users write, under a key of the settings.
macro_rules! named {
    (
        $(#[$doc:meta])* $kind:ident, $place:literal, $what:literal;
        $($(#[$about:meta])* $variant:ident = $name:literal;)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        #[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
        pub enum $kind {
            $($(#[$about])* $variant,)*
        }

        impl $kind {
            #[doc = concat!("Every ", $what, ".")]
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// The name that users write.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl core::fmt::Display for $kind {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl core::str::FromStr for $kind {
            type Err = $crate::Mistake;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
                let names = Self::ALL.map(Self::name);
                found.ok_or_else(|| $crate::names::unknown($place, $what, name, &names))
            }
        }
    };
}
pub(crate) use named;
