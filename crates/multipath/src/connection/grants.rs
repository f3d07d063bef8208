//! Receives: those that the other end offers, and those that this end offers to it.

use alloc::collections::VecDeque;

use fairlane_units::Time;

use super::Connection;
use super::slots::{Kind, Piece};
use crate::numbered::Numbered;
use crate::{Chunk, Frame, Grant};

/// Both directions.
#[derive(Clone, Debug)]
pub(super) struct Grants {
    /// From the other end, by the number of the SEND that consumes them.
    granted: Numbered<Option<Grant>>,
    /// To the other end, and whether they have arrived.
    offers: Numbered<(Grant, bool)>,
    /// Numbers of offers that wait to be posted.
    owed: VecDeque<u64>,
}

impl Grants {
    pub(super) const fn new() -> Self {
        Self {
            granted: Numbered::new(),
            offers: Numbered::new(),
            owed: VecDeque::new(),
        }
    }

    pub(super) fn granted(&self, id: u64) -> Option<Grant> {
        self.granted.get(id).copied().flatten()
    }

    /// The oldest receive has been used.
    pub(super) fn consume(&mut self) {
        self.granted.pop();
    }

    pub(super) fn offer_frame(&self, id: u64) -> Frame {
        let offer = self.offers.get(id).map(|(grant, _)| *grant);
        Frame::Grant(offer.unwrap_or_default())
    }

    pub(super) fn offer_again(&mut self, id: u64) {
        self.owed.push_back(id);
    }

    pub(super) fn on_delivered(&mut self, id: u64) {
        if let Some((_, arrived)) = self.offers.get_mut(id) {
            *arrived = true;
        }
        let first = |offers: &Numbered<(Grant, bool)>| offers.get(offers.first()).map(|it| it.1);
        while first(&self.offers) == Some(true) {
            self.offers.pop();
        }
    }

    pub(super) fn heap(&self) -> usize {
        self.granted.heap() + self.offers.heap() + self.owed.capacity() * size_of::<u64>()
    }
}

impl Connection {
    /// Hears that the other end has posted a receive. The same grant twice does no harm; returns whether it can
    /// be right.
    pub fn on_grant(&mut self, grant: &Grant) -> bool {
        let granted = &mut self.grants.granted;
        if grant.id < granted.first() {
            return true;
        }
        // The other end may have posted as many again before completions have come here.
        if grant.id - granted.first() >= 2 * u64::from(self.settings.messages) {
            return false;
        }
        while granted.end() <= grant.id {
            granted.push(None);
        }
        if let Some(place) = granted.get_mut(grant.id) {
            place.get_or_insert(*grant);
        }
        true
    }

    /// Tells the other end of a receive that [`Reassembler::post_receive`](crate::Reassembler::post_receive) has
    /// numbered. They must come in order, without gaps; returns `false` if too many are on their way.
    pub fn offer(&mut self, grant: &Grant) -> bool {
        let offers = &mut self.grants.offers;
        if offers.len() >= self.settings.messages as usize || grant.id != offers.end() {
            return false;
        }
        offers.push((*grant, false));
        self.grants.owed.push_back(grant.id);
        true
    }

    /// The next receive that is to be offered. Grants pass messages: those may wait for the other end's.
    pub(super) fn poll_grant(&mut self, now: Time) -> Option<Chunk> {
        let id = *self.grants.owed.front()?;
        let path = self.any_open()?;
        self.grants.owed.pop_front();
        Some(self.launch(now, path, Piece::control(Kind::Grant, id, 0)))
    }
}
