//! What cutting long messages and spreading the pieces over destinations gains where nobody games anything.
//!
//! The network here is ideal: a fluid in which each host's links, the only ones that there are, are divided
//! max-min fairly, among tenants first and then among a tenant's messages, at once and without loss. A message takes
//! a way's delay besides; a piece that follows another is posted once that has arrived, as in the simulator. What a
//! tenant gains there it takes from no other's part: a message to one destination shares that with whatever else is
//! sent there, its pieces don't.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fairlane_attacks::Plan;
use fairlane_fabric::base_round_trip;
use fairlane_scenario::load;
use fairlane_units::MessageId;
use proptest::prelude::*;

/// In a second.
const PICOSECONDS: f64 = 1e12;

/// A host's link in either direction.
type Link = usize;

/// Two links and a tenant: all that the division depends on.
#[derive(Clone, Copy, Debug)]
struct Stream {
    links: [Link; 2],
    tenant: usize,
}

/// The level up to which basins of these depths are filled by `volume`; what is left over stands above the deepest.
fn level(depths: &[f64], volume: f64) -> f64 {
    let mut sorted = depths.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut left = volume;
    for (at, &depth) in sorted.iter().enumerate() {
        let even = left / (sorted.len() - at) as f64;
        if depth > even {
            return even;
        }
        left -= depth;
    }
    sorted.last().map_or(volume, |deepest| deepest + left)
}

/// Rates at which each stream has a link that is full and on which nobody of its tenant, and no other tenant in all,
/// has more; `rate` is that of each link. Links take turns in offering what they have, until offers stay.
fn divide(streams: &[Stream], rate: f64) -> Vec<f64> {
    let mut offers = vec![[rate; 2]; streams.len()];
    let mut links: BTreeMap<Link, BTreeMap<usize, Vec<(usize, usize)>>> = BTreeMap::new();
    for (number, stream) in streams.iter().enumerate() {
        for (end, link) in stream.links.iter().enumerate() {
            let tenants = links.entry(*link).or_default();
            tenants
                .entry(stream.tenant)
                .or_default()
                .push((number, end));
        }
    }
    for round in 0.. {
        assert!(round < 1000, "offers don't settle: {streams:?}");
        let mut moved = 0.0_f64;
        for tenants in links.values() {
            let wanted = |all: &Vec<(usize, usize)>| -> Vec<f64> {
                all.iter().map(|&(it, end)| offers[it][1 - end]).collect()
            };
            let wanted: Vec<Vec<f64>> = tenants.values().map(wanted).collect();
            let sums: Vec<f64> = wanted.iter().map(|all| all.iter().sum()).collect();
            let part = level(&sums, rate);
            for (all, wanted) in tenants.values().zip(&wanted) {
                let offer = level(wanted, part).min(rate);
                for &(it, end) in all {
                    moved = moved.max((offers[it][end] - offer).abs());
                    offers[it][end] = offer;
                }
            }
        }
        if moved < 1e-6 * rate {
            break;
        }
    }
    offers.iter().map(|[from, to]| from.min(*to)).collect()
}

/// What became of a message, in seconds and bytes.
#[derive(Clone, Copy, Debug)]
struct Fate {
    posted: f64,
    arrived: Option<f64>,
    left: f64,
}

/// Carries out a plan until `stop`, with links of `rate` bytes a second and `delay` between any two hosts.
fn carry(plan: &Plan, rate: f64, delay: f64, stop: f64) -> Vec<Option<Fate>> {
    let streams: Vec<Stream> = plan
        .messages
        .iter()
        .map(|message| Stream {
            links: [
                2 * message.source.index(),
                2 * message.destination.index() + 1,
            ],
            tenant: message.tenant.index(),
        })
        .collect();
    let mut fates: Vec<Option<Fate>> = vec![None; streams.len()];
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); streams.len()];
    let mut due = BTreeSet::new();
    for (number, message) in plan.messages.iter().enumerate() {
        match message.after {
            Some(before) => followers[before.index()].push(number),
            None => drop(due.insert((message.start.as_ps(), number))),
        }
    }
    let (mut now, mut active) = (0.0, Vec::<usize>::new());
    while now < stop && !(due.is_empty() && active.is_empty()) {
        let rates = divide(
            &active.iter().map(|&it| streams[it]).collect::<Vec<_>>(),
            rate,
        );
        let left = |it: usize| fates[it].map_or(0.0, |fate| fate.left);
        let ends = active
            .iter()
            .zip(&rates)
            .map(|(&it, rate)| now + left(it) / rate);
        let next = due.first().map_or(stop, |(at, _)| *at as f64 / PICOSECONDS);
        let then = ends.fold(next.min(stop), f64::min);
        for (&it, rate) in active.iter().zip(&rates) {
            let Some(fate) = &mut fates[it] else { continue };
            fate.left -= rate * (then - now);
            // Less than a byte is rounding.
            if fate.left < 1.0 {
                (fate.left, fate.arrived) = (0.0, Some(then + delay));
                let arrival = ((then + delay) * PICOSECONDS) as u64;
                due.extend(followers[it].iter().map(|&follower| (arrival, follower)));
            }
        }
        active.retain(|&it| fates[it].is_some_and(|fate| fate.arrived.is_none()));
        now = then;
        while let Some(&(at, number)) = due.first() {
            if at as f64 / PICOSECONDS > now {
                break;
            }
            due.pop_first();
            fates[number] = Some(Fate {
                posted: now,
                arrived: None,
                left: plan.messages[number].size.as_f64(),
            });
            active.push(number);
        }
    }
    fates
}

