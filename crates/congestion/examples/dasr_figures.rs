//! The figures of `docs/dasr.md`: `cargo run --release -p fairlane-congestion --example dasr_figures`.

#![expect(clippy::print_stdout, reason = "printing is what they are for")]

#[path = "../tests/common/mod.rs"]
mod common;

use common::incast::{Flow, Net, STAR, Says, at, fair, in_rtts, rtts};
use fairlane_congestion::dasr::{Mode, Params};
use fairlane_units::Bytes;

const DEGREES: [usize; 9] = [2, 4, 8, 16, 24, 28, 32, 64, 120];

/// So many endless senders that begin within `spread` round trips.
fn crowd(count: usize, spread: f64) -> Vec<Flow> {
    (0..count)
        .map(|one| Flow::endless(at(spread * (one as f64 * 0.31 % 1.0))))
        .collect()
}

/// Settling times in round trips, and queues.
#[derive(Default)]
struct Runs {
    took: Vec<f64>,
    queue: Bytes,
    pushes: u64,
    timeouts: u64,
}

impl Runs {
    fn add(&mut self, net: &Net, took: f64) {
        self.took.push(took);
        self.queue = self.queue.max(net.queue);
        self.pushes += net.pushes;
        self.timeouts += net.timeouts;
    }

    fn print(&self, what: &str) {
        let count = self.took.len() as f64;
        let mean = self.took.iter().sum::<f64>() / count;
        let worst = self.took.iter().copied().fold(0.0, f64::max);
        let (queue, pushes) = (self.queue.as_f64() / 1000.0, self.pushes as f64 / count);
        let timeouts = self.timeouts;
        println!(
            "{what}: {mean:.2}, worst {worst:.2} RTT; queue {queue:.1} KB; {pushes:.1} pushes, {timeouts} timeouts"
        );
    }
}

/// One sender joins others that have been there for 200 round trips.
fn join(n: usize, params: &Params, loss: f64) -> Runs {
    let mut runs = Runs::default();
    for phase in 0..20 {
        let start = at(200.0 + f64::from(phase) * 0.37);
        let mut flows = crowd(n - 1, 1.0);
        flows.push(Flow::endless(start));
        let mut net = Net::new(params, &[], &flows, loss);
        net.run(start);
        (net.queue, net.pushes) = (Bytes::ZERO, 0);
        net.run(start + rtts(60.0));
        let settled = net.settled(start, |_| Some(fair(n)), 0.1);
        runs.add(&net, in_rtts(settled.saturating_since(start)));
    }
    runs
}

/// One of them leaves after about as long.
fn leave(n: usize, params: &Params, loss: f64) -> Runs {
    let mut runs = Runs::default();
    for phase in 0..20 {
        let mut flows = crowd(n, 1.0);
        flows[n - 1].bytes = 6_000_000 / n as u64 + phase * 770;
        let mut net = Net::new(params, &[], &flows, loss);
        while net.finished[n - 1].is_none() {
            let now = net.now;
            net.run(now + rtts(0.1));
        }
        let left = net.last_departure[n - 1];
        (net.queue, net.pushes) = (Bytes::ZERO, 0);
        let now = net.now;
        net.run(now + rtts(60.0));
        let others = |sender| (sender < n - 1).then(|| fair(n - 1));
        let settled = net.settled(left, others, 0.1);
        runs.add(&net, in_rtts(settled.saturating_since(left)));
    }
    runs
}

/// All join an idle link within up to a round trip.
fn begin(n: usize, params: &Params, loss: f64) -> Runs {
    let mut runs = Runs::default();
    for phase in 0..10 {
        let flows = crowd(n, f64::from(phase) * 0.1);
        let mut net = Net::new(params, &[], &flows, loss);
        net.run(at(300.0));
        let settled = net.settled(at(0.0), |_| Some(fair(n)), 0.1);
        runs.add(&net, in_rtts(settled.saturating_since(at(0.0))));
    }
    runs
}

fn convergence() {
    let usual = Params::of(Mode::DemandAware);
    for loss in [0.0, 0.1] {
        for n in DEGREES {
            join(n, &usual, loss).print(&format!("join, n={n}, loss {loss}"));
            leave(n, &usual, loss).print(&format!("leave, n={n}, loss {loss}"));
            begin(n, &usual, loss).print(&format!("all at once, n={n}, loss {loss}"));
        }
    }
    for n in DEGREES {
        let params = Params {
            draining: 1.0,
            ..Params::of(Mode::DemandAware)
        };
        join(n, &params, 0.0).print(&format!("join, n={n}, without draining"));
    }
    for (name, first_burst) in [("a packet", 0.0), ("a quarter", 0.25), ("a product", 1.0)] {
        for n in DEGREES {
            let params = Params {
                first_burst,
                ..Params::of(Mode::DemandAware)
            };
            join(n, &params, 0.0).print(&format!("join, n={n}, {name} first"));
        }
    }
}

