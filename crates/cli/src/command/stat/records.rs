//! Counters for programs: JSON, and one line of CSV for each.

use serde::Serialize;

use super::Sample;
use super::device::{Device, Named};
use crate::failure::Failure;

/// What is printed as JSON.
#[derive(Serialize)]
pub(super) struct Record<'a> {
    /// Seconds of Unix.
    time: f64,
    devices: &'a [Device],
}

pub(super) fn json(sample: &Sample) -> Record<'_> {
    Record {
        time: sample.time,
        devices: &sample.devices,
    }
}

/// The same in one line.
pub(super) fn line(sample: &Sample) -> Result<String, Failure> {
    let text = serde_json::to_string(&json(sample));
    text.map_err(|error| Failure::new(format!("JSON: {error}")))
}

/// A line for each counter; of queue pairs with their number.
pub(super) fn csv(sample: &Sample, with_header: bool) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let failed = |error: csv::Error| Failure::new(format!("CSV: {error}"));
    if with_header {
        let header = [
            "time", "device", "address", "pid", "program", "qp", "counter", "value",
        ];
        writer.write_record(header).map_err(failed)?;
    }
    let time = format!("{:.3}", sample.time);
    for device in &sample.devices {
        let pid = device.pid.to_string();
        let mut put = |pair: &str, counters: &[Named]| {
            counters.iter().try_for_each(|(name, value)| {
                let (address, program) = (&device.address, &device.program);
                let value = value.to_string();
                let fields = [
                    &time,
                    &device.device,
                    address,
                    &pid,
                    program,
                    pair,
                    name,
                    &value,
                ];
                writer.write_record(fields)
            })
        };
        put("", &device.counters).map_err(failed)?;
        for pair in device.pairs.iter().flatten() {
            put(&pair.number.to_string(), &pair.counters).map_err(failed)?;
        }
    }
    let bytes = writer.into_inner();
    let bytes = bytes.map_err(|error| Failure::new(format!("CSV: {error}")))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
