//! Which other devices know the headers of traffic management: hellos tell (`docs/wire.md`).

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use fairlane_congestion::{Needs, dasr};
use fairlane_nic::Extensions;
use fairlane_units::{Duration, Time};
use fairlane_wire::Hello;

use crate::settings::Settings;

/// The time to the second hello, if the first isn't answered; the next ones take twice as long each.
const FIRST_GAP: Duration = Duration::from_ms(1);
/// The last of these times: who hasn't answered after 2 s isn't asked again before another connection begins.
const LAST_GAP: Duration = Duration::from_ms(1024);
/// How long after an answer a device is asked again that there are connections to.
const REFRESH: Duration = Duration::from_ms(10_000);
/// How long what a device has told of itself holds.
const REMEMBERED: Duration = Duration::from_ms(30_000);
/// How long what a device has told of itself isn't changed by another hello, whose sender nobody has verified: a change concerns
/// all connections to it.
const SETTLED: Duration = Duration::from_ms(100);
/// Devices that are remembered without a connection to them: so many may begin one at once.
const MOST_STRANGERS: usize = 1024;
/// Hellos that wait to leave; what finds no room is asked again.
const MOST_WAITING: usize = 1024;

/// What is known of other devices.
#[derive(Debug)]
pub(crate) struct Peers {
    /// What this device says of itself.
    pub(super) own: Hello,
    /// Whether it wants more than plain RoCEv2 has.
    wants: bool,
    known: BTreeMap<IpAddr, Peer>,
    /// How many of them there are no connections to.
    strangers: usize,
    waiting: VecDeque<(IpAddr, Hello)>,
    /// When something is to be done about one of them.
    due: Time,
}

#[derive(Debug)]
struct Peer {
    /// Connections to it.
    connections: u32,
    /// What it has told of itself, and until when that holds.
    told: Option<(Hello, Time)>,
    /// When it is asked next, [`Time::MAX`] for never.
    asks_at: Time,
    /// How long it then has time to answer.
    gap: Duration,
}

impl Peer {
    const NEW: Self = Self {
        connections: 0,
        told: None,
        asks_at: Time::MAX,
        gap: FIRST_GAP,
    };

    fn ask_from(&mut self, at: Time) {
        (self.asks_at, self.gap) = (at, FIRST_GAP);
    }

    /// When something is to be done about it.
    fn due(&self) -> Time {
        let holds = self.told.map_or(Time::MAX, |(_, until)| until);
        match self.connections {
            0 => holds,
            _ => holds.min(self.asks_at),
        }
    }
}

impl Peers {
    pub(super) fn new(settings: &Settings, needs: Needs, dasr: &dasr::Params) -> Self {
        let marks = needs.marks && !needs.hears_cnps;
        let shares = dasr.mode.is_on();
        let measures = needs.round_trip || needs.telemetry;
        let feedback = measures || marks || shares || settings.scope.is_shared();
        let line_rate = settings.line_rate;
        Self {
            own: Hello {
                asks: true,
                shares,
                marks,
                feedback,
                line_rate,
            },
            wants: measures || marks || shares,
            known: BTreeMap::new(),
            strangers: 0,
            waiting: VecDeque::new(),
            due: Time::MAX,
        }
    }

    /// What connections to a device use beside plain RoCEv2.
    pub(super) fn extensions(&self, address: IpAddr) -> Extensions {
        let peer = self.known.get(&address);
        let Some((theirs, _)) = peer.and_then(|peer| peer.told) else {
            return Extensions::NONE;
        };
        let shares = theirs.shares && self.own.shares;
        Extensions {
            shares: shares.then_some(theirs.line_rate),
            read_feedback: theirs.feedback || self.own.feedback,
            marks_in_replies: theirs.marks,
        }
    }

    /// A connection to a device begins.
    pub(super) fn join(&mut self, now: Time, address: IpAddr) {
        let wants = self.wants;
        let peer = self.known.entry(address).or_insert_with(|| {
            self.strangers += 1;
            Peer::NEW
        });
        self.strangers -= usize::from(peer.connections == 0);
        peer.connections += 1;
        let asking = peer.told.is_none() && peer.asks_at != Time::MAX;
        if wants && !asking && (peer.told.is_none() || peer.connections == 1) {
            peer.ask_from(now);
        }
        self.look();
    }

