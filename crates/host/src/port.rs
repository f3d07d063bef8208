//! A port of a NIC: whose turn it is there, what is owed by it, and what stops it.

use alloc::boxed::Box;
use alloc::sync::Arc;

use fairlane_congestion::Environment;
use fairlane_units::{Rate, Time};

use crate::replies::Replies;
use crate::scoped::{Scoped, Tenants};
use crate::settings::Settings;
use crate::turns::Turns;

/// A port. Queue pairs that are bound to it send by it, and so do their answers.
#[derive(Clone, Debug)]
pub struct Port {
    pub(crate) rate: Rate,
    pub(crate) turns: Turns,
    pub(crate) replies: Replies,
    /// Classes that are paused, as a bit set.
    pub(crate) paused: u8,
    pub(crate) up: bool,
    /// An enforcer shares the uplink out, a receiver's part the downlink.
    pub(crate) scoped: Option<Box<Scoped>>,
}

impl Port {
    /// A port whose link is up.
    pub(crate) fn new(
        settings: &Arc<Settings>,
        environment: &Environment,
        tenants: &Tenants,
    ) -> Self {
        Self {
            rate: environment.line_rate,
            turns: Turns::new(settings.leaving),
            replies: Replies::default(),
            paused: 0,
            up: true,
            scoped: Scoped::new(settings, environment, tenants),
        }
    }

    /// Whether there is nothing that it may send, now or ever, without something else happening before.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.replies.is_empty() && self.turns.is_empty()
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

    /// From when on there may be a packet to send.
    #[inline]
    pub(crate) fn sends_at(&mut self, now: Time, settings: &Settings) -> Option<Time> {
        if !self.up {
            return None;
        }
        if self.replies.may_leave(settings, self.paused) {
            return Some(Time::ZERO);
        }
        let first = self.turns.earliest();
        match &mut self.scoped {
            None => first,
            Some(scoped) => {
                let enforced = scoped.enforcer.earliest(now);
                first.into_iter().chain(enforced).min()
            }
        }
    }
}
