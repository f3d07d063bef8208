//! Two managers over a network that loses, repeats and reorders, with applications that do whatever comes to mind.
//!
//! The model of a connection at one end is the order of events that its application may see. Beside that:
//! each request is told of once; what one end believes to be established, the other does too, unless every word that it isn't was lost; nothing
//! is left when all timers have run out.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{Pair, message, peer, rep, req};
use fairlane_cm::{
    ConnectionId, EventKind, Mad, Manager, Message, Reason, Settings, SidrRep, SidrReq, SidrStatus,
    Wait,
};
use fairlane_units::{Duration, QpNumber, Time};
use proptest::prelude::*;

/// What a network may do, in parts of 256.
#[derive(Clone, Copy, Debug)]
struct Network {
    lost: u8,
    repeated: u8,
    /// How much later a MAD may come than one sent after it, in parts of 256 of a packet's lifetime.
    spread: u8,
}

/// Random numbers of a test.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % below
    }

    fn happens(&mut self, in_256: u8) -> bool {
        self.roll(256) < u64::from(in_256)
    }
}

/// What an application has heard of a connection last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// Active: nothing yet.
    Nothing,
    /// Passive: a request.
    Requested,
    /// Active: a reply.
    Replied,
    Established,
    Disconnected,
    /// The last that it hears.
    Over,
}

impl Heard {
    /// What an event makes of it, `None` if it must not come now.
    fn next(self, event: &EventKind) -> Option<Self> {
        Some(match (self, event) {
            (Self::Nothing, EventKind::Replied(_)) => Self::Replied,
            (Self::Requested, EventKind::Established) => Self::Established,
            // A reply or request may be all that has been heard, as RTU or the application may be late.
            (Self::Requested | Self::Replied | Self::Established, EventKind::Disconnected) => {
                Self::Disconnected
            }
            (
                Self::Nothing | Self::Requested | Self::Replied,
                EventKind::Rejected(_) | EventKind::Unreachable,
            )
            | (Self::Disconnected, EventKind::Ended)
            | (Self::Nothing, EventKind::Resolved(_)) => Self::Over,
            _ => return None,
        })
    }
}

struct World {
    pair: Pair,
    network: Network,
    dice: Dice,
    /// MADs under way: when they come, their number, to whom.
    under_way: BTreeMap<(Time, u64), (usize, Mad)>,
    sent: u64,
    heard: [BTreeMap<ConnectionId, Heard>; 2],
    /// Requests and questions that the passive side has been told of, by the active side's name.
    told: BTreeSet<(u32, bool)>,
    /// The active side's name of passive connections.
    opposite: BTreeMap<ConnectionId, u32>,
    /// By the active side's name: whether any REJ or DREQ that was said of a connection has arrived.
    last_words: BTreeMap<u32, bool>,
    /// Which ends have said yes to a connection.
    agreed: [bool; 2],
    most: usize,
}

const LIFETIME: u8 = 10;

impl World {
    fn new(network: Network, seed: u64) -> Self {
        let exponent = |exponent| Wait::new(exponent).expect("below 32");
        let pair = Pair::with(|settings| Settings {
            packet_lifetime: exponent(LIFETIME),
            response_timeout: exponent(12),
            retries: 6,
            ..settings
        });
        Self {
            pair,
            network,
            dice: Dice(seed),
            under_way: BTreeMap::new(),
            sent: 0,
            heard: [BTreeMap::new(), BTreeMap::new()],
            told: BTreeSet::new(),
            opposite: BTreeMap::new(),
            last_words: BTreeMap::new(),
            agreed: [false; 2],
            most: 0,
        }
    }

    fn send_all(&mut self) {
        for end in [0, 1] {
            for mad in self.pair.said(end) {
                let copies = 1 + usize::from(self.dice.happens(self.network.repeated));
                for _ in 0..copies {
                    self.send(1 - end, mad);
                }
            }
        }
    }

    fn send(&mut self, to: usize, mad: Mad) {
        let is_lost = self.dice.happens(self.network.lost);
        let names = match message(&mad) {
            Message::Rej(rej) => Some([rej.remote_id, rej.local_id]),
            Message::Dreq(dreq) => Some([dreq.remote_id, dreq.local_id]),
            _ => None,
        };
        if let Some(names) = names {
            *self.last_words.entry(names[to]).or_default() |= !is_lost;
        }
        if is_lost {
            return;
        }
        let lifetime = Wait::new(LIFETIME).expect("below 32").duration();
        let spread = lifetime.as_ps() / 256 * u64::from(self.network.spread);
        let late = Duration::from_ps(1_000 + self.dice.roll(spread + 1));
        self.sent += 1;
        self.under_way
            .insert((self.pair.now + late, self.sent), (to, mad));
    }

