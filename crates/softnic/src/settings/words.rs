//! Settings as words of a line, as an environment variable has them.

use std::fmt::Display;
use std::net::Ipv4Addr;
use std::str::FromStr;

use fairlane_congestion::scope::Scope;
use fairlane_congestion::{Algorithm, Params, dasr};
use fairlane_units::{Mistake, Rate, TenantId};

use super::Settings;
use crate::tenants::Tenant;

/// Words that there are.
const WORDS: [&str; 10] = [
    "congestion",
    "cnp_interval",
    "ack_interval",
    "scope",
    "dasr",
    "tenants",
    "partition",
    "line_rate",
    "base_rtt",
    "burst",
];

impl Settings {
    /// The environment variable in which programs have [words](Self::set).
    pub const VARIABLE: &str = "FAIRLANE_NIC";

    /// The environment variable in which programs have [`lab`](Self::lab).
    pub const LAB: &str = "FAIRLANE_LAB";

    /// The usual values, changed as the environment says, for files about devices of any address; words that aren't understood are
    /// left to whoever opens one.
    pub fn of_environment() -> Self {
        let mut settings = Self::new(Ipv4Addr::UNSPECIFIED.into());
        if let Ok(line) = std::env::var(Self::VARIABLE) {
            drop(settings.set(&line));
        }
        settings
    }

    /// Changes what words of a line name: `scope=tenant tenants=0x8001:3,0x8002:1 line_rate=10Gbps`.
    ///
    /// # Errors
    /// The first word that isn't understood.
    pub fn set(&mut self, line: &str) -> Result<(), Mistake> {
        let mut seen = Vec::new();
        for word in line.split_whitespace() {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            if seen.contains(&name) {
                return Err(mistake(name, value, "it once"));
            }
            seen.push(name);
            match name {
                "congestion" => self.congestion = controller(value)?,
                "cnp_interval" => {
                    let interval = || number(name, value, "a time such as 50us, or never");
                    let interval = (value != "never").then(interval);
                    self.cnp_interval = interval.transpose()?;
                }
                "ack_interval" => {
                    let interval = number(name, value, "a number of packets such as 16")?;
                    self.ack_interval = std::cmp::max(interval, 1);
                }
                "scope" => self.scope = one_of(name, value, &Scope::ALL)?,
                "dasr" => self.dasr = dasr::Params::of(one_of(name, value, &dasr::Mode::ALL)?),
                "tenants" => self.tenants = tenants(value)?,
                "partition" => {
                    let expected = "a partition key such as 0x8001";
                    let key = partition(value);
                    self.partition = key.ok_or_else(|| mistake(name, value, expected))?;
                }
                "line_rate" => {
                    let rate = number(name, value, "a rate such as 10Gbps")?;
                    let is_rate = |rate: &Rate| !rate.is_zero();
                    let rate = Some(rate).filter(is_rate);
                    self.line_rate = rate.ok_or_else(|| mistake(name, value, "one above zero"))?;
                }
                "base_rtt" => self.base_rtt = number(name, value, "a time such as 20us")?,
                "burst" => self.burst = number(name, value, "a time such as 16us")?,
                _ => {
                    let message = format!("there is no `{name}`");
                    let hint = format!("there are {}", WORDS.join(", "));
                    return Err(Mistake::new(name, message, hint));
                }
            }
        }
        Ok(())
    }
}

/// A congestion control: its name, and parameters behind it that aren't the usual ones, as JSON without blanks.
fn controller(value: &str) -> Result<Params, Mistake> {
    let (name, parameters) = value.split_at(value.find('{').unwrap_or(value.len()));
    let algorithm: Algorithm = one_of("congestion", name, &Algorithm::ALL)?;
    if parameters.is_empty() {
        return Ok(Params::new(algorithm));
    }
    let wrong = |message: String| {
        let hint = "docs/scenario.md lists the parameters of every congestion control";
        Mistake::new(
            "congestion",
            format!("parameters of {name}: {message}"),
            hint,
        )
    };
    let mut reader = serde_json::Deserializer::from_str(parameters);
    let read = Params::deserialize(algorithm, &mut reader);
    let params = read.and_then(|params| reader.end().map(|()| params));
    let params = params.map_err(|error| wrong(error.to_string()))?;
    let limits = params.limits();
    match limits.iter().find(|limit| !limit.rule.is_met()) {
        Some(limit) => Err(wrong(format!("`{}` is outside its range", limit.key))),
        None => Ok(params),
    }
}

