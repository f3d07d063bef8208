//! Shares, whenever somebody joins, leaves, or can use more or less.

use alloc::vec::Vec;

use fairlane_units::{TenantId, Time};

use super::{LOOKS, Receiver, due};
use crate::dasr::fill::{Basin, level};
use crate::dasr::params::Mode;
use crate::dasr::rows::{Row, bps};
use crate::scope::Share;

/// A tenant.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The tenant; `None` for the group of all tenants without a stated weight.
    pub(super) tenant: Option<TenantId>,
    pub(super) weight: f64,
    /// Senders.
    pub(super) rows: u32,
    /// What they can use together, and what they have, in bits per second.
    wanted: f64,
    pub(super) budget: f64,
    /// Where they are in the scratch.
    start: usize,
    /// The largest backlog that is served, and the smallest that waits.
    served: u32,
    waiting: u32,
}

impl Group {
    pub(super) fn new(stated: Option<(TenantId, f64)>) -> Self {
        Self {
            tenant: stated.map(|(tenant, _)| tenant),
            weight: stated.map_or(1.0, |(_, weight)| weight),
            rows: 0,
            wanted: 0.0,
            budget: 0.0,
            start: 0,
            served: 0,
            waiting: u32::MAX,
        }
    }

    /// Whether a sender is served that should wait, or waits and should be served.
    pub(super) const fn is_out_of_order(&self, row: &Row) -> bool {
        match row.served {
            true => row.backlog > self.waiting,
            false => row.backlog < self.served,
        }
    }
}

/// Memory of a division, kept for the next one.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    basins: Vec<Basin>,
    /// Places of rows, tenant by tenant.
    order: Vec<u32>,
}

impl Row {
    /// Whether it can use so much more or less than at the last division that shares change.
    pub(super) fn has_new_demand(&self, tolerance: f64) -> bool {
        // Above its share, how much more makes no difference.
        let open = self.divided.min(self.demand) >= self.share.as_f64();
        let grown = self.demand > self.divided * (1.0 + tolerance);
        let shrunk = self.demand < self.divided * (1.0 - tolerance);
        !open && (grown || shrunk)
    }
}

impl Receiver {
    /// Divides the link anew, and sees to it that everybody hears of it.
    pub(super) fn divide(&mut self, now: Time) {
        (self.divided_at, self.wants_division) = (now, false);
        self.divide_among_tenants();
        self.sort_by_tenant();
        for group in 0..self.groups.len() {
            self.divide_among_senders(group);
        }
        self.look_after_rows(now);
    }

    /// Tenants fill the link by weight.
    fn divide_among_tenants(&mut self) {
        let divided = self.divided();
        self.groups.iter_mut().for_each(|group| group.wanted = 0.0);
        for row in &mut self.rows.all {
            row.divided = row.demand;
            self.groups[row.group as usize].wanted += row.demand;
        }
        let basins = &mut self.scratch.basins;
        basins.clear();
        let active = self.groups.iter().filter(|group| group.rows > 0);
        basins.extend(active.map(|group| Basin {
            depth: group.wanted / group.weight,
            weight: group.weight,
        }));
        let level = level(basins, divided);
        for group in &mut self.groups {
            // A tenant that uses less could have so much at once.
            group.budget = level * group.weight;
        }
    }

    /// Writes down which rows are whose.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the number of rows is bounded"
    )]
    fn sort_by_tenant(&mut self) {
        let order = &mut self.scratch.order;
        order.clear();
        order.resize(self.rows.all.len(), 0);
        let mut start = 0;
        for group in &mut self.groups {
            group.start = start;
            start += group.rows as usize;
        }
        for (at, row) in self.rows.all.iter().enumerate() {
            let group = &mut self.groups[row.group as usize];
            order[group.start] = at as u32;
            group.start += 1;
        }
        for group in &mut self.groups {
            group.start -= group.rows as usize;
        }
    }

    /// Senders of a tenant fill what it has.
    fn divide_among_senders(&mut self, at: usize) {
        let group = &mut self.groups[at];
        let order = &mut self.scratch.order[group.start..][..group.rows as usize];
        let (rows, mut budget) = (&mut self.rows.all, group.budget);
        let mut served = order.len();
        if self.params.mode == Mode::ShortestFirst {
            let size = |&at: &u32| {
                let row = &rows[at as usize];
                (row.backlog, row.peer.key())
            };
            order.sort_unstable_by_key(size);
            served = count_served(rows, order, budget);
            let backlog = |at: &u32| rows[*at as usize].backlog;
            group.served = order[..served].last().map_or(0, backlog);
            group.waiting = order[served..].first().map_or(u32::MAX, backlog);
        }
        for &at in &order[served..] {
            let row = &mut rows[at as usize];
            let equal = group.budget / f64::from(group.rows);
            let least = Share::LEAST.of(row.peer.line_rate).as_f64().min(equal);
            (row.share, row.served) = (bps(least), false);
            budget -= least;
        }
        let basins = &mut self.scratch.basins;
        basins.clear();
        basins.extend(order[..served].iter().map(|&at| Basin {
            depth: rows[at as usize].demand,
            weight: 1.0,
        }));
        let share = bps(level(basins, budget));
        for &at in &order[..served] {
            (rows[at as usize].share, rows[at as usize].served) = (share, true);
        }
    }

    /// Tells those that won't hear of their share otherwise, and finds the next deadline.
    pub(super) fn look_after_rows(&mut self, now: Time) {
        let mut deadline = match self.drains_until {
            Time::ZERO => Time::MAX,
            until => until,
        };
        for row in &mut self.rows.all {
            let due = due::push_due(row, self.rtt, self.packet);
            if !row.unheard && due.is_some_and(|at| at <= now) {
                row.unheard = true;
                self.unheard += 1;
            }
            let due = due::due(row, self.rtt, self.packet);
            deadline = deadline.min(due);
        }
        let soonest = now.saturating_add(self.rtt / LOOKS);
        self.deadline = match deadline {
            Time::MAX => Time::MAX,
            deadline => deadline.max(soonest),
        };
    }
}

/// Senders of a tenant that `shortest-first` serves at a time.
const AT_A_TIME: usize = 4;

/// How many of a tenant's senders in order are served: [`AT_A_TIME`], and more if those can't use
/// what there is.
fn count_served(rows: &[Row], order: &[u32], budget: f64) -> usize {
    let (mut served, mut wanted) = (0, 0.0);
    for &at in order {
        if served >= AT_A_TIME && wanted >= budget {
            break;
        }
        served += 1;
        wanted += rows[at as usize].demand;
    }
    served
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dasr::Peer;
    use fairlane_units::{HostId, Rate};

    #[test]
    fn further_senders_are_served_if_the_first_cannot_use_the_link() {
        let peer = Peer {
            tenant: TenantId::new(0),
            host: HostId::new(0),
            line_rate: Rate::from_gbps(100),
        };
        let row = |demand| {
            let mut row = Row::new(Time::ZERO, peer, 0);
            row.demand = demand;
            row
        };
        let rows = [1.0, 2.0, 8.0, 9.0, 4.0, 6.0].map(row);
        let order = [0, 1, 2, 3, 4, 5];
        assert_eq!(count_served(&rows, &order, 3.0), 4);
        assert_eq!(count_served(&rows, &order, 20.0), 4);
        assert_eq!(count_served(&rows, &order, 22.0), 5);
        assert_eq!(count_served(&rows, &order, 100.0), 6);
    }
}
