//! The side that merges: what the last switch before a host lets pass, what it holds, and what it gives up.
//!
//! A packet or tail passes once every fork whose label it carries is over; a fork is over once its tail has
//! passed. What is held is then looked at again, in the order of arrival, until nothing more passes. Nothing that is held
//! ever passes for another reason: what waits for too long, or finds no room, is lost, and its sender repeats it.
//!
//! Packets that were sent before routes changed may be anywhere. Once something that was sent later has passed,
//! they are lost as well ([`Item::epoch`]).

use std::collections::BTreeSet;

use fairlane_units::{Bytes, Duration, Time};

use crate::fork::{Fork, Forks};

/// A packet, or a tail, at the last switch.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// Which packet it is, as whoever asks knows it.
    pub at: u32,
    /// The direction of a flow that it belongs to.
    pub flow: u64,
    /// The labels that it carries.
    pub forks: Forks,
    /// The fork whose tail it is, if it is one.
    pub tail: Fork,
    /// Bytes on the wire.
    pub wire: u16,
    /// How often routes had changed when it set out.
    pub epoch: u16,
}

/// What becomes of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A packet goes on to its host; whether it was held, so that its bytes stay in the pool until it
    /// [has left](Hold::on_left).
    Passes(bool),
    /// A tail has done its work: this fork is over.
    Over(Fork),
    /// There is no room to hold it.
    NoRoom,
    /// The item was held for too long.
    TooLong,
    /// Something that set out after a change of routes has passed before it; whether it was held.
    Overtaken(bool),
}

/// The last switch before hosts, as far as it merges.
#[derive(Clone, Debug)]
pub struct Hold {
    room: u64,
    timeout: Duration,
    /// Directions of flows of which something is held, in ascending order.
    flows: Vec<Held>,
    /// Lists without items, to be used again.
    spare: Vec<Vec<(Time, Item)>>,
    /// When to look at which flow: not later than when its first item has been held for too long.
    due: BTreeSet<(Time, u64)>,
    over: Over,
    /// Bytes that are held, and those that were and are still here.
    pool: u64,
    /// Bytes that are held.
    waiting: u64,
    /// Most bytes that were ever held.
    pub most: Bytes,
    /// Packets that were held.
    pub packets: u64,
}

/// What is held of one direction of a flow, in the order of arrival.
#[derive(Clone, Debug)]
struct Held {
    flow: u64,
    items: Vec<(Time, Item)>,
}

impl Hold {
    /// A switch that has `room` for packets that it holds, each for no longer than `timeout`.
    pub const fn new(room: Bytes, timeout: Duration) -> Self {
        Self {
            room: room.get(),
            timeout,
            flows: Vec::new(),
            spare: Vec::new(),
            due: BTreeSet::new(),
            over: Over { sets: Vec::new() },
            pool: 0,
            waiting: 0,
            most: Bytes::ZERO,
            packets: 0,
        }
    }

    /// Something has arrived. Tells the fate of everything that isn't held after that, in order. `latest` is
    /// the latest epoch of which anything of the flow has passed.
    pub fn on_arrival(
        &mut self,
        now: Time,
        item: Item,
        latest: &mut u16,
        tell: &mut Vec<(u32, Fate)>,
    ) {
        if is_overtaken(&item, *latest) {
            tell.push((item.at, Fate::Overtaken(false)));
        } else if !self.may_pass(&item) {
            self.hold(now, item, tell);
        } else if self.pass(&item, (false, latest), tell) {
            self.look_again(item.flow, latest, tell);
        }
    }

    /// A packet that was held has left for its host.
    pub fn on_left(&mut self, wire: u16) {
        self.pool -= u64::from(wire);
    }

    /// Gives up what has been held for too long, with everything else that is held of the flow.
    pub fn expire(&mut self, now: Time, tell: &mut Vec<(u32, Fate)>) {
        while let Some(&(at, flow)) = self.due.first().filter(|due| due.0 <= now) {
            self.due.remove(&(at, flow));
            let Some(index) = self.find(flow) else {
                continue;
            };
            let oldest = self.flows[index].items[0].0.saturating_add(self.timeout);
            if oldest > now {
                self.due.insert((oldest, flow));
                continue;
            }
            for (_, item) in std::mem::take(&mut self.flows[index].items) {
                self.let_go(&item);
                self.pool -= u64::from(item.wire);
                tell.push((item.at, Fate::TooLong));
            }
            self.flows.remove(index);
        }
    }

    /// When something is to be given up next, or earlier.
    pub fn next_due(&self) -> Option<Time> {
        self.due.first().map(|due| due.0)
    }

    /// What is held, by flow and in the order of arrival.
    pub fn held(&self) -> impl Iterator<Item = &Item> {
        let items = self.flows.iter().flat_map(|held| &held.items);
        items.map(|(_, item)| item)
    }

