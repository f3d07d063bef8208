//! Words for "none", since TOML has no null and a resolved scenario shows every value.

/// A time, or `"never"`.
pub(crate) mod never {
    use std::fmt;

    use fairlane_units::Duration;
    use schemars::{Schema, SchemaGenerator, json_schema};
    use serde::de::{self, Deserializer, Visitor};
    use serde::ser::{Serialize, Serializer};

    const WORD: &str = "never";

    struct Text;

    impl Visitor<'_> for Text {
        type Value = Option<Duration>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a time with its unit, such as \"1us\", or \"never\"")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
            if text == WORD {
                Ok(None)
            } else {
                text.parse().map(Some).map_err(E::custom)
            }
        }
    }

    pub(crate) fn serialize<S: Serializer>(
        value: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(span) => span.serialize(serializer),
            None => serializer.serialize_str(WORD),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        deserializer.deserialize_str(Text)
    }

    pub(crate) fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^(never|[0-9.]+ ?(ps|ns|us|ms|s))$",
            "examples": ["4ms", "never"]
        })
    }
}

/// A factor, or `"lossless"`.
pub(crate) mod lossless {
    use std::fmt;

    use schemars::{Schema, SchemaGenerator, json_schema};
    use serde::de::{self, Deserializer, Visitor};
    use serde::ser::Serializer;

    const WORD: &str = "lossless";

    struct Factor;

    impl Visitor<'_> for Factor {
        type Value = Option<u64>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a whole number or \"lossless\"")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
            if text == WORD {
                return Ok(None);
            }
            Err(E::invalid_value(de::Unexpected::Str(text), &self))
        }

        fn visit_u64<E: de::Error>(self, factor: u64) -> Result<Self::Value, E> {
            Ok(Some(factor))
        }

        fn visit_i64<E: de::Error>(self, factor: i64) -> Result<Self::Value, E> {
            let found = de::Unexpected::Signed(factor);
            u64::try_from(factor)
                .map(Some)
                .map_err(|_| E::invalid_value(found, &self))
        }
    }

    pub(crate) fn serialize<S: Serializer>(
        value: &Option<u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(factor) => serializer.serialize_u64(*factor),
            None => serializer.serialize_str(WORD),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u64>, D::Error> {
        deserializer.deserialize_any(Factor)
    }

    pub(crate) fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": "lossless" }],
            "examples": [3, "lossless"]
        })
    }
}
