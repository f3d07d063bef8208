//! The capacity of egress: a number of bytes per second, or a rate with its unit.

use std::fmt;

use fairlane_units::Rate;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

/// An egress capacity: bytes per second, or a rate with its unit.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum Form {
    Number(f64),
    Rate(String),
}

/// Reads an egress capacity; `null` is `Some(None)`.
pub(super) fn capacity<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<f64>>, D::Error> {
    let capacity = Option::<Capacity>::deserialize(deserializer)?;
    Ok(Some(capacity.map(|capacity| capacity.0)))
}

/// An egress capacity in bytes per second.
struct Capacity(f64);

impl<'de> Deserialize<'de> for Capacity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl Visitor<'_> for Reader {
    type Value = Capacity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number (B/s) or a rate such as \"100Gbps\"")
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Capacity, E> {
        Ok(Capacity(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Capacity, E> {
        Ok(Capacity(value as f64))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Capacity, E> {
        Ok(Capacity(value as f64))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Capacity, E> {
        let rate: Rate = value.parse().map_err(E::custom)?;
        Ok(Capacity(rate.as_f64() / 8.0))
    }
}
