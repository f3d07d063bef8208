//! Where a scenario comes from: a path, a text or a dictionary.

use std::path::{Path, PathBuf};

use fairlane_scenario::{Error, Loaded};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use toml::{Table, Value};

use crate::error;

/// Deeper than any key of a scenario; a dictionary that holds itself ends here.
const DEEPEST: usize = 32;

/// Reads and checks a scenario. Values of `overrides` belong to keys with dots.
pub(crate) fn load(
    source: &Bound<'_, PyAny>,
    overrides: &Bound<'_, PyDict>,
    seed: Option<u64>,
    folder: &Path,
) -> PyResult<Loaded> {
    let overrides = sets(overrides)?;
    let loaded = if let Ok(table) = source.cast::<PyDict>() {
        fairlane_scenario::parse_table(&dictionary(table, "", 0)?, folder, &overrides, seed)
    } else if let Some(text) = text(source) {
        fairlane_scenario::parse(&text, "text", folder, &overrides, seed)
    } else {
        fairlane_scenario::load(&source.extract::<PathBuf>()?, &overrides, seed)
    };
    loaded.map_err(|error| error::scenario(&error))
}

/// A dictionary as TOML text; `place` is where it stands, in errors.
#[pyfunction]
pub(crate) fn toml_text(table: &Bound<'_, PyDict>, place: &str) -> PyResult<String> {
    let table = dictionary(table, place, 0)?;
    toml::to_string(&table).map_err(|error| refuse(place, error.to_string(), ""))
}

/// The text of a scenario as the table `scenario` of a larger text.
#[pyfunction]
pub(crate) fn toml_scenario(text: &str) -> PyResult<String> {
    let table: Table = toml::from_str(text).map_err(|error| {
        let message = error.to_string();
        refuse("", message.trim_end().to_owned(), "")
    })?;
    let whole = Table::from_iter([("scenario".to_owned(), Value::Table(table))]);
    toml::to_string(&whole).map_err(|error| refuse("", error.to_string(), ""))
}

/// Checks that a scenario can be read, without running it.
#[pyfunction]
#[pyo3(signature = (scenario, overrides, folder = PathBuf::new()))]
pub(crate) fn check(
    scenario: &Bound<'_, PyAny>,
    overrides: &Bound<'_, PyDict>,
    folder: PathBuf,
) -> PyResult<()> {
    load(scenario, overrides, None, &folder).map(|_| ())
}

/// Overrides as the command line has them, in a list.
#[pyfunction]
pub(crate) fn settings(overrides: &Bound<'_, PyDict>) -> PyResult<Vec<String>> {
    sets(overrides)
}

/// A text with several lines is TOML; one line is the name of a file.
fn text(source: &Bound<'_, PyAny>) -> Option<String> {
    let text: String = source.cast::<PyString>().ok()?.extract().ok()?;
    text.contains('\n').then_some(text)
}

/// Overrides as the command line has them.
fn sets(overrides: &Bound<'_, PyDict>) -> PyResult<Vec<String>> {
    let set = |(key, it): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let key: String = key.extract()?;
        let it = value(&it, &key, 0)?;
        Ok(format!("{key}={it}"))
    };
    overrides.iter().map(set).collect()
}

/// A dictionary as a table; keys whose value is None are left out.
fn dictionary(from: &Bound<'_, PyDict>, place: &str, depth: usize) -> PyResult<Table> {
    let mut table = Table::new();
    for (key, it) in from {
        let Ok(key) = key.extract::<String>() else {
            let message = format!("the key {key} isn't text");
            return Err(refuse(place, message, "keys of a scenario are text"));
        };
        if !it.is_none() {
            let place = if place.is_empty() {
                key.clone()
            } else {
                format!("{place}.{key}")
            };
            table.insert(key, value(&it, &place, depth + 1)?);
        }
    }
    Ok(table)
}

fn value(from: &Bound<'_, PyAny>, place: &str, depth: usize) -> PyResult<Value> {
    if depth > DEEPEST {
        return Err(refuse(
            place,
            "is nested too deeply".into(),
            "does it hold itself?",
        ));
    }
    let items = |items: Vec<Bound<'_, PyAny>>| {
        let item = |(number, item): (usize, &Bound<'_, PyAny>)| {
            value(item, &format!("{place}[{number}]"), depth + 1)
        };
        let items: PyResult<Vec<Value>> = items.iter().enumerate().map(item).collect();
        items.map(Value::Array)
    };
    if let Ok(flag) = from.cast::<PyBool>() {
        Ok(Value::Boolean(flag.is_true()))
    } else if let Ok(text) = from.cast::<PyString>() {
        Ok(Value::String(text.extract()?))
    } else if let Ok(table) = from.cast::<PyDict>() {
        dictionary(table, place, depth).map(Value::Table)
    } else if let Ok(list) = from.cast::<PyList>() {
        items(list.iter().collect())
    } else if let Ok(tuple) = from.cast::<PyTuple>() {
        items(tuple.iter().collect())
    } else {
        number_or_path(from, place)
    }
}

/// A number, also one of numpy's, or a path.
fn number_or_path(from: &Bound<'_, PyAny>, place: &str) -> PyResult<Value> {
    if from.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(from.extract()?));
    }
    if from.is_instance_of::<PyInt>() || from.hasattr("__index__")? {
        let number = from.extract::<i64>();
        return number.map(Value::Integer).map_err(|_| {
            let message = format!("{from} doesn't fit");
            refuse(place, message, "whole numbers are from -2^63 to 2^63 - 1")
        });
    }
    if from.hasattr("__float__")? {
        return Ok(Value::Float(from.extract()?));
    }
    if from.hasattr("__fspath__")? {
        let path: PathBuf = from.extract()?;
        if let Some(text) = path.to_str() {
            return Ok(Value::String(text.into()));
        }
    }
    let kind = from.get_type().name()?;
    let message = format!("can't be of type {kind}");
    let hint = "write text, a number, True or False, a list or a dict; values with a unit are text, as in \"100Gbps\"";
    Err(refuse(place, message, hint))
}

fn refuse(place: &str, message: String, hint: &str) -> PyErr {
    let place = if place.is_empty() { "scenario" } else { place };
    error::scenario(&Error::new(place, message, hint))
}
