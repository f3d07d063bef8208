//! A configuration as text: a key and its values on each line.

use std::collections::BTreeMap;

use fairlane_congestion::Algorithm;
use fairlane_hpcc_files::{
    lines::{Line, lines, shorten},
    ns3,
};
use fairlane_scenario::{Error, nearest};
use fairlane_units::{Decimal, Duration, Rate};

use super::keys::{Arity, CONWEAVE, KEYS, Key, Use};

/// The simulator whose keys a configuration may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// The keys of HPCC's simulator.
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
        let mut foreign = Vec::new();
        for line in lines(text, file) {
            let mut fields = line.text.split_ascii_whitespace();
            let name = fields.next().unwrap_or("");
            if name.starts_with('#') {
                check_remark(&line, dialect)?;
                continue;
            }
            let Some(key) = dialect.keys().find(|key| key.name == name) else {
                foreign.push((line, name));
                continue;
            };
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
        match foreign.is_empty() {
            true => Ok(Self { file, entries }),
            false => Err(unknown(&foreign, dialect)),
        }
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
    pub(crate) fn number<T: Number>(
        &self,
        key: &str,
        default: T,
        expected: &str,
    ) -> Result<T, Error> {
        let Some(text) = self.value(key) else {
            return Ok(default);
        };
        let number = Decimal::read(text).and_then(T::of);
        number.ok_or_else(|| self.unreadable(key, text, expected))
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
        let value = self.number(key, 0.0, expected)?;
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

    /// When the run ends. That is never, where the time is longer than any run: public configurations of ASTRA-sim and SimAI
    /// state 40000000000000 s.
    pub(crate) fn stop(
        &self,
        default: Option<&str>,
        notes: &mut Vec<String>,
    ) -> Result<Option<Duration>, Error> {
        let key = "SIMULATOR_STOP_TIME";
        let Some(text) = self.value(key).or(default) else {
            return Ok(None);
        };
        let number = Decimal::read(text).map(Decimal::as_f64);
        match (ns3::seconds(text), number) {
            (Some(stop), _) => Ok(Some(stop)),
            (None, Some(number)) if number > 0.0 => {
                notes.push(format!("{key} {text} s is longer than any run: never"));
                Ok(None)
            }
            _ => Err(self.unreadable(key, text, "seconds")),
        }
    }

    /// Values by port rate, ascending.
    pub(crate) fn map<T: Number>(
        &self,
        key: &str,
        expected: &str,
    ) -> Result<Option<BTreeMap<Rate, T>>, Error> {
        let Some(values) = self.values(key) else {
            return Ok(None);
        };
        let mut map = BTreeMap::new();
        for pair in values.get(1..).unwrap_or(&[]).chunks_exact(2) {
            let rate = Decimal::read(pair[0]).and_then(u64::of);
            let rate = rate.ok_or_else(|| self.unreadable(key, pair[0], "rates in bits/s"))?;
            let value = Decimal::read(pair[1]).and_then(T::of);
            let value = value.ok_or_else(|| self.unreadable(key, pair[1], expected))?;
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

/// What a number of a configuration may be.
pub(crate) trait Number: Sized {
    /// The number, if it is one of these.
    fn of(number: Decimal<'_>) -> Option<Self>;
}

impl Number for f64 {
    fn of(number: Decimal<'_>) -> Option<Self> {
        Some(number.as_f64())
    }
}

impl Number for u64 {
    fn of(number: Decimal<'_>) -> Option<Self> {
        number.whole()
    }
}

impl Number for u32 {
    fn of(number: Decimal<'_>) -> Option<Self> {
        number
            .whole()
            .and_then(|number| Self::try_from(number).ok())
    }
}

/// A line that begins with `#` is a remark, unless it has a word that is a key: those simulators read word by word, and would
/// take it.
fn check_remark(line: &Line<'_>, dialect: Dialect) -> Result<(), Error> {
    let mut words = line.text.split_ascii_whitespace();
    match words.find(|word| dialect.keys().any(|key| key.name == *word)) {
        None => Ok(()),
        Some(key) => {
            let message = format!("{key} in a remark, which that simulator reads as the key");
            Err(line.error(message, "the format has no remarks: remove the line"))
        }
    }
}

/// All keys that a configuration may not have, each with its line.
fn unknown(foreign: &[(Line<'_>, &str)], dialect: Dialect) -> Error {
    let names: Vec<String> = foreign.iter().map(|(_, name)| shorten(name)).collect();
    let (first, _) = &foreign[0];
    let numbers = foreign
        .iter()
        .skip(1)
        .map(|(line, _)| format!(" (line {})", line.number));
    let numbers = std::iter::once(String::new()).chain(numbers);
    let list: Vec<String> = names
        .iter()
        .zip(numbers)
        .map(|(name, line)| format!("{name}{line}"))
        .collect();
    let (list, one) = (list.join(", "), list.len() == 1);
    if names
        .iter()
        .all(|name| CONWEAVE.iter().any(|key| key.name == name))
    {
        let are = if one { "is a key" } else { "are keys" };
        let message = format!("{list} {are} of ConWeave's simulator, expected HPCC's");
        let hint = "its cases have another import: `fairlane import conweave`";
        return first.error(message, hint);
    }
    let meant = names
        .iter()
        .filter_map(|name| nearest(name, dialect.keys().map(|key| key.name)));
    let meant: Vec<&str> = meant.collect();
    let hint = match (meant.is_empty(), one) {
        (false, _) => format!("did you mean {}?", meant.join(", ")),
        (true, true) => "remove the line".into(),
        (true, false) => "remove the lines".into(),
    };
    let keys = if one { "key" } else { "keys" };
    let expected = if one { "one" } else { "those" };
    let whose = dialect.name();
    first.error(
        format!("unknown {keys} {list}, expected {expected} of {whose} simulator"),
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
