//! The paths of one connection: what is in flight, what was measured, and which may be used.

use alloc::sync::Arc;
use alloc::vec::Vec;

use fairlane_units::{Bytes, Duration, Rate, Time};

use crate::balancer::Unit;
use crate::path::{NOBODY, Path, Sample};
use crate::{Completion, Health, Settings};

/// The path monitor of one connection, and what balancers see of it.
#[derive(Clone, Debug)]
pub struct Paths {
    settings: Arc<Settings>,
    all: Vec<Path>,
    /// Chunks, or packets, that may be in flight on each.
    depth: u32,
    /// And on all of them.
    window: u32,
    in_flight: u32,
    /// How many are good or back.
    firm: u32,
    /// How many are owed a probe.
    probes_due: u32,
    /// How many the driver should hear of.
    changed: u32,
    /// No deadline is earlier.
    soonest: Time,
    /// Counts changes of what may be used.
    epoch: u32,
}

impl Paths {
    /// A monitor of `count` paths, of which nothing has been measured.
    pub fn new(settings: Arc<Settings>, count: usize) -> Self {
        let each = settings.in_flight();
        let window = each.saturating_mul(count as u32);
        // A path of packets takes what it is given, and its queue says what is wrong with it.
        let depth = match settings.balancer.unit() {
            Unit::Chunk => each,
            Unit::Packet => window,
        };
        Self {
            depth,
            window,
            in_flight: 0,
            all: (0..count).map(|_| Path::new(&settings)).collect(),
            settings,
            firm: count as u32,
            probes_due: 0,
            changed: 0,
            soonest: Time::MAX,
            epoch: 0,
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// How a path is.
    pub fn health(&self, path: usize) -> Health {
        self.all[path].health
    }

    /// Whether a path may be used at all.
    #[inline]
    pub fn is_usable(&self, path: usize) -> bool {
        match self.all[path].health {
            Health::Good | Health::Back => true,
            Health::Suspect => self.firm == 0,
            Health::Quarantined | Health::Probing | Health::Twin => false,
        }
    }

    /// Whether a path takes a chunk now.
    #[inline]
    pub fn is_open(&self, path: usize) -> bool {
        let it = &self.all[path];
        if self.are_full() {
            return false;
        }
        match it.health {
            Health::Good => it.in_flight < self.depth,
            Health::Back => it.in_flight == 0,
            Health::Suspect => self.firm == 0 && it.in_flight < self.depth,
            Health::Quarantined | Health::Probing | Health::Twin => false,
        }
    }

    /// Whether no path takes a chunk, whatever its health.
    #[inline]
    pub(crate) const fn are_full(&self) -> bool {
        self.in_flight >= self.window
    }

    /// Chunks in flight on a path.
    pub fn in_flight(&self, path: usize) -> u32 {
        self.all[path].in_flight
    }

    /// Bytes in flight on a path.
    pub fn waiting(&self, path: usize) -> Bytes {
        Bytes::new(self.all[path].waiting())
    }

    /// The time until so many more bytes on a path are acknowledged, as far as that is known: a path of which
    /// nothing is known comes first.
    #[inline]
    pub fn expected(&self, path: usize, bytes: Bytes) -> Duration {
        Duration::from_ps(self.all[path].expected(bytes.get()))
    }

    /// What a path carries, if that was measured.
    pub fn capacity(&self, path: usize) -> Option<Rate> {
        self.all[path].capacity()
    }

    /// The smoothed round trip of a path, if there was a sample.
    pub fn round_trip(&self, path: usize) -> Option<Duration> {
        let mean = self.all[path].round_trip.mean;
        (mean != 0).then(|| Duration::from_ps(mean))
    }

    /// The share of a path's chunks that fail or need retransmissions, in percent, smoothed over 16.
    pub fn loss(&self, path: usize) -> u8 {
        self.all[path].loss()
    }

    /// The path that takes the same way and is used instead.
    pub fn twin_of(&self, path: usize) -> Option<usize> {
        let other = self.all[path].twin_of;
        (other != NOBODY).then_some(usize::from(other))
    }

    /// The most bytes of the next chunk on a path.
    pub fn limit(&self, path: usize) -> Bytes {
        self.all[path].limiter.limit()
    }

    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// A path's capacity as a number that is proportional to it; 0 if it isn't known.
    pub(crate) fn weight(&self, path: usize) -> u64 {
        match self.all[path].pace {
            0 => 0,
            pace => ((1u64 << 44) / pace).max(1),
        }
    }

    /// A work request goes.
    #[inline]
    pub(crate) fn on_posted(&mut self, now: Time, path: usize, bytes: u64) {
        let it = &mut self.all[path];
        self.in_flight += 1;
        it.on_posted(now, bytes, &self.settings);
        self.soonest = self.soonest.min(it.deadline);
    }

    /// A work request was acknowledged.
    #[inline]
    pub(crate) fn on_delivered(&mut self, now: Time, path: usize, sample: &Sample<'_>) {
        let it = &mut self.all[path];
        self.in_flight -= 1;
        it.measure(now, sample, &self.settings);
        it.on_ended(now, sample.bytes, &self.settings);
        self.soonest = self.soonest.min(it.deadline);
        let loss = it.loss();
        match it.health {
            Health::Good if loss > self.settings.suspect_loss => {
                self.set(path, Health::Suspect);
                self.owe_probe(path);
            }
            Health::Suspect if loss <= self.settings.suspect_loss / 2 => {
                self.set(path, Health::Good);
            }
            Health::Suspect => self.owe_probe(path),
            Health::Back => {
                it.passed += 1;
                if it.passed >= self.settings.probation {
                    it.pause = Duration::ZERO;
                    self.set(path, Health::Good);
                }
            }
            Health::Probing => {
                it.failed_probes = 0;
                it.passed = 0;
                it.forget();
                self.set(path, Health::Back);
            }
            Health::Good | Health::Quarantined | Health::Twin => {}
        }
    }

    /// A work request failed; returns whether the path is given up for now. A failure is no evidence against
    /// the path if another one explains it. If the size of the chunk does, the path is given up all the same: what comes next
    /// would meet what the chunk has left in queues, so that a pause and a probe come first.
    pub(crate) fn on_failed(&mut self, now: Time, path: usize, bytes: u64, flushed: bool) -> bool {
        let it = &mut self.all[path];
        self.in_flight -= 1;
        it.on_ended(now, bytes, &self.settings);
        it.count_loss(true);
        if !flushed {
            it.limiter.on_failed(&self.settings, Bytes::new(bytes));
        }
        match it.health {
            Health::Twin | Health::Quarantined => false,
            Health::Probing => {
                self.quarantine(now, path);
                true
            }
            health if flushed => {
                if health == Health::Suspect {
                    self.owe_probe(path);
                }
                false
            }
            _ => {
                self.quarantine(now, path);
                true
            }
        }
    }

    /// No deadline is before this time.
    pub(crate) fn deadline(&self) -> Time {
        self.soonest
    }

    /// Handles one deadline that has passed; returns the path if it is given up for now. `None` when all are
    /// handled.
    pub(crate) fn expire(&mut self, now: Time) -> Option<(usize, bool)> {
        if self.soonest > now {
            return None;
        }
        let Some(path) = self.all.iter().position(|it| it.deadline <= now) else {
            let deadlines = self.all.iter().map(|it| it.deadline);
            self.soonest = deadlines.min().unwrap_or(Time::MAX);
            return None;
        };
        let it = &mut self.all[path];
        match it.health {
            Health::Quarantined => {
                // A twin has been quarantined with the path that was used in its place.
                let holds = it.in_flight > 0;
                self.in_flight -= it.clear();
                self.set(path, Health::Probing);
                self.owe_probe(path);
                Some((path, holds))
            }
            Health::Good => {
                it.count_loss(true);
                it.deadline = now.saturating_add(it.timeout(&self.settings));
                self.set(path, Health::Suspect);
                Some((path, false))
            }
            Health::Twin => {
                self.in_flight -= it.clear();
                Some((path, true))
            }
            Health::Suspect | Health::Back | Health::Probing => {
                self.quarantine(now, path);
                Some((path, true))
            }
        }
    }

    /// Gives a path up for a pause that doubles each time.
    fn quarantine(&mut self, now: Time, path: usize) {
        let it = &mut self.all[path];
        if it.health == Health::Probing {
            it.failed_probes = it.failed_probes.saturating_add(1);
        }
        let timeout = it.timeout(&self.settings);
        it.pause = match it.pause.is_zero() {
            true => timeout,
            false => it.pause.saturating_mul(2).min(self.settings.timeout_most),
        };
        let until = now.saturating_add(it.pause);
        self.in_flight -= it.clear();
        it.deadline = until;
        self.soonest = self.soonest.min(until);
        self.forgive_probe(path);
        self.set(path, Health::Quarantined);
        // Its twins may take another way by now.
        for twin in 0..self.all.len() {
            if usize::from(self.all[twin].twin_of) == path {
                self.all[twin].twin_of = NOBODY;
                self.all[twin].route = None;
                self.all[twin].deadline = until;
                self.set(twin, Health::Quarantined);
            }
        }
    }

    /// Two paths take one way: the second one isn't used.
    pub(crate) fn join(&mut self, kept: usize, twin: usize) {
        self.all[twin].twin_of = kept as u16;
        self.forgive_probe(twin);
        self.set(twin, Health::Twin);
    }

    /// Learns which way a path takes, from whoever knows; paths of one way are one.
    pub(crate) fn on_route(&mut self, path: usize, route: u64) {
        self.all[path].route = Some(route);
        let same = |it: &Path| it.route == Some(route) && it.health != Health::Twin;
        let mut with = (0..self.all.len()).filter(|&it| it != path && same(&self.all[it]));
        let found = with.find(|&it| self.is_usable(it));
        match found {
            Some(other) if self.is_usable(path) => self.join(path.min(other), path.max(other)),
            _ => {}
        }
    }

    /// What a probe on its own found.
    pub(crate) fn set_pace(&mut self, path: usize, pace: u64) {
        self.all[path].pace = pace;
    }

    /// Whether no path can be used and none has answered the probes of late.
    pub(crate) fn have_given_up(&self) -> bool {
        let retries = self.settings.retries;
        self.all.iter().all(|it| match it.health {
            Health::Quarantined | Health::Probing => it.failed_probes >= retries,
            Health::Twin => true,
            Health::Good | Health::Suspect | Health::Back => false,
        })
    }

    /// A path that is owed a probe, which goes now.
    pub(crate) fn take_probe(&mut self) -> Option<usize> {
        if self.probes_due == 0 {
            return None;
        }
        let path = self.all.iter().position(|it| it.probe_due)?;
        self.forgive_probe(path);
        Some(path)
    }

    fn owe_probe(&mut self, path: usize) {
        let it = &mut self.all[path];
        // What is in flight tells as much.
        if !it.probe_due && it.in_flight == 0 {
            it.probe_due = true;
            self.probes_due += 1;
        }
    }

    fn forgive_probe(&mut self, path: usize) {
        if core::mem::take(&mut self.all[path].probe_due) {
            self.probes_due -= 1;
        }
    }

    /// A path whose health has changed since this was asked last.
    pub(crate) fn take_change(&mut self) -> Option<(usize, Health)> {
        if self.changed == 0 {
            return None;
        }
        let path = self.all.iter().position(|it| it.changed)?;
        self.all[path].changed = false;
        self.changed -= 1;
        Some((path, self.all[path].health))
    }

    fn set(&mut self, path: usize, health: Health) {
        let it = &mut self.all[path];
        let is_firm = |health| matches!(health, Health::Good | Health::Back);
        self.firm -= u32::from(is_firm(it.health));
        self.firm += u32::from(is_firm(health));
        it.health = health;
        if !it.changed {
            it.changed = true;
            self.changed += 1;
        }
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// Memory that a path takes beside the value itself.
    pub(crate) fn heap(&self) -> usize {
        self.all.capacity() * size_of::<Path>()
    }

    /// A delivery that a test or a tutorial makes up: so many bytes on an idle path took that long.
    pub fn learn(&mut self, now: Time, path: usize, bytes: Bytes, took: Duration) {
        self.on_posted(now, path, bytes.get());
        let sample = Sample {
            bytes: bytes.get(),
            posted: now,
            completion: &Completion::DELIVERED,
            is_probe: false,
        };
        self.on_delivered(now.saturating_add(took), path, &sample);
    }

    /// A chunk that a test or a tutorial posts.
    pub fn occupy(&mut self, now: Time, path: usize, bytes: Bytes) {
        self.on_posted(now, path, bytes.get());
    }
}
