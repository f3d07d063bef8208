//! What HPCC's simulator does differently at hosts, in one place: profile `hpcc-ns3`.
//!
//! There, simultaneous events happen in the order in which they were scheduled, so the timers of controllers
//! must be events of their own; and NICs wake as its code does.

use fairlane_congestion::TIMERS;
use fairlane_engine::{Event, Wake};
use fairlane_host::PairId;
use fairlane_units::Time;

use crate::connections::Side;
use crate::ns3_random::Ns3Random;
use crate::packet::NONE;
use crate::world::{Waking, World};

/// The state of a run in profile `hpcc-ns3`.
#[derive(Clone, Debug)]
pub(crate) struct Ns3 {
    /// The random numbers of marks.
    pub(crate) random: Ns3Random,
    /// The slot of each flow whose timers have ever been armed.
    slots: Vec<u32>,
    /// By slot, the flow and the deadlines of the controller of its data; they outlive the use of a slot, so
    /// that an old event is recognised.
    timers: Vec<(u32, [Wake; TIMERS])>,
    free: Vec<u32>,
}

impl Ns3 {
    pub(crate) fn new(nodes: usize, flows: usize) -> Self {
        Self {
            random: Ns3Random::after_setup(nodes),
            slots: vec![NONE; flows],
            timers: Vec::new(),
            free: Vec::new(),
        }
    }

    fn slot(&mut self, flow: u32) -> u32 {
        let slot = &mut self.slots[flow as usize];
        if *slot == NONE {
            *slot = self.free.pop().unwrap_or(self.timers.len() as u32);
            if *slot as usize == self.timers.len() {
                self.timers.push((flow, Default::default()));
            }
            self.timers[*slot as usize].0 = flow;
        }
        *slot
    }
}

impl World {
    /// A queue pair has heard something: its timers follow, and if a packet that is paced has moved, so does
    /// the time at which its NIC wakes.
    #[cold]
    pub(crate) fn follow(&mut self, host: u32, (flow, pair): (u32, PairId), shifted: bool) {
        self.arm_timers(host, flow, pair);
        if !shifted {
            return;
        }
        let nic = &self.nics[host as usize];
        let (wake, at) = (nic.wake, nic.host.paced_until(pair));
        if wake.is_armed() && at < wake.deadline() {
            self.arm_wake(host, at.max(self.now()));
        }
    }

    fn arm_timers(&mut self, host: u32, flow: u32, pair: PairId) {
        let hosts = self.nics.len() as u32;
        let Some(ns3) = &mut self.ns3 else {
            return;
        };
        let (changed, timers) = self.nics[host as usize].host.changed_timers(pair);
        if changed == 0 {
            return;
        }
        let slot = ns3.slot(flow);
        let wakes = &mut ns3.timers[slot as usize].1;
        for timer in (0..TIMERS).filter(|timer| changed & 1 << timer != 0) {
            match timers.deadline(timer) {
                Some(at) => {
                    let number = slot * TIMERS as u32 + timer as u32;
                    let component = Waking::Alarm.component(hosts + number);
                    let rank = Waking::Alarm.rank(u64::from(number));
                    wakes[timer].arm(&mut self.engine, at, rank, component);
                }
                None => wakes[timer].cancel(),
            }
        }
    }

    /// A timer of a controller comes up.
    #[cold]
    pub(crate) fn on_controller_timer(&mut self, number: u32, event: Event) {
        let now = self.now();
        let (slot, timer) = (number as usize / TIMERS, number as usize % TIMERS);
        let Some(ns3) = &mut self.ns3 else {
            return;
        };
        let (flow, wakes) = &mut ns3.timers[slot];
        let flow = *flow;
        if !wakes[timer].fires(&mut self.engine, event) {
            return;
        }
        let spec = self.specs[flow as usize];
        let (side, node) = match spec.verb {
            fairlane_scenario::Verb::Read => (Side::Responder, spec.destination),
            _ => (Side::Requester, spec.source),
        };
        let host = self.host(node);
        if let Some(pair) = self.connections.pair(flow, side) {
            self.nics[host as usize].host.on_timer(now, pair, timer);
            self.arm_timers(host, flow, pair);
        }
    }

    /// The queue pair of a flow has gone.
    pub(crate) fn forget_timers(&mut self, flow: u32) {
        let Some(ns3) = &mut self.ns3 else {
            return;
        };
        let slot = std::mem::replace(&mut ns3.slots[flow as usize], NONE);
        if slot != NONE {
            ns3.timers[slot as usize]
                .1
                .iter_mut()
                .for_each(Wake::cancel);
            ns3.free.push(slot);
        }
    }

    /// HPCC's simulator looks at all queue pairs with bytes left, also those that a window or a pause stops;
    /// if the earliest of them is not in the future, nobody is woken.
    pub(crate) fn await_turn_as_ns3(&mut self, host: u32) {
        let nic = &self.nics[host as usize];
        let earliest: Option<Time> = nic.host.paced().min();
        match earliest {
            Some(at) if !nic.wake.is_armed() && at > self.now() => self.arm_wake(host, at),
            _ => {}
        }
    }
}
