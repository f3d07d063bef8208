//! Which work request is posted next: at most k queue pairs are active at a time, none waits for ever.
//!
//! Epoch by epoch, the frame of the plan says which are active; places that those don't use go to others that have work, first
//! come, first served, so that no place stays free while somebody waits for longer than `linger`. An epoch ends when its time
//! is over and every member of the frame that had work when it began has been served; so a member with work is served
//! within the frame's longest wait. Within an epoch, active members take turns work request by work request, those first that
//! are within their rate; those beyond it come next, so that rates are shares and no limits.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use fairlane_units::{Bytes, Duration, Time};

use crate::plan::{Budget, Demand, plan};

/// What an arbiter keeps to.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Queue pairs active at a time, 1 or more.
    pub active: usize,
    /// The time of an epoch.
    pub epoch: Duration,
    /// Work requests under way of all members together, beyond which only one of each is posted.
    pub window: u32,
    /// Bytes under way of all members together, beyond which only one work request of each is posted.
    pub window_bytes: Bytes,
    /// How long a member without work keeps its place while others wait.
    pub linger: Duration,
    /// What the host has, by which rates are planned.
    pub budget: Budget,
}

/// Epochs and round trips, and times that its bytes take on the link, for which nothing may be heard of a member that others
/// wait for. A fabric that is merely full delays bytes by as many times as there are hosts that share a link.
const PATIENCE: u64 = 16;
const SHARED: f64 = 64.0;

impl Limits {
    /// How long an active member with so many bytes under way may keep its place without a completion.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates"
    )]
    fn patience(&self, bytes: u64) -> Duration {
        let link = SHARED * bytes as f64 / self.budget.egress;
        let round_trips = PATIENCE as f64 * self.budget.round_trip;
        Duration::from_ps(((link + round_trips) * 1e12) as u64)
            + self.epoch.saturating_mul(PATIENCE)
    }
}

/// A queue pair, as one application uses it.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// Its part relative to those of others, above zero.
    pub weight: f64,
    /// Mean bytes of its work requests.
    pub bytes: f64,
    /// Work requests that it has under way at most.
    pub batch: u32,
    /// From when on it is planned for.
    pub start: Time,
}

/// A member of an arbiter: how many had joined before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemberId(u32);