/// Payload of jobs that has arrived over the time that they took, both summed, as the verdict has it.
fn goodput(plan: &Plan, fates: &[Option<Fate>], jobs: &[MessageId], stop: f64) -> f64 {
    let mut times: BTreeMap<MessageId, (f64, f64)> = BTreeMap::new();
    let mut bytes = 0.0;
    for ((message, job), fate) in plan.messages.iter().zip(&plan.jobs).zip(fates) {
        let Some(job) = job.filter(|job| jobs.contains(job)) else {
            continue;
        };
        let Some(fate) = fate else {
            times.entry(job).or_insert((stop, stop)).1 = stop;
            continue;
        };
        let time = times.entry(job).or_insert((fate.posted, 0.0));
        *time = (
            time.0.min(fate.posted),
            time.1.max(fate.arrived.unwrap_or(stop)),
        );
        bytes += message.size.as_f64() - fate.left;
    }
    bytes
        / times
            .values()
            .map(|(first, last)| last - first)
            .sum::<f64>()
}

/// Goodput of red's long messages in `s2-table1`, whole and in pieces to one destination after the other, in Gb/s.
fn whole_and_spread(seed: u64) -> [f64; 2] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = root.join("experiments/s2/table1/scenario.toml");
    let attack = r#"attack={ tenant="red", kind="shuffled-overlay", above="1MB", piece="150kB" }"#;
    let plan = |sets: &[String]| Plan::new(&load(&file, sets, Some(seed)).unwrap()).unwrap();
    let (whole, spread) = (plan(&[]), plan(&[attack.into()]));
    let packet = &whole.loaded.scenario.packet;
    let payload = packet.mtu.as_f64();
    let wire = payload + packet.header.as_f64() + packet.gap.as_f64();
    let rate = 100e9 / 8.0 * payload / wire;
    let delay = base_round_trip(&whole.loaded).unwrap().time.as_secs_f64() / 2.0;
    let stop = whole.loaded.scenario.stop.unwrap().as_secs_f64();
    [&whole, &spread].map(|plan| {
        let fates = carry(plan, rate, delay, stop);
        8e-9 * goodput(plan, &fates, &spread.cut, stop)
    })
}

/// A bound of 1.1 asks for less than what this fair network gives to spread messages, or more to whole ones.
#[test]
fn messages_that_are_spread_gain_in_an_ideal_network() {
    let seeds = [1, 2, 3, 4, 5];
    let both = seeds.map(whole_and_spread);
    let gains = both.map(|[whole, spread]| spread / whole);
    let mean = gains.iter().sum::<f64>() / gains.len() as f64;
    println!("whole and spread, Gb/s: {both:.1?}; gains {gains:.3?}, mean {mean:.3}");
    assert!(mean > 1.1, "{mean}");
    assert!(gains.iter().all(|gain| *gain > 1.0), "{gains:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn each_stream_has_a_full_link_on_which_nobody_has_more(
        streams in prop::collection::vec((0usize..6, 0usize..6, 0usize..3), 1..24)
    ) {
        let streams: Vec<Stream> = streams
            .into_iter()
            .map(|(from, to, tenant)| Stream { links: [2 * from, 2 * to + 1], tenant })
            .collect();
        let rates = divide(&streams, 1.0);
        let on = |link: Link, tenant: Option<usize>| -> f64 {
            let there = |it: &&(&Stream, &f64)| {
                it.0.links.contains(&link) && tenant.is_none_or(|tenant| it.0.tenant == tenant)
            };
            let all: Vec<_> = streams.iter().zip(&rates).collect();
            all.iter().filter(there).map(|(_, rate)| **rate).sum()
        };
        for (stream, rate) in streams.iter().zip(&rates) {
            let is_fair = |link: Link| {
                let own = on(link, Some(stream.tenant));
                let full = on(link, None) > 0.999;
                let most = (0..3).all(|tenant| on(link, Some(tenant)) < own + 1e-3);
                let same = |other: &Stream| other.tenant == stream.tenant && other.links.contains(&link);
                let greatest = streams.iter().zip(&rates).filter(|(other, _)| same(other)).all(|(_, other)| *other < rate + 1e-3);
                full && most && greatest
            };
            prop_assert!(stream.links.iter().any(|&link| is_fair(link)), "{streams:?} {rates:?}");
            prop_assert!(stream.links.iter().all(|&link| on(link, None) < 1.001));
        }
    }
}
