//! What the network does to packets that come, in tests.

use fairlane_softnic::Faults;
use fairlane_units::Duration;

use crate::words::say;

/// The variable that names faults: `loss=0.01 duplicate=0.01 reorder=0.01 corrupt=0.01 seed=7`.
const VARIABLE: &str = "FAIRLANE_FAULTS";

/// How long packets are held back that come out of order.
const DELAY: Duration = Duration::from_us(200);

/// The faults that the environment names.
pub(crate) fn named() -> Option<Faults> {
    let text = std::env::var(VARIABLE).ok()?;
    let read = read(&text);
    if read.is_none() {
        say(&format!("{VARIABLE}: \"{text}\" isn't understood"));
    }
    read
}

fn read(text: &str) -> Option<Faults> {
    let mut faults = Faults {
        delay: DELAY,
        ..Faults::default()
    };
    for word in text.split_whitespace() {
        let (name, value) = word.split_once('=')?;
        let often = value.parse::<f64>().ok()?;
        match name {
            "loss" => faults.loss = often,
            "duplicate" => faults.duplicate = often,
            "reorder" => faults.reorder = often,
            "corrupt" => faults.corrupt = often,
            "mark" => faults.mark = often,
            "seed" => faults.seed = value.parse().ok()?,
            _ => return None,
        }
    }
    Some(faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_by_name() {
        let faults = read("loss=0.01 seed=7").expect("they are right");
        assert_eq!((faults.loss, faults.seed, faults.corrupt), (0.01, 7, 0.0));
        assert!(read("loss").is_none() && read("lost=1").is_none() && read("loss=much").is_none());
    }
}
