//! Enums whose variants have names.

/// Defines an enum whose variants have names that users write.
macro_rules! named {
    (
        $(#[$doc:meta])* $kind:ident, $what:literal;
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
    };
}
pub(crate) use named;
