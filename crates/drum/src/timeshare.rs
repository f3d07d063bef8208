//! Long-run rates of applications that take turns.
//!
//! An application that is active for a share `tau` of the time at its peak rate has the long-run rate
//! `x = tau peak`. So at most `k` active queue pairs are one more row, `sum x / peak <= k`, and no
//! selection is left to make.

use alloc::vec::Vec;

use crate::error::{Error, Place};
use crate::host::{Host, Load, Row, RowName, Supply};
use crate::mode::{Mode, Options};
use crate::solution::Solution;
use crate::solve::resolve;
use crate::topk::rules::with_caps;

/// Solves a checked host's problem under [`Mode::TimeShare`]; the row of queue pairs comes last.
///
/// # Errors
/// If slots or peaks aren't positive numbers, a floor is above its peak, or as
/// [`solve`](crate::solve).
pub(crate) fn solve(
    host: &Host<'_>,
    k: f64,
    peak: &[f64],
    options: &Options,
    start: &[f64],
) -> Result<Solution, Error> {
    check(host, k, peak)?;
    let loads: Vec<f64> = peak.iter().map(|peak| 1.0 / peak).collect();
    let maxima = host.applications.maximum.iter().zip(peak);
    let caps: Vec<f64> = maxima.map(|(most, peak)| most.min(*peak)).collect();
    let mut shared = with_caps(host, &caps);
    shared.rows.push(Row {
        name: RowName::Slots,
        load: Load::Requests(&loads),
        supply: Supply::Capacity(k),
    });
    resolve(&shared, &Mode::All, options, start)
}

fn check(host: &Host<'_>, k: f64, peak: &[f64]) -> Result<(), Error> {
    let refuse = |place, value, expected| {
        Err(Error::Number {
            place,
            value,
            expected,
        })
    };
    let positive = |value: f64| value > 0.0 && value.is_finite();
    if !positive(k) {
        return refuse(Place::Field("k"), k, "a positive number");
    }
    if peak.len() != host.applications.len() {
        return Err(Error::Shape {
            place: Place::Field("peak_rate"),
            length: peak.len(),
            applications: host.applications.len(),
        });
    }
    for (index, (&peak, &floor)) in peak.iter().zip(host.applications.minimum).enumerate() {
        let place = Place::Entry("peak_rate", index);
        if !positive(peak) {
            return refuse(place, peak, "a positive number");
        }
        if floor > peak {
            return refuse(place, peak, "at least x_min");
        }
    }
    if k > host.applications.len() as f64 {
        return refuse(Place::Field("k"), k, "at most the number of applications");
    }
    Ok(())
}
