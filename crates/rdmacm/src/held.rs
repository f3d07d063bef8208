//! Requests for a service whose listener has just gone, or is about to come.
//!
//! Programs that connect twice (perftest: once to agree, once to measure) give a listener up and soon listen again. The other side
//! may be faster than that, as perftest's both sleep for a second in between. So for two seconds a request waits for the next
//! listener, before it is refused. The second one may have the same number in another port space (`ib_send_bw -R -c UD`).
//!
//! Others tell of a port that they are bound to before they listen to it (qperf), for which a kernel takes no time.

use std::collections::BTreeMap;

use fairlane_cm::{Mad, Message, Peer, ServiceId};
use fairlane_units::{Duration, Time};

/// How long a service may be without listener.
const PATIENCE: Duration = Duration::from_ms(2_000);
/// How many requests wait at most; others are refused at once.
const MOST: usize = 64;

/// A request that waits.
#[derive(Clone, Debug)]
struct Held {
    port: usize,
    service: ServiceId,
    until: Time,
    from: Peer,
    mad: Mad,
}

/// Services without listeners, and who waits for them.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// By device and number, and until when.
    left: BTreeMap<(usize, u16), Time>,
    held: Vec<Held>,
}

impl Waiting {
    /// A listener has gone, or is expected.
    pub(crate) fn leave(&mut self, port: usize, service: ServiceId, now: Time) {
        self.left.retain(|_, until| *until > now);
        self.left
            .insert((port, number(service)), now.saturating_add(PATIENCE));
    }

    /// Keeps a request if it is one for a service whose listener has just gone; `false` if not.
    pub(crate) fn hold(
        &mut self,
        port: usize,
        from: Peer,
        mad: &Mad,
        listens: impl Fn(ServiceId) -> bool,
        now: Time,
    ) -> bool {
        let service = match Message::parse(mad) {
            Ok((_, Message::Req(req))) => req.service_id,
            Ok((_, Message::SidrReq(question))) => question.service_id,
            _ => return false,
        };
        let left = self
            .left
            .get(&(port, number(service)))
            .filter(|until| **until > now);
        let has_room = self.held.len() < MOST;
        let Some(&until) = left.filter(|_| has_room && !listens(service)) else {
            return false;
        };
        self.held.push(Held {
            port,
            service,
            until,
            from,
            mad: *mad,
        });
        true
    }

    /// Requests for a service that somebody listens to again.
    pub(crate) fn arrive(&mut self, port: usize, service: ServiceId) -> Vec<(Peer, Mad)> {
        self.take(|held| (held.port, held.service) == (port, service))
    }

    /// Requests that have waited long enough.
    pub(crate) fn expire(&mut self, port: usize, now: Time) -> Vec<(Peer, Mad)> {
        self.take(|held| held.port == port && held.until <= now)
    }

    fn take(&mut self, wanted: impl Fn(&Held) -> bool) -> Vec<(Peer, Mad)> {
        let (taken, kept) = self.held.drain(..).partition(wanted);
        self.held = kept;
        let taken: Vec<Held> = taken;
        taken
            .into_iter()
            .map(|held| (held.from, held.mad))
            .collect()
    }

    /// When the first of them has waited long enough.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.held.iter().map(|held| held.until).min()
    }
}

/// The number of a service in its port space.
const fn number(service: ServiceId) -> u16 {
    service.0 as u16
}
