//! States of queue pairs (IBTA 10.3.1).

use std::sync::Arc;

use fairlane_host::{Opening, Start, begin_sending};
use fairlane_transport::{State, Status};
use fairlane_units::{HostId, QpNumber, TenantId, Time};

use super::{Engine, PORT};
use crate::error::Error;
use crate::queue_pair::{Connection, Modify};

/// The traffic class of everything.
const CLASS: u8 = 3;

impl Engine {
    pub(crate) fn modify(
        &mut self,
        number: QpNumber,
        modify: &Modify,
        now: Time,
    ) -> Result<(), Error> {
        let slot = self.slot(number)?;
        let pair = self
            .pairs
            .get_mut(slot)
            .ok_or(Error::Unknown("queue pair"))?;
        let (from, to) = (pair.state, modify.state());
        if !from.may_become(to) {
            return Err(fairlane_transport::InvalidTransition { from, to }.into());
        }
        match modify {
            Modify::Reset => self.forget(slot, now),
            Modify::Init(rights) => pair.rights = *rights,
            Modify::ReadyToReceive(connection) => {
                check(connection)?;
                pair.connect(connection);
                self.open(slot, now);
            }
            Modify::ReadyToSend(sending) if from == State::ReadyToReceive => {
                pair.send_by(sending);
                let config = Arc::new(pair.config.clone());
                if let Some(id) = pair.host {
                    begin_sending(&mut self.host, id, sending.first, config);
                }
            }
            Modify::ReadyToSend(_) => {
                if let Some(id) = pair.host {
                    self.host.resume(now, id);
                }
            }
            Modify::SendQueueDrain => {
                if let Some(id) = pair.host {
                    self.host.drain(now, id);
                }
            }
            Modify::Error => {
                if let Some(id) = pair.host {
                    self.host.fail(now, id);
                }
            }
        }
        if let Some(pair) = self.pairs.get_mut(slot) {
            pair.state = to;
        }
        self.hear_events(now, None);
        if to == State::Error {
            self.flush(slot);
        }
        Ok(())
    }

    /// Lets the host know a queue pair, from RTR on.
    fn open(&mut self, slot: u32, now: Time) {
        let environment = self.environment;
        let Some(pair) = self.pairs.get_mut(slot) else {
            return;
        };
        let opening = Opening {
            flow: slot,
            port: PORT,
            class: CLASS,
            tenant: TenantId::new(0),
            peer: HostId::new(u32::from(pair.peer.address)),
            peer_rate: environment.line_rate,
            environment: fairlane_congestion::Environment {
                mtu: pair.config.mtu,
                ..environment
            },
            whole: None,
            group: None,
        };
        let start = Start {
            sends: fairlane_units::Psn::new(0),
            expects: pair.peer.first,
            transport: Some(Arc::new(pair.config.clone())),
        };
        pair.host = Some(self.host.open_at(now, &opening, start));
    }

    /// Forgets what a queue pair has begun, without completions.
    pub(super) fn forget(&mut self, slot: u32, now: Time) {
        let Some(pair) = self.pairs.get_mut(slot) else {
            return;
        };
        if let Some(id) = pair.host.take() {
            self.host.close(now, id, false);
            self.turn = self.turn.filter(|(turn, _)| *turn != id);
            self.in_flight -= pair.in_flight;
            pair.in_flight = 0;
        }
        pair.waiting.clear();
        pair.addresses.clear();
        self.reads -= u64::from(pair.reads);
        (pair.outstanding, pair.reads) = (0, 0);
        let receives = pair.receives;
        let works: Vec<u32> = (self.works.iter())
            .filter(|(_, work)| work.pair == slot)
            .map(|(number, _)| number)
            .collect();
        for number in works {
            self.works.remove(number);
        }
        if let Some(own) = self.receives.get_mut(receives)
            && !own.shared
        {
            own.clear();
        }
    }

    /// Follows the host if a queue pair has failed there, and hands over what has found room.
    pub(super) fn follow(&mut self, slot: u32, now: Time) {
        let Some(pair) = self.pairs.get(slot) else {
            return;
        };
        let Some(id) = pair.host else {
            return;
        };
        let own = self.host.pair(id);
        let reliable = pair.config.service.is_reliable();
        let sends = own.requester().has_failed();
        if own.has_failed() || (sends && reliable) {
            if pair.state != State::Error {
                self.set_state(slot, State::Error);
                self.flush(slot);
            } else if !pair.waiting.is_empty() {
                self.flush(slot);
            }
        } else if sends && pair.state != State::SendQueueError {
            self.set_state(slot, State::SendQueueError);
            self.flush_requests(slot);
        } else if !pair.waiting.is_empty() {
            self.hand(slot, now);
        }
        self.account(slot, id);
    }

    fn set_state(&mut self, slot: u32, state: State) {
        if let Some(pair) = self.pairs.get_mut(slot) {
            pair.state = state;
        }
    }

    /// Ends what the host doesn't know: requests that it never got, and receives.
    fn flush(&mut self, slot: u32) {
        self.flush_requests(slot);
        self.flush_receives(slot);
    }

    fn flush_requests(&mut self, slot: u32) {
        while let Some(pair) = self.pairs.get_mut(slot)
            && let Some(number) = pair.waiting.pop_front()
        {
            let parts = self.works.get(number).map_or(0, |work| work.parts);
            // The host ends parts that it has.
            if parts == 0 {
                self.end(slot, number, Status::Flushed);
            }
        }
    }
}

/// Refuses a path MTU that InfiniBand doesn't have.
fn check(connection: &Connection) -> Result<(), Error> {
    match connection.mtu {
        256 | 512 | 1024 | 2048 | 4096 => Ok(()),
        _ => Err(Error::Invalid("path MTU", "256, 512, 1024, 2048 or 4096")),
    }
}
