//! From text to inputs, with the path of whatever is wrong.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Deserializer, Value};

use crate::error::{Error, SCHEMA};
use crate::inputs::{Document, Inputs};

/// The keys of a document that are read; all others are left alone.
#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default, borrow)]
    inputs: Option<&'a RawValue>,
}

impl Document {
    /// Reads one problem.
    ///
    /// # Errors
    /// If the text isn't JSON, or not a problem: with the path of what is wrong.
    pub fn read(text: &str) -> Result<Self, Error> {
        // Some editors begin a file with a byte order mark.
        document(text.strip_prefix('\u{feff}').unwrap_or(text))
    }
}

fn document(text: &str) -> Result<Document, Error> {
    let outline: Outline<'_> = serde_json::from_str(text).map_err(|error| explain(text, &error))?;
    let kind = outline
        .kind
        .ok_or_else(|| missing("kind", "add \"kind\": \"host_fixed\""))?;
    let raw = outline
        .inputs
        .ok_or_else(|| missing("inputs", "add \"inputs\": { ... }"))?
        .get();
    let problem = match kind.as_str() {
        "host_fixed" => Inputs::HostFixed(inputs(raw)?),
        "host_pwl" => Inputs::HostPwl(inputs(raw)?),
        "host_topk" => Inputs::HostTopk(inputs(raw)?),
        "host_timeshare" => Inputs::HostTimeshare(inputs(raw)?),
        "coupled" => Inputs::Coupled(inputs(raw)?),
        other => {
            let known = Inputs::KINDS.join(", ");
            let message = format!("unknown kind \"{other}\", expected one of {known}");
            return Err(Error::new("kind", message, SCHEMA));
        }
    };
    Ok(Document {
        name: outline.name,
        problem,
    })
}

fn missing(key: &str, hint: &str) -> Error {
    Error::new(key, "missing", hint)
}

fn inputs<T: DeserializeOwned>(raw: &str) -> Result<T, Error> {
    let mut deserializer = Deserializer::from_str(raw);
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." {
            "inputs".to_owned()
        } else {
            format!("inputs.{path}")
        };
        Error::new(place, words(error.inner()), SCHEMA)
    })
}

/// What is wrong with a text that isn't a document; it is read again for the path.
fn explain(text: &str, error: &serde_json::Error) -> Error {
    let place = format!("line {} column {}", error.line(), error.column());
    if error.is_eof() {
        return Error::new(
            place,
            "the JSON ends too early",
            "a closing bracket is missing",
        );
    }
    if error.is_data() {
        return Error::new(place, words(error), SCHEMA);
    }
    let again = serde_path_to_error::deserialize::<_, Value>(&mut Deserializer::from_str(text));
    let path = again.err().map(|error| error.path().to_string());
    // A question mark is a key that can't be read.
    let path = path.as_deref().unwrap_or_default();
    let place = match path.trim_end_matches(['.', '?']) {
        "" => place,
        path => format!("{path} ({place})"),
    };
    let hint = match error.to_string().starts_with("expected value") {
        true => "numbers are written as in 1.5e6: JSON has no NaN and no Infinity",
        false => "the file must be JSON",
    };
    Error::new(place, words(error), hint)
}

/// The message without its position, which counts from the beginning of the inputs.
fn words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(words, _)| words);
    let text = text.replace(", expected f64", ", expected a number");
    text.replace(", expected usize", ", expected a whole number")
        .replace("expected a sequence", "expected a list in [ ]")
        .replace(
            "expected ident",
            "expected null, true, false, a number, text in quotes, a list or an object",
        )
}
