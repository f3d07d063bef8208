//! Faults on purpose, as the environment names them.

use fairlane_softnic::Faults;

use crate::guard::Errno;
use crate::words::{note, say};

/// The faults that the environment names.
///
/// # Errors
/// If they aren't understood: a test that runs without its faults would prove nothing.
pub(crate) fn named() -> Result<Option<Faults>, Errno> {
    let Some(text) = std::env::var_os(Faults::VARIABLE) else {
        return Ok(None);
    };
    let faults: Faults = text.to_string_lossy().parse().map_err(|mistake| {
        let fairlane_units::Mistake { message, hint, .. } = mistake;
        say(&format!("{}: {message}\nhint: {hint}", Faults::VARIABLE));
        Errno::INVALID
    })?;
    note(&format!("faults on purpose: {faults}"));
    Ok(Some(faults))
}