impl MemberId {
    /// Its number.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What an arbiter keeps of a member.
#[derive(Clone, Copy, Debug)]
struct Turns {
    member: Member,
    /// Whether it has left.
    gone: bool,
    /// Work requests that wait to be posted.
    pending: u32,
    /// Time of one work request at its rate, in the present epoch, and on average while it is active.
    period: Duration,
    usual: Duration,
    /// The member is within its rate from this time on.
    due: Time,
    /// Work requests posted and not completed, and their bytes.
    in_flight: u32,
    bytes_in_flight: u64,
    /// When the last one was posted or completed.
    moved: Time,
    /// Its work requests have taken so long that it has no place and doesn't count until one completes.
    silent: bool,
    /// Whether it is planned for.
    planned: bool,
    active: bool,
    /// Whether the present epoch is one of its own.
    scheduled: bool,
    /// Whether it waits for a place.
    queued: bool,
    /// Active since before the present epoch, without being of it.
    stale: bool,
    /// Whether the present epoch can't end before it has been served.
    owed: bool,
    /// Without work since.
    idle_since: Time,
    /// The epoch in which its first work request became the first.
    head: u64,
    /// The most epochs that a first work request has waited.
    longest_wait: u64,
    /// What that may be at most.
    bound: u64,
}

impl Turns {
    const fn new(member: Member) -> Self {
        Self {
            member,
            gone: false,
            pending: 0,
            period: Duration::ZERO,
            usual: Duration::ZERO,
            due: Time::ZERO,
            in_flight: 0,
            bytes_in_flight: 0,
            moved: Time::ZERO,
            silent: false,
            planned: false,
            active: false,
            scheduled: false,
            queued: false,
            stale: false,
            owed: false,
            idle_since: Time::ZERO,
            head: 0,
            longest_wait: 0,
            bound: 0,
        }
    }
}

/// Decides whose work request is posted next.
#[derive(Clone, Debug)]
pub struct Arbiter {
    limits: Limits,
    members: Vec<Turns>,
    /// Members of each epoch, with the time of one of their work requests.
    frame: Vec<Vec<(u32, Duration)>>,
    /// Number of the present epoch, and when it may end.
    epoch: u64,
    epoch_end: Time,
    /// Members of the epoch that must be served before it ends.
    owed: u32,
    active: Vec<u32>,
    /// Members that wait for a place: those of the epoch, and others.
    wanted: VecDeque<u32>,
    waiting: VecDeque<u32>,
    /// Place among the active ones that has its turn next.
    turn: usize,
    in_flight: u32,
    bytes_in_flight: u64,
    /// When to ask again if nothing happens before.
    next: Option<Time>,
    most_active: u32,
    plans: u64,
    equal_plans: u64,
}

impl Arbiter {
    /// An arbiter without members.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            members: Vec::new(),
            frame: vec![Vec::new()],
            epoch: 0,
            epoch_end: Time::ZERO,
            owed: 0,
            active: Vec::new(),
            wanted: VecDeque::new(),
            waiting: VecDeque::new(),
            turn: 0,
            in_flight: 0,
            bytes_in_flight: 0,
            next: None,
            most_active: 0,
            plans: 0,
            equal_plans: 0,
        }
    }

    /// Adds a member. It is planned for from the next frame on, and served before like one without a rate.
    pub fn join(&mut self, member: Member) -> MemberId {
        let number = u32::try_from(self.members.len()).unwrap_or(u32::MAX);
        self.members.push(Turns::new(member));
        MemberId(number)
    }

    /// What a work request takes if nothing else is under way, in seconds, becomes known or changes; plans follow from the next frame
    /// on.
    pub const fn set_round_trip(&mut self, seconds: f64) {
        self.limits.budget.round_trip = seconds;
    }

    /// A member has no work any more, nothing under way, and will have none. Its number isn't given again.
    ///
    /// # Panics
    /// If it has.
    pub fn leave(&mut self, id: MemberId) {
        let turns = &mut self.members[id.index()];
        let is_idle = turns.pending == 0 && turns.in_flight == 0;
        assert!(is_idle, "who leaves has no work");
        turns.gone = true;
    }

    /// A member has so many work requests more to post.
    pub fn on_work(&mut self, now: Time, id: MemberId, count: u32) {
        self.begin(now);
        let (epoch, frame) = (self.epoch, self.frame.len() as u64);
        let turns = &mut self.members[id.index()];
        turns.pending += count;
        turns.head = epoch;
        if !turns.planned {
            // Until the next plan, at the end of the frame.
            turns.bound = turns.bound.max(frame);
        }
        if !turns.active && !turns.queued && !turns.silent {
            self.enqueue(id.0);
        }
    }

    /// A work request of a member, whose turn it was, has been posted.
    ///
    /// # Panics
    /// If it had none to post, or isn't active.
    pub fn on_posted(&mut self, now: Time, id: MemberId, bytes: Bytes) {
        let active = self.active.iter();
        let place = active.copied().position(|member| member == id.0);
        let place = place.expect("who posts is active");
        self.turn = (place + 1) % self.active.len();
        self.in_flight += 1;
        self.bytes_in_flight += bytes.get();
        let (epoch, span) = (self.epoch, self.limits.epoch);
        let turns = &mut self.members[id.index()];
        assert!(turns.pending > 0, "who posts has work");
        turns.pending -= 1;
        turns.in_flight += 1;
        turns.bytes_in_flight += bytes.get();
        turns.moved = now;
        if turns.due <= now {
            // What it doesn't use is kept for no longer than an epoch.
            let kept = Time::from_ps(now.as_ps().saturating_sub(span.as_ps()));
            turns.due = turns.due.max(kept).saturating_add(turns.period);
        }
        self.owed -= u32::from(core::mem::take(&mut turns.owed));
        turns.longest_wait = turns.longest_wait.max(epoch - turns.head);
        turns.head = epoch;
    }

    /// A work request of a member has completed.
    ///
    /// # Panics
    /// If it had none under way.
    pub fn on_completion(&mut self, now: Time, id: MemberId, bytes: Bytes) {
        let epoch = self.epoch;
        let turns = &mut self.members[id.index()];
        assert!(turns.in_flight > 0, "what completes was posted");
        turns.in_flight -= 1;
        turns.bytes_in_flight -= bytes.get();
        (turns.idle_since, turns.moved) = (now, now);
        if core::mem::take(&mut turns.silent) {
            // It is heard of again, and counts again.
            self.in_flight += turns.in_flight;
            self.bytes_in_flight += turns.bytes_in_flight;
            turns.head = epoch;
            if turns.pending > 0 && !turns.active && !turns.queued {
                self.enqueue(id.0);
            }
        } else {
            self.in_flight -= 1;
            self.bytes_in_flight -= bytes.get();
        }
    }

    /// The member whose work request is posted next, if one may be; [`on_posted`](Self::on_posted) follows.
    pub fn poll(&mut self, now: Time) -> Option<MemberId> {
        self.begin(now);
        self.rotate(now);
        let silent = self.pass_over(now);
        let lingers = self.admit(now);
        if let Some(place) = self.in_turn(now) {
            return Some(MemberId(self.active[place]));
        }
        let waits = self.anyone_waits();
        let rotates = Some(self.epoch_end).filter(|&at| waits && at > now);
        self.next = [lingers, silent, rotates].into_iter().flatten().min();
        None
    }

    /// When to [`poll`](Self::poll) again after it had nobody, if nothing else happens; `None` if it need not be.
    pub const fn next_time(&self) -> Option<Time> {
        self.next
    }

    /// The most members that were active at a time.
    pub const fn most_active(&self) -> u32 {
        self.most_active
    }

    /// Plans made, and those that gave everybody the same because the solver refused the demands.
    pub const fn plans(&self) -> (u64, u64) {
        (self.plans, self.equal_plans)
    }

    /// The most epochs that a first work request of a member has waited, the one that still waits included; and what that may be
    /// at most.
    pub fn waited(&self, id: MemberId) -> (u64, u64) {
        let turns = &self.members[id.index()];
        let waiting = match turns.pending == 0 || turns.silent {
            true => 0,
            false => self.epoch - turns.head,
        };
        (turns.longest_wait.max(waiting), turns.bound)
    }
}

