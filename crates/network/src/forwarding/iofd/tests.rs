//! Both sides together, on their own: switches that fork at random on a random layered graph, links that are FIFO and take
//! as long as an adversary likes, and the last switch.

use std::collections::{BTreeMap, VecDeque};

use fairlane_engine::Stream as Draws;
use fairlane_scenario::IofdParameters;
use fairlane_units::{Bytes, Duration, FlowId, Time};
use proptest::prelude::*;

use super::merge::{Fate, Hold, Item};
use super::streams::{Origin, Passing, Streams, Tail};
use super::{Fork, Forks};
use crate::forwarding::Candidates;

/// What is on a link.
#[derive(Clone, Copy, Debug)]
struct Sent {
    number: u32,
    flow: u32,
    epoch: u16,
    forks: Forks,
    tail: Fork,
}

/// Candidates whose queues are as somebody draws them.
struct Drawn<'a> {
    ports: &'a [u32],
    loads: Vec<u64>,
    paused: Vec<bool>,
}

impl Candidates for Drawn<'_> {
    fn count(&self) -> u32 {
        self.ports.len() as u32
    }

    fn port(&self, candidate: u32) -> u32 {
        self.ports[candidate as usize]
    }

    fn waiting(&self, candidate: u32) -> Bytes {
        Bytes::new(self.loads[candidate as usize])
    }

    fn is_paused(&self, candidate: u32) -> bool {
        self.paused[candidate as usize]
    }
}

/// What goes wrong beside delays.
#[derive(Clone, Copy, Debug)]
struct Trouble {
    /// In a thousand.
    loss: u64,
    /// Ways change so often, out of a thousand steps.
    changes: u64,
    /// Bytes.
    room: u64,
}

const NOTHING: Trouble = Trouble {
    loss: 0,
    changes: 0,
    room: 1 << 30,
};

const FLOWS: usize = 3;
const WIRE: u16 = 1000;

struct Model {
    draws: Draws,
    trouble: Trouble,
    now: Time,
    epoch: u16,
    /// By node, the ports that lead on; the last node has none.
    ports: Vec<Vec<u32>>,
    /// The ports that are candidates now, and since which epoch.
    candidates: Vec<(Vec<u32>, u16)>,
    /// By port, where it leads, and what is on its way.
    links: Vec<(usize, VecDeque<Sent>)>,
    streams: Vec<Streams>,
    hold: Hold,
    latest: Vec<u16>,
    /// What has come to the last switch, by the number under which that knows it.
    known: BTreeMap<u32, Sent>,
    /// Answers to tails that are under way, in no order.
    clears: Vec<Fork>,
    sent: Vec<u32>,
    /// Numbers in the order in which they have passed.
    passed: Vec<Vec<u32>>,
    lost: u64,
    arrived: u32,
}

impl Model {
    /// Layers of so many switches; the last one is behind all of the last layer.
    fn new(seed: u64, layers: &[usize], labels: u32, trouble: Trouble) -> Self {
        let mut draws = Draws::new(seed, 0);
        let parameters = IofdParameters {
            interval: Duration::ZERO,
            moved: Bytes::ZERO,
            labels,
            streams: 1 + draws.below(6) as u32,
            hold_timeout: Duration::from_us([1, 5, 50][draws.below(3) as usize]),
            ..IofdParameters::default()
        };
        let firsts: Vec<usize> = layers
            .iter()
            .scan(0, |sum, count| Some(std::mem::replace(sum, *sum + count)))
            .collect();
        let last: usize = layers.iter().sum();
        let (mut ports, mut links) = (vec![Vec::new(); last], Vec::new());
        for (layer, &count) in layers.iter().enumerate() {
            for ports in ports.iter_mut().skip(firsts[layer]).take(count) {
                let next: Vec<usize> = match layers.get(layer + 1) {
                    None => vec![last],
                    Some(&wide) => (firsts[layer + 1]..firsts[layer + 1] + wide).collect(),
                };
                for to in next {
                    ports.push(links.len() as u32);
                    links.push((to, VecDeque::new()));
                }
            }
        }
        let streams = (0..last as u32).map(|switch| Streams::new(switch, &parameters));
        Self {
            streams: streams.collect(),
            hold: Hold::new(Bytes::new(trouble.room), parameters.hold_timeout),
            candidates: ports.iter().map(|ports| (ports.clone(), 0)).collect(),
            ports,
            links,
            draws,
            trouble,
            now: Time::ZERO,
            epoch: 0,
            latest: vec![0; FLOWS],
            known: BTreeMap::new(),
            clears: Vec::new(),
            sent: vec![0; FLOWS],
            passed: vec![Vec::new(); FLOWS],
            lost: 0,
            arrived: 0,
        }
    }

