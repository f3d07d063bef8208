//! What the schema says of a key beside its type: its default, and in the annotation `x-range` what its rule says, for values
//! that aren't plain numbers.

use std::fmt::Display;

use fairlane_congestion::{Limit, Rule};
use fairlane_multipath::Range;
use fairlane_units::Rate;
use schemars::Schema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::sizes::LARGEST_MESSAGE;
use crate::validate::limits::{BYTE, FASTEST, SLOWEST};
use fairlane_hpcc_files::LONGEST_DELAY;

const ANNOTATION: &str = "x-range";

/// What a rule of `section!` adds to the schema of its key.
fn annotate(text: String) -> impl FnMut(&mut Schema) {
    move |key| drop(key.insert(ANNOTATION.into(), text.clone().into()))
}

pub(crate) fn within(low: impl Display, high: impl Display) -> impl FnMut(&mut Schema) {
    annotate(between(low, high))
}

pub(crate) fn period() -> impl FnMut(&mut Schema) {
    annotate("above 0".into())
}

pub(crate) fn rate() -> impl FnMut(&mut Schema) {
    within(SLOWEST, FASTEST)
}

pub(crate) fn message() -> impl FnMut(&mut Schema) {
    within(BYTE, LARGEST_MESSAGE)
}

pub(crate) fn positive() -> impl FnMut(&mut Schema) {
    annotate("at least 1".into())
}

pub(crate) fn class() -> impl FnMut(&mut Schema) {
    within(1, 7)
}

pub(crate) fn share() -> impl FnMut(&mut Schema) {
    annotate("above 0, at most 1".into())
}

pub(crate) fn weight() -> impl FnMut(&mut Schema) {
    annotate("above 0".into())
}

pub(crate) fn delay() -> impl FnMut(&mut Schema) {
    annotate(format!("at most {LONGEST_DELAY}"))
}

pub(crate) fn loss() -> impl FnMut(&mut Schema) {
    annotate("0 to below 1".into())
}

/// Any time.
pub(crate) const fn span() -> impl FnMut(&mut Schema) {
    |_: &mut Schema| ()
}

/// Tables have no range; those of their keys stand there.
pub(crate) const fn table() -> impl FnMut(&mut Schema) {
    span()
}

pub(crate) const fn each() -> impl FnMut(&mut Schema) {
    span()
}

/// Parameters state their rules by value: [`parameters_of`] annotates their table.
pub(crate) const fn parameters() -> impl FnMut(&mut Schema) {
    span()
}

/// Annotates the `properties` of a table of parameters with their limits.
pub(crate) fn parameters_of(properties: &mut Map<String, Value>, limits: &[Limit]) {
    for limit in limits {
        let (Some(text), Some(Value::Object(key))) =
            (text(&limit.rule), properties.get_mut(limit.key))
        else {
            continue;
        };
        let before = key.get(ANNOTATION).and_then(Value::as_str);
        let all = before.map_or_else(|| text.clone(), |before| format!("{before}; {text}"));
        key.insert(ANNOTATION.into(), all.into());
    }
}

/// Annotates the `properties` of a table with the ranges that another crate checks.
pub(crate) fn ranges_of(properties: &mut Map<String, Value>, ranges: impl Iterator<Item = Range>) {
    for range in ranges {
        if let Some(Value::Object(key)) = properties.get_mut(range.key) {
            key.insert(ANNOTATION.into(), range.to_string().into());
        }
    }
}

/// States the default of a key unless it is none, or stated already in another form than the type's.
pub(crate) fn state_default(table: &mut Schema, key: &str, default: &impl Serialize) {
    let key = table.pointer_mut(&format!("/properties/{key}"));
    if let (Some(Value::Object(key)), Ok(default)) = (key, serde_json::to_value(default))
        && !default.is_null()
    {
        key.entry("default").or_insert(default);
    }
}

/// Sizes, rates and times have no sign: of a range from zero only the end is said.
fn between(low: impl Display, high: impl Display) -> String {
    match low.to_string().strip_prefix('0') {
        Some(unit) if unit.starts_with(char::is_alphabetic) => format!("at most {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// What a rule of congestion control says; nothing of what may be anything.
fn text(rule: &Rule) -> Option<String> {
    let any = u64::from(u32::MAX);
    Some(match *rule {
        Rule::Span(_) => return None,
        Rule::Count { low: 0, high, .. } if high == any => return None,
        Rule::Count { low, high, .. } if high == any => format!("at least {low}"),
        Rule::Count { low, high, .. } => between(low, high),
        Rule::Within { low, high, .. } => between(low, high),
        Rule::Share(_) => "above 0, at most 1".into(),
        Rule::Rate(_) => between(SLOWEST, FASTEST),
        Rule::Floor(_) => format!("{SLOWEST} to the slowest host link"),
        Rule::Step(_) => between(Rate::ZERO, FASTEST),
        Rule::Period(_) => "above 0".into(),
        Rule::Holds { expected, .. } => expected.into(),
    })
}
