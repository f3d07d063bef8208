//! Direct apportioning in virtual time.

mod common;

use common::incast::{ENDLESS, Flow, Net, STAR, Says, WIRE};
use fairlane_congestion::dasr::{Mode, Params};
use fairlane_units::{Bytes, Duration, Rate, TenantId, Time};

fn rtts(count: f64) -> Duration {
    Duration::from_ps((STAR.base_rtt.as_ps() as f64 * count) as u64)
}

fn at(count: f64) -> Time {
    Time::ZERO + rtts(count)
}

fn in_rtts(span: Duration) -> f64 {
    span.as_ns_f64() / STAR.base_rtt.as_ns_f64()
}

/// The part of the link that so many senders have.
fn fair(count: usize) -> Rate {
    let crowded = WIRE * count as u64 > STAR.bdp;
    let divided = STAR.line_rate.scale(if crowded { 0.98 } else { 1.0 });
    divided / count as u64
}

/// Figures for `docs/dasr.md`: `cargo test --test dasr figures -- --ignored --nocapture`.
#[test]
#[ignore = "prints what the documentation says"]
fn figures() {
    let params = Params::default();
    for loss in [0.0, 0.1] {
        for n in [2_usize, 4, 8, 16, 24, 28, 32, 64, 120] {
            let mut all = Vec::new();
            for phase in 0..20 {
                let start = at(200.0 + f64::from(phase) * 0.37);
                let mut flows: Vec<Flow> = (0..n - 1)
                    .map(|k| Flow::endless(at(k as f64 * 0.31 % 1.0)))
                    .collect();
                flows.push(Flow::endless(start));
                let mut net = Net::new(&params, &[], &flows, loss);
                net.run(start);
                (net.queue, net.pushes) = (Bytes::ZERO, 0);
                net.run(start + rtts(60.0));
                let settled = net.settled(start, |_| Some(fair(n)), 0.1);
                all.push((
                    in_rtts(settled.saturating_since(start)),
                    net.queue,
                    net.pushes,
                    net.timeouts,
                ));
            }
            report("join", n, loss, all);
        }
        for n in [2_usize, 4, 8, 16, 24, 28, 32, 64] {
            let mut all = Vec::new();
            for phase in 0..20 {
                let mut flows: Vec<Flow> = (0..n)
                    .map(|k| Flow::endless(at(k as f64 * 0.31 % 1.0)))
                    .collect();
                flows[n - 1].bytes = 7_000_000 / n as u64 / 4 * 4 + phase * 770;
                let mut net = Net::new(&params, &[], &flows, loss);
                while net.finished[n - 1].is_none() {
                    let now = net.now;
                    net.run(now + rtts(0.1));
                }
                let left = net.last_departure[n - 1];
                (net.queue, net.pushes) = (Bytes::ZERO, 0);
                let now = net.now;
                net.run(now + rtts(60.0));
                let of = |sender| (sender < n - 1).then(|| fair(n - 1));
                let settled = net.settled(left, of, 0.1);
                all.push((
                    in_rtts(settled.saturating_since(left)),
                    net.queue,
                    net.pushes,
                    net.timeouts,
                ));
            }
            report("leave", n, loss, all);
        }
        for n in [2_usize, 4, 8, 16, 24, 28, 32, 64, 120] {
            let mut all = Vec::new();
            for phase in 0..10 {
                let flows: Vec<Flow> = (0..n)
                    .map(|k| Flow::endless(at(f64::from(phase) * 0.1 * (k as f64 * 0.31 % 1.0))))
                    .collect();
                let mut net = Net::new(&params, &[], &flows, loss);
                net.run(at(300.0));
                let settled = net.settled(at(0.0), |_| Some(fair(n)), 0.1);
                all.push((
                    in_rtts(settled.saturating_since(at(0.0))),
                    net.queue,
                    net.pushes,
                    net.timeouts,
                ));
            }
            report("all at once", n, loss, all);
        }
    }
    let _ = (ENDLESS, Says::Truth, WIRE, TenantId::new(0), Mode::Count);
}

fn report(what: &str, n: usize, loss: f64, all: Vec<(f64, Bytes, u64, u64)>) {
    let count = all.len() as f64;
    let mean = all.iter().map(|one| one.0).sum::<f64>() / count;
    let worst = all.iter().map(|one| one.0).fold(0.0, f64::max);
    let queue = all.iter().map(|one| one.1).max().unwrap_or_default();
    let pushes = all.iter().map(|one| one.2).sum::<u64>() as f64 / count;
    let timeouts: u64 = all.iter().map(|one| one.3).sum();
    println!(
        "{what} n={n} loss={loss} mean {mean:.2} worst {worst:.2} q {queue} pushes {pushes:.1} timeouts {timeouts}"
    );
}

/// Goodput of so many endless senders over 200 round trips, as a part of what the link carries; and the queue.
fn goodput(params: &Params, n: usize, loss: f64) -> (f64, Bytes) {
    let flows: Vec<Flow> = (0..n)
        .map(|k| Flow::endless(at(k as f64 * 0.31 % 1.0)))
        .collect();
    let mut net = Net::new(params, &[], &flows, loss);
    net.run(at(200.0));
    let before: u64 = net.arrived.iter().sum();
    net.queue = Bytes::ZERO;
    net.run(at(400.0));
    let arrived = net.arrived.iter().sum::<u64>() - before;
    let most = STAR.line_rate.bytes_in(rtts(200.0)).as_f64() / 1.048;
    (arrived as f64 / most, net.queue)
}

#[test]
#[ignore = "prints what the documentation says"]
fn goodputs() {
    for n in [1_usize, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32, 64] {
        for loss in [0.0, 0.1] {
            let (part, queue) = goodput(&Params::default(), n, loss);
            println!("goodput n={n} loss={loss} {part:.4} q {queue}");
        }
    }
}