    /// A connection to a device ends.
    pub(super) fn leave(&mut self, address: IpAddr) {
        if let Some(peer) = self.known.get_mut(&address) {
            peer.connections -= 1;
            self.strangers += usize::from(peer.connections == 0);
            if peer.connections == 0 && peer.told.is_none() {
                self.forget(address);
            }
        }
        self.look();
    }

    /// A device tells of itself; returns whether that is new.
    pub(super) fn on_hello(&mut self, now: Time, address: IpAddr, hello: Hello) -> bool {
        if hello.asks {
            let asks = false;
            self.say(address, Hello { asks, ..self.own });
        }
        let full = self.strangers >= MOST_STRANGERS;
        if full && !self.known.contains_key(&address) {
            return false;
        }
        let peer = self.known.entry(address).or_insert_with(|| {
            self.strangers += 1;
            Peer::NEW
        });
        let hello = Hello {
            asks: false,
            ..hello
        };
        let settles = |until: Time| now.saturating_add(REMEMBERED) < until.saturating_add(SETTLED);
        if peer
            .told
            .is_some_and(|(told, until)| told != hello && settles(until))
        {
            // Perhaps it is another device by now.
            peer.ask_from(now.saturating_add(SETTLED));
            self.look();
            return false;
        }
        let before = peer.told.replace((hello, now.saturating_add(REMEMBERED)));
        match self.wants {
            true => peer.ask_from(now.saturating_add(REFRESH)),
            false => peer.asks_at = Time::MAX,
        }
        self.look();
        before.is_none_or(|(before, _)| before != hello)
    }

    /// A device doesn't answer packets with the headers: perhaps another one has taken its place.
    pub(super) fn doubt(&mut self, now: Time, address: IpAddr) {
        if let Some(peer) = self.known.get_mut(&address) {
            peer.told = None;
            if self.wants {
                peer.ask_from(now);
            }
        }
        self.look();
    }

    /// When [`on_deadline`](Self::on_deadline) is due.
    pub(crate) fn deadline(&self) -> Option<Time> {
        Some(self.due).filter(|&at| at != Time::MAX)
    }

    /// Asks those whose time has come; returns devices whose word doesn't hold any longer.
    pub(super) fn on_deadline(&mut self, now: Time) -> Vec<IpAddr> {
        if self.due > now {
            return Vec::new();
        }
        let due = self.known.iter().filter(|(_, peer)| peer.due() <= now);
        let due: Vec<_> = due.map(|(&address, _)| address).collect();
        let mut lapsed = Vec::new();
        for address in due {
            let Some(peer) = self.known.get_mut(&address) else {
                continue;
            };
            if peer.told.is_some_and(|(_, until)| until <= now) {
                peer.told = None;
                match peer.connections {
                    0 => self.forget(address),
                    _ => lapsed.push(address),
                }
            } else if peer.asks_at <= now {
                let next = now.saturating_add(peer.gap);
                peer.asks_at = if peer.gap > LAST_GAP { Time::MAX } else { next };
                peer.gap = peer.gap.saturating_mul(2);
                if peer.asks_at != Time::MAX {
                    self.say(address, self.own);
                }
            }
        }
        self.look();
        lapsed
    }

