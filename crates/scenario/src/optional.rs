//! Words for "none", since TOML has no null and a resolved scenario shows every value.

use std::fmt;

use fairlane_units::Duration;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

/// Declares how a value, or a word for none, is read, written and described; the functions read values.
macro_rules! or_word {
    (
        $(#[$doc:meta])*
        $module:ident: $type:ty, $word:literal, $expecting:literal, $schema:tt;
        $($visit:tt)*
    ) => {
        $(#[$doc])*
        pub(crate) mod $module {
            use super::*;

            struct OrWord;

            impl Visitor<'_> for OrWord {
                type Value = Option<$type>;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str($expecting)
                }

                $($visit)*
            }

            pub(crate) fn serialize<S: Serializer>(
                value: &Option<$type>,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                match value {
                    Some(value) => value.serialize(serializer),
                    None => serializer.serialize_str($word),
                }
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Option<$type>, D::Error> {
                deserializer.deserialize_any(OrWord)
            }

            pub(crate) fn schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

or_word! {
    /// A time, or `"never"`.
    never: Duration, "never", "a time with its unit, such as \"1us\", or \"never\"", {
        "type": "string",
        "pattern": r"^(never|[+]?[0-9_.]+([eE][+-]?[0-9]+)? *(ps|ns|us|ms|s))$",
        "examples": ["4ms", "never"]
    };

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        match text {
            "never" => Ok(None),
            _ => text.parse().map(Some).map_err(E::custom),
        }
    }
}

or_word! {
    /// A factor, or `"lossless"`.
    lossless: u64, "lossless", "a whole number or \"lossless\"", {
        "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": "lossless" }],
        "examples": [3, "lossless"]
    };

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        match text {
            "lossless" => Ok(None),
            _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }

    fn visit_u64<E: de::Error>(self, factor: u64) -> Result<Self::Value, E> {
        Ok(Some(factor))
    }

    fn visit_i64<E: de::Error>(self, factor: i64) -> Result<Self::Value, E> {
        let wrong = |_| E::invalid_value(Unexpected::Signed(factor), &self);
        u64::try_from(factor).map(Some).map_err(wrong)
    }
}

or_word! {
    /// A factor, or `"auto"`.
    auto: f64, "auto", "a number or \"auto\"", {
        "anyOf": [{ "type": "number", "minimum": 1, "maximum": 1_000_000 }, { "const": "auto" }],
        "examples": [100, "auto"]
    };

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        match text {
            "auto" => Ok(None),
            _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }

    fn visit_f64<E: de::Error>(self, factor: f64) -> Result<Self::Value, E> {
        Ok(Some(factor))
    }

    fn visit_i64<E: de::Error>(self, factor: i64) -> Result<Self::Value, E> {
        Ok(Some(factor as f64))
    }
}

/// Whether a count is one, as it is where it is left out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
pub(crate) const fn is_one(count: &u32) -> bool {
    *count == 1
}
