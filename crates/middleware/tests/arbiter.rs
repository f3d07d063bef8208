//! Work requests whose completions take a while, of members that come and go.

use std::collections::{BTreeSet, VecDeque};

use fairlane_middleware::{Arbiter, Budget, Limits, Member, MemberId};
use fairlane_units::{Bytes, Duration, Time};
use proptest::prelude::*;

/// What a member does: batches of work requests, each when the one before has completed.
#[derive(Clone, Debug)]
struct Load {
    weight: f64,
    bytes: u64,
    batch: u32,
    batches: u32,
    start: Duration,
    /// From post to completion.
    takes: Duration,
}

fn loads(most: usize) -> impl Strategy<Value = Vec<Load>> {
    let load = (
        0.1_f64..10.0,
        1_u64..100_000,
        1_u32..8,
        1_u32..20,
        0_u64..300,
        1_u64..60,
    );
    let load = load.prop_map(|(weight, bytes, batch, batches, start, takes)| Load {
        weight,
        bytes,
        batch,
        batches,
        start: Duration::from_us(start),
        takes: Duration::from_us(takes),
    });
    prop::collection::vec(load, 1..most)
}

fn limits(active: usize, window: u32) -> Limits {
    Limits {
        active,
        epoch: Duration::from_us(50),
        window,
        window_bytes: Bytes::new(1 << 20),
        linger: Duration::from_us(2),
        budget: Budget {
            egress: 12.5e9,
            work_requests: 1e6,
            poll_cost: 1e-7,
            round_trip: 30e-6,
            active: active as u32,
            alpha: 1.0,
            beta: 0.0,
        },
    }
}

/// A host whose thread posts a work request in a microsecond.
struct Host {
    arbiter: Arbiter,
    loads: Vec<Load>,
    ids: Vec<MemberId>,
    now: Time,
    /// Batches that are still to come, and work requests of the present one that haven't completed.
    left: Vec<u32>,
    open: Vec<u32>,
    /// Starts of members, and completions, by time.
    due: BTreeSet<(Time, u64, usize)>,
    number: u64,
    /// Whose work request was posted, in order.
    posted: Vec<usize>,
    under_way: Vec<VecDeque<Time>>,
}

const BEGINS: u64 = 0;

impl Host {
    fn new(limits: Limits, loads: &[Load]) -> Self {
        let mut arbiter = Arbiter::new(limits);
        let member = |load: &Load| Member {
            weight: load.weight,
            bytes: load.bytes as f64,
            batch: load.batch,
            start: Time::ZERO + load.start,
        };
        let ids = loads
            .iter()
            .map(|load| arbiter.join(member(load)))
            .collect();
        let starts = loads.iter().enumerate();
        Self {
            arbiter,
            loads: loads.to_vec(),
            ids,
            now: Time::from_ns(1),
            left: loads.iter().map(|load| load.batches).collect(),
            open: vec![0; loads.len()],
            due: starts
                .map(|(at, load)| (Time::from_ns(1) + load.start, BEGINS, at))
                .collect(),
            number: 1,
            posted: Vec::new(),
            under_way: vec![VecDeque::new(); loads.len()],
        }
    }

    /// The next batch of a member, or its end.
    fn go_on(&mut self, at: usize) {
        if self.left[at] == 0 {
            self.arbiter.leave(self.ids[at]);
            return;
        }
        self.left[at] -= 1;
        self.open[at] = self.loads[at].batch;
        self.arbiter.on_work(self.now, self.ids[at], self.open[at]);
    }

