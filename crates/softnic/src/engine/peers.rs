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
/// Devices that are remembered without a connection to them: so many may begin one at once.
const MOST_STRANGERS: usize = 1024;
/// Hellos that wait to leave; what finds no room is asked again.
const MOST_WAITING: usize = 1024;

/// What is known of other devices.
#[derive(Debug)]
pub(super) struct Peers {
    /// What this device says of itself.
    own: Hello,
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
        let feedback = needs.round_trip || marks || shares || settings.scope.is_shared();
        let line_rate = settings.line_rate;
        Self {
            own: Hello {
                asks: true,
                shares,
                marks,
                feedback,
                line_rate,
            },
            wants: needs.round_trip || marks || shares,
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
        let before = peer.told.replace((hello, now.saturating_add(REMEMBERED)));
        if self.wants {
            peer.ask_from(now.saturating_add(REFRESH));
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
    pub(super) fn deadline(&self) -> Option<Time> {
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
        if self.waiting.len() < MOST_WAITING {
            self.waiting.push_back((to, hello));
        }
    }

    /// Forgets a device without connections.
    fn forget(&mut self, address: IpAddr) {
        self.known.remove(&address);
        self.strangers -= 1;
    }
}
