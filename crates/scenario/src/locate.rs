//! Finds the key that a deserialization error is about, and says it in the user's words.
//!
//! Tagged tables are buffered before they are read, so that errors inside them carry no position.
//! Reading stops at the first mistake; the smallest part of the table that still yields the same
//! message therefore ends with the culprit.

use serde::Deserialize;
use toml::{Table, Value};

use crate::error::suggestion;
use crate::keypath::{KeyPath, Segment};
use crate::overrides::Override;
use crate::types::Scenario;

/// Sorts after every other key. A mistake inside an earlier value is reported before this unknown
/// key is; a key that is missing from the table itself only after it.
const SENTINEL: &str = "\u{10ffff}";

/// The path of the value that makes `table` fail with `message`.
pub(crate) fn culprit(table: &Table, message: &str) -> KeyPath {
    let mut path = KeyPath::default();
    let fails = |value: Value| match value {
        Value::Table(table) => {
            Scenario::deserialize(table).is_err_and(|error| error.message() == message)
        }
        _ => false,
    };
    descend(&Value::Table(table.clone()), &fails, &mut path);
    let in_tagged = match &path.0[..] {
        [Segment::Key(key)] | [Segment::Key(key), _] => {
            ["topology", "workload", "attack"].contains(&key.as_str())
        }
        _ => false,
    };
    if message.starts_with("unknown variant") && in_tagged {
        path.0.push(Segment::Key("kind".into()));
    }
    if let Some((key, _)) = named(message, "unknown field") {
        let key = Segment::Key(key.into());
        if path.0.last() != Some(&key) {
            path.0.push(key);
        }
    }
    path
}

fn descend(value: &Value, fails: &dyn Fn(Value) -> bool, path: &mut KeyPath) {
    match value {
        Value::Table(table) => descend_table(table, fails, path),
        Value::Array(items) => descend_array(items, fails, path),
        _ => {}
    }
}

fn descend_table(table: &Table, fails: &dyn Fn(Value) -> bool, path: &mut KeyPath) {
    let mut prefix = Table::new();
    prefix.insert(SENTINEL.into(), Value::Boolean(true));
    if let Some(kind) = table.get("kind") {
        prefix.insert("kind".into(), kind.clone());
    }
    if fails(Value::Table(prefix.clone())) {
        return;
    }
    for (key, value) in table {
        let before = prefix.clone();
        prefix.insert(key.clone(), value.clone());
        if fails(Value::Table(prefix.clone())) {
            path.0.push(Segment::Key(key.clone()));
            let inside = |child: Value| {
                let mut table = before.clone();
                table.insert(key.clone(), child);
                fails(Value::Table(table))
            };
            descend(value, &inside, path);
            return;
        }
    }
}

fn descend_array(items: &[Value], fails: &dyn Fn(Value) -> bool, path: &mut KeyPath) {
    let (mut passing, mut failing) = (0, items.len());
    if failing == 0 || fails(Value::Array(Vec::new())) {
        return;
    }
    while failing - passing > 1 {
        let middle = passing + (failing - passing) / 2;
        if fails(Value::Array(items[..middle].to_vec())) {
            failing = middle;
        } else {
            passing = middle;
        }
    }
    path.0.push(Segment::Index(passing));
    let inside = |child: Value| {
        let mut prefix = items[..passing].to_vec();
        prefix.push(child);
        fails(Value::Array(prefix))
    };
    descend(&items[passing], &inside, path);
}

/// The message and the hint of a deserialization error.
pub(crate) fn explain(message: &str) -> (String, String) {
    // Every table has keys, and every set of words a word.
    let list = |known: &[&str]| format!("`{}`", known.join("`, `"));
    if let Some((key, known)) = named(message, "unknown field") {
        let expected = format!("unknown key `{key}`, expected one of {}", list(&known));
        let mut gone = GONE.iter();
        let is_gone = |keys: &str| keys.split(' ').any(|gone| gone == key);
        let gone = gone.find(|(beside, keys, _)| known.contains(beside) && is_gone(keys));
        let hint = match gone {
            Some((_, _, hint)) => (*hint).into(),
            None => suggestion(key, known, '`', "remove it, or see `fairlane schema`"),
        };
        return (expected, hint);
    }
    if let Some((found, known)) = named(message, "unknown variant") {
        let expected = format!(
            "unknown value \"{found}\", expected one of {}",
            list(&known)
        );
        let hint = suggestion(found, known, '`', "see `fairlane schema`");
        return (expected, hint);
    }
    if let Some((key, _)) = named(message, "missing field") {
        return (format!("`{key}` is missing"), format!("add `{key} = ...`"));
    }
    (reword(message), hint_for(message).into())
}

