//! Which columns a row is read from: those that its fields are called.

use serde::de::value::Error;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;

/// The names of the fields of a struct, in its order.
pub(super) fn names<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut names: &[&str] = &[];
    // It ends with an error once they are known.
    let _ = T::deserialize(Names(&mut names));
    names
}

/// The first of them that a file lacks.
pub(super) fn missing<'a, T: DeserializeOwned>(
    found: impl Iterator<Item = &'a str>,
) -> Option<&'static str> {
    let found: Vec<&str> = found.collect();
    let mut names = names::<T>().iter().copied();
    names.find(|name| !found.contains(name))
}

/// Takes note of the fields that are asked for.
struct Names<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Names<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("a row is a struct"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