impl Arbiter {
    /// Plans the first frame, once there is work.
    fn begin(&mut self, now: Time) {
        if self.epoch_end == Time::ZERO {
            self.plan(now);
            self.epoch_end = now + self.limits.epoch;
        }
    }

    /// Plans for the members that have begun and haven't left, if these are others than planned for.
    fn plan(&mut self, now: Time) {
        let numbered = || (0_u32..).zip(&self.members);
        let lives = |turns: &Turns| turns.member.start <= now && !turns.gone;
        let living: Vec<u32> = numbered()
            .filter(|(_, it)| lives(it))
            .map(|it| it.0)
            .collect();
        let before: Vec<u32> = numbered()
            .filter(|(_, it)| it.planned)
            .map(|it| it.0)
            .collect();
        if living.is_empty() || living == before {
            return;
        }
        let demand = |&number: &u32| {
            let member = &self.members[number as usize].member;
            Demand {
                weight: member.weight,
                bytes: member.bytes.max(1.0),
                batch: f64::from(member.batch),
            }
        };
        let demands: Vec<Demand> = living.iter().map(demand).collect();
        let planned = plan(&demands, &self.limits.budget);
        let earlier = self.frame.len() as u64;
        self.plans += 1;
        self.equal_plans += u64::from(planned.equal);
        for &number in &before {
            self.members[number as usize].planned = false;
        }
        for (at, &number) in living.iter().enumerate() {
            let turns = &mut self.members[number as usize];
            turns.planned = true;
            turns.usual = period(planned.rates[at]);
            // Who waits has waited under the plan before, and who wasn't of it for a frame of it at most.
            let waited = match turns.pending {
                0 => 0,
                _ => self.epoch - turns.head,
            };
            let waited = match before.contains(&number) || self.plans == 1 {
                true => waited,
                false => waited.max(earlier),
            };
            turns.bound = turns.bound.max(waited + u64::from(planned.waits[at]));
        }
        let turn = |&(at, rate): &(usize, f64)| (living[at], period(rate));
        let epochs = planned.epochs.iter();
        self.frame = epochs
            .map(|epoch| epoch.iter().map(turn).collect())
            .collect();
        self.take_turns();
    }

    /// Notes whether the present epoch is that of each member, and at which rate.
    fn take_turns(&mut self) {
        for turns in &mut self.members {
            turns.scheduled = false;
            turns.period = turns.usual;
        }
        let at = (self.epoch % self.frame.len() as u64) as usize;
        for &(number, period) in &self.frame[at] {
            let turns = &mut self.members[number as usize];
            turns.scheduled = true;
            turns.period = period;
        }
    }

    /// Takes the place of active members of which nothing has been heard for long, as of a server that is cut off, if others wait
    /// for it; returns when another will have been silent for long enough.
    fn pass_over(&mut self, now: Time) -> Option<Time> {
        let pending = |number: &u32| self.members[*number as usize].pending > 0;
        if !self.anyone_waits() && (self.is_open() || !self.active.iter().any(pending)) {
            return None;
        }
        let mut later: Option<Time> = None;
        for place in (0..self.active.len()).rev() {
            let turns = &mut self.members[self.active[place] as usize];
            if turns.in_flight == 0 {
                continue;
            }
            let until = turns.moved + self.limits.patience(turns.bytes_in_flight);
            if until > now {
                later = Some(later.map_or(until, |so_far| so_far.min(until)));
                continue;
            }
            turns.silent = true;
            self.in_flight -= turns.in_flight;
            self.bytes_in_flight -= turns.bytes_in_flight;
            self.owed -= u32::from(core::mem::take(&mut turns.owed));
            self.retire(place);
        }
        later
    }

