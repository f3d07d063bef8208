//! What a lane may send at, and what holds it back.

use fairlane_units::{Bytes, Duration, Rate, Time};

use super::{Enforcer, OF_TENANT};
use crate::scope::Scope;
use crate::scope::lane::Limited;
use crate::scope::pair::Payer;

impl Enforcer {
    /// Index of the controller of a pair.
    pub(super) const fn controller(&self, pair: u32) -> usize {
        OF_TENANT * self.tenants.len() + pair as usize
    }

    /// Index of a tenant's second controller: the pool that its limited pairs have in common, or its cautious aggregate.
    /// The index of its aggregate is the tenant's own.
    pub(super) const fn second(&self, tenant: usize) -> usize {
        self.tenants.len() + tenant
    }

    /// What a pair begins with: the aggregate, or beyond the budget the second controller if that is slower. It needn't be,
    /// since only the aggregate is told of what will never be heard.
    pub(super) fn begins_with(&self, pair: u32, tenant: usize) -> usize {
        let second = self.second(tenant);
        match self.pairs[pair as usize].payer {
            Payer::Nobody if self.allowed(second) < self.allowed(tenant) => second,
            Payer::Nobody | Payer::Credit | Payer::Budget => tenant,
        }
    }

    /// The rate that a pair begins at: where beginners are restrained less beyond the budget, the more so the faster the
    /// aggregate is.
    pub(super) fn begins_at(&self, pair: u32, tenant: usize) -> Rate {
        let rate = self.controllers.rate(self.begins_with(pair, tenant));
        let beyond = self.pairs[pair as usize].payer == Payer::Nobody;
        if !self.restrained || !beyond {
            return rate;
        }
        let part = self.controllers.rate(tenant).as_f64() / self.environment.line_rate.as_f64();
        rate.scale(1.0 / (1.0 + self.setting.config.restraint * part))
    }

    /// What a controller allows, be it by its rate or by its window.
    pub(super) fn allowed(&self, controller: usize) -> Rate {
        let rate = self.controllers.rate(controller);
        let window = self.controllers.window(controller);
        window.map_or(rate, |window| {
            let per_second = window.as_f64() * 8.0 / self.environment.base_rtt.as_secs_f64();
            rate.min(
                self.environment
                    .line_rate
                    .scale((per_second / self.environment.line_rate.as_f64()).min(1.0)),
            )
        })
    }

    /// The rate at which the pacer of a lane goes without express credit.
    pub(super) fn rate(&self, at: u32) -> Rate {
        match self.setting.paced {
            true => self.controlled(at),
            false => self.environment.line_rate,
        }
    }

    /// The rate that a lane is held to without express credit.
    fn controlled(&self, at: u32) -> Rate {
        let lane = &self.lanes.all[at as usize];
        let own = self.controllers.rate(self.controller(lane.pair));
        if self.setting.scope != Scope::Tenant {
            return own;
        }
        let (config, pair) = (&self.setting.config, &self.pairs[lane.pair as usize]);
        let tenant = lane.tenant as usize;
        let mut rate = own;
        if pair.young && config.inheritance {
            rate = rate.min(self.begins_at(lane.pair, tenant));
        }
        let (part, all) = self.part(at);
        if all > part && self.pooled {
            rate = rate.min(self.controllers.rate(self.second(tenant)));
        }
        rate = rate * part / all;
        let cap = pair.cap(self.environment.line_rate);
        let rate = cap.map_or(rate, |cap| rate.min(cap));
        rate.max(Rate::from_mbps(1))
    }

    /// The weight of a lane, and that of all limited ones that it shares with.
    pub(super) fn part(&self, at: u32) -> (u64, u64) {
        let lane = &self.lanes.all[at as usize];
        let tenant = &self.tenants[lane.tenant as usize];
        let all = match lane.limited {
            Limited::No => return (1, 1),
            // The aggregate is theirs alone.
            Limited::Beginner if !self.pooled => tenant.beginners,
            Limited::Beginner | Limited::Yes => tenant.weights,
        };
        (lane.weight.into(), all.into())
    }

