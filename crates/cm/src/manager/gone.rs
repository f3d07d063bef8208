//! What becomes of connections with a peer that isn't there any more.

use core::net::IpAddr;

use fairlane_units::Time;

use crate::connection::State;
use crate::event::{ConnectionId, EventKind};
use crate::format::{Answered, Reason, Rej, ServiceId, SidrStatus};
use crate::manager::{Manager, question};

impl Manager {
    /// Nobody is at an address, as its system says: what a manager there would say is taken as said. Requests are refused as
    /// for a service that nobody listens to, connections are over.
    pub fn on_gone(&mut self, peer: IpAddr, now: Time) {
        for id in self.table.with(peer) {
            self.abandon(id, now);
        }
    }

    fn abandon(&mut self, id: ConnectionId, now: Time) {
        let Some(state) = self.state(id) else {
            return;
        };
        match state {
            State::ReqSent => {
                let rej = Rej::new((0, id.0), Answered::Req, Reason::INVALID_SERVICE_ID);
                self.tell_last(id, EventKind::Rejected(rej));
                self.table.remove(id);
            }
            State::SidrReqSent => {
                let answer = question::no_pair(SidrStatus::UNSUPPORTED, ServiceId(0));
                self.tell_last(id, EventKind::Resolved(answer));
                self.table.remove(id);
            }
            // A system refuses for processes that end before they have answered, or confirmed.
            State::ReqRcvd | State::RepSent | State::RepRcvd => {
                let rej = self.rej_of(id, Reason::CONSUMER);
                self.tell_last(id, EventKind::Rejected(rej));
                self.close_silently(id, now);
            }
            State::Established | State::DreqSent => self.enter_time_wait(id, now),
            State::SidrReqRcvd | State::SidrRepSent | State::Refused | State::TimeWait => {}
        }
    }
}