    fn chance(&mut self, thousandth: u64) -> bool {
        self.draws.below(1000) < thousandth
    }

    fn loses(&mut self) -> bool {
        let lost = self.chance(self.trouble.loss);
        self.lost += u64::from(lost);
        lost
    }

    /// One step: something is sent, arrives, is answered, or its time has come.
    fn step(&mut self, sends: bool) {
        self.now += Duration::from_ns(self.draws.below(200));
        let changes = self.chance(self.trouble.changes);
        match self.draws.below(10) {
            _ if changes => self.change(),
            0..3 if sends => {
                let flow = self.draws.below(FLOWS as u64) as u32;
                let number = self.sent[flow as usize];
                self.sent[flow as usize] += 1;
                let epoch = self.epoch;
                let (forks, tail) = (Forks::default(), Fork::NONE);
                let packet = Sent {
                    number,
                    flow,
                    epoch,
                    forks,
                    tail,
                };
                self.arrive(0, packet);
            }
            3 => {
                if let Some(at) = self.pick(self.clears.len()) {
                    let fork = self.clears.swap_remove(at);
                    if !self.loses() {
                        self.streams[fork.switch() as usize].on_clear(fork);
                    }
                }
            }
            4 => self.look_at_deadlines(),
            _ => {
                let busy = self.links.iter().enumerate();
                let busy = busy.filter(|(_, link)| !link.1.is_empty());
                let busy: Vec<usize> = busy.map(|(port, _)| port).collect();
                if let Some(at) = self.pick(busy.len()) {
                    let (to, packets) = &mut self.links[busy[at]];
                    let (to, packet) = (*to, packets.pop_front().unwrap());
                    if !self.loses() {
                        self.arrive(to, packet);
                    }
                }
            }
        }
    }

    fn pick(&mut self, count: usize) -> Option<usize> {
        (count > 0).then(|| self.draws.below(count as u64) as usize)
    }

    fn look_at_deadlines(&mut self) {
        let now = self.now;
        for switch in 0..self.streams.len() {
            self.streams[switch].on_due(now);
            self.send_tails(switch);
        }
        let mut fates = Vec::new();
        self.hold.expire(now, &mut fates);
        self.settle(&fates);
    }

    /// The candidates of a switch change: those that go lose what they carry.
    fn change(&mut self) {
        let switch = self.draws.below(self.ports.len() as u64) as usize;
        let all = self.ports[switch].clone();
        let mut left: Vec<u32> = all.iter().copied().filter(|_| self.chance(600)).collect();
        if left.is_empty() {
            left = all.clone();
        }
        if left == self.candidates[switch].0 {
            return;
        }
        for &port in all.iter().filter(|port| !left.contains(port)) {
            self.lost += self.links[port as usize].1.drain(..).count() as u64;
        }
        self.epoch += 1;
        self.candidates[switch] = (left, self.epoch);
        self.streams[switch].retain(|_| false);
    }