    /// Bytes that a lane may have in flight without express credit.
    pub(super) fn window(&self, at: u32) -> Bytes {
        let lane = &self.lanes.all[at as usize];
        let limit = lane.window.limit(self.controlled(at));
        let own = self.controllers.window(self.controller(lane.pair));
        let Some(mut window) = own else {
            return limit;
        };
        if self.setting.scope == Scope::Tenant {
            let pair = &self.pairs[lane.pair as usize];
            let aggregate = self.begins_with(lane.pair, lane.tenant as usize);
            let aggregate = self.controllers.window(aggregate);
            if let Some(aggregate) =
                aggregate.filter(|_| pair.young && self.setting.config.inheritance)
            {
                window = window.min(aggregate);
            }
            let (part, all) = self.part(at);
            window = Bytes::new(window.get() * part / all).max(Bytes::new(1));
        }
        window.min(limit)
    }

    /// Brings up to date whether a lane counts as limited.
    pub(super) fn count_limited(&mut self, now: Time, at: u32) {
        let config = &self.setting.config;
        if self.setting.scope != Scope::Tenant || !config.coupling {
            return;
        }
        let lane = &self.lanes.all[at as usize];
        let pair = &self.pairs[lane.pair as usize];
        let own = self.allowed(self.controller(lane.pair));
        let slow = || own.as_bps() / 9 < self.environment.line_rate.as_bps() / 10;
        // At a k-th of a rate marks are k times rarer.
        let among = u64::from(self.tenants[lane.tenant as usize].limited.max(1));
        let marked = || pair.is_marked(now, config.limited_for.saturating_mul(among));
        let begins = pair.young && pair.payer != Payer::Credit;
        let limited = match lane.has_packet() && (begins || slow() || marked()) {
            true if pair.young => Limited::Beginner,
            true => Limited::Yes,
            false => Limited::No,
        };
        let weight = match limited {
            Limited::No => 0,
            _ if lane.early.is_empty() => 1,
            _ => config.early_weight,
        };
        let (was, weighed) = (lane.limited, lane.weight);
        let tenant = &mut self.tenants[lane.tenant as usize];
        tenant.limited += u32::from(limited != Limited::No);
        tenant.limited -= u32::from(was != Limited::No);
        tenant.weights += weight;
        tenant.weights -= weighed;
        tenant.beginners += weight * u32::from(limited == Limited::Beginner);
        tenant.beginners -= weighed * u32::from(was == Limited::Beginner);
        let lane = &mut self.lanes.all[at as usize];
        (lane.limited, lane.weight) = (limited, weight);
    }

    /// What express packets have pushed back is paid at the rate of now, not at that of then.
    pub(super) fn rescale(&mut self, now: Time, at: u32) {
        let lane = &self.lanes.all[at as usize];
        let behind = lane.available.saturating_since(now);
        let packet = || lane.last_size.serialization(lane.last_rate);
        // Elsewhere a single packet keeps its pace, as that of a queue pair on its own does.
        let alone = self.setting.scope != Scope::Tenant && behind <= packet();
        if behind.is_zero() || alone {
            return;
        }
        let rate = self.rate(at);
        let lane = &mut self.lanes.all[at as usize];
        if rate == lane.last_rate {
            return;
        }
        let scaled = u128::from(behind.as_ps()) * u128::from(lane.last_rate.as_bps())
            / u128::from(rate.as_bps());
        let behind = Duration::from_ps(u64::try_from(scaled).unwrap_or(u64::MAX));
        (lane.available, lane.last_rate) = (now.saturating_add(behind), rate);
    }

    /// Whether express packets have pushed back a pacer so far that no more may.
    pub(super) fn is_in_debt(&self, now: Time, at: u32) -> bool {
        let bdp = self.environment.bdp.get();
        let (part, all) = self.part(at);
        let most = Bytes::new(bdp * u64::from(self.setting.config.debt) * part / all);
        let behind = self.lanes.all[at as usize].available.saturating_since(now);
        !behind.is_zero() && behind > most.serialization(self.rate(at))
    }

    /// The rate at which a tenant's bucket fills.
    pub(super) fn refill(&self, tenant: usize) -> Rate {
        let config = &self.setting.config;
        let least = self.environment.line_rate.scale(config.refill_least);
        let allowed = self.controllers.rate(tenant).scale(config.refill);
        allowed.max(least).scale(self.tenants[tenant].share)
    }

    /// Bytes of a young pair that its aggregate hears of.
    pub(super) fn horizon(&self) -> u32 {
        let config = &self.setting.config;
        let heard = match self.setting.params.algorithm().needs().telemetry {
            true => u64::from(config.heard_with_telemetry),
            false => u64::from(config.heard),
        };
        countable(self.environment.bdp.get() * heard)
    }
}

/// Bytes that a pair's count of what was heard, once it has passed them, never comes below again.
pub(super) fn countable(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX).min(u32::MAX / 4)
}
