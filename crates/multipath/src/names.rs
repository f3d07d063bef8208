//! Names that stand in no list.

use alloc::format;
use alloc::string::String;

use crate::Mistake;

/// That no `what` has such a name.
pub(crate) fn unknown(place: &str, what: &str, name: &str, known: &[&str]) -> Mistake {
    let name: String = name.chars().take(40).collect();
    let message = format!("no {what} is called \"{name}\"");
    Mistake::new(place, message, format!("take one of {}", known.join(", ")))
}
