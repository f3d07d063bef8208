//! Errors as exceptions of `fairlane.errors`, with their place and hint.

use std::path::Path;

use pyo3::prelude::*;

/// An exception of `fairlane.errors`.
fn exception(class: &str, message: &str, place: &str, hint: Option<&str>) -> PyErr {
    Python::attach(|py| {
        let make = || {
            let class = py.import("fairlane.errors")?.getattr(class)?;
            class.call1((message, place, hint))
        };
        make().map_or_else(|error| error, PyErr::from_value)
    })
}

/// A mistake in a scenario. Places on the command line are called by their name in Python.
pub(crate) fn scenario(error: &fairlane_scenario::Error) -> PyErr {
    let place = match error.place.strip_prefix("--set ") {
        Some(set) => format!("override {set}"),
        None => error.place.clone(),
    };
    let hint = error.hint.replace("--set ", "an override ");
    let hint = Some(hint).filter(|hint| !hint.is_empty());
    exception("ScenarioError", &error.message, &place, hint.as_deref())
}

/// Files of a run that can't be read; the place is their directory.
pub(crate) fn unreadable(error: fairlane_results::Error, directory: &Path) -> PyErr {
    let place = directory.display().to_string();
    let message = error.message.strip_prefix(&format!("{place}: "));
    let message = message.unwrap_or(&error.message);
    exception("FairlaneError", message, &place, error.hint.as_deref())
}

/// A library that isn't installed, and what needs it.
pub(crate) fn missing(library: &str, needed: &str) -> PyErr {
    let hint = format!("pip install {library}");
    exception(
        "MissingError",
        &format!("{needed} needs {library}"),
        "",
        Some(&hint),
    )
}

/// Files that can't be written.
pub(crate) fn results(error: fairlane_results::Error) -> PyErr {
    let hint = error.hint.map(|hint| {
        hint.replace("--force", "force=True")
            .replace("--out", "out")
    });
    exception("WriteError", &error.message, "", hint.as_deref())
}

/// Results that contradict themselves.
pub(crate) fn bug(violations: &[String]) -> PyErr {
    let list = violations.join("\n  ");
    let message =
        format!("the results contradict themselves, which is a bug in fairlane:\n  {list}");
    let hint = "please report this with the scenario and its side files";
    exception("FairlaneError", &message, "", Some(hint))
}

/// The command's flags by their names in Python.
fn in_python(text: &str) -> String {
    let flags = [
        ("--set ", "an override "),
        ("--force", "force=True"),
        ("--extend", "extend=True"),
        ("--yes", "yes=True"),
        ("--out", "out"),
        ("--", ""),
    ];
    flags.iter().fold(text.to_owned(), |text, (flag, word)| {
        text.replace(flag, word)
    })
}

/// An experiment, or a run of a sweep, that can't be.
pub(crate) fn experiment(error: &fairlane_experiments::Error) -> PyErr {
    let hint = Some(in_python(&error.hint)).filter(|hint| !hint.is_empty());
    let message = in_python(&error.message);
    exception("FairlaneError", &message, "", hint.as_deref())
}

/// What a folder of a sweep has against it.
pub(crate) fn unwritten(error: &fairlane_experiments::Error) -> PyErr {
    let hint = Some(in_python(&error.hint)).filter(|hint| !hint.is_empty());
    exception("WriteError", &error.message, "", hint.as_deref())
}

/// A mistake in a sweep. Of a text that messages call `name`, `places` are what its lines were made from.
pub(crate) fn of_sweep(
    error: &fairlane_experiments::Error,
    name: &str,
    places: &[String],
) -> PyErr {
    let hint = Some(in_python(&error.hint)).filter(|hint| !hint.is_empty());
    let (place, message) = match error.message.strip_prefix(&format!("{name}:")) {
        Some(rest) if !places.is_empty() => located(rest, places),
        _ => (String::new(), error.message.clone()),
    };
    let message = message.replace("--set ", "");
    exception("ScenarioError", &message, &place, hint.as_deref())
}

/// The place of `LINE:COLUMN: message`, and the message, without the axis that the place is.
fn located(rest: &str, places: &[String]) -> (String, String) {
    let mut parts = rest.splitn(3, ':');
    let line = parts.next().and_then(|line| line.parse::<usize>().ok());
    let place = line.and_then(|line| places.get(line.checked_sub(1)?));
    match (place, parts.nth(1)) {
        (Some(place), Some(message)) => {
            let message = message.trim_start();
            let axis = message
                .strip_prefix("axis \"")
                .and_then(|rest| rest.split_once("\": "));
            let message = axis.map_or(message, |(_, message)| message);
            (place.clone(), message.to_owned())
        }
        _ => (String::new(), rest.trim_start().to_owned()),
    }
}

/// A problem of DRUM that isn't one, or has no solution.
pub(crate) fn problem(error: &fairlane_drum_file::Error, within: &str) -> PyErr {
    let within = if within.is_empty() {
        String::new()
    } else {
        format!("{within}: ")
    };
    let mut text = format!("{within}{}: {}", error.place, error.message);
    if !error.hint.is_empty() {
        text.push_str("\nhint: ");
        text.push_str(&error.hint);
    }
    crate::drum::ProblemError::new_err(in_python(&text))
}
