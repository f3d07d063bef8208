//! Two managers and a network between them that does what it is told.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::net::{IpAddr, Ipv4Addr};

use fairlane_cm::{
    ConnectionId, Event, EventKind, Mad, Manager, Message, Peer, PortSpace, Rep, Req, ServiceId,
    Settings,
};
use fairlane_units::{Duration, Psn, QpNumber, Time};

pub(crate) const SERVICE: ServiceId = ServiceId::of_port(PortSpace::TCP, 7174);

pub(crate) fn peer(end: usize) -> Peer {
    Peer::at(IpAddr::V4(Ipv4Addr::new(10, 0, 0, end as u8 + 1)))
}

pub(crate) fn req(pair: u32) -> Req {
    Req {
        queue_pair: QpNumber::new(pair),
        starting_psn: Psn::new(100 + pair),
        responder_resources: 3,
        initiator_depth: 4,
        retries: 7,
        rnr_retries: 6,
        mtu: 3,
        ..Req::to(SERVICE)
    }
}

pub(crate) fn rep(req: &Req, pair: u32) -> Rep {
    Rep {
        queue_pair: QpNumber::new(pair),
        starting_psn: Psn::new(200 + pair),
        ..Rep::to(req)
    }
}

/// Two managers that hand each other what they say, at once, unless the test takes it away.
pub(crate) struct Pair {
    pub(crate) ends: [Manager; 2],
    pub(crate) now: Time,
    pub(crate) queue_pairs: u32,
}

impl Pair {
    pub(crate) fn new() -> Self {
        Self::with(|settings| settings)
    }

    pub(crate) fn with(change: impl Fn(Settings) -> Settings) -> Self {
        let manager = |end: u64| {
            Manager::new(change(Settings {
                first_id: 1000 * (end as u32 + 1),
                ..Settings::new(0xa0 + end)
            }))
        };
        let mut ends = [manager(0), manager(1)];
        ends[1].listen(SERVICE, 4).expect("it is free");
        Self {
            ends,
            now: Time::from_ns(1_000),
            queue_pairs: 1,
        }
    }

    /// What an end wants to send.
    pub(crate) fn said(&mut self, end: usize) -> Vec<Mad> {
        std::iter::from_fn(|| self.ends[end].poll_transmit())
            .map(|transmit| {
                assert_eq!(transmit.to, peer(1 - end), "only the other one is there");
                transmit.mad
            })
            .collect()
    }

    pub(crate) fn hear(&mut self, end: usize, mad: &Mad) {
        let heard = self.ends[end].on_mad(peer(1 - end), mad, self.now);
        heard.expect("managers understand each other");
    }

    /// Carries everything over until nobody has anything to say.
    pub(crate) fn settle(&mut self) {
        loop {
            let said = [self.said(0), self.said(1)];
            if said.iter().all(Vec::is_empty) {
                return;
            }
            for (end, mads) in said.iter().enumerate() {
                mads.iter().for_each(|mad| self.hear(1 - end, mad));
            }
        }
    }

    pub(crate) fn events(&mut self, end: usize) -> Vec<Event> {
        std::iter::from_fn(|| self.ends[end].poll_event()).collect()
    }

    /// The only event of an end.
    #[track_caller]
    pub(crate) fn event(&mut self, end: usize) -> Event {
        let mut events = self.events(end);
        assert_eq!(events.len(), 1, "{events:?}");
        events.remove(0)
    }

    pub(crate) fn fresh_pair(&mut self) -> u32 {
        self.queue_pairs += 1;
        self.queue_pairs
    }

    pub(crate) fn connect(&mut self) -> ConnectionId {
        let req = req(self.fresh_pair());
        let id = self.ends[0].connect(peer(1), req, self.now);
        id.expect("there is room")
    }

    /// The request that has come to the passive side.
    #[track_caller]
    pub(crate) fn requested(&mut self) -> (ConnectionId, Req) {
        match self.event(1) {
            Event {
                connection,
                kind: EventKind::Requested(_, req),
            } => (connection, req),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn accept(&mut self, id: ConnectionId, req: &Req) {
        let rep = rep(req, 500 + id.0);
        let accepted = self.ends[1].accept(id, rep, self.now);
        accepted.expect("it has been requested");
    }

    /// A connection that the passive side is to accept.
    pub(crate) fn asked(&mut self) -> (ConnectionId, ConnectionId, Req) {
        let active = self.connect();
        self.settle();
        let (passive, req) = self.requested();
        (active, passive, req)
    }

    /// A connection that the active side is to confirm.
    pub(crate) fn replied(&mut self) -> (ConnectionId, ConnectionId) {
        let (active, passive, req) = self.asked();
        self.accept(passive, &req);
        self.settle();
        assert!(matches!(self.event(0).kind, EventKind::Replied(_)));
        (active, passive)
    }

    /// A connection that both sides know to be established.
    pub(crate) fn established(&mut self) -> (ConnectionId, ConnectionId) {
        let (active, passive) = self.replied();
        let confirmed = self.ends[0].confirm(active, [0; 224]);
        confirmed.expect("it has been accepted");
        self.settle();
        assert_eq!(self.event(1).kind, EventKind::Established);
        (active, passive)
    }

    /// Lets the first timer of an end fire; how long that took.
    #[track_caller]
    pub(crate) fn fire(&mut self, end: usize) -> Duration {
        let deadline = self.ends[end].deadline().expect("a timer runs");
        let waited = deadline - self.now;
        self.now = deadline;
        self.ends[end].on_timeout(deadline);
        waited
    }

    /// Fires all timers of both ends in order, carrying everything over, until none is left.
    pub(crate) fn run(&mut self) {
        loop {
            self.settle();
            let deadlines = self.ends.iter().filter_map(Manager::deadline);
            let Some(at) = deadlines.min() else { return };
            self.now = self.now.max(at);
            let now = self.now;
            self.ends.iter_mut().for_each(|end| end.on_timeout(now));
        }
    }
}

/// What a MAD says.
pub(crate) fn message(mad: &Mad) -> Message {
    Message::parse(mad).expect("a message").1
}