    /// What happens next, MAD or timer, up to `until`; `false` if there is nothing.
    fn step(&mut self, until: Time) -> bool {
        let arrives = self.under_way.keys().next().map(|(at, _)| *at);
        let fires = self.pair.ends.iter().filter_map(Manager::deadline).min();
        let next = [arrives, fires].into_iter().flatten().min();
        let Some(next) = next.filter(|next| *next <= until) else {
            return false;
        };
        self.pair.now = self.pair.now.max(next);
        if arrives == Some(next) {
            let (_, (to, mad)) = self.under_way.pop_first().expect("it arrives");
            self.pair.hear(to, &mad);
        } else {
            let now = self.pair.now;
            self.pair
                .ends
                .iter_mut()
                .for_each(|end| end.on_timeout(now));
        }
        self.react();
        true
    }

    /// Takes events, holds them against the model, and lets applications do something.
    fn react(&mut self) {
        for end in [0, 1] {
            for event in self.pair.events(end) {
                self.on_event(end, event.connection, &event.kind);
            }
            self.most = self.most.max(self.pair.ends[end].connections());
        }
        self.send_all();
    }

    fn on_event(&mut self, end: usize, id: ConnectionId, kind: &EventKind) {
        let request = match kind {
            EventKind::Requested(_, req) => Some((req.local_id, false)),
            EventKind::Asked(_, question) => Some((question.request_id, true)),
            _ => None,
        };
        if let Some(name) = request {
            assert_eq!(end, 1);
            assert!(self.told.insert(name), "{name:?} is told of twice");
            let known = self.heard[end].insert(id, Heard::Requested);
            assert_eq!(known, None, "a name is used twice");
            self.opposite.insert(id, name.0);
        } else {
            let before = self.heard[end].get(&id).copied();
            let before = before.unwrap_or_else(|| panic!("{end}: {id:?} isn't known: {kind:?}"));
            let after = before.next(kind);
            let after = after.unwrap_or_else(|| panic!("{end}: {before:?}, and then {kind:?}"));
            self.heard[end].insert(id, after);
        }
        self.decide(end, id, kind);
    }

    /// The application's answer, if it doesn't sleep.
    fn decide(&mut self, end: usize, id: ConnectionId, kind: &EventKind) {
        let now = self.pair.now;
        let choice = self.dice.roll(10);
        let manager = &mut self.pair.ends[end];
        match (kind, choice) {
            (EventKind::Requested(_, req), 0..=6) => {
                let rep = rep(req, 10_000 + id.0);
                manager.accept(id, rep, now).expect("a request");
                self.agreed[end] = true;
            }
            (EventKind::Requested(..), 7) | (EventKind::Replied(_), 8) => {
                let refused = manager.reject(id, Reason::CONSUMER, [0; 148], now);
                refused.expect("something to refuse");
                self.heard[end].insert(id, Heard::Over);
            }
            (EventKind::Requested(..) | EventKind::Replied(_), 9) => {
                let exponent = Wait::new(13).expect("below 32");
                manager.extend(id, exponent).expect("something to decide");
            }
            (EventKind::Replied(_), 0..=7) => {
                manager.confirm(id, [0; 224]).expect("a reply");
                self.agreed[end] = true;
                self.heard[end].insert(id, Heard::Established);
            }
            (EventKind::Asked(_, question), 0..=8) => {
                let answer = answer(question, choice);
                manager.answer(id, answer, now).expect("a question");
                self.heard[end].insert(id, Heard::Over);
            }
            _ => {}
        }
    }

