//! Operations and the protocol that carries them.

use fairlane_units::{Bytes, Duration};

use super::workload::context;
use super::{Check, Subject};
use crate::error::ensure;
use crate::rules;
use crate::types::{Profile, Recovery, Scenario, Transport, Verb};

/// What FETCH-ADD and CMP-SWAP work on (IBTA 9.4.5).
const ATOMIC: Bytes = Bytes::new(8);
/// The longest message (IBTA 9.7.7).
const LONGEST_READ: Bytes = Bytes::new(1 << 31);
/// Half the circle of PSNs (IBTA 9.7.2): what may be under way at once.
const MOST_PACKETS: u64 = 1 << 23;

pub(super) fn check(subject: &Subject<'_>) -> Check {
    transport(subject.scenario.profile, &subject.scenario.transport)?;
    for (index, workload) in subject.scenario.workload.iter().enumerate() {
        let key = |key: &str| format!("workload[{index}].{key}");
        let (scenario, verb) = (subject.scenario, workload.verb());
        operation(scenario, verb, &key("verb"))?;
        if let Some(stated) = workload.kind().sizes(&context(subject, index)) {
            let ends = [stated.smallest, stated.largest];
            sized(scenario, verb, ends, &key(stated.key))?;
        }
    }
    Ok(())
}

fn transport(profile: Profile, transport: &Transport) -> Check {
    let selective = transport.recovery == Recovery::SelectiveRepeat;
    if let Some(tolerance) = transport.reorder_tolerance {
        let (place, window) = ("transport.reorder_tolerance", transport.reorder_window);
        ensure!(selective, place, "is stated, expected only with recovery = \"selective-repeat\"";
            "leave it out: to go-back-n every gap is a loss");
        // A gap can't be longer than what the receiver keeps behind it.
        ensure!(tolerance < window, place,
            "is {tolerance}, expected less than reorder_window, {window}";
            "lower it, or raise reorder_window");
    }
    let plain = |key: &str, plain: bool, expected: &str| {
        ensure!(plain || profile != Profile::HpccNs3, format!("transport.{key}"),
            "expected {expected} in profile hpcc-ns3";
            "that simulator has nothing else; use profile \"exact\"");
        Ok(())
    };
    plain("ack_interval", transport.ack_interval == 1, "1")?;
    plain("recovery", !selective, "\"go-back-n\"")?;
    plain("direct_placement", !transport.direct_placement, "false")
}

impl Scenario {
    /// Checks what every message must obey under this scenario, whoever made it.
    ///
    /// # Errors
    /// A size, class, start or verb that a run can't have; the place is the name of the quantity.
    pub fn check_message(&self, verb: Verb, size: Bytes, class: u8, start: Duration) -> Check {
        rules::message(self.profile, &size).map_err(|error| error.at("size"))?;
        rules::class(self.profile, &class).map_err(|error| error.at("class"))?;
        rules::span(self.profile, &start).map_err(|error| error.at("start"))?;
        operation(self, verb, "verb")?;
        sized(self, verb, [size; 2], "size")
    }
}

fn operation(scenario: &Scenario, verb: Verb, place: &str) -> Check {
    ensure!(scenario.profile != Profile::HpccNs3 || verb == Verb::Write, place,
        "is \"{verb}\", expected \"write\"";
        "that simulator has nothing else; use profile \"exact\"");
    Ok(())
}

/// Checks the smallest and the largest message of a verb.
fn sized(scenario: &Scenario, verb: Verb, [smallest, largest]: [Bytes; 2], place: &str) -> Check {
    ensure!(!verb.is_atomic() || (smallest == ATOMIC && largest == ATOMIC), place,
        "has messages other than 8 B, expected 8 B for {verb}"; "an atomic works on eight bytes");
    let packets = largest.get().div_ceil(scenario.packet.mtu.get());
    let fits = packets <= MOST_PACKETS;
    ensure!(verb != Verb::Read || (fits && largest <= LONGEST_READ), place,
        "has a READ of {largest}, expected at most {LONGEST_READ} and 2^23 packets";
        "split it into several");
    ensure!(fits || !scenario.transport.direct_placement, place,
        "has a message of {packets} packets, expected at most 2^23";
        "with transport.direct_placement; split it into several");
    Ok(())
}
