//! What is wrong, where, and what to do about it.

pub use fairlane_units::Mistake as Error;

/// A mistake: its place, message and hint, both as for `format!`, as in `mistake!("name", "is {name}"; "leave it out")`.
macro_rules! mistake {
    ($place:expr, $message:literal $(, $value:expr)*; $hint:literal $(, $other:expr)*) => {
        $crate::Error::new(
            $place,
            format_args!($message $(, $value)*).to_string(),
            format_args!($hint $(, $other)*).to_string(),
        )
    };
}

/// Returns a mistake, as [`mistake!`] takes it.
macro_rules! bail {
    ($($mistake:tt)*) => {
        return Err($crate::error::mistake!($($mistake)*))
    };
}

/// Returns a mistake unless a condition holds.
macro_rules! ensure {
    ($holds:expr, $($mistake:tt)*) => {
        let holds: bool = $holds;
        if !holds {
            $crate::error::bail!($($mistake)*);
        }
    };
}

pub(crate) use {bail, ensure, mistake};

/// The candidate that `word` most likely means, if one is near enough to be a typing mistake.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    // Swapping two neighbours is one edit; long words are compared by their first 64 characters.
    let beginning = |word: &str| word.chars().take(64).collect::<String>();
    let distance = |other| strsim::osa_distance(&beginning(word), &beginning(other));
    candidates
        .into_iter()
        .map(|candidate| (distance(candidate), candidate))
        .filter(|(far, candidate)| *far <= limit || (word.len() > 2 && candidate.starts_with(word)))
        .min()
        .map(|(_, candidate)| candidate)
}

/// A hint that names the candidate which `word` most likely means, between `quote`s, or says `otherwise`.
pub(crate) fn suggestion<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    quote: char,
    otherwise: impl Into<String>,
) -> String {
    match nearest(word, candidates) {
        Some(meant) => format!("did you mean {quote}{meant}{quote}?"),
        None => otherwise.into(),
    }
}
