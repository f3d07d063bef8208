//! A configuration as text: a key and its values on each line.

use std::collections::BTreeMap;
use std::str::FromStr;

use fairlane_congestion::Algorithm;
use fairlane_hpcc_files::{
    lines::{Line, lines, shorten},
    ns3,
};
use fairlane_scenario::{Error, nearest};
use fairlane_units::{Duration, Rate};

use super::keys::{Arity, CONWEAVE, KEYS, Key, Use};

/// Whose keys a configuration may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Those of HPCC's simulator.
    Hpcc,
    /// Also those of ConWeave's, which descends from it.
    ConWeave,
}

impl Dialect {
    fn keys(self) -> impl Iterator<Item = &'static Key> {
        let more = match self {
            Self::Hpcc => &[],
            Self::ConWeave => CONWEAVE,
        };
        KEYS.iter().chain(more)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Hpcc => "HPCC's",
            Self::ConWeave => "HPCC's or ConWeave's",
        }
    }
}

/// What a configuration says.
pub(crate) struct Config<'a> {
    file: &'a str,
    entries: BTreeMap<&'static str, Entry<'a>>,
}

struct Entry<'a> {
    line: usize,
    used: Use,
    values: Vec<&'a str>,
}

impl<'a> Config<'a> {
    /// Reads `text`, which messages call `file`.
    pub(crate) fn parse(text: &'a str, file: &'a str, dialect: Dialect) -> Result<Self, Error> {
        let mut entries = BTreeMap::new();
        for line in lines(text, file) {
            let mut fields = line.text.split_ascii_whitespace();
            let name = fields.next().unwrap_or("");
            let key = dialect
                .keys()
                .find(|key| key.name == name)
                .ok_or_else(|| unknown(&line, name, dialect))?;
            let values: Vec<&str> = fields.collect();
            check_arity(&line, key, &values)?;
            let entry = Entry {
                line: line.number,
                used: key.used,
                values,
            };
            if let Some(before) = entries.insert(key.name, entry) {
                let message = format!("{name} is also in line {}, expected once", before.line);
                return Err(line.error(message, "remove one of the two lines"));
            }
        }
        Ok(Self { file, entries })
    }

    /// Where `key` is, or else the file.
    pub(crate) fn place(&self, key: &str) -> String {
        match self.entries.get(key) {
            Some(entry) => format!("{}:{}", self.file, entry.line),
            None => self.file.into(),
        }
    }

    pub(crate) fn error(&self, key: &str, message: impl Into<String>, hint: &str) -> Error {
        Error::new(self.place(key), format!("{key} {}", message.into()), hint)
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    pub(crate) fn values(&self, key: &str) -> Option<&[&'a str]> {
        self.entries.get(key).map(|entry| entry.values.as_slice())
    }

    pub(crate) fn value(&self, key: &str) -> Option<&'a str> {
        self.values(key)?.first().copied()
    }

