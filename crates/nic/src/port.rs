//! A port of a NIC: whose turn it is there, what is owed by it, and what stops it.

use alloc::boxed::Box;
use alloc::sync::Arc;

use fairlane_congestion::Environment;
use fairlane_units::{Rate, Time};

use crate::apportion::Apportion;
use crate::packet::PairId;
use crate::pair::{NONE, Pair, Stream};
use crate::replies::Replies;
use crate::rounds::Rounds;
use crate::scoped::{Scoped, Tenants};
use crate::service::Service;
use crate::settings::Settings;

/// A port. Queue pairs that are bound to it send by it, and so do their answers.
#[derive(Clone, Debug)]
pub struct Port {
    pub(crate) rate: Rate,
    pub(crate) rounds: Rounds,
    pub(crate) service: Service,
    pub(crate) replies: Replies,
    /// Classes that are paused, as a bit set.
    pub(crate) paused: u8,
    pub(crate) up: bool,
    /// An enforcer shares the uplink out, a receiver's part the downlink.
    pub(crate) scoped: Option<Box<Scoped>>,
    /// If receivers apportion their links.
    pub(crate) apportion: Option<Box<Apportion>>,
    /// Whether either of them has a say in who sends.
    pub(crate) arbitrated: bool,
}

impl Port {
    /// A port whose link is up.
    pub(crate) fn new(
        settings: &Arc<Settings>,
        environment: &Environment,
        tenants: &Tenants,
    ) -> Self {
        let scoped = Scoped::new(settings, environment, tenants);
        let apportion = Apportion::new(settings, environment, tenants);
        Self {
            arbitrated: scoped.is_some() || apportion.is_some(),
            rate: environment.line_rate,
            rounds: Rounds::new(settings),
            service: Service::NONE,
            replies: Replies::default(),
            paused: 0,
            up: true,
            scoped,
            apportion,
        }
    }

    /// Whether there is nothing that it may send, now or ever, without something else happening before.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.replies.is_empty() && self.rounds.is_empty()
    }

    /// How many answers wait: CNPs, and others.
    pub fn answers(&self) -> [usize; 2] {
        self.replies.waiting()
    }

    /// Whether answers wait.
    #[inline]
    pub fn has_answers(&self) -> bool {
        !self.replies.is_empty()
    }

    /// From when on there may be a packet to send, by one of `pairs` or an answer.
    #[inline]
    pub(crate) fn sends_at(&mut self, settings: &Settings, pairs: &[Pair]) -> Option<Time> {
        if !self.up {
            return None;
        }
        if self.replies.may_leave(settings, self.paused) {
            return Some(Time::ZERO);
        }
        if let Some((_, at)) = self.serves(pairs) {
            return Some(at);
        }
        let first = self.rounds.earliest();
        match self.arbitrated {
            false => first,
            true => self.arbitrated_at(first),
        }
    }

    /// As [`sends_at`](Self::sends_at) at a port that is arbitrated, whose round robin may begin at `first`.
    #[cold]
    fn arbitrated_at(&mut self, first: Option<Time>) -> Option<Time> {
        let opens = self.apportion.as_ref().and_then(|own| own.opens());
        let enforced = match &mut self.scoped {
            Some(scoped) => scoped.enforcer.earliest(),
            None => None,
        };
        first.into_iter().chain(opens).chain(enforced).min()
    }

    /// The queue pair that is served further before others are, and when it may send; `None` if it is others' turn.
    #[inline]
    pub(crate) fn serves(&self, pairs: &[Pair]) -> Option<(PairId, Time)> {
        let id = self.service.pair()?;
        let pair = &pairs[id.index()];
        // Another stream than that which was chosen takes its turn.
        let scoped = || self.scoped.as_ref()?.goes_on(pair);
        let at = self.passes(id, pair, scoped())?;
        self.service.lasts(at).then_some((id, at))
    }

    /// From when on a queue pair may send; `None` before something else happens.
    pub(crate) fn available(&self, id: PairId, pair: &Pair) -> Option<Time> {
        let scoped = || self.scoped.as_ref()?.available(pair);
        self.passes(id, pair, scoped())
    }

    /// From when on a queue pair may send by the round robin, or what the enforcer lets it from then on, past its receiver's gate.
    fn passes(&self, id: PairId, pair: &Pair, enforced: Option<Time>) -> Option<Time> {
        let round = self.rounds.of(pair.class).available(pair.position);
        let own = round.into_iter().chain(enforced).min()?;
        match &self.apportion {
            // Requests for data are free: the rate is that of the data.
            Some(gates) if !self.asks_for_data(pair) => Some(own.max(gates.opens_for(id.0)?)),
            _ => Some(own),
        }
    }

    /// Whether a queue pair may send by the round robin at `now`: a request for data, where an enforcer has the rest.
    pub(crate) fn in_round(&self, now: Time, pair: &Pair) -> bool {
        let at = self.rounds.of(pair.class).available(pair.position);
        at.is_some_and(|at| at <= now)
    }

    /// Whether a queue pair's next request is one for data that may be sent.
    pub(crate) fn asks_for_data(&self, pair: &Pair) -> bool {
        pair.requests_at(self.pauses(pair)).is_some() && pair.requester.asks_for_data()
    }

    /// When a queue pair has data that it may send, as far as it is up to itself.
    pub(crate) fn data_at(&self, pair: &Pair) -> Option<Time> {
        let paused = self.pauses(pair);
        let requests = pair.requests_at(paused);
        let requests = requests.filter(|_| !pair.requester.asks_for_data());
        let both = requests.into_iter().chain(pair.responses_at(paused));
        both.min()
    }

    /// Brings up to date where a queue pair waits for its turn: in the round robin, or at the enforcer. With the round robin wait
    /// requests for data, which nobody enforces; other data isn't offered unless `open`.
    #[cold]
    pub(crate) fn offer(&mut self, pair: &Pair, open: bool) {
        let paused = self.pauses(pair);
        let requests = pair.requests_at(paused);
        let asks = requests.is_some() && pair.requester.asks_for_data();
        if pair.position != NONE {
            let all = self.scoped.is_none() && open;
            let at = match all {
                true => pair.available(paused),
                false => requests.filter(|_| asks),
            };
            self.rounds.of_mut(pair.class).set(pair.position, at);
        }
        let Some(scoped) = self.scoped.as_deref_mut() else {
            return;
        };
        let requests = open && requests.is_some() && !asks;
        let responses = open && pair.responses_at(paused).is_some();
        scoped.offer((pair, Stream::Requests), requests);
        scoped.offer((pair, Stream::Responses), responses);
    }

    /// Whether the class of a queue pair is paused.
    const fn pauses(&self, pair: &Pair) -> bool {
        self.paused & 1 << pair.class != 0
    }
}
