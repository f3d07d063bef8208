//! What the environment names of devices: settings, and faults on purpose.

use fairlane_softnic::{Faults, Settings};
use fairlane_units::Mistake;

use crate::guard::Errno;
use crate::words::{note, say};

fn refuse(variable: &str, wrong: &Mistake) -> Errno {
    let Mistake { message, hint, .. } = wrong;
    say(&format!("{variable}: {message}\nhint: {hint}"));
    Errno::INVALID
}

/// Words of settings that the environment has.
pub(crate) fn words() -> String {
    let text = std::env::var_os(Settings::VARIABLE).unwrap_or_default();
    text.to_string_lossy().into_owned()
}

/// Changes what the environment names of settings.
///
/// # Errors
/// If it isn't understood: tenants would have other shares than was meant.
pub(crate) fn apply(settings: &mut Settings) -> Result<(), Errno> {
    let line = words();
    (settings.set(&line)).map_err(|wrong| refuse(Settings::VARIABLE, &wrong))?;
    if !line.trim().is_empty() {
        note(&format!("settings: {line}"));
    }
    Ok(())
}

/// The faults that the environment names.
///
/// # Errors
/// If they aren't understood: a test that runs without its faults would prove nothing.
pub(crate) fn faults() -> Result<Option<Faults>, Errno> {
    let Some(text) = std::env::var_os(Faults::VARIABLE) else {
        return Ok(None);
    };
    let read = text.to_string_lossy().parse();
    let faults: Faults = read.map_err(|wrong| refuse(Faults::VARIABLE, &wrong))?;
    note(&format!("faults on purpose: {faults}"));
    Ok(Some(faults))
}
