//! Quantities as text in files: written canonically, read in any unit.

use alloc::string::ToString;
use core::fmt;
use core::marker::PhantomData;
use core::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::{Bytes, Duration, ParseError, Rate, Time};

struct TextVisitor<T>(PhantomData<T>, &'static str);

impl<T: FromStr<Err = ParseError>> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.1)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

macro_rules! as_text {
    ($type:ident, $expecting:literal) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.to_string())
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(TextVisitor::<Self>(PhantomData, $expecting))
            }
        }
    };
}

as_text!(Duration, "a time with its unit, such as \"1us\"");
as_text!(Time, "a time with its unit, such as \"1us\"");
as_text!(Rate, "a rate with its unit, such as \"100Gbps\"");

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_string())
    }
}

struct BytesVisitor;

impl Visitor<'_> for BytesVisitor {
    type Value = Bytes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size with its unit, such as \"32MiB\", or a number of bytes")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Bytes, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Bytes, E> {
        Ok(Bytes::new(bytes))
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "only whole numbers of the range are cast"
    )]
    fn visit_f64<E: de::Error>(self, bytes: f64) -> Result<Bytes, E> {
        // Above 2^53 not every whole number is a double.
        let whole = bytes % 1.0 == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&bytes);
        match whole {
            true => Ok(Bytes::new(bytes as u64)),
            false => Err(E::invalid_value(de::Unexpected::Float(bytes), &self)),
        }
    }

    fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<Bytes, E> {
        u64::try_from(bytes)
            .map(Bytes::new)
            .map_err(|_| E::invalid_value(de::Unexpected::Signed(bytes), &self))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BytesVisitor)
    }
}

#[cfg(feature = "schemars")]
mod schema {
    use alloc::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use crate::{Bytes, Duration, Rate, Time};

    macro_rules! schema {
        ($type:ident, $json:tt) => {
            impl JsonSchema for $type {
                fn schema_name() -> Cow<'static, str> {
                    Cow::Borrowed(stringify!($type))
                }

                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    json_schema!($json)
                }
            }
        };
    }

    schema!(Duration, {
        "type": "string",
        "description": "A time with its unit.",
        "pattern": r"^[+]?[0-9_.]+([eE][+-]?[0-9]+)? *(ps|ns|us|ms|s)$",
        "examples": ["1us", "2.5ms"]
    });
    schema!(Time, {
        "type": "string",
        "description": "A time since the start of the run, with its unit.",
        "pattern": r"^[+]?[0-9_.]+([eE][+-]?[0-9]+)? *(ps|ns|us|ms|s)$",
        "examples": ["1us", "2.5ms"]
    });
    schema!(Rate, {
        "type": "string",
        "description": "A data rate with its unit.",
        "pattern": r"^[+]?[0-9_.]+([eE][+-]?[0-9]+)? *(|k|K|M|G|T|Ki|Mi|Gi)(b|B)(ps|/s)$",
        "examples": ["100Gbps", "20Mb/s"]
    });
    schema!(Bytes, {
        "type": ["string", "integer"],
        "description": "A size with its unit, or a number of bytes.",
        "pattern": r"^[+]?[0-9_.]+([eE][+-]?[0-9]+)? *(|k|K|Ki|M|Mi|G|Gi)B?$",
        "minimum": 0,
        "examples": ["32MiB", "256kB", 1000]
    });
}
