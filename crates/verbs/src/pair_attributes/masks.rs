//! Which attributes a change of state needs, and which it may have (IBTA 11.2.5.2, table 96).

use fairlane_softnic::{Service, State};

use crate::guard::Errno;

/// `enum ibv_qp_attr_mask`
pub(super) mod bit {
    pub(in super::super) const STATE: u32 = 1;
    pub(in super::super) const CUR_STATE: u32 = 1 << 1;
    pub(in super::super) const EN_SQD_ASYNC_NOTIFY: u32 = 1 << 2;
    pub(in super::super) const ACCESS_FLAGS: u32 = 1 << 3;
    pub(in super::super) const PKEY_INDEX: u32 = 1 << 4;
    pub(in super::super) const PORT: u32 = 1 << 5;
    pub(in super::super) const QKEY: u32 = 1 << 6;
    pub(in super::super) const AV: u32 = 1 << 7;
    pub(in super::super) const PATH_MTU: u32 = 1 << 8;
    pub(in super::super) const TIMEOUT: u32 = 1 << 9;
    pub(in super::super) const RETRY_CNT: u32 = 1 << 10;
    pub(in super::super) const RNR_RETRY: u32 = 1 << 11;
    pub(in super::super) const RQ_PSN: u32 = 1 << 12;
    pub(in super::super) const MAX_QP_RD_ATOMIC: u32 = 1 << 13;
    pub(in super::super) const MIN_RNR_TIMER: u32 = 1 << 15;
    pub(in super::super) const SQ_PSN: u32 = 1 << 16;
    pub(in super::super) const MAX_DEST_RD_ATOMIC: u32 = 1 << 17;
    pub(in super::super) const PATH_MIG_STATE: u32 = 1 << 18;
    pub(in super::super) const DEST_QPN: u32 = 1 << 20;
}
use bit::*;

/// The attributes of a transition: those that must be there, those that may be. `None` if there is no such transition.
const fn of(service: Service, from: State, to: State) -> Option<(u32, u32)> {
    use Service::{ReliableConnection as Rc, UnreliableConnection as Uc, UnreliableDatagram as Ud};
    let reliable = matches!(service, Rc);
    let datagram = matches!(service, Ud);
    let keys = match service {
        Ud => PKEY_INDEX | PORT | QKEY,
        Rc | Uc => PKEY_INDEX | PORT | ACCESS_FLAGS,
    };
    let running = match service {
        Ud => CUR_STATE | QKEY,
        Uc => CUR_STATE | ACCESS_FLAGS | PATH_MIG_STATE,
        Rc => CUR_STATE | ACCESS_FLAGS | PATH_MIG_STATE | MIN_RNR_TIMER,
    };
    Some(match (from, to) {
        (_, State::Reset | State::Error) => (0, 0),
        (State::Reset, State::Init) => (keys, 0),
        (State::Init, State::Init) => (0, keys),
        (State::Init, State::ReadyToReceive) if datagram => (0, PKEY_INDEX | QKEY),
        (State::Init, State::ReadyToReceive) => {
            let responder = if reliable {
                MAX_DEST_RD_ATOMIC | MIN_RNR_TIMER
            } else {
                0
            };
            (
                AV | PATH_MTU | DEST_QPN | RQ_PSN | responder,
                ACCESS_FLAGS | PKEY_INDEX,
            )
        }
        (State::ReadyToReceive, State::ReadyToSend) => {
            let requester = TIMEOUT | RETRY_CNT | RNR_RETRY | MAX_QP_RD_ATOMIC;
            (SQ_PSN | if reliable { requester } else { 0 }, running)
        }
        (State::ReadyToSend | State::SendQueueDrain, State::ReadyToSend) => (0, running),
        (State::SendQueueError, State::ReadyToSend) if !reliable => (0, running),
        (State::ReadyToSend, State::SendQueueDrain) => (0, EN_SQD_ASYNC_NOTIFY),
        (State::SendQueueDrain, State::SendQueueDrain) => (0, keys | running),
        _ => return None,
    })
}

/// Refuses transitions that aren't there, or whose attributes are too few or too many.
pub(super) fn check(service: Service, from: State, to: State, mask: u32) -> Result<(), Errno> {
    let (must, may) = of(service, from, to).ok_or(Errno::INVALID)?;
    let fits = mask & must == must && mask & !(must | may | STATE | CUR_STATE) == 0;
    fits.then_some(()).ok_or(Errno::INVALID)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transition_has_all_its_attributes_and_no_others() {
        let rc = Service::ReliableConnection;
        let init = PKEY_INDEX | PORT | ACCESS_FLAGS | STATE;
        let ok = |mask| check(rc, State::Reset, State::Init, mask).is_ok();
        assert!(ok(init) && !ok(init & !PORT) && !ok(init | QKEY));
        assert!(check(rc, State::Reset, State::ReadyToSend, STATE).is_err());
        assert!(
            check(
                Service::UnreliableDatagram,
                State::Reset,
                State::Init,
                PKEY_INDEX | PORT | QKEY
            )
            .is_ok()
        );
    }
}
