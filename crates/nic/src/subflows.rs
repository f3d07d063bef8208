//! Subflows of a connection: each has a controller of its own, and together they take one share.
//!
//! A subflow's controller finds what a single flow would get on its path. The subflow sends a part of that: with rates
//! `r` that controllers allow, subflow i has `max(r) r_i / sum(r_j^2)` of its own, so that all together have the largest `r`. That
//! is what coupled congestion control of multipath TCP aims at (RFC 6356, section 3, goals 1 to 3): as much as one flow on the best
//! path, nowhere more than one flow, and less where a path is congested, whose marks slow no other one down.
//!
//! A subflow that has nothing to send leaves its part to the others.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use fairlane_congestion::Controller;
use fairlane_units::{Bytes, Rate};

use crate::packet::Opening;
use crate::pair::Pair;

/// What a subflow is opened with: the flow that it is a part of fills its host's link, not one path.
pub(crate) fn opening(of: &Opening) -> Opening {
    let mut opening = *of;
    let environment = &mut opening.environment;
    let own = environment.line_rate;
    let most = of.extensions.shares.map_or(own, |peer| peer.min(own));
    environment.bdp = environment.bdp.max(most.bytes_in(environment.base_rtt));
    opening
}

/// What a queue pair has of its connection's share.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The connection's place among those of the NIC.
    place: u32,
    /// The part that the subflow takes of what its controller allows, in (0, 1].
    fraction: f64,
    /// Up to where its stream was confirmed, and the same in the stream of a single flow: as if that had sent
    /// what the controller allows.
    confirmed: Bytes,
    scaled: Bytes,
    /// Half a packet.
    half: f64,
}

impl Part {
    /// The rate of the queue pair under a controller that allows `rate`.
    #[inline]
    pub(crate) fn rate(&self, rate: Rate) -> Rate {
        rate.scale(self.fraction).max(Rate::from_bps(1))
    }

    /// The window of the queue pair under a controller that allows `window`. A packet goes while less is in flight, so
    /// that half a packet more than the window is, on average; of that, too, it is to have its fraction.
    #[inline]
    pub(crate) fn window(&self, window: Bytes) -> Bytes {
        match window.get() {
            u64::MAX => window,
            bytes => floor(bytes as f64 * self.fraction - (1.0 - self.fraction) * self.half)
                .max(Bytes::new(1)),
        }
    }

    /// The positions of an acknowledgement, and of the next byte, as the controller is to hear of them.
    pub(crate) fn positions(&mut self, acknowledged: Bytes, next: Bytes) -> (Bytes, Bytes) {
        let whole = 1.0 / self.fraction;
        let advanced = acknowledged.saturating_sub(self.confirmed);
        self.confirmed = self.confirmed.max(acknowledged);
        self.scaled += floor(advanced.as_f64() * whole);
        let ahead = next.saturating_sub(self.confirmed);
        (self.scaled, self.scaled + floor(ahead.as_f64() * whole))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and rounding down is wanted"
)]
fn floor(bytes: f64) -> Bytes {
    Bytes::new(bytes as u64)
}

/// The subflows of one connection at one port that have something to send.
#[derive(Clone, Debug, Default)]
struct Connection {
    /// Queue pairs, and what their controllers allow.
    active: Vec<(u32, f64)>,
    largest: f64,
    squares: f64,
    /// Queue pairs that are open.
    open: u32,
}

/// What connections whose subflows are coupled have of the ports of a NIC.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subflows {
    connections: Vec<Connection>,
    /// By group and port: planes share no link, and what one carries takes nothing from others.
    places: BTreeMap<(u32, u8), u32>,
    free: Vec<u32>,
}

impl Subflows {
    /// A queue pair of connection `group` is opened at a port.
    pub(crate) fn open(&mut self, (group, port): (u32, u8), mtu: Bytes) -> Part {
        let free = &mut self.free;
        let connections = &mut self.connections;
        let place = *self.places.entry((group, port)).or_insert_with(|| {
            free.pop().unwrap_or_else(|| {
                connections.push(Connection::default());
                connections.len() as u32 - 1
            })
        });
        self.connections[place as usize].open += 1;
        Part {
            place,
            fraction: 1.0,
            confirmed: Bytes::ZERO,
            scaled: Bytes::ZERO,
            half: mtu.as_f64() / 2.0,
        }
    }

    /// A queue pair is closed.
    pub(crate) fn close(&mut self, number: u32, pair: &mut Pair) {
        let (Some(part), Some(group)) = (pair.sending.part.take(), pair.opening.group) else {
            return;
        };
        let connection = &mut self.connections[part.place as usize];
        connection.set(number, None);
        connection.open -= 1;
        if connection.open == 0 {
            self.places.remove(&(group, pair.opening.port));
            self.free.push(part.place);
        }
    }

    /// Brings the part of a queue pair up to date. One whose data is all under way needs no rate.
    pub(crate) fn refresh(&mut self, number: u32, pair: &mut Pair) {
        let active = !pair.load().backlog.is_zero();
        let allowed = allowed(&pair.sending.controller);
        let Some(part) = &mut pair.sending.part else {
            return;
        };
        let connection = &mut self.connections[part.place as usize];
        connection.set(number, active.then_some(allowed));
        if active {
            part.fraction = connection.largest * allowed / connection.squares;
            if pair.sending.is_window_limited() {
                pair.sending.update_window();
            }
        }
    }
}

impl Connection {
    fn set(&mut self, number: u32, allowed: Option<f64>) {
        let at = self.active.iter().position(|&(known, _)| known == number);
        match (at, allowed) {
            (Some(at), Some(allowed)) if self.active[at].1 == allowed => return,
            (Some(at), Some(allowed)) => self.active[at].1 = allowed,
            (Some(at), None) => {
                self.active.swap_remove(at);
            }
            (None, Some(allowed)) => self.active.push((number, allowed)),
            (None, None) => return,
        }
        let all = self.active.iter().map(|&(_, allowed)| allowed);
        self.largest = all.clone().fold(0.0, f64::max);
        self.squares = all.map(|allowed| allowed * allowed).sum();
    }
}

/// What a controller allows: its window if it has one, else its rate.
fn allowed(controller: &Controller) -> f64 {
    match controller.window() {
        Some(window) => window.as_f64(),
        None => controller.rate().as_f64(),
    }
    .max(1.0)
}
