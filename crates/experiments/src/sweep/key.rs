//! What tells runs apart: a digest of everything that their records depend on.

use std::fmt::Write as _;

use fairlane_scenario::Loaded;
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::sweep::wanted::Wanted;

/// Bytes of a digest that are kept: enough that no two differ by accident only.
const KEPT: usize = 16;

/// The digest of a resolved scenario and the files that it names.
pub(super) fn scenario(loaded: &Loaded) -> Result<String, Error> {
    let mut parts = vec![loaded.scenario.to_toml()?];
    for file in &loaded.inputs.files {
        parts.extend([file.key.clone(), file.text.clone()]);
    }
    for (number, trace) in (0..).zip(&loaded.inputs.traces) {
        for file in trace.iter().flatten() {
            parts.extend([format!("{number}"), of_bytes(&[&file.bytes])]);
        }
    }
    Ok(digest(&parts))
}

/// The digest of the keys that a resolved scenario has and the names of its tenants, whatever other values are: where these are
/// the same, so are the names of figures.
pub(super) fn outline(loaded: &Loaded) -> Result<String, Error> {
    let text = loaded.to_toml()?;
    let key = |line: &str| line.split(" = ").next().unwrap_or_default().to_owned();
    let tenants = loaded.scenario.tenant.iter();
    let names = tenants.map(|tenant| tenant.name.clone());
    let parts: Vec<String> = text.lines().map(key).chain(names).collect();
    Ok(digest(&parts))
}

/// The digest of a combination: what is simulated and what is measured, by this version as it was built: its sources and those of
/// what it uses.
pub(super) fn point(
    scenario: &str,
    (metrics, curves): (&[Wanted], &[Wanted]),
    numbers: &[(String, f64)],
) -> String {
    // Plain names and numbers always serialise.
    let wanted = serde_json::to_string(&(metrics, curves, numbers)).unwrap_or_default();
    digest(&[
        env!("CARGO_PKG_VERSION").into(),
        env!("FAIRLANE_SOURCES").into(),
        scenario.into(),
        wanted,
    ])
}

/// The digest of one run of a combination.
pub(super) fn run(point: &str, seed: u64) -> String {
    digest(&[point.into(), seed.to_string()])
}

/// The digest of texts, in order.
pub(super) fn digest(parts: &[String]) -> String {
    of_bytes(&parts.iter().map(String::as_bytes).collect::<Vec<_>>())
}

fn of_bytes(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut text = String::new();
    for byte in hash.finalize().iter().take(KEPT) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
