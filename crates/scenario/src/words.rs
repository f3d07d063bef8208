//! Values with names.

/// Declares values with names. One of them may be the default: `Service = Rc { ... }`.
macro_rules! words {
    (
        $(#[$attribute:meta])*
        $type:ident $(= $default:ident)? { $($(#[$doc:meta])* $word:ident $name:literal,)* }
    ) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        $(#[$attribute])*
        pub enum $type {
            $($(#[$doc])* #[serde(rename = $name)] $word,)*
        }

        impl $type {
            /// Every one.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$word),*];

            /// The name used in scenarios and results.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$word => $name,)*
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        $(impl Default for $type {
            fn default() -> Self {
                Self::$default
            }
        })?
    };
}

pub(crate) use words;