    fn arrive(&mut self, node: usize, packet: Sent) {
        if node == self.ports.len() {
            self.arrive_last(packet);
            return;
        }
        let (ports, since) = self.candidates[node].clone();
        if packet.epoch < since {
            self.lost += 1;
            return;
        }
        let draws = &mut self.draws;
        let candidates = Drawn {
            loads: ports.iter().map(|_| draws.below(2) * 60_000).collect(),
            paused: ports.iter().map(|_| draws.below(5) == 0).collect(),
            ports: &ports,
        };
        let passing = Passing {
            origin: Origin {
                flow: FlowId::new(packet.flow),
                epoch: packet.epoch,
                ..Origin::default()
            },
            forks: packet.forks,
            wire: WIRE,
            is_tail: packet.tail.is_some(),
        };
        let own = (packet.flow + node as u32) % ports.len() as u32;
        let way = self.streams[node].steer(self.now, &passing, own, &candidates);
        self.send_tails(node);
        let forks = way.forks;
        let packet = Sent { forks, ..packet };
        self.links[way.port as usize].1.push_back(packet);
    }

    fn send_tails(&mut self, node: usize) {
        for tail in std::mem::take(&mut self.streams[node].tails) {
            let Tail {
                port, fork, forks, ..
            } = tail;
            let packet = Sent {
                number: 0,
                flow: tail.origin.flow.get(),
                epoch: if tail.again {
                    self.epoch
                } else {
                    tail.origin.epoch
                },
                forks,
                tail: fork,
            };
            self.links[port as usize].1.push_back(packet);
        }
    }

    fn arrive_last(&mut self, packet: Sent) {
        let at = self.arrived;
        self.arrived += 1;
        self.known.insert(at, packet);
        let item = Item {
            at,
            flow: u64::from(packet.flow),
            forks: packet.forks,
            tail: packet.tail,
            wire: WIRE,
            epoch: packet.epoch,
        };
        let mut fates = Vec::new();
        let latest = &mut self.latest[packet.flow as usize];
        self.hold.on_arrival(self.now, item, latest, &mut fates);
        self.settle(&fates);
    }

    fn settle(&mut self, fates: &[(u32, Fate)]) {
        for (at, fate) in fates {
            let packet = self.known.remove(at).unwrap();
            match fate {
                Fate::Passes(held) => {
                    self.passed[packet.flow as usize].push(packet.number);
                    if *held {
                        self.hold.on_left(WIRE);
                    }
                }
                Fate::Over(fork) => self.clears.push(*fork),
                Fate::NoRoom | Fate::TooLong | Fate::Overtaken(_) => self.lost += 1,
            }
        }
    }

    /// Sends a while, then lets all of it arrive; returns how many forks there were.
    fn run(&mut self, steps: u32) -> u64 {
        (0..steps).for_each(|_| self.step(true));
        self.trouble.changes = 0;
        let under_way = |model: &Self| {
            !model.clears.is_empty() || model.links.iter().any(|link| !link.1.is_empty())
        };
        while under_way(self) {
            self.step(false);
        }
        self.streams.iter().map(|streams| streams.forks).sum()
    }

    fn is_in_order(&self) -> bool {
        let mut flows = self.passed.iter();
        flows.all(|passed| passed.is_sorted_by(|one, next| one < next))
    }
}

