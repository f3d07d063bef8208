//! Which pairs a card remembers.

use fairlane_units::{Bytes, HostId, TenantId, Time};

use super::Enforcer;
use crate::Environment;
use crate::scope::pair::{NONE, Pair};

impl Enforcer {
    /// The pair of a key, new if there is none.
    pub(super) fn pair(
        &mut self,
        now: Time,
        key: (TenantId, HostId),
        tenant: u32,
        environment: &Environment,
    ) -> u32 {
        if let Some(&pair) = self.index.get(&key) {
            return pair;
        }
        let room = self.setting.config.pairs as usize;
        if self.index.len() < room {
            let pair = self.pairs.len() as u32;
            self.pairs.push(Pair::new(now));
            self.controllers.push(environment);
            self.index.insert(key, pair);
            return pair;
        }
        if let Some(old) = self.replaceable(now) {
            let pair = self.index.remove(&old).expect("it was just found");
            self.index.insert(key, pair);
            self.reset(now, pair, environment);
            return pair;
        }
        // All places are in use: what comes now shares one.
        if let Some(pair) = self.tenants[tenant as usize].overflow {
            return pair;
        }
        let pair = self.pairs.len() as u32;
        self.pairs.push(Pair::new(now));
        self.controllers.push(environment);
        self.pairs[pair as usize].note_feedback(now, Bytes::ZERO);
        self.tenants[tenant as usize].overflow = Some(pair);
        pair
    }

    /// The next pair, round and round, that nobody uses and that has been idle.
    pub(super) fn replaceable(&mut self, now: Time) -> Option<(TenantId, HostId)> {
        let span = self.setting.config.young_after;
        let idle = |pair: u32| {
            let pair = &self.pairs[pair as usize];
            pair.lane == NONE && !pair.is_fresh(now, span)
        };
        let behind = self.index.range(self.hand..);
        let mut all = behind.chain(self.index.range(..self.hand));
        let found = all.find(|&(_, &pair)| idle(pair)).map(|(&key, _)| key);
        self.hand = found.unwrap_or(self.hand);
        found
    }

    /// Forgets a pair; its successor in the place begins with the tenant's aggregate.
    pub(super) fn reset(&mut self, now: Time, pair: u32, environment: &Environment) {
        let controller = self.controller(pair);
        self.controllers.replace(controller, environment);
        let state = &mut self.pairs[pair as usize];
        *state = Pair::new(now);
        state.evicted = true;
    }
}
