//! Random networks and hosts from a seed, told host by host and never held.

use fairlane_drum::coupled::{Flows, Rows, Source};
use fairlane_drum::{Application, Fairness, Table, Utility};

use super::draws::Draws;

/// A random network: hosts send to random hosts, a part of the
/// traffic to host 0, two destinations a flow, and half of the flows cross one of three core links.
///
/// In units of fair shares: bytes, completions, poll costs and weights are uniform in 0.75..1.5, bytes
/// are split between the destinations at random, and polling an arrival costs half of polling one's
/// own completion. A host's egress is 0.75 to 1.5 times, its ingress 1 times and its polling budget
/// 1.6 times its number of applications times 1.125; a core link has 0.6 of what its flows send at
/// rate 1 on average.
#[derive(Clone, Debug, PartialEq)]
pub struct RandomNetwork {
    hosts: usize,
    applications: usize,
    utility: Utility,
    draws: Draws,
    capacities: Vec<f64>,
}

/// Links of the core.
const CORE: usize = 3;
/// Part of the flows whose first destination is host 0, out of 2^32.
const INCAST: u64 = (1 << 32) / 5;
/// Mean of a number in 0.75..1.5.
const MEAN: f64 = 1.125;

impl RandomNetwork {
    /// A network of so many hosts with so many applications each, at least one, under `alpha` and
    /// `beta`.
    pub fn new(hosts: usize, applications: usize, (alpha, beta): (f64, f64), seed: u64) -> Self {
        let draws = Draws::new(seed);
        #[expect(
            clippy::cast_precision_loss,
            reason = "numbers of flows are far below 2^53"
        )]
        let fair = (
            applications as f64 * MEAN,
            (hosts * applications) as f64 * MEAN,
        );
        let egress = draws.stream(hosts, 1);
        let mut capacities: Vec<f64> = (0..hosts)
            .map(|host| fair.0 * factor(egress.bits(host), 0))
            .collect();
        capacities.extend((0..hosts).map(|_| fair.0));
        capacities.extend((0..hosts).map(|_| fair.0 * 1.6));
        capacities.extend((0..CORE).map(|_| fair.1 * 0.6 / 6.0));
        Self {
            hosts,
            applications,
            utility: Utility {
                fairness: Fairness::Alpha(alpha),
                latency: beta,
            },
            draws,
            capacities,
        }
    }
}

/// Uniform in 0.75..1.5, from 26 of random bits.
#[inline(always)]
fn factor(bits: u64, from: u32) -> f64 {
    0.75 + 0.75 * Draws::unit(bits, from)
}

/// The lower half of random bits decides about host 0, the upper one which host it is.
#[inline(always)]
fn first_destination(bits: u64, hosts: u32) -> u32 {
    match (bits & 0xffff_ffff) < INCAST {
        true => 0,
        false => Draws::below(bits, hosts),
    }
}

impl Source for RandomNetwork {
    fn hosts(&self) -> usize {
        self.hosts
    }

    fn utility(&self) -> Utility {
        self.utility
    }

    fn capacities(&self) -> &[f64] {
        &self.capacities
    }

    fn flows(&self, _: usize) -> usize {
        self.applications
    }

    fn fill(&self, host: usize, flows: &mut Flows) {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "more hosts than 2^30 don't fit memory"
        )]
        let (hosts, own) = (self.hosts as u32, host as u32);
        let m = self.applications;
        flows.resize_columns(7);
        for column in &mut flows.columns {
            column.coefficient.resize(m, 0.0);
        }
        flows.weight.resize(m, 0.0);
        flows.kappa.resize(m, 0.0);
        let [
            egress,
            poll,
            first_in,
            second_in,
            first_poll,
            second_poll,
            core,
        ] = &mut flows.columns[..]
        else {
            unreachable!("resized to 7 columns above")
        };
        egress.rows = Rows::One(own);
        poll.rows = Rows::One(2 * hosts + own);
        let lists = [first_in, second_in, first_poll, second_poll, core];
        let [a_in, b_in, a_poll, b_poll, link] = lists.map(|column| {
            let rows = column.rows.each();
            rows.resize(m, 0);
            (&mut rows[..m], &mut column.coefficient[..m])
        });
        let (weight, kappa) = (&mut flows.weight[..m], &mut flows.kappa[..m]);
        let (egress, poll) = (&mut egress.coefficient[..m], &mut poll.coefficient[..m]);
        let streams: [Draws; 5] =
            core::array::from_fn(|field| self.draws.stream(host, 2 + field as u64));
        let latency = 2.0 * self.utility.latency;
        for j in 0..m {
            let [values, costs, sizes, places, others] = streams.map(|stream| stream.bits(j));
            weight[j] = factor(values, 0);
            let completions = factor(values, 32);
            kappa[j] = latency * factor(costs, 0) / (completions * completions);
            poll[j] = factor(costs, 32) * completions;
            let bytes = factor(sizes, 0);
            egress[j] = bytes;
            let part = Draws::unit(sizes, 32);
            let arrival = 0.5 * factor(others, 0);
            a_in.1[j] = bytes * part;
            b_in.1[j] = bytes * (1.0 - part);
            a_poll.1[j] = arrival * part;
            b_poll.1[j] = arrival * (1.0 - part);
            let first = first_destination(places, hosts);
            let second = Draws::below(others << 20, hosts);
            a_in.0[j] = hosts + first;
            b_in.0[j] = hosts + second;
            a_poll.0[j] = 2 * hosts + first;
            b_poll.0[j] = 2 * hosts + second;
            let crossing = Draws::below(others, 2 * CORE as u32);
            let crosses = crossing < CORE as u32;
            link.0[j] = 3 * hosts + if crosses { crossing } else { 0 };
            link.1[j] = if crosses { bytes } else { 0.0 };
        }
    }
}

/// Capacities of a random host: egress (B/s) and budget for polling (CPU-s/s).
pub const RANDOM_HOST: (f64, f64) = (1.0, 1.2);

/// Fills the applications of one of many random hosts: weights, latency weights, bytes and poll costs
/// uniform in 0.75..1.5 and completions uniform in 0.75..1.5, with bytes and poll costs over the number
/// of applications, so that [`RANDOM_HOST`] gives rates around 1.
pub fn random_host(table: &mut Table, (host, applications): (usize, usize), seed: u64) {
    let draws = Draws::new(seed);
    #[expect(
        clippy::cast_precision_loss,
        reason = "numbers of applications are far below 2^53"
    )]
    let share = 1.0 / (applications as f64 * MEAN);
    let streams: [Draws; 3] = core::array::from_fn(|field| draws.stream(host, 2 + field as u64));
    *table = Table::default();
    for j in 0..applications {
        let [values, costs, sizes] = streams.map(|stream| stream.bits(j));
        table.push(Application {
            weight: factor(values, 0),
            completions: factor(values, 32),
            latency_weight: factor(costs, 0),
            poll_cost: factor(costs, 32) * share,
            bytes: factor(sizes, 0) * share,
            ..Application::default()
        });
    }
}