/// Tenants as `KEY:WEIGHT` or `KEY:WEIGHT:GUARANTEE`.
fn tenants(value: &str) -> Result<Vec<Tenant>, Mistake> {
    let expected = "partition keys with weights, and guarantees if there are any, such as 0x8001:3,0x8002:1:2Gbps";
    let wrong = || mistake("tenants", value, expected);
    let read = |text: &str| -> Option<Tenant> {
        let mut parts = text.split(':');
        let (key, weight) = (partition(parts.next()?)?, parts.next()?.parse().ok()?);
        let guarantee = parts.next().map(str::parse::<Rate>).transpose().ok()?;
        parts.next().is_none().then(|| Tenant {
            guarantee,
            ..Tenant::new(key, weight)
        })
    };
    let all = value.split(',').map(|text| read(text).ok_or_else(wrong));
    all.collect()
}

/// A partition key, in decimal or, behind 0x, hexadecimal digits.
fn partition(text: &str) -> Option<TenantId> {
    let key = match text.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16).ok()?,
        None => text.parse().ok()?,
    };
    Some(TenantId::new(key.into()))
}

/// The one of a list that has this name.
fn one_of<T: Copy + Display>(word: &str, value: &str, all: &[T]) -> Result<T, Mistake> {
    let found = all.iter().find(|one| one.to_string() == value);
    found.copied().ok_or_else(|| {
        let names: Vec<_> = all.iter().map(ToString::to_string).collect();
        mistake(word, value, &format!("one of {}", names.join(", ")))
    })
}

fn number<T: FromStr>(word: &str, value: &str, expected: &str) -> Result<T, Mistake> {
    value.parse().map_err(|_| mistake(word, value, expected))
}

fn mistake(word: &str, value: &str, expected: &str) -> Mistake {
    let message = format!("`{word}` is {value:?}, expected {expected}");
    let hint = "docs/verbs-programs.md lists words and values";
    Mistake::new(word, message, hint)
}

#[cfg(test)]
mod tests {
    use fairlane_units::Duration;

    use super::*;

    fn settings() -> Settings {
        Settings::new(Ipv4Addr::LOCALHOST.into())
    }

    #[test]
    fn words_change_what_they_name() {
        let mut own = settings();
        let line = "cnp_interval=never ack_interval=1 congestion=swift{\"max_decrease\":0.4} scope=tenant dasr=count tenants=0x8001:3,2:0.5:1Gbps line_rate=25Gbps base_rtt=1ms burst=5us \
            partition=0x8001";
        own.set(line).unwrap();
        assert_eq!(own.congestion.algorithm().to_string(), "swift");
        assert_eq!(
            (own.scope, own.dasr.mode),
            (Scope::Tenant, dasr::Mode::Count)
        );
        assert_eq!((own.cnp_interval, own.ack_interval), (None, 1));
        let [first, second] = own.tenants[..] else {
            panic!("two tenants")
        };
        assert_eq!((first.partition.get(), first.guarantee), (0x8001, None));
        let guarantee = Some(Rate::from_gbps(1));
        assert_eq!((second.partition.get(), second.guarantee), (2, guarantee));
        assert!(first.weight == 3.0 && second.weight == 0.5);
        assert_eq!(own.line_rate, Rate::from_gbps(25));
        assert_eq!(
            (own.base_rtt, own.burst),
            (Duration::from_ms(1), Duration::from_us(5))
        );
        assert_eq!(own.partitions()[0].get(), 0x8001);
        own.set("").unwrap();
        assert_eq!(own.line_rate, Rate::from_gbps(25));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let wrong = [
            ("speed=1", "there is no `speed`"),
            ("scope", "`scope` is \"\", expected one of none, qp"),
            (
                "congestion=bbr",
                "`congestion` is \"bbr\", expected one of ",
            ),
            ("dasr=on", "`dasr` is \"on\", expected one of off"),
            (
                "line_rate=0bps",
                "`line_rate` is \"0bps\", expected one above zero",
            ),
            ("base_rtt=5", "`base_rtt` is \"5\", expected a time"),
            (
                "burst=1us burst=2us",
                "`burst` is \"2us\", expected it once",
            ),
            (
                "tenants=0x8001",
                "`tenants` is \"0x8001\", expected partition keys",
            ),
            ("tenants=1:2:3Gbps:4", "expected partition keys"),
            (
                "congestion=dcqcn{\"alpha\":1}",
                "parameters of dcqcn: unknown field",
            ),
            ("congestion=dcqcn{", "parameters of dcqcn: EOF"),
            ("congestion=dcqcn{}x", "parameters of dcqcn: trailing"),
            (
                "congestion=dcqcn{\"gain\":7}",
                "`gain` is outside its range",
            ),
            ("cnp_interval=0x", "expected a time such as 50us, or never"),
            ("ack_interval=-1", "expected a number of packets"),
            ("tenants=", "expected partition keys"),
            ("partition=0x18001", "expected a partition key"),
        ];
        for (line, expected) in wrong {
            let error = settings().set(line).unwrap_err();
            assert!(error.message.contains(expected), "{error:?}");
            assert!(!error.hint.is_empty());
        }
    }
}
