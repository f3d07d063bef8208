//! How much slower than real time a fabric must go.

use std::collections::BTreeSet;

use fairlane_fabric::base_round_trip;
use fairlane_scenario::{Error, Loaded, layout};

/// The part of the base round trip that one event in a hundred may be later than.
pub(crate) const TOLERATED: f64 = 0.05;
/// How late one in a hundred is, in seconds of real time: where there is a core for each program, and where there isn't. Measured on two
/// cores (docs/lab.md).
const LATE: [f64; 2] = [250e-6, 1.5e-3];
/// Transmissions that a core makes in a second, at least, and how many of them a packet needs from host to host on average.
const TRANSMISSIONS: f64 = 4e5;
const HOPS: f64 = 4.0;
/// What a scale is without programs.
const USUAL: f64 = 100.0;

/// The least of 1, 2 and 5 times a power of ten that a scenario's programs are expected to need on so many cores.
///
/// # Errors
/// If the fabric can't be built.
pub fn scale(loaded: &Loaded, cores: usize) -> Result<f64, Error> {
    let (scenario, inputs) = (&loaded.scenario, &loaded.inputs);
    let programs = scenario.lab.iter().flat_map(|lab| &lab.program);
    let hosts: BTreeSet<u32> = programs.clone().map(|program| program.host).collect();
    if hosts.is_empty() {
        return Ok(USUAL);
    }
    let late = LATE[usize::from(programs.count() > cores)];
    let base_rtt = base_round_trip(loaded)?.time.as_secs_f64();
    let links = layout(scenario, inputs).links;
    let own = links
        .iter()
        .filter(|link| hosts.contains(&link.a) || hosts.contains(&link.b));
    let bits: f64 = own.map(|link| link.rate.as_bps() as f64).sum();
    let packets = bits / (8.0 * (scenario.packet.mtu + scenario.packet.header).as_f64());
    let needed = (late / (TOLERATED * base_rtt)).max(packets * HOPS / TRANSMISSIONS);
    Ok(rounded_up(needed.max(1.0)))
}

/// The least of 1, 2 and 5 times a power of ten that isn't below a number.
fn rounded_up(number: f64) -> f64 {
    let power = 10_f64.powf(number.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    let enough = steps.into_iter().find(|step| *step >= number);
    enough.unwrap_or(10.0 * power).min(1e6)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn scales_are_round_and_enough() {
        for (number, expected) in [(1.0, 1.0), (1.1, 2.0), (340.0, 500.0), (5001.0, 10_000.0)] {
            assert!((rounded_up(number) - expected).abs() < 1e-9, "{number}");
        }
    }

    #[test]
    fn late_events_or_packets_decide() {
        let load = |delay: &str, programs: &[&str]| {
            let mut text = format!(
                "topology = {{ kind = \"star\", hosts = 3, host_link = {{ rate = \"10Gbps\", delay = \"{delay}\" }} }}\n"
            );
            for name in programs {
                text +=
                    &format!("[[lab.program]]\nname = \"{name}\"\nhost = 0\ncommand = [\"x\"]\n");
            }
            let loaded = fairlane_scenario::parse(&text, "x", Path::new("."), &[], None);
            scale(&loaded.unwrap(), 1).unwrap()
        };
        // The round trip is 4 ms: 10 Gb/s of packets of 1086 bytes, each sent four times, are 11.5 times what a core does.
        assert_eq!(load("1ms", &["a"]), 20.0);
        // The round trip is 8 us and up to 2 us of packets: 1.5 ms are 5 % of it at 3000 to 3750, 250 us at 500 to 625.
        assert_eq!(load("2us", &["a"]), 1000.0);
        assert_eq!(load("2us", &["a", "b"]), 5000.0);
        assert_eq!(load("2us", &[]), USUAL);
    }
}
