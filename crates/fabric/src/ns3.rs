//! What HPCC's simulator does differently at hosts, in one place: profile `hpcc-ns3`.
//!
//! There, simultaneous events happen in the order in which they were scheduled, so the timers of controllers
//! must be events of their own; and NICs wake as its code does.

use fairlane_congestion::TIMERS;
use fairlane_engine::{Engine, Event, Wake};
use fairlane_network::Network;
use fairlane_network::packet::NONE;
use fairlane_network::waking::Waking;
use fairlane_nic::PairId;
use fairlane_units::FlowId;

use crate::nic::AttachedNic;

/// The timers of controllers in profile `hpcc-ns3`.
#[derive(Clone, Debug)]
pub(crate) struct Ns3 {
    /// Alarms with smaller numbers are those of hosts.
    hosts: u32,
    /// The slot of each flow whose timers have ever been armed.
    slots: Vec<u32>,
    /// By slot, the flow and the deadlines of the controller of its data; they outlive the use of a slot, so
    /// that an old event is recognised.
    timers: Vec<(FlowId, [Wake; TIMERS])>,
    free: Vec<u32>,
}

impl Ns3 {
    pub(crate) fn new(hosts: usize, flows: usize) -> Self {
        Self {
            hosts: hosts as u32,
            slots: vec![NONE; flows],
            timers: Vec::new(),
            free: Vec::new(),
        }
    }

    fn slot(&mut self, flow: FlowId) -> u32 {
        let slot = &mut self.slots[flow.index()];
        if *slot == NONE {
            *slot = self.free.pop().unwrap_or(self.timers.len() as u32);
            if *slot as usize == self.timers.len() {
                self.timers.push((flow, Default::default()));
            }
            self.timers[*slot as usize].0 = flow;
        }
        *slot
    }

    /// A queue pair has heard something: its timers follow, and if a packet that is paced has moved, so does
    /// the time at which its NIC wakes.
    #[cold]
    pub(crate) fn follow(
        &mut self,
        engine: &mut Engine,
        nic: &mut AttachedNic,
        (flow, pair): (FlowId, PairId),
        shifted: bool,
    ) {
        self.arm_timers(engine, nic, flow, pair);
        let at = nic.core.pair(pair).paced_until();
        // This profile has one plane.
        let nic_port = &mut nic.ports[0];
        if shifted && nic_port.wake.is_armed() && at < nic_port.wake.deadline() {
            let at = at.max(engine.now());
            nic_port.arm_wake(engine, at);
        }
    }

    pub(crate) fn arm_timers(
        &mut self,
        engine: &mut Engine,
        nic: &mut AttachedNic,
        flow: FlowId,
        pair: PairId,
    ) {
        let (changed, timers) = nic.core.changed_timers(pair);
        if changed == 0 {
            return;
        }
        let slot = self.slot(flow);
        let wakes = &mut self.timers[slot as usize].1;
        for timer in (0..TIMERS).filter(|timer| changed & 1 << timer != 0) {
            match timers.deadline(timer) {
                Some(at) => {
                    let number = slot * TIMERS as u32 + timer as u32;
                    let component = Waking::Alarm.component(self.hosts + number);
                    let rank = Waking::Alarm.rank(u64::from(number));
                    wakes[timer].arm(engine, at, rank, component);
                }
                None => wakes[timer].cancel(),
            }
        }
    }

    /// An alarm beyond those of hosts has come up: the flow and timer that it is for, if it still holds.
    pub(crate) fn fires(
        &mut self,
        engine: &mut Engine,
        number: u32,
        event: Event,
    ) -> Option<(FlowId, usize)> {
        let number = (number - self.hosts) as usize;
        let timer = number % TIMERS;
        let (flow, wakes) = &mut self.timers[number / TIMERS];
        wakes[timer].fires(engine, event).then_some((*flow, timer))
    }

    /// The queue pair of a flow has gone.
    pub(crate) fn forget(&mut self, flow: FlowId) {
        let slot = std::mem::replace(&mut self.slots[flow.index()], NONE);
        if slot != NONE {
            self.timers[slot as usize]
                .1
                .iter_mut()
                .for_each(Wake::cancel);
            self.free.push(slot);
        }
    }
}

impl AttachedNic {
    /// HPCC's simulator looks at all queue pairs with bytes left, also those that a window or a pause stops;
    /// if the earliest of them is not in the future, nobody is woken.
    pub(crate) fn await_turn_as_ns3(&mut self, net: &mut Network) {
        match self.core.paced(0).min() {
            Some(at) if !self.ports[0].wake.is_armed() && at > net.now() => {
                self.ports[0].arm_wake(&mut net.engine, at);
            }
            _ => {}
        }
    }
}
