//! Drives the cards: work requests, and packets that wait for the state of their connection.

use fairlane_engine::Event;
use fairlane_host::PairId;
use fairlane_units::Time;

use crate::nic::card::{Step, Wqe};
use crate::packet::NONE;
use crate::world::{Waking, World};

/// Wakes of a card: for work requests, and for its receiver.
const WAKES: u32 = 2;

impl World {
    /// Lets a card do what it can now.
    pub(super) fn advance_card(&mut self, host: u32) {
        let now = self.now();
        loop {
            let endpoints = self.endpoints.as_deref_mut().expect("there is a card");
            let (pairs, most) = (&endpoints.pairs, endpoints.max_reads as usize);
            let blocked = |pair: u32, resumed: bool| {
                let pair = &pairs[pair as usize];
                let behind = (!pair.parked.is_empty() || pair.resuming) && !resumed;
                let full = pair.verb.awaits_response() && pair.posted.len() >= most;
                behind || full
            };
            let card = &mut endpoints.cards[host as usize];
            match card.step(&endpoints.costs, now, endpoints.cached, blocked) {
                Step::Rest => return,
                Step::Wait(at) => {
                    self.wake_card(host, at);
                    return;
                }
                Step::Park(wqe, resumed) => self.park(wqe, resumed),
                Step::Begin(wqe, _) => self.on_begun(wqe),
                Step::Done(wqe) => self.request(wqe),
            }
        }
    }

    fn wake_card(&mut self, host: u32, at: Time) {
        let endpoints = self.endpoints.as_deref_mut().expect("there is a card");
        let number = host * WAKES;
        let rank = Waking::Card.rank(u64::from(number));
        let wake = &mut endpoints.cards[host as usize].wake;
        if wake.deadline() != at {
            wake.arm(&mut self.engine, at, rank, Waking::Card.component(number));
        }
    }

    /// Lays a work request aside until a READ of its queue pair ends.
    fn park(&mut self, wqe: Wqe, resumed: bool) {
        let endpoints = self.endpoints.as_deref_mut().expect("there is a card");
        let pair = &mut endpoints.pairs[wqe.pair as usize];
        if pair.failed {
            let at = self.engine.now();
            self.end_part(wqe, false, at);
        } else if resumed {
            pair.resuming = false;
            pair.parked.push_front(wqe);
        } else {
            pair.parked.push_back(wqe);
        }
    }

    fn on_begun(&mut self, wqe: Wqe) {
        let now = self.now();
        let endpoints = self.endpoints.as_deref_mut().expect("there is a card");
        let pair = &mut endpoints.pairs[wqe.pair as usize];
        pair.resuming = false;
        pair.unsent += 1;
        let operation = &mut endpoints.operations[wqe.operation as usize];
        if std::mem::replace(&mut operation.begun, true) {
            return;
        }
        let wait = now - operation.start;
        let channel = &endpoints.channels[operation.channel as usize];
        let application = &mut endpoints.applications[channel.application as usize];
        application.longest_wait = application.longest_wait.max(wait);
    }

    /// All packets of a work request have been sent for the first time.
    pub(crate) fn on_wqe_sent(&mut self, pair: u32) {
        let endpoints = self.endpoints.as_deref_mut().expect("there is a card");
        let pair = &mut endpoints.pairs[pair as usize];
        pair.unsent -= 1;
        let host = pair.host;
        endpoints.cards[host as usize].begun -= 1;
        self.advance_card(host);
    }

    /// A card has something to do.
    #[cold]
    pub(crate) fn on_card(&mut self, number: u32, event: Event) {
        let host = number / WAKES;
        let endpoints = self.endpoints.as_deref_mut().expect("there is a card");
        let card = &mut endpoints.cards[host as usize];
        if number.is_multiple_of(WAKES) {
            if card.wake.fires(&mut self.engine, event) {
                self.advance_card(host);
            }
        } else if card.receiving.fires(&mut self.engine, event) {
            self.receive(host);
        }
    }

    /// Whether the packet `at` has to wait at the card of a host that it has arrived at.
    #[cold]
    pub(crate) fn is_held(&mut self, port: u32, at: u32) -> bool {
        let now = self.now();
        let host = self.ports[port as usize].owner;
        let flow = self.packets.get(at).flow;
        let cached = self.endpoints.as_deref().is_some_and(|all| all.cached);
        if !self.stays_open(flow) || !cached {
            return false;
        }
        let pair = self.pair_of(flow);
        let endpoints = self.endpoints.as_deref_mut().expect("there is a card");
        let card = &mut endpoints.cards[host as usize];
        if std::mem::replace(&mut card.taken, NONE) == at {
            return false;
        }
        if !card.received.is_empty() {
            self.hold(port, at);
            return true;
        }
        let ready = card.context(&endpoints.costs, now, pair);
        if ready <= now {
            return false;
        }
        self.hold(port, at);
        self.wake_receiver(host, ready);
        true
    }

