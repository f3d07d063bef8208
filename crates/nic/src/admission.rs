//! Who has a say, beside the NIC, in which queue pair sends next.

use fairlane_units::Time;

use crate::nic::Nic;
use crate::packet::PairId;

/// Somebody without whose consent no queue pair sends: a NIC that must have the state of a connection first, an agent that
/// keeps few of them active. Answers need no consent.
pub trait Admission {
    /// The queue pair that sends now in place of the one whose turn it is, which may be that one. Another one
    /// [may send](Nic::may_send), too.
    ///
    /// # Errors
    /// If none does: the time at which to ask again.
    fn admit(&mut self, now: Time, nic: &Nic, chosen: PairId) -> Result<PairId, Time>;
}

/// Nobody has a say: the queue pair sends whose turn it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct InTurn;

impl Admission for InTurn {
    #[inline]
    fn admit(&mut self, _: Time, _: &Nic, chosen: PairId) -> Result<PairId, Time> {
        Ok(chosen)
    }
}