    /// The forks that something waits for: whose labels it carries, and that aren't over.
    pub fn waits_for<'a>(&'a self, item: &'a Item) -> impl Iterator<Item = Fork> + 'a {
        let forks = item.forks.iter();
        forks.filter(|&fork| !fork.is_cleared() && !self.over.has(fork))
    }

    fn find(&self, flow: u64) -> Option<usize> {
        self.flows
            .binary_search_by_key(&flow, |held| held.flow)
            .ok()
    }

    fn may_pass(&self, item: &Item) -> bool {
        self.waits_for(item).next().is_none()
    }

    /// Lets an item pass, which was held or wasn't; whether others may pass, or must not, after that.
    fn pass(
        &mut self,
        item: &Item,
        (held, latest): (bool, &mut u16),
        tell: &mut Vec<(u32, Fate)>,
    ) -> bool {
        let later = is_before(*latest, item.epoch);
        if later {
            *latest = item.epoch;
        }
        if item.tail.is_some() {
            self.over.add(item.tail.plain());
            self.pool -= if held { u64::from(item.wire) } else { 0 };
            tell.push((item.at, Fate::Over(item.tail.plain())));
            return true;
        }
        tell.push((item.at, Fate::Passes(held)));
        later
    }

    fn hold(&mut self, now: Time, item: Item, tell: &mut Vec<(u32, Fate)>) {
        let wire = u64::from(item.wire);
        // A tail is small, and without it those that wait for it would be lost too.
        if item.tail == Fork::NONE {
            if self.pool + wire > self.room {
                tell.push((item.at, Fate::NoRoom));
                return;
            }
            self.packets += 1;
        }
        let index = match self
            .flows
            .binary_search_by_key(&item.flow, |held| held.flow)
        {
            Ok(index) => index,
            Err(index) => {
                let items = self.spare.pop().unwrap_or_default();
                let flow = item.flow;
                self.flows.insert(index, Held { flow, items });
                self.due.insert((now.saturating_add(self.timeout), flow));
                index
            }
        };
        self.flows[index].items.push((now, item));
        self.pool += wire;
        self.waiting += wire;
        self.most = self.most.max(Bytes::new(self.waiting));
    }

    /// An item isn't held any more.
    fn let_go(&mut self, item: &Item) {
        self.waiting -= u64::from(item.wire);
    }

    /// Lets pass what is held of a flow and may, in the order of arrival. Whenever a tail passes, those before it that
    /// waited for it come first.
    fn look_again(&mut self, flow: u64, latest: &mut u16, tell: &mut Vec<(u32, Fate)>) {
        let Some(index) = self.find(flow) else {
            return;
        };
        let mut items = std::mem::take(&mut self.flows[index].items);
        let mut again = true;
        while again {
            again = false;
            items.retain(|(_, item)| {
                if again {
                    return true;
                }
                if is_overtaken(item, *latest) {
                    self.pool -= u64::from(item.wire);
                    tell.push((item.at, Fate::Overtaken(true)));
                } else if self.may_pass(item) {
                    again = self.pass(item, (true, latest), tell);
                } else {
                    return true;
                }
                self.let_go(item);
                false
            });
        }
        if items.is_empty() {
            self.flows.remove(index);
            self.spare.push(items);
        } else {
            self.flows[index].items = items;
        }
    }
}

/// Whether a packet set out before routes changed and something that set out later has passed. Tails only say
/// that everything before them is through or lost, so they count as ever.
fn is_overtaken(item: &Item, latest: u16) -> bool {
    item.tail == Fork::NONE && is_before(item.epoch, latest)
}

/// Whether one epoch is before another: they are counted in 16 bits, over and over.
pub(crate) const fn is_before(one: u16, other: u16) -> bool {
    (one.wrapping_sub(other) as i16) < 0
}

/// Forks that are over, as far as they are remembered: the latest few of those with the same hash. One that is
/// forgotten while its packets are under way holds them until they are lost; order doesn't hang on it.
#[derive(Clone, Debug)]
struct Over {
    sets: Vec<[Fork; WAYS]>,
}

/// Sets of [`Over`], and forks in each: 4096 in all, as many as a switch has streams by default.
const SETS: usize = 1 << 10;
const WAYS: usize = 4;

impl Over {
    fn set(fork: Fork) -> usize {
        let [high, low] = fork.halves();
        let mixed = (u64::from(high) << 32 | u64::from(low)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 40) as usize % SETS
    }

    fn has(&self, fork: Fork) -> bool {
        let set = self.sets.get(Self::set(fork));
        set.is_some_and(|set| set.contains(&fork))
    }

    fn add(&mut self, fork: Fork) {
        if self.has(fork) {
            return;
        }
        if self.sets.is_empty() {
            self.sets = vec![[Fork::NONE; WAYS]; SETS];
        }
        let set = &mut self.sets[Self::set(fork)];
        set.rotate_right(1);
        set[0] = fork;
    }
}
