//! Counters for programs: JSON, and one line of CSV for each.

use super::Sample;
use super::device::Named;
use crate::failure::Failure;
use fairlane_results::to_csv;

/// JSON in one line.
pub(super) fn line(sample: &Sample) -> Result<String, Failure> {
    let text = serde_json::to_string(sample);
    text.map_err(|error| Failure::new(format!("JSON: {error}")))
}

/// A line for each counter; of queue pairs with their number.
pub(super) fn csv(sample: &Sample, with_header: bool) -> Result<String, Failure> {
    let header = [
        "time", "device", "address", "pid", "program", "qp", "counter", "value",
    ];
    let mut lines: Vec<_> = with_header
        .then(|| header.map(str::to_owned))
        .into_iter()
        .collect();
    for device in &sample.devices {
        let mut put = |pair: &str, counters: &[Named]| {
            lines.extend(counters.iter().map(|(name, value)| {
                [
                    format!("{:.3}", sample.time),
                    device.device.clone(),
                    device.address.clone(),
                    device.pid.to_string(),
                    device.program.clone(),
                    pair.to_owned(),
                    name.clone(),
                    value.to_string(),
                ]
            }));
        };
        put("", &device.counters);
        for pair in device.pairs.iter().flatten() {
            put(&pair.number.to_string(), &pair.counters);
        }
    }
    Ok(to_csv(lines)?)
}
