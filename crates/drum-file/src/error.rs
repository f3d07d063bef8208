//! What is wrong with a problem, where, and what to do about it.

pub use fairlane_units::Mistake as Error;

/// Where every key is described.
pub(crate) const SCHEMA: &str = "`fairlane schema drum` has every key with its type and unit";

/// What the solver says. It names columns as the file does; here they get their place in the document.
pub(crate) fn of_solver(error: fairlane_drum::Error) -> Error {
    let text = error.to_string();
    let hint = error.hint().unwrap_or(SCHEMA);
    let (place, message) = text.split_once(": ").unwrap_or(("problem", &text));
    let word = place.split(['[', ' ']).next().unwrap_or_default();
    let place = match word {
        // Rows of a network have no names but their numbers.
        "row" if place.starts_with("row rows[") => place.replacen("row ", "inputs.", 1),
        "row" | "problem" | "application" => place.to_owned(),
        _ => format!("inputs.{place}"),
    };
    Error::new(place, message, hint)
}
