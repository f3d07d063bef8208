//! Long messages in pieces.

use fairlane_fabric::MessageSpec;
use fairlane_scenario::Error;
use fairlane_units::{Bytes, MessageId};

use crate::plan::Draft;
use crate::scene::{MOST_MESSAGES, Scene, error_at};

/// S2 (RDMA Congestion Control: It's Only for the Compliant), section IV: flows above 1 MB attack.
const LONG: Bytes = Bytes::new(1_000_000);

/// How a message is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Into pieces of one size, the last of which may be smaller.
    Pieces(Bytes),
    /// Into so many parts that differ by at most a byte.
    Parts(u32),
}

impl Cut {
    /// How many pieces a message has.
    fn count(self, size: Bytes) -> u64 {
        match self {
            Self::Pieces(piece) => size.get().div_ceil(piece.get().max(1)),
            Self::Parts(parts) => u64::from(parts).min(size.get()),
        }
    }

    /// The sizes of the pieces of a message; they add up to its size.
    pub(crate) fn sizes(self, size: Bytes) -> Vec<Bytes> {
        let (whole, step) = (size.get(), |bytes: u64| Bytes::new(bytes));
        match self {
            Self::Pieces(piece) => {
                let piece = piece.get().max(1);
                let starts = (0..whole).step_by(usize::try_from(piece).unwrap_or(usize::MAX));
                starts.map(|at| step(piece.min(whole - at))).collect()
            }
            Self::Parts(parts) => {
                let parts = u64::from(parts).clamp(1, whole.max(1));
                let part = |number: u64| whole / parts + u64::from(number < whole % parts);
                (0..parts).map(|number| step(part(number))).collect()
            }
        }
    }
}

/// Replaces each message of the attacker above the threshold by what `pieces` makes of it and of the sizes
/// that it is cut into.
///
/// # Errors
/// If there is no such message, or there would be more pieces than a run can hold.
pub(crate) fn replace_long(
    scene: &Scene<'_>,
    draft: &mut Draft,
    cut: Cut,
    pieces: impl Fn(MessageId, &MessageSpec, Vec<Bytes>) -> Vec<MessageSpec>,
) -> Result<(), Error> {
    let above = scene.attack.above.unwrap_or(LONG);
    let sizes = sizes(scene);
    let is_long = |job: MessageId| sizes[job.index()] > above;
    let long = || sizes.iter().filter(|size| **size > above);
    if long().next().is_none() {
        return Err(nothing_to_cut(scene, above, &sizes));
    }
    let count = long().fold(0, |sum: u64, size| sum.saturating_add(cut.count(*size)));
    if count > MOST_MESSAGES {
        let message =
            format!("cuts messages into {count} pieces, expected at most {MOST_MESSAGES}");
        return Err(error_at("piece", message, "send larger pieces"));
    }
    draft.replace(|number, message| {
        let job = message.part_of.unwrap_or(number);
        let size = sizes[job.index()];
        let is_first = job == number;
        is_long(job).then(|| match is_first {
            true => pieces(job, &MessageSpec { size, ..*message }, cut.sizes(size)),
            false => Vec::new(),
        })
    });
    Ok(())
}

/// By honest message, the size of the attacker's: of all its parts at the first of them, and else none.
fn sizes(scene: &Scene<'_>) -> Vec<Bytes> {
    let mut sizes = vec![Bytes::ZERO; scene.honest.len()];
    for (number, message) in scene.honest.iter().enumerate() {
        if message.tenant == scene.tenant {
            let job = message.part_of.map_or(number, MessageId::index);
            sizes[job] += message.size;
        }
    }
    sizes
}

fn nothing_to_cut(scene: &Scene<'_>, above: Bytes, sizes: &[Bytes]) -> Error {
    let largest = sizes.iter().copied().max().unwrap_or_default();
    if largest == Bytes::ZERO {
        let message = format!(
            "tenant \"{}\" has no messages that could be cut",
            scene.name
        );
        let hint = "give it a workload, or choose another tenant";
        return error_at("tenant", message, hint);
    }
    let message = format!(
        "is {above}, but no message of tenant \"{}\" is larger: the largest has {largest}",
        scene.name
    );
    error_at("above", message, "lower it")
}
