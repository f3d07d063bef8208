//! States of queue pairs (IBTA 10.3.1).

use std::net::IpAddr;
use std::sync::Arc;

use fairlane_nic::{Opening, Pair, Start};
use fairlane_transport::{Requester, State, Status};
use fairlane_units::{Bytes, FlowId, HostId, QpNumber, Time};

use super::{Engine, PORT};
use crate::error::Error;
use crate::limits::{self, Limits};
use crate::queue_pair::{Adjustment, Attributes, Connection, Modify};

/// READs of a queue pair that may be under way.
const READS: u32 = Limits::ALL.reads as u32;

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
                if !pair.is_datagram() {
                    check_version(connection.address, self.settings.address)?;
                }
                limits::check("READs under way", connection.most_reads.into(), READS)?;
                pair.connect(connection);
                self.open(slot, now);
            }
            Modify::ReadyToSend(sending) if from == State::ReadyToReceive => {
                limits::check("READs under way", sending.most_reads.into(), READS)?;
                pair.send_by(sending);
                let config = Arc::new(pair.config.clone());
                if let Some(id) = pair.id {
                    self.nic.begin_sending(id, sending.first, config);
                    let extensions = self.in_band.extensions(pair);
                    self.nic.set_extensions(now, id, extensions);
                }
            }
            Modify::ReadyToSend(_) => {
                if from == State::SendQueueError {
                    // Of requests that have been flushed, which leave no packet that takes them.
                    pair.addresses.clear();
                }
                if let Some(id) = pair.id {
                    self.nic.resume(now, id);
                }
            }
            Modify::SendQueueDrain { tell } => {
                pair.drains = *tell;
            }
            Modify::Error => {
                if let Some(id) = pair.id {
                    self.nic.fail(now, id);
                }
            }
        }
        if let Some(pair) = self.pairs.get_mut(slot) {
            pair.state = to;
        }
        self.hear_events(now, None);
        if to == State::Error && from != to {
            self.on_failed(slot);
        }
        match to {
            State::Error => self.flush(slot),
            State::SendQueueDrain | State::ReadyToSend => self.follow(slot, now),
            _ => {}
        }
        Ok(())
    }

    /// Changes what may change in any state.
    pub(crate) fn adjust(&mut self, number: QpNumber, to: &Adjustment) -> Result<(), Error> {
        let slot = self.slot(number)?;
        let pair = self
            .pairs
            .get_mut(slot)
            .ok_or(Error::Unknown("queue pair"))?;
        let options = &mut pair.options;
        let tenant = |key| self.partitions.tenant(key);
        if let Some(key) = to.partition
            && pair.id.is_some()
            && tenant(key) != tenant(options.partition)
        {
            let expected = "one of the same tenant, once the queue pair takes packets";
            return Err(Error::Invalid("partition key", expected));
        }
        pair.rights = to.rights.unwrap_or(pair.rights);
        options.queue_key = to.queue_key.unwrap_or(options.queue_key);
        options.partition = to.partition.unwrap_or(options.partition);
        if let Some(timer) = to.rnr_timer {
            (pair.config.rnr_timer, pair.peer.rnr_timer) = (timer, timer);
            if let Some(id) = pair.id {
                self.nic.set_parameters(id, Arc::new(pair.config.clone()));
            }
        }
        Ok(())
    }

    /// What a queue pair is like.
    pub(crate) fn query(&self, number: QpNumber) -> Result<Attributes, Error> {
        let pair = self.pair(number)?;
        let known = pair.id.map(|id| self.nic.pair(id));
        let zero = fairlane_units::Psn::new(0);
        Ok(Attributes {
            state: pair.state,
            options: pair.options.clone(),
            rights: pair.rights,
            connection: known.map(|_| pair.peer),
            sending: pair.sending,
            sends: known.map_or(zero, |own| own.requester().next_psn()),
            expects: known.map_or(zero, |own| own.responder().expected()),
            confirmed: known.map_or(Bytes::ZERO, |own| confirmed(own.requester())),
            placed: known.map_or(Bytes::ZERO, Pair::placed),
            retransmitted: known.map_or(0, |own| own.requester().retransmitted()),
            draining: pair.state == State::SendQueueDrain && !pair.is_drained(&self.nic),
        })
    }

    /// Lets the NIC know a queue pair, from RTR on.
    fn open(&mut self, slot: u32, now: Time) {
        let Some(pair) = self.pairs.get_mut(slot) else {
            return;
        };
        if pair.options.service.is_reliable() {
            self.in_band.peers.join(now, pair.peer.address);
        }
        let extensions = self.in_band.extensions(pair);
        let opening = Opening {
            flow: FlowId::new(slot),
            port: PORT,
            class: pair.peer.class,
            tenant: self.partitions.tenant(pair.options.partition),
            peer: HostId::new(number_of(pair.peer.address)),
            extensions,
            environment: fairlane_congestion::Environment {
                mtu: pair.config.mtu,
                ..pair.peer.environment.unwrap_or(self.environment)
            },
            group: None,
        };
        let start = Start {
            sends: fairlane_units::Psn::new(0),
            expects: pair.peer.first,
            transport: Some(Arc::new(pair.config.clone())),
            ..Start::default()
        };
        pair.id = Some(self.nic.open_at(now, &opening, start));
    }

    /// Forgets what a queue pair has begun, and its completions.
    pub(super) fn forget(&mut self, slot: u32, now: Time) {
        let Some(pair) = self.pairs.get_mut(slot) else {
            return;
        };
        if let Some(id) = pair.id.take() {
            let receiving = self.nic.pair(id).responder().receiving();
            let queue = self.receives.get_mut(pair.receives);
            if let (Some(receive), Some(queue)) = (receiving, queue) {
                queue.end(receive);
            }
            pair.counters.local_ack_timeout_err += u64::from(self.nic.pair(id).timeouts());
            self.nic.close(now, id, false);
            self.window.in_flight -= pair.in_flight;
            pair.in_flight = 0;
            pair.round_trips.clear();
            (pair.timeouts, pair.pending_mark) = (0, false);
            if pair.options.service.is_reliable() {
                self.in_band.peers.leave(pair.peer.address);
            }
        }
        pair.sending = None;
        self.keys.unbind_all(slot);
        pair.waiting.clear();
        pair.addresses.clear();
        self.reads -= u64::from(pair.reads);
        let outstanding = pair.outstanding as usize;
        (pair.outstanding, pair.reads) = (0, 0);
        (pair.drains, pair.established, pair.fails) = (false, false, false);
        let (receives, number) = (pair.receives, pair.number);
        for queue in [pair.options.send_queue, pair.options.receive_queue] {
            if let Some(own) = self.completions.get_mut(queue.0) {
                own.forget(number);
            }
        }
        let works: Vec<u32> = (self.works.iter())
            .filter(|(_, work)| work.pair == slot)
            .take(outstanding)
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

    /// Follows the NIC if a queue pair has failed there, and hands over what has found room.
    pub(super) fn follow(&mut self, slot: u32, now: Time) {
        let Some(pair) = self.pairs.get(slot) else {
            return;
        };
        let Some(id) = pair.id else {
            return;
        };
        let own = self.nic.pair(id);
        let reliable = pair.config.service.is_reliable();
        let sends = own.requester().has_failed();
        if own.has_failed() || (sends && reliable) {
            if pair.state != State::Error {
                self.set_state(slot, State::Error);
                self.on_failed(slot);
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
        if let Some(pair) = self.pairs.get(slot)
            && pair.state == State::SendQueueDrain
        {
            self.drain(slot, now);
        }
    }

    fn set_state(&mut self, slot: u32, state: State) {
        if let Some(pair) = self.pairs.get_mut(slot) {
            pair.state = state;
        }
    }

    /// Ends what the NIC doesn't know: requests that it never got, and receives.
    fn flush(&mut self, slot: u32) {
        self.flush_requests(slot);
        self.flush_receives(slot);
    }

    fn flush_requests(&mut self, slot: u32) {
        while let Some(pair) = self.pairs.get_mut(slot)
            && let Some(number) = pair.waiting.pop_front()
        {
            let parts = self.works.get(number).map_or(0, |work| work.parts);
            // The NIC ends parts that it has.
            if parts == 0 {
                self.end(slot, number, Status::Flushed);
            }
        }
    }
}

/// Payload of requests that the other end has confirmed.
fn confirmed(requester: &Requester) -> Bytes {
    requester.next_position() - requester.bytes_in_flight()
}

/// Refuses a path MTU that InfiniBand doesn't have, and a class that isn't one of data.
fn check(connection: &Connection) -> Result<(), Error> {
    match (connection.mtu, connection.class) {
        (256 | 512 | 1024 | 2048 | 4096, 1..=7) => Ok(()),
        (_, 1..=7) => Err(Error::Invalid("path MTU", "256, 512, 1024, 2048 or 4096")),
        _ => Err(Error::Invalid("traffic class", "1 to 7")),
    }
}

/// Refuses an address of another version of IP than the device has.
pub(super) fn check_version(address: IpAddr, own: IpAddr) -> Result<(), Error> {
    match address.is_ipv4() == own.is_ipv4() {
        true => Ok(()),
        false => Err(Error::Invalid(
            "address of the other end",
            "one of the version of IP that the device's address has",
        )),
    }
}

/// A number of a host; the NIC needs one only to know hosts from each other.
fn number_of(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(address) => u32::from(address),
        IpAddr::V6(address) => {
            let bits = u128::from(address);
            (bits ^ bits >> 32 ^ bits >> 64 ^ bits >> 96) as u32
        }
    }
}