/// A hint for a table in place of a list of tables, or the reverse, which are one pair of brackets apart.
pub(crate) fn brackets(table: &Table, path: &KeyPath, message: &str) -> Option<String> {
    let mends = |path: &KeyPath, value: Value| {
        let mut table = table.clone();
        let set = Override::silent(path.clone(), value).apply(&mut table);
        let wrong = Scenario::deserialize(table).err();
        let still = wrong.is_some_and(|error| {
            error.message() == message || error.message().starts_with("invalid type: map")
        });
        set.is_ok() && !still
    };
    let (path, name) = (path.without_index(), path.name());
    match path.find(table)? {
        Value::Table(one) => {
            let list = Value::Array(vec![one.clone().into()]);
            mends(&path, list).then(|| format!("write [[{name}]] for each: it is a list of tables"))
        }
        Value::Array(list) => {
            let [only @ Value::Table(_)] = &list[..] else {
                return None;
            };
            mends(&path, only.clone()).then(|| format!("write [{name}]: there is one such table"))
        }
        _ => None,
    }
}

/// Keys that are gone: a key that their table still has, their names, and what to do about them.
const GONE: [(&str, &str, &str); 10] = [
    (
        "balancer",
        "chunk_time",
        "remove it: limiter `adaptive` has chunks occupy their path for 8 us; `chunk_least` and `chunk_most` bound them",
    ),
    (
        "balancer",
        "probation suspect_loss",
        "remove it: when paths are suspected and trusted again is fixed, see docs/multipath.md",
    ),
    (
        "balancer",
        "reps_explore reps_freeze",
        "remove it: these parameters of balancer `reps` are its paper's",
    ),
    (
        "epoch",
        "window_bytes linger",
        "remove it: the agent keeps to a bandwidth-delay product, and lingers for 8 us",
    ),
    (
        "first_burst",
        "push_change push_after silence silent_packets measured_over checked_over at_a_time remembered",
        "remove it: it is fixed, see docs/dasr.md, \"Parameters\"",
    ),
    (
        "unsolicited",
        "express depth refill refill_least debt debt_span",
        "`unsolicited` says what a tenant may send before a receiver has said its share",
    ),
    (
        "unsolicited",
        "share_interval share_above share_granted share_memory",
        "`shares` has receivers divide their links, with the parameters of `congestion.dasr`",
    ),
    (
        "unsolicited",
        "arbitration express_first",
        "`turns` has tenants take turns at the NIC",
    ),
    (
        "unsolicited",
        "inheritance young_after heard heard_with_telemetry beginnings beginnings_refill beginning_length \
         beginnings_reserve caution restraint restrained_for lean increase aggregate_increase coupling \
         early_weight pooling limited_for",
        "remove it: hosts don't guess at what others meet any more, see docs/isolation.md",
    ),
    (
        "unsolicited",
        "idle_recovery",
        "remove it: a pair keeps what it learnt while it is idle",
    ),
];

/// What a message says is `what`, and the names that it knows.
pub(crate) fn named<'m>(message: &'m str, what: &str) -> Option<(&'m str, Vec<&'m str>)> {
    let quoted = message.strip_prefix(what)?.strip_prefix(" `")?;
    let (name, rest) = quoted.split_once('`')?;
    Some((name, rest.split('`').skip(1).step_by(2).collect()))
}

/// Replaces the names of machine types by what they hold.
fn reword(message: &str) -> String {
    let types = [
        ("u8", "a whole number from 0 to 255"),
        ("u16", "a whole number from 0 to 65535"),
        ("u32", "a whole number from 0 to 4294967295"),
        ("u64", "a whole number from 0 to 9223372036854775807"),
        ("f64", "a number"),
        ("a boolean", "true or false"),
        ("a string", "text in quotes"),
        ("path string", "text in quotes"),
        ("a sequence", "a list in [ ]"),
    ];
    let text = message
        .replace("invalid value: integer `-", "negative value: integer `-")
        .replace("; expected ", ", expected ")
        .replace('\n', ", ");
    for (machine, words) in types {
        if let Some(found) = text.strip_suffix(&format!("expected {machine}")) {
            return format!("{found}expected {words}");
        }
    }
    text
}

fn hint_for(message: &str) -> &'static str {
    if message.contains("a time") {
        "write a number and a unit (ps, ns, us, ms, s) in quotes, as in \"1us\""
    } else if message.contains("a rate") {
        "write a number and a unit (bps to Tbps) in quotes, as in \"100Gbps\""
    } else if message.contains("a size") {
        "write a number and a unit (B, kB, MB, KiB, MiB ...) in quotes, as in \"32MiB\""
    } else if message.contains("name of a distribution") {
        "built in are \"websearch\", \"hadoop\", \"storage\" and \"rpc\""
    } else {
        "see `fairlane schema` for the type of every key"
    }
}
