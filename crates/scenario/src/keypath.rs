//! The path of a key in a scenario: `workload[0].host_link.rate`.

use std::fmt;

use toml::{Table, Value};

/// In a path that `--set` writes: every element of a list.
pub(crate) const EACH: &str = "*";
/// The same: one more element.
pub(crate) const NEW: &str = "+";

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    Key(String),
    Index(usize),
}

/// A path from the top of the scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyPath(pub(crate) Vec<Segment>);

impl KeyPath {
    /// Reads `workload[0].load` as errors write it.
    pub(crate) fn from_place(place: &str) -> Self {
        let mut segments = Vec::new();
        for part in place.split('.') {
            let mut pieces = part.split('[');
            segments.extend(pieces.next().map(|key| Segment::Key(key.into())));
            let indices = pieces.filter_map(|piece| piece.trim_end_matches(']').parse().ok());
            segments.extend(indices.map(Segment::Index));
        }
        Self(segments)
    }

    /// Reads `workload.0.load` as `--set` writes it; a number is an index except at the start.
    pub(crate) fn from_dotted(text: &str) -> Self {
        let segment = |(i, part): (usize, &str)| match part.parse() {
            Ok(index) if i > 0 => Segment::Index(index),
            _ => Segment::Key(part.into()),
        };
        let parts = text.split('.').map(str::trim).enumerate();
        Self(parts.map(segment).collect())
    }

    /// The value that a table has at the path.
    pub(crate) fn find<'t>(&self, table: &'t Table) -> Option<&'t Value> {
        let [Segment::Key(first), inner @ ..] = &self.0[..] else {
            return None;
        };
        inner
            .iter()
            .try_fold(table.get(first)?, |value, segment| match segment {
                Segment::Key(key) => value.get(key),
                Segment::Index(index) => value.get(*index),
            })
    }

    /// The path of the list, of one that ends at an element.
    pub(crate) fn without_index(&self) -> Self {
        match &self.0[..] {
            [list @ .., Segment::Index(_)] => Self(list.to_vec()),
            _ => self.clone(),
        }
    }

    /// The keys without numbers of elements, as headings of tables have them.
    pub(crate) fn name(&self) -> String {
        let keys = self.0.iter().filter_map(|segment| match segment {
            Segment::Key(key) => Some(key.as_str()),
            Segment::Index(_) => None,
        });
        keys.collect::<Vec<_>>().join(".")
    }

    pub(crate) fn starts_with(&self, other: &Self) -> bool {
        let same = |(ours, theirs): (&Segment, &Segment)| ours.meets(theirs) || theirs.meets(ours);
        other.0.len() <= self.0.len() && self.0.iter().zip(&other.0).all(same)
    }
}

impl Segment {
    /// Whether it is `other`, or one of several elements that `other` may be.
    fn meets(&self, other: &Self) -> bool {
        let elements = matches!(other, Self::Key(key) if key == EACH || key == NEW);
        self == other || elements && matches!(self, Self::Index(_))
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Key(key) if i == 0 => f.write_str(key)?,
                Segment::Key(key) => write!(f, ".{key}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