fn layers() -> impl Strategy<Value = Vec<usize>> {
    prop::sample::select(vec![
        vec![1, 2],
        vec![1, 4],
        vec![1, 2, 2],
        vec![1, 2, 4, 2],
        vec![1, 3, 3, 3],
        vec![1, 2, 2, 2, 2],
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn packets_pass_in_order_and_all_of_them(
        seed in any::<u64>(),
        layers in layers(),
        labels in 1u32..5,
    ) {
        let mut model = Model::new(seed, &layers, labels, NOTHING);
        let mut late = Model::new(seed, &layers, labels, NOTHING);
        model.hold = Hold::new(Bytes::new(1 << 30), Duration::from_ms(1000));
        let forks = model.run(2000);
        prop_assert!(model.is_in_order());
        prop_assert_eq!(model.lost, 0);
        let counts: Vec<usize> = model.passed.iter().map(Vec::len).collect();
        let sent: Vec<usize> = model.sent.iter().map(|&sent| sent as usize).collect();
        prop_assert_eq!(counts, sent);
        prop_assert!(forks > 0);
        // What is held for too long is lost, and nothing passes for that; tails are sent again though none is lost.
        late.run(2000);
        prop_assert!(late.is_in_order());
    }

    #[test]
    fn what_is_lost_reorders_nothing(
        seed in any::<u64>(),
        layers in layers(),
        labels in 1u32..5,
        loss in 1u64..100,
        changes in prop::sample::select(vec![0u64, 0, 3, 20]),
        room in prop::sample::select(vec![3_000u64, 20_000, 1 << 30]),
    ) {
        let trouble = Trouble { loss, changes, room };
        let mut model = Model::new(seed, &layers, labels, trouble);
        model.run(3000);
        prop_assert!(model.is_in_order());
    }

    #[test]
    fn ways_that_change_reorder_nothing(
        seed in any::<u64>(),
        layers in layers(),
        labels in 1u32..5,
        changes in 1u64..30,
    ) {
        let trouble = Trouble { changes, ..NOTHING };
        let mut model = Model::new(seed, &layers, labels, trouble);
        model.run(3000);
        prop_assert!(model.is_in_order());
    }
}

/// Two packets and two tails at the last switch: A moved the flow before packet 2, then B, on the old path, before packet
/// 1; A's tail follows that. `a` and `b` are the labels.
fn two_forks((a, b): (Fork, Fork)) -> Vec<u32> {
    let mut hold = Hold::new(Bytes::new(1 << 20), Duration::from_ms(1));
    let none = Forks::default();
    let item = |at: u32, forks: Forks, tail: Fork| Item {
        at,
        flow: 0,
        forks,
        tail,
        wire: WIRE,
        epoch: 0,
    };
    let (mut fates, mut latest) = (Vec::new(), 0);
    let arrivals = [
        item(0, none, Fork::NONE),
        item(2, none.with(a), Fork::NONE),
        item(10, none, b),
        item(1, none.with(b), Fork::NONE),
        item(11, none.with(b), a),
    ];
    for item in arrivals {
        hold.on_arrival(Time::ZERO, item, &mut latest, &mut fates);
    }
    let passes = fates
        .iter()
        .filter(|(_, fate)| matches!(fate, Fate::Passes(_)));
    passes.map(|(at, _)| *at).collect()
}

#[test]
fn labels_name_the_fork_as_one_number_for_a_flow_would_not_do() {
    let (a, b) = (Fork::new(1, 0, 1), Fork::new(2, 0, 1));
    assert_eq!(two_forks((a, b)), [0, 1, 2]);
    // The first fork of the flow, as both switches see it: B's tail lets A's packets pass.
    let first = Fork::new(0, 0, 1);
    assert_eq!(two_forks((first, first)), [0, 2, 1]);
}

#[test]
fn a_table_keeps_its_size_and_streams_that_are_silent_leave_it() {
    let parameters = IofdParameters {
        streams: 4,
        moved: Bytes::ZERO,
        ..IofdParameters::default()
    };
    let mut streams = Streams::new(0, &parameters);
    let candidates = Drawn {
        ports: &[7, 8],
        loads: vec![60_000, 0],
        paused: vec![false; 2],
    };
    let mut now = Time::ZERO;
    for flow in 0..1000 {
        for _ in 0..2 {
            now += Duration::from_us(400);
            let passing = Passing {
                origin: Origin {
                    flow: FlowId::new(flow),
                    ..Origin::default()
                },
                forks: Forks::default(),
                wire: WIRE,
                is_tail: false,
            };
            streams.steer(now, &passing, 0, &candidates);
            for tail in std::mem::take(&mut streams.tails) {
                streams.on_clear(tail.fork);
            }
        }
        assert!(streams.len() <= 4);
    }
    assert!(streams.forks > 500, "{}", streams.forks);
}