    /// An application begins something.
    fn act(&mut self, action: u8) {
        let now = self.pair.now;
        match action % 6 {
            0..=2 => {
                let req = req(self.pair.fresh_pair());
                if let Ok(id) = self.pair.ends[0].connect(peer(1), req, now) {
                    self.heard[0].insert(id, Heard::Nothing);
                }
            }
            3 => {
                let question = SidrReq {
                    request_id: 0,
                    partition_key: 0xffff,
                    service_id: common::SERVICE,
                    private_data: [1; 216],
                };
                if let Ok(id) = self.pair.ends[0].ask(peer(1), question, now) {
                    self.heard[0].insert(id, Heard::Nothing);
                }
            }
            4 => {
                let end = self.dice.roll(2) as usize;
                if let Some(id) = self.pick(end, |heard| heard == Heard::Established) {
                    // It may be ended already, by the other side or this one.
                    let _ = self.pair.ends[end].disconnect(id, [0; 220], now);
                }
            }
            _ => {
                let end = self.dice.roll(2) as usize;
                if let Some(id) = self.pick(end, |heard| heard != Heard::Over) {
                    self.give_up(end, id);
                }
            }
        }
        self.react();
    }

    fn give_up(&mut self, end: usize, id: ConnectionId) {
        self.pair.ends[end].destroy(id, self.pair.now);
        self.heard[end].insert(id, Heard::Over);
    }

    fn pick(&mut self, end: usize, wanted: impl Fn(Heard) -> bool) -> Option<ConnectionId> {
        let some = self.heard[end].iter().filter(|(_, heard)| wanted(**heard));
        let some: Vec<ConnectionId> = some.map(|(id, _)| *id).collect();
        let which = self.dice.roll(some.len().max(1) as u64) as usize;
        some.get(which).copied()
    }

    /// Everything that is under way arrives, and timers run out, but for those that wait for applications.
    fn settle(&mut self) {
        let mut steps = 0;
        while self.step(Time::MAX) {
            steps += 1;
            assert!(steps < 100_000, "it doesn't end");
        }
    }

    fn assert_agree(&self) {
        for (passive, active) in &self.opposite {
            let [one, other] = [
                self.heard[0].get(&ConnectionId(*active)).copied(),
                self.heard[1].get(passive).copied(),
            ];
            let established = Some(Heard::Established);
            if (one == established) != (other == established) {
                let excused = self.last_words.get(active) == Some(&false);
                assert!(excused, "active {active}: {one:?}, passive: {other:?}");
            }
        }
    }

    fn end_all(&mut self) {
        for end in [0, 1] {
            let left =
                |(id, heard): (&ConnectionId, &Heard)| (*heard != Heard::Over).then_some(*id);
            let left: Vec<ConnectionId> = self.heard[end].iter().filter_map(left).collect();
            for id in left {
                self.give_up(end, id);
            }
        }
        self.react();
        self.settle();
    }
}

fn answer(question: &SidrReq, choice: u64) -> SidrRep {
    SidrRep {
        request_id: 0,
        status: SidrStatus(choice as u8 % 3),
        queue_pair: QpNumber::new(9),
        service_id: question.service_id,
        queue_key: 7,
        private_data: [2; 136],
    }
}

fn network() -> impl Strategy<Value = Network> {
    let share = prop_oneof![Just(0_u8), 0_u8..100, 0_u8..=255];
    (share.clone(), share, any::<u8>()).prop_map(|(lost, repeated, spread)| Network {
        lost,
        repeated,
        spread,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn both_ends_agree_whatever_the_network_does(
        network in network(),
        seed in any::<u64>(),
        actions in proptest::collection::vec((any::<u8>(), 0_u64..40_000), 1..30),
    ) {
        let mut world = World::new(network, seed);
        let begun = actions.len();
        for (action, pause) in actions {
            world.act(action);
            let until = world.pair.now + Duration::from_us(pause);
            while world.step(until) {}
            world.pair.now = world.pair.now.max(until);
        }
        world.settle();
        world.assert_agree();
        world.end_all();
        prop_assert!(world.most <= begun, "{} connections of {begun}", world.most);
        for manager in &world.pair.ends {
            prop_assert_eq!(manager.connections(), 0);
            prop_assert_eq!(manager.deadline(), None);
        }
    }

    #[test]
    fn without_losses_everything_that_is_wanted_comes_to_be(
        seed in any::<u64>(),
        spread in any::<u8>(),
        repeated in any::<u8>(),
    ) {
        let network = Network { lost: 0, repeated, spread };
        let mut world = World::new(network, seed);
        world.act(0);
        world.settle();
        world.assert_agree();
        let heard = |end: usize| world.heard[end].values().next().copied();
        // Who doesn't decide loses the other one's patience.
        let expected = match world.agreed {
            [true, true] => Some(Heard::Established),
            _ => Some(Heard::Over),
        };
        prop_assert_eq!([heard(0), heard(1)], [expected; 2], "{:?}", world.agreed);
    }
}
