//! Which pairs a NIC remembers.

use fairlane_units::{HostId, TenantId, Time};

use super::Enforcer;
use crate::Environment;
use crate::scope::pair::{HostPair, NONE};

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
        let room = self.setting.config.pairs / self.tenants.len() as u32;
        if self.tenants[tenant as usize].pairs < room.max(1) {
            self.tenants[tenant as usize].pairs += 1;
            let pair = self.add(now, environment);
            self.index.insert(key, pair);
            return pair;
        }
        if let Some(old) = self.replaceable(now, key.0, tenant) {
            // The successor keeps the controller, and what is owed to the pacer: no place at the NIC makes a fresh start.
            let pair = self.index.remove(&old).expect("it was just found");
            self.index.insert(key, pair);
            return pair;
        }
        // All places are in use: what comes now shares one.
        if let Some(pair) = self.tenants[tenant as usize].overflow {
            return pair;
        }
        let pair = self.add(now, environment);
        self.tenants[tenant as usize].overflow = Some(pair);
        pair
    }

    fn add(&mut self, now: Time, environment: &Environment) -> u32 {
        self.pairs.push(HostPair::new(now));
        self.controllers.push(environment);
        self.pairs.len() as u32 - 1
    }

    /// The tenant's next pair, round and round, that nobody uses and that has been idle.
    fn replaceable(&mut self, now: Time, id: TenantId, tenant: u32) -> Option<(TenantId, HostId)> {
        // A queue can't delay what a pair waits for by more.
        let span = self.environment.base_rtt.saturating_mul(IDLE_ROUND_TRIPS);
        let is_idle = |pair: u32| {
            let pair = &self.pairs[pair as usize];
            pair.lane == NONE && pair.idle(now).is_none_or(|idle| idle >= span)
        };
        let hand = (id, self.tenants[tenant as usize].hand);
        let behind = self.index.range(hand..=(id, HostId::new(u32::MAX)));
        let before = self.index.range((id, HostId::new(0))..hand);
        let mut all = behind.chain(before);
        let found = all.find(|&(_, &pair)| is_idle(pair)).map(|(&key, _)| key);
        if let Some((_, host)) = found {
            self.tenants[tenant as usize].hand = host;
        }
        found
    }
}

/// Round trips without queues after which a pair that heard nothing is idle.
const IDLE_ROUND_TRIPS: u64 = 4;
