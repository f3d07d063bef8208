//! What happens when an answer doesn't come, and when a connection that is over may be forgotten.

use fairlane_units::Time;

use crate::connection::State;
use crate::event::{ConnectionId, EventKind};
use crate::format::Reason;
use crate::manager::Manager;

pub(super) fn on_timeout(manager: &mut Manager, now: Time) {
    while let Some(id) = manager.table.due(now) {
        fire(manager, id, now);
    }
}

/// Handles the timer of one connection, which is armed to later or never, or gone, after that.
fn fire(manager: &mut Manager, id: ConnectionId, now: Time) {
    let Some(connection) = manager.table.get_mut(id) else {
        return;
    };
    let state = connection.state;
    match state {
        State::ReqSent | State::RepSent | State::DreqSent | State::SidrReqSent => {
            if connection.left == 0 {
                return give_up(manager, id, state, now);
            }
            connection.left -= 1;
            connection.is_extended = false;
            let at = now.saturating_add(connection.wait);
            manager.table.arm(id, at);
            manager.repeat(id);
        }
        State::TimeWait => {
            manager.tell(id, EventKind::Ended);
            manager.table.remove(id);
        }
        State::Refused | State::SidrRepSent => manager.table.remove(id),
        State::RepRcvd | State::ReqRcvd | State::SidrReqRcvd | State::Established => {
            manager.table.arm(id, Time::MAX);
        }
    }
}

/// The last repetition has not been answered either.
fn give_up(manager: &mut Manager, id: ConnectionId, state: State, now: Time) {
    match state {
        State::DreqSent => manager.enter_time_wait(id, now),
        State::RepSent => {
            manager.tell_last(id, EventKind::Unreachable);
            let rej = manager.rej_of(id, Reason::TIMEOUT);
            manager.close_refusing(id, rej, now);
        }
        State::ReqSent => {
            manager.tell_last(id, EventKind::Unreachable);
            manager.give_up(id);
        }
        _ => {
            manager.tell_last(id, EventKind::Unreachable);
            manager.table.remove(id);
        }
    }
}