    /// Whether more may be under way.
    const fn is_open(&self) -> bool {
        let limits = &self.limits;
        self.in_flight < limits.window && self.bytes_in_flight < limits.window_bytes.get()
    }

    /// Begins the next epoch if the present one is over.
    fn rotate(&mut self, now: Time) {
        if now < self.epoch_end || self.owed > 0 {
            return;
        }
        self.epoch += 1;
        self.epoch_end = now + self.limits.epoch;
        // Within a frame everybody is served who is owed; between frames others may be planned for.
        if self.epoch.is_multiple_of(self.frame.len() as u64) {
            self.plan(now);
        }
        self.take_turns();
        for turns in &mut self.members {
            turns.stale = turns.active && !turns.scheduled;
            turns.owed = turns.scheduled && turns.pending > 0 && !turns.silent;
            self.owed += u32::from(turns.owed);
        }
        let before = core::mem::take(&mut self.wanted);
        let others = core::mem::take(&mut self.waiting);
        for number in before.into_iter().chain(others) {
            self.enqueue(number);
        }
    }

    /// Lets a member wait for a place: those of the epoch go first.
    fn enqueue(&mut self, number: u32) {
        let turns = &mut self.members[number as usize];
        turns.queued = true;
        match turns.scheduled {
            true => self.wanted.push_back(number),
            false => self.waiting.push_back(number),
        }
    }

    fn anyone_waits(&self) -> bool {
        !self.wanted.is_empty() || !self.waiting.is_empty()
    }

    /// Fills the places of active members; returns when one that lingers goes, if others wait.
    fn admit(&mut self, now: Time) -> Option<Time> {
        while self.anyone_waits() {
            let wanted = !self.wanted.is_empty();
            if self.active.len() >= self.limits.active {
                let (victim, later) = self.victim(now, wanted);
                let Some(victim) = victim else {
                    return later;
                };
                self.retire(victim);
            }
            let first = self.wanted.pop_front();
            let next = first.or_else(|| self.waiting.pop_front())?;
            let turns = &mut self.members[next as usize];
            (turns.queued, turns.active, turns.stale) = (false, true, false);
            self.active.push(next);
            self.most_active = self.most_active.max(self.active.len() as u32);
        }
        None
    }

    /// The place of an active member that another may take; if none, when one will have lingered long enough.
    fn victim(&self, now: Time, wanted: bool) -> (Option<usize>, Option<Time>) {
        let mut later: Option<Time> = None;
        for (place, &number) in self.active.iter().enumerate() {
            let turns = &self.members[number as usize];
            if turns.in_flight > 0 {
                continue;
            }
            let yields = turns.stale || (wanted && !turns.scheduled);
            if yields {
                return (Some(place), None);
            }
            if turns.pending == 0 {
                let until = turns.idle_since + self.limits.linger;
                if until <= now {
                    return (Some(place), None);
                }
                later = Some(later.map_or(until, |so_far| so_far.min(until)));
            }
        }
        (None, later)
    }

    fn retire(&mut self, place: usize) {
        let gone = self.active.remove(place);
        if self.turn > place {
            self.turn -= 1;
        }
        let turns = &mut self.members[gone as usize];
        turns.active = false;
        if turns.pending > 0 && !turns.silent {
            self.enqueue(gone);
        }
    }

    /// The place of the active member that may post next: in turn, those within their rate first.
    fn in_turn(&self, now: Time) -> Option<usize> {
        let count = self.active.len();
        let (wanted, waits) = (!self.wanted.is_empty(), self.anyone_waits());
        let open = self.is_open();
        let may_post = |place: usize| {
            let turns = &self.members[self.active[place] as usize];
            let drains = (turns.stale && waits) || (wanted && !turns.scheduled);
            turns.pending > 0 && !drains && (open || turns.in_flight == 0)
        };
        let mut beyond = None;
        for place in (self.turn..count).chain(0..self.turn.min(count)) {
            if !may_post(place) {
                continue;
            }
            if self.members[self.active[place] as usize].due <= now {
                return Some(place);
            }
            beyond = beyond.or(Some(place));
        }
        beyond
    }
}

/// The time between work requests at a rate.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates"
)]
fn period(rate: f64) -> Duration {
    Duration::from_ps((1e12 / rate) as u64)
}
