//! Numbers as people read them.

/// Three significant digits, without zeros that say nothing.
pub(crate) fn digits(number: f64) -> String {
    let places = match number.abs() {
        n if n >= 100.0 => 0,
        n if n >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{number:.places$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Picoseconds in the unit that suits them.
pub(crate) fn time(ps: u64) -> String {
    let units = [
        (1_000_000_000_000, "s"),
        (1_000_000_000, "ms"),
        (1_000_000, "us"),
    ];
    let found = units.into_iter().find(|(factor, _)| ps >= *factor);
    let (factor, unit) = found.unwrap_or((1000, "ns"));
    format!("{} {unit}", digits(ps as f64 / factor as f64))
}

/// Bytes in the unit that suits them.
pub(crate) fn bytes(bytes: u64) -> String {
    let units = [
        (1_000_000_000_000, "TB"),
        (1_000_000_000, "GB"),
        (1_000_000, "MB"),
        (1000, "kB"),
    ];
    match units.into_iter().find(|(factor, _)| bytes >= *factor) {
        Some((factor, unit)) => format!("{} {unit}", digits(bytes as f64 / factor as f64)),
        None => format!("{bytes} B"),
    }
}

/// A rate in Gb/s.
pub(crate) fn rate(bps: u64) -> String {
    format!("{} Gb/s", digits(bps as f64 / 1e9))
}

/// A share in percent.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 0.0 && percent < 1.0 => format!("{} %", digits(percent)),
        percent => format!("{percent:.0} %"),
    }
}

/// A count and what is counted: `1 path`, `8 paths`.
pub(crate) fn count(number: usize, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        number => format!("{number} {one}s"),
    }
}