    /// Keeps a packet at the NIC; where there are too many, it pauses the switch.
    fn hold(&mut self, port: u32, at: u32) {
        let owner = self.ports[port as usize].owner;
        let packet = *self.packets.get(at);
        let pauses = self.rules.pfc && packet.class != 0;
        let endpoints = self.endpoints.as_deref_mut().expect("there is a card");
        let card = &mut endpoints.cards[owner as usize];
        card.held += u64::from(packet.wire);
        card.received.push(&mut self.packets, at);
        let stops = pauses && card.held > endpoints.costs.receive_buffer;
        if stops && card.stopped & 1 << packet.class == 0 {
            card.stopped |= 1 << packet.class;
            self.send_frame(owner, packet.class, true);
        }
    }

    /// The link of a host has come back: its NIC pauses the switch again where it needs to.
    pub(crate) fn stop_again(&mut self, host: u32) {
        let cards = self.endpoints.as_deref().map(|all| &all.cards);
        let stopped = cards.map_or(0, |cards| cards[host as usize].stopped);
        for class in (1..8).filter(|class| stopped & 1 << class != 0) {
            self.send_frame(host, class, true);
        }
    }

    /// Takes the first packet that waits at a NIC.
    fn release(&mut self, host: u32) -> Option<u32> {
        let endpoints = self.endpoints.as_deref_mut().expect("there is a card");
        let card = &mut endpoints.cards[host as usize];
        let at = card.received.pop(&self.packets)?;
        card.held -= u64::from(self.packets.get(at).wire);
        if card.stopped != 0 && card.held <= endpoints.costs.receive_buffer / 2 {
            let stopped = std::mem::take(&mut card.stopped);
            for class in (1..8).filter(|class| stopped & 1 << class != 0) {
                self.send_frame(host, class, false);
            }
        }
        Some(at)
    }

    /// The receiver has what it needs for the packet `at`.
    fn taken(&mut self, host: u32, at: u32) {
        let endpoints = self.endpoints.as_deref_mut().expect("there is a card");
        endpoints.cards[host as usize].taken = at;
    }

    fn wake_receiver(&mut self, host: u32, at: Time) {
        let endpoints = self.endpoints.as_deref_mut().expect("there is a card");
        let number = host * WAKES + 1;
        let rank = Waking::Card.rank(u64::from(number));
        let wake = &mut endpoints.cards[host as usize].receiving;
        wake.arm(&mut self.engine, at, rank, Waking::Card.component(number));
    }

    /// The first packet that waits at a card is handled, and those behind it whose connection is kept.
    fn receive(&mut self, host: u32) {
        let now = self.now();
        let port = self.nics[host as usize].port;
        while let Some(at) = self.release(host) {
            self.taken(host, at);
            self.on_host_arrival(port, at);
            let endpoints = self.endpoints.as_deref_mut().expect("there is a card");
            let card = &mut endpoints.cards[host as usize];
            if card.received.is_empty() {
                return;
            }
            let next = self.packets.get(card.received.head).flow;
            let pair = next - self.messages as u32;
            let ready = card.context(&endpoints.costs, now, pair);
            if ready > now {
                self.wake_receiver(host, ready);
                return;
            }
        }
    }

    /// The queue pair in turn once the NIC has the state of a connection for it; `None` if it is being
    /// fetched.
    #[cold]
    pub(crate) fn with_context(&mut self, host: u32, chosen: PairId) -> Option<PairId> {
        let now = self.now();
        let endpoints = self.endpoints.as_deref_mut().expect("there is a card");
        if !endpoints.cached {
            return Some(chosen);
        }
        let card = &mut endpoints.cards[host as usize];
        if now < card.stalled {
            let at = card.stalled;
            self.arm_wake(host, at);
            return None;
        }
        let nic = &self.nics[host as usize].host;
        if let Some(granted) = card.granted.take()
            && nic.may_send(now, granted)
        {
            return Some(granted);
        }
        let flow = nic.opening(chosen).flow;
        if !self.stays_open(flow) {
            return Some(chosen);
        }
        let pair = self.pair_of(flow);
        let endpoints = self.endpoints.as_deref_mut().expect("there is a card");
        let card = &mut endpoints.cards[host as usize];
        let ready = card.context(&endpoints.costs, now, pair);
        if ready <= now {
            return Some(chosen);
        }
        card.granted = Some(chosen);
        card.stalled = ready;
        self.arm_wake(host, ready);
        None
    }
}