    /// The keys that are present and that only other algorithms read.
    pub(crate) fn idle_keys(&self, algorithm: Algorithm) -> Vec<&'static str> {
        let idle = |used| matches!(used, Use::By(readers) if !readers.contains(&algorithm));
        self.entries
            .iter()
            .filter(|(_, entry)| idle(entry.used))
            .map(|(key, _)| *key)
            .collect()
    }

    /// The keys that change nothing, each with the reason.
    pub(crate) fn inert(&self) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
        self.entries
            .iter()
            .filter_map(|(key, entry)| match entry.used {
                Use::Inert(reason) => Some((*key, reason)),
                _ => None,
            })
    }

    /// A number, or `default` if the key is missing.
    pub(crate) fn number<T: FromStr>(
        &self,
        key: &str,
        default: T,
        expected: &str,
    ) -> Result<T, Error> {
        let Some(text) = self.value(key) else {
            return Ok(default);
        };
        text.parse()
            .map_err(|_| self.unreadable(key, text, expected))
    }

    /// 0 or 1, or `default` if the key is missing.
    pub(crate) fn flag(&self, key: &str, default: bool) -> Result<bool, Error> {
        match self.value(key) {
            None => Ok(default),
            Some("0") => Ok(false),
            Some("1") => Ok(true),
            Some(text) => Err(self.unreadable(key, text, "0 or 1")),
        }
    }

    /// Microseconds, truncated to a whole number of them as ns-3 does.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast truncates, and the range is checked"
    )]
    pub(crate) fn microseconds(&self, key: &str, default: u64) -> Result<Duration, Error> {
        let expected = "microseconds, at least 1";
        let Some(text) = self.value(key) else {
            return Ok(Duration::from_us(default));
        };
        let value: f64 = text
            .parse()
            .map_err(|_| self.unreadable(key, text, expected))?;
        if !(1.0..=1e12).contains(&value) {
            return Err(self.unreadable(key, text, expected));
        }
        Ok(Duration::from_us(value as u64))
    }

    /// A rate in ns-3's spelling.
    pub(crate) fn rate(&self, key: &str) -> Result<Option<Rate>, Error> {
        let Some(text) = self.value(key) else {
            return Ok(None);
        };
        let rate = ns3::rate(text);
        rate.map(Some)
            .ok_or_else(|| self.unreadable(key, text, "a rate such as 100Mb/s"))
    }

    /// Values by port rate, ascending.
    pub(crate) fn map<T: FromStr>(
        &self,
        key: &str,
        expected: &str,
    ) -> Result<Option<BTreeMap<Rate, T>>, Error> {
        let Some(values) = self.values(key) else {
            return Ok(None);
        };
        let mut map = BTreeMap::new();
        for pair in values.get(1..).unwrap_or(&[]).chunks_exact(2) {
            let rate: u64 = pair[0]
                .parse()
                .map_err(|_| self.unreadable(key, pair[0], "rates in bits/s"))?;
            let value = pair[1]
                .parse()
                .map_err(|_| self.unreadable(key, pair[1], expected))?;
            if map.insert(Rate::from_bps(rate), value).is_some() {
                let message = format!("has rate {rate} twice, expected once");
                return Err(self.error(key, message, "remove one of the two"));
            }
        }
        Ok(Some(map))
    }

    pub(crate) fn unreadable(&self, key: &str, text: &str, expected: &str) -> Error {
        let message = format!("is \"{}\", expected {expected}", shorten(text));
        self.error(key, message, &format!("write {expected}"))
    }
}

fn unknown(line: &Line<'_>, name: &str, dialect: Dialect) -> Error {
    let name = shorten(name);
    if CONWEAVE.iter().any(|key| key.name == name) {
        let message = format!("{name} is a key of ConWeave's simulator, expected HPCC's");
        return line.error(
            message,
            "its cases have another import: `fairlane import conweave`",
        );
    }
    let hint = match nearest(&name, dialect.keys().map(|key| key.name)) {
        Some(meant) => format!("did you mean {meant}?"),
        None => "remove the line; the format has no comments".into(),
    };
    let whose = dialect.name();
    line.error(
        format!("unknown key {name}, expected one of {whose} simulator"),
        hint,
    )
}

fn check_arity(line: &Line<'_>, key: &Key, values: &[&str]) -> Result<(), Error> {
    let (expected, wanted) = match key.arity {
        Arity::One => (1, "1 value".to_owned()),
        Arity::Three => (3, "3 values: time in us, node, node".to_owned()),
        Arity::Pairs => {
            let count = values.first().and_then(|count| count.parse::<u32>().ok());
            let count = count.ok_or_else(|| {
                let message = format!("{} has no count, expected `COUNT RATE VALUE ...`", key.name);
                line.error(message, "write the number of pairs first")
            })?;
            let total = (count as usize).saturating_mul(2).saturating_add(1);
            (
                total,
                format!("{count} pairs of rate and value, as the count says"),
            )
        }
    };
    if values.len() == expected {
        return Ok(());
    }
    let message = format!(
        "{} has {} values, expected {wanted}",
        key.name,
        values.len()
    );
    Err(line.error(
        message,
        "each key stands on a line of its own with its values",
    ))
}