    /// Runs until nothing happens any more, checking what always holds.
    fn run(&mut self, active: usize, window: u32) {
        loop {
            while let Some(&(at, what, member)) = self.due.first().filter(|one| one.0 <= self.now) {
                self.due.pop_first();
                assert!(at <= self.now);
                if what != BEGINS {
                    let bytes = Bytes::new(self.loads[member].bytes);
                    self.arbiter
                        .on_completion(self.now, self.ids[member], bytes);
                    self.under_way[member].pop_front();
                    self.open[member] -= 1;
                }
                if self.open[member] == 0 {
                    self.go_on(member);
                }
            }
            let Some(id) = self.arbiter.poll(self.now) else {
                let next = self.due.first().map(|one| one.0);
                let next = next.into_iter().chain(self.arbiter.next_time()).min();
                let Some(next) = next else {
                    break;
                };
                self.now = next.max(self.now);
                continue;
            };
            let member = id.index();
            self.arbiter
                .on_posted(self.now, id, Bytes::new(self.loads[member].bytes));
            self.posted.push(member);
            self.under_way[member].push_back(self.now);
            let under_way: usize = self.under_way.iter().map(VecDeque::len).sum();
            // Beyond the window one of each active member.
            assert!(under_way <= window as usize + active, "{under_way}");
            let busy = self.under_way.iter().filter(|own| !own.is_empty()).count();
            assert!(busy <= active, "{busy}");
            // Completions of a queue pair come in order.
            let completes = self.now + self.loads[member].takes;
            self.due.insert((completes, self.number, member));
            self.number += 1;
            self.now += Duration::from_us(1);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing takes longer than the arbiter's patience.
    #[test]
    fn everybody_is_served_within_its_bound_and_few_are_active(
        loads in loads(24),
        active in 1_usize..6,
        window in 1_u32..32,
    ) {
        let mut host = Host::new(limits(active, window), &loads);
        host.run(active, window);
        prop_assert!(host.arbiter.most_active() as usize <= active);
        for (at, load) in loads.iter().enumerate() {
            let posted = host.posted.iter().filter(|&&member| member == at).count();
            prop_assert_eq!(posted as u32, load.batch * load.batches);
            let (waited, bound) = host.arbiter.waited(host.ids[at]);
            prop_assert!(waited <= bound, "{at} waited {waited} of {bound}");
        }
    }
}

/// Eight that always have work, of which 4 may be active, in two epochs of a frame.
#[test]
fn members_that_weigh_the_same_are_served_alike() {
    let load = Load {
        weight: 1.0,
        bytes: 4096,
        batch: 2000,
        batches: 1,
        start: Duration::ZERO,
        takes: Duration::from_us(4),
    };
    let mut host = Host::new(limits(4, 64), &vec![load; 8]);
    host.run(4, 64);
    let first = &host.posted[..8000];
    for one in 0..8 {
        let own = first.iter().filter(|&&member| member == one).count();
        assert!((950..=1050).contains(&own), "{one}: {own} of 8000");
    }
}

#[test]
fn one_that_is_cut_off_loses_its_place_and_comes_back() {
    let mut arbiter = Arbiter::new(limits(1, 8));
    let member = Member {
        weight: 1.0,
        bytes: 1000.0,
        batch: 1,
        start: Time::ZERO,
    };
    let [silent, other] = [(); 2].map(|()| arbiter.join(member));
    let size = Bytes::new(1000);
    let mut now = Time::from_ns(1);
    arbiter.on_work(now, silent, 1);
    assert_eq!(arbiter.poll(now), Some(silent));
    arbiter.on_posted(now, silent, size);
    arbiter.on_work(now, other, 1);
    // 16 epochs, 16 round trips and 64 times the bytes on the link, and the ends of epochs before it.
    let start = now;
    let mut asked = 0;
    while arbiter.poll(now).is_none() {
        now = arbiter
            .next_time()
            .expect("another waits")
            .max(now + Duration::from_ns(1));
        asked += 1;
        assert!(asked < 100);
    }
    let patience = Duration::from_us(16 * 50 + 16 * 30);
    let took = now.saturating_since(start);
    assert!(
        took >= patience && took < patience + Duration::from_us(60),
        "{took}"
    );
    assert_eq!(arbiter.poll(now), Some(other));
    arbiter.on_posted(now, other, size);
    arbiter.on_completion(now, silent, size);
    arbiter.on_completion(now, other, size);
    arbiter.on_work(now, silent, 1);
    now += Duration::from_us(100);
    assert_eq!(arbiter.poll(now), Some(silent));
}
