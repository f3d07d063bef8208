//! Operations and the protocol that carries them.

use fairlane_units::{Bytes, Duration};

use super::limits::{fail, message_size, span};
use super::{Check, Subject, limits};
use crate::sizes::LARGEST_MESSAGE;
use crate::types::{Profile, Recovery, Scenario, Transport, Verb, Workload};

/// What FETCH-ADD and CMP-SWAP work on (IBTA 9.4.5).
const ATOMIC: Bytes = Bytes::new(8);
/// The longest message (IBTA 9.7.7).
const LONGEST_READ: Bytes = Bytes::new(1 << 31);
/// Half the circle of PSNs (IBTA 9.7.2): what may be under way at once.
const MOST_PACKETS: u64 = 1 << 23;

pub(super) fn check(subject: &Subject<'_>) -> Check {
    transport(subject.scenario.profile, &subject.scenario.transport)?;
    for (index, workload) in subject.scenario.workload.iter().enumerate() {
        verb(subject, index, workload)?;
    }
    Ok(())
}

fn transport(profile: Profile, transport: &Transport) -> Check {
    reorder_tolerance(transport)?;
    if profile != Profile::HpccNs3 {
        return Ok(());
    }
    let hint = "that simulator has nothing else; use profile \"exact\"";
    let plain = |key: &str, plain: bool, expected: &str| {
        if plain {
            return Ok(());
        }
        let message = format!("expected {expected} in profile hpcc-ns3");
        fail(format!("transport.{key}"), message, hint)
    };
    plain("ack_interval", transport.ack_interval == 1, "1")?;
    plain(
        "recovery",
        transport.recovery == Recovery::GoBackN,
        "\"go-back-n\"",
    )?;
    plain("direct_placement", !transport.direct_placement, "false")
}

/// A gap can't be longer than what the receiver keeps behind it.
fn reorder_tolerance(transport: &Transport) -> Check {
    let Some(tolerance) = transport.reorder_tolerance else {
        return Ok(());
    };
    let place = "transport.reorder_tolerance";
    if transport.recovery != Recovery::SelectiveRepeat {
        let message = "is stated, expected only with recovery = \"selective-repeat\"";
        let hint = "leave it out: to go-back-n every gap is a loss";
        return fail(place, message, hint);
    }
    if tolerance < transport.reorder_window {
        return Ok(());
    }
    let message = format!(
        "is {tolerance}, expected less than reorder_window, {}",
        transport.reorder_window
    );
    fail(place, message, "lower it, or raise reorder_window")
}

impl Scenario {
    /// Checks what every message must obey under this scenario, whoever made it.
    ///
    /// # Errors
    /// A size, class, start or verb that a run can't have; the place is the name of the quantity.
    pub fn check_message(&self, verb: Verb, size: Bytes, class: u8, start: Duration) -> Check {
        message_size(size).map_err(|error| error.at("size"))?;
        limits::class(class).map_err(|error| error.at("class"))?;
        span(self.profile, start).map_err(|error| error.at("start"))?;
        operation(self, verb, "verb")?;
        sized(self, verb, [size; 2], "size")
    }
}

fn verb(subject: &Subject<'_>, index: usize, workload: &Workload) -> Check {
    let key = |key: &str| format!("workload[{index}].{key}");
    operation(subject.scenario, workload.verb(), &key("verb"))?;
    match sizes(subject, index, workload) {
        Some((place, smallest, largest)) => sized(
            subject.scenario,
            workload.verb(),
            [smallest, largest],
            &key(place),
        ),
        None => Ok(()),
    }
}

fn operation(scenario: &Scenario, verb: Verb, place: &str) -> Check {
    if scenario.profile != Profile::HpccNs3 || verb == Verb::Write {
        return Ok(());
    }
    let message = format!("is \"{}\", expected \"write\"", verb.name());
    let hint = "that simulator has nothing else; use profile \"exact\"";
    fail(place, message, hint)
}

/// Checks the smallest and the largest message of a verb.
fn sized(scenario: &Scenario, verb: Verb, [smallest, largest]: [Bytes; 2], place: &str) -> Check {
    if verb.is_atomic() && (smallest != ATOMIC || largest != ATOMIC) {
        let message = format!(
            "has messages other than 8 B, expected 8 B for {}",
            verb.name()
        );
        return fail(place, message, "an atomic works on eight bytes");
    }
    let packets = largest.get().div_ceil(scenario.packet.mtu.get());
    if verb == Verb::Read && (largest > LONGEST_READ || packets > MOST_PACKETS) {
        let message =
            format!("has a READ of {largest}, expected at most {LONGEST_READ} and 2^23 packets");
        return fail(place, message, "split it into several");
    }
    if scenario.transport.direct_placement && packets > MOST_PACKETS {
        let message = format!("has a message of {packets} packets, expected at most 2^23");
        let hint = "with transport.direct_placement; split it into several";
        return fail(place, message, hint);
    }
    Ok(())
}

/// Where a workload states its sizes, and the smallest and largest.
pub(super) fn sizes(
    subject: &Subject<'_>,
    index: usize,
    workload: &Workload,
) -> Option<(&'static str, Bytes, Bytes)> {
    let one = |size| Some(("size", size, size));
    let distribution = || {
        let sizes = subject.inputs.sizes.get(index)?.as_ref()?;
        let (first, last) = (sizes.points().first()?, sizes.points().last()?);
        Some(("sizes", first.size, last.size))
    };
    match workload {
        Workload::Poisson(_) => distribution(),
        Workload::Incast(it) => one(it.size),
        Workload::Permutation(it) => one(it.size),
        Workload::AllToAll(it) => one(it.size),
        Workload::KeyValue(it) => match (it.size, it.range) {
            (Some(size), _) => one(size),
            (_, Some(range)) => Some(("range", range.low, range.high)),
            _ => distribution(),
        },
        // Each step carries a part of the vector.
        Workload::RingAllReduce(it) => Some(("size", Bytes::new(1), it.size)),
        // Of a larger one, too, no message is larger than that.
        Workload::Collective(it) => Some(("size", Bytes::new(1), it.size.min(LARGEST_MESSAGE))),
        // The fabric checks each message.
        Workload::Training(_) | Workload::Program(_) => None,
        Workload::Flows(it) => {
            let flows = subject.inputs.flows.get(index)?.as_ref()?;
            let sizes = || flows.iter().map(|flow| flow.size);
            let key = if it.path.is_some() { "path" } else { "flow" };
            Some((key, sizes().min()?, sizes().max()?))
        }
    }
}