    /// Whether hellos wait to leave.
    pub(super) fn has_hellos(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The next hello, and where it goes.
    pub(super) fn next_hello(&mut self) -> Option<(IpAddr, Hello)> {
        self.waiting.pop_front()
    }

    /// Brings up to date when something is to be done.
    fn look(&mut self) {
        let due = self.known.values().map(Peer::due).min();
        self.due = due.unwrap_or(Time::MAX);
    }

    fn say(&mut self, to: IpAddr, hello: Hello) {
        let is_there = self.waiting.contains(&(to, hello));
        if self.waiting.len() < MOST_WAITING && !is_there {
            self.waiting.push_back((to, hello));
        }
    }

    /// Forgets a device without connections.
    fn forget(&mut self, address: IpAddr) {
        self.known.remove(&address);
        self.strangers -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use fairlane_units::Rate;

    use super::*;

    const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    /// The peers of a device that wants time stamps, or nothing.
    fn peers(wants: bool) -> Peers {
        let needs = Needs {
            round_trip: wants,
            ..Needs::NOTHING
        };
        Peers::new(&Settings::new(PEER), needs, &dasr::Params::default())
    }

    fn answer() -> Hello {
        Hello {
            asks: false,
            shares: false,
            marks: true,
            feedback: false,
            line_rate: Rate::from_gbps(25),
        }
    }

    fn ms(time: u64) -> Time {
        Time::ZERO + Duration::from_ms(time)
    }

    /// When hellos leave until `end`, in milliseconds.
    fn hellos(peers: &mut Peers, end: Time) -> Vec<u64> {
        let mut times = Vec::new();
        while let Some(at) = peers.deadline().filter(|&at| at <= end) {
            peers.on_deadline(at);
            while let Some((to, hello)) = peers.next_hello() {
                assert!(to == PEER && hello.asks);
                times.push(at.as_ns() / 1_000_000);
            }
        }
        times
    }

    #[test]
    fn who_is_silent_is_asked_for_two_seconds_and_again_with_another_connection() {
        let mut peers = peers(true);
        peers.join(ms(5), PEER);
        peers.join(ms(5), PEER);
        let doubling = [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 1023];
        assert_eq!(hellos(&mut peers, ms(90_000)), doubling.map(|at| at + 5));
        peers.join(ms(91_000), PEER);
        assert_eq!(hellos(&mut peers, ms(91_003)), [91_000, 91_001, 91_003]);
        assert_eq!(peers.extensions(PEER), Extensions::NONE);
    }

    #[test]
    fn answers_hold_for_half_a_minute_and_are_asked_for_again_while_there_are_connections() {
        let mut peers = peers(true);
        peers.join(ms(0), PEER);
        assert_eq!(hellos(&mut peers, ms(0)), [0]);
        assert!(peers.on_hello(ms(1), PEER, answer()));
        let extensions = peers.extensions(PEER);
        assert!(extensions.marks_in_replies && extensions.read_feedback);
        assert_eq!(extensions.shares, None);
        assert_eq!(hellos(&mut peers, ms(10_001)), [10_001]);
        assert!(!peers.on_hello(ms(10_001), PEER, answer()));
        // Nobody answers any more.
        assert_eq!(hellos(&mut peers, ms(40_000)).len(), 11);
        assert_eq!(peers.on_deadline(ms(40_001)), [PEER]);
        assert_eq!(peers.extensions(PEER), Extensions::NONE);
    }

    #[test]
    fn who_wants_nothing_only_answers() {
        let mut peers = peers(false);
        peers.join(ms(0), PEER);
        assert_eq!(peers.deadline(), None);
        let asks = Hello {
            asks: true,
            ..answer()
        };
        assert!(peers.on_hello(ms(1), PEER, asks));
        let (to, own) = peers.next_hello().expect("it is answered");
        assert!(to == PEER && !own.asks && !own.feedback);
        assert!(peers.extensions(PEER).marks_in_replies);
        peers.leave(PEER);
        assert!(peers.on_deadline(ms(30_001)).is_empty());
        assert!(peers.known.is_empty() && peers.strangers == 0);
    }

    #[test]
    fn hellos_that_contradict_each_other_change_nothing_at_once() {
        let mut peers = peers(true);
        peers.join(ms(0), PEER);
        assert!(peers.on_hello(ms(1), PEER, answer()));
        let other = Hello {
            marks: false,
            ..answer()
        };
        assert!(!peers.on_hello(ms(2), PEER, other));
        assert!(peers.extensions(PEER).marks_in_replies);
        assert!(peers.on_hello(ms(102), PEER, other));
        assert!(!peers.extensions(PEER).marks_in_replies);
    }

    #[test]
    fn strangers_are_remembered_while_there_is_room() {
        let mut peers = peers(true);
        for number in 0..2000_u32 {
            let stranger = IpAddr::V4(Ipv4Addr::from(number + 1));
            let is_new = peers.on_hello(ms(0), stranger, answer());
            assert_eq!(is_new, number < MOST_STRANGERS as u32);
        }
        assert_eq!(peers.known.len(), MOST_STRANGERS);
        let known = IpAddr::V4(Ipv4Addr::from(1));
        peers.join(ms(1), known);
        assert_eq!(peers.strangers, MOST_STRANGERS - 1);
        assert_eq!(peers.on_deadline(ms(31_000)), [known]);
        assert_eq!((peers.known.len(), peers.strangers), (1, 0));
    }
}