/// An incast of 256 KB beside an endless flow, with jitter of 100 us: completion times in us, the queue, and what the endless
/// flow gets in 6 ms.
fn incast(n: usize, params: &Params) {
    let (mut ends, mut queue, mut long) = (Vec::new(), Bytes::ZERO, 0.0);
    let rounds = 10;
    let mut random = 1_u64;
    for _ in 0..rounds {
        let mut flows = vec![Flow::endless(at(0.0))];
        for _ in 0..n {
            random = random
                .wrapping_mul(0x5851_f42d_4c95_7f2d)
                .wrapping_add(0x1405_7b7e_f767_814f);
            let jitter = (random >> 40) as f64 / f64::from(1 << 24) * 100.0 / 4.3;
            flows.push(Flow::of(256_000, at(100.0 + jitter)));
        }
        let mut net = Net::new(params, &[], &flows, 0.0);
        net.run(at(100.0));
        let before = net.arrived[0];
        net.run(at(100.0) + rtts(6000.0 / 4.3));
        for (flow, end) in flows.iter().zip(&net.finished).skip(1) {
            let end = end.expect("it ends");
            ends.push(end.saturating_since(flow.start).as_ns_f64() / 1000.0);
        }
        queue = queue.max(net.queue);
        long += (net.arrived[0] - before) as f64 * 8.0 / 6e6 / f64::from(rounds);
    }
    ends.sort_by(f64::total_cmp);
    let (median, last) = (ends[ends.len() / 2], ends[ends.len() * 99 / 100]);
    println!(
        "incast, n={n}, {}, eta {}, first burst {}: {median:.0}/{last:.0} us, queue {:.1} KB, long flow {long:.2} Gb/s",
        params.mode,
        params.eta,
        params.first_burst,
        queue.as_f64() / 1000.0,
    );
}

fn incasts() {
    let slow = Params {
        eta: 0.98,
        ..Params::of(Mode::DemandAware)
    };
    let single = Params {
        first_burst: 0.0,
        ..Params::of(Mode::Count)
    };
    for n in [4, 8, 16, 32, 64] {
        for params in [
            &single,
            &Params::of(Mode::Count),
            &Params::of(Mode::DemandAware),
            &slow,
            &Params::of(Mode::ShortestFirst),
        ] {
            incast(n, params);
        }
    }
}

/// Goodput of all over 200 round trips, in Gb/s.
fn goodput(params: &Params, flows: &[Flow], loss: f64) -> (f64, Bytes) {
    let mut net = Net::new(params, &[], flows, loss);
    net.run(at(200.0));
    let before: u64 = net.arrived.iter().sum();
    net.queue = Bytes::ZERO;
    net.run(at(400.0));
    let arrived = net.arrived.iter().sum::<u64>() - before;
    let seconds = rtts(200.0).as_secs_f64();
    (arrived as f64 * 8.0 / seconds / 1e9, net.queue)
}

fn goodputs() {
    for loss in [0.0, 0.1] {
        for n in [1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 64, 120] {
            let (gbps, queue) = goodput(&Params::of(Mode::DemandAware), &crowd(n, 1.0), loss);
            let queue = queue.as_f64() / 1000.0;
            println!("goodput, n={n}, loss {loss}: {gbps:.2} Gb/s, queue {queue:.1} KB");
        }
    }
    for liars in [1, 4, 6, 7] {
        let mut flows = crowd(8, 1.0);
        let last = &mut flows[8 - liars..];
        last.iter_mut()
            .for_each(|flow| flow.says = Says::Units(600));
        for headroom in [0.25, 16.0] {
            let params = Params {
                headroom,
                ..Params::of(Mode::DemandAware)
            };
            let (gbps, queue) = goodput(&params, &flows, 0.0);
            let queue = queue.as_f64() / 1000.0;
            println!(
                "{liars} of 8 say 1 %, headroom {headroom}: {gbps:.2} Gb/s, queue {queue:.1} KB"
            );
        }
    }
    // Half of 16 can use 2 % of their line.
    for (mode, says) in [
        (Mode::Count, Says::Truth),
        (Mode::DemandAware, Says::Truth),
        (Mode::DemandAware, Says::Nothing),
        (Mode::Measured, Says::Nothing),
        (Mode::DemandAware, Says::Units(u16::MAX)),
        (Mode::DemandAware, Says::Units(1)),
    ] {
        let mut flows = crowd(16, 1.0);
        flows.iter_mut().for_each(|flow| flow.says = says);
        for flow in &mut flows[..8] {
            flow.limit = STAR.line_rate.scale(0.02);
        }
        let (gbps, queue) = goodput(&Params::of(mode), &flows, 0.0);
        let queue = queue.as_f64() / 1000.0;
        println!("8 of 16 at 2 %, {mode}, {says:?}: {gbps:.2} Gb/s, queue {queue:.1} KB");
    }
}

fn main() {
    convergence();
    incasts();
    goodputs();
}
