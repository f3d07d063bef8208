//! Coupled subflows: together they send what one flow would, and what slows one of them down leaves the others as they are.

use std::sync::Arc;

use fairlane_congestion::{Algorithm, Environment};
use fairlane_nic::{Arrival, Extensions, Measured, Nic, Opening, PairId, Settings, Tenants};
use fairlane_transport::{Operation, Remote, Unchecked, WorkRequest};
use fairlane_units::{Bytes, Duration, FlowId, HostId, Rate, TenantId, Time};
use proptest::prelude::*;

const RATE: Rate = Rate::from_gbps(100);
const SPAN: Duration = Duration::from_us(100);

/// Two hosts that are joined by a wire which takes no time; all queue pairs belong to one connection.
struct Hosts {
    hosts: [Nic; 2],
    pairs: [Vec<PairId>; 2],
    now: Time,
}

impl Hosts {
    fn new(algorithm: Algorithm, count: u32, coupled: bool) -> Self {
        let mut settings = Settings::new(algorithm);
        settings.coupled = coupled;
        let settings = Arc::new(settings);
        let environment = Environment {
            line_rate: RATE,
            base_rtt: Duration::from_us(8),
            bdp: RATE.bytes_in(Duration::from_us(8)),
            mtu: settings.transport.mtu,
        };
        let tenants = Tenants::default();
        let mut hosts = [0, 1].map(|_| Nic::new(settings.clone(), &[environment], &tenants));
        let pairs = [0, 1].map(|host: usize| {
            let open = |number| {
                let opening = Opening {
                    flow: FlowId::new(number),
                    port: 0,
                    class: 3,
                    tenant: TenantId::new(0),
                    peer: HostId::new(1 - host as u32),
                    extensions: Extensions::with(RATE),
                    environment,
                    group: Some(7),
                };
                hosts[host].open(Time::ZERO, &opening)
            };
            (0..count).map(open).collect()
        });
        Self {
            hosts,
            pairs,
            now: Time::ZERO,
        }
    }

    fn post(&mut self, at: usize, size: u64) {
        let write = Operation::Write(Remote::default());
        let request = WorkRequest::new(0, write, Bytes::new(size));
        self.hosts[0].post(self.now, self.pairs[0][at], request);
    }

    /// Packets of a queue pair that arrive from now on are `marked`; returns the bytes of each queue pair that leave within
    /// `span`.
    fn run(&mut self, span: Duration, marked: Option<usize>) -> Vec<u64> {
        let end = self.now + span;
        let mut sent = vec![0; self.pairs[0].len()];
        loop {
            for from in [0, 1] {
                while let Some(departure) = self.hosts[from].poll_transmit(self.now, 0) {
                    let flow = departure.meta.flow.index();
                    if from == 0 {
                        sent[flow] += u64::from(departure.meta.wire);
                    }
                    let measured = Measured {
                        round_trip: Some(Duration::from_us(8)),
                        ..Measured::default()
                    };
                    let mut arrival = Arrival::from_departure(&departure, measured);
                    arrival.meta.marked |= from == 0 && marked == Some(flow);
                    let (memory, receives) = (&mut Unchecked, &mut Unchecked);
                    let pair = self.pairs[1 - from][flow];
                    self.hosts[1 - from].on_packet(self.now, pair, &arrival, memory, receives);
                }
            }
            while self.hosts[0].poll_event().is_some() {}
            let next = self.hosts[0].sends_at(0);
            match next.filter(|&next| next < end) {
                Some(next) => self.now = next.max(self.now),
                None => break,
            }
        }
        self.now = end;
        sent
    }
}

fn gbps(bytes: u64) -> f64 {
    bytes as f64 * 8.0 / SPAN.as_ns_f64()
}

#[test]
fn together_they_send_at_the_rate_of_one() {
    for (coupled, times) in [(true, 1.0), (false, 8.0)] {
        let mut hosts = Hosts::new(Algorithm::Dcqcn, 8, coupled);
        (0..8).for_each(|at| hosts.post(at, 100_000_000));
        hosts.run(SPAN, None);
        let sent = hosts.run(SPAN, None);
        // The wire has no rate of its own.
        let all = gbps(sent.iter().sum());
        assert!((all / 100.0 / times - 1.0).abs() < 0.02, "{coupled}: {all}");
        let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
        assert!(most - least < 5000, "{sent:?}");
    }
}

#[test]
fn marks_of_one_path_slow_that_one_down() {
    for algorithm in [Algorithm::Dcqcn, Algorithm::Dctcp] {
        let mut hosts = Hosts::new(algorithm, 4, true);
        (0..4).for_each(|at| hosts.post(at, 1_000_000_000));
        (0..20).for_each(|_| drop(hosts.run(SPAN, Some(2))));
        let sent = hosts.run(SPAN, Some(2));
        let all = gbps(sent.iter().sum());
        assert!(all > 97.0 && all < 102.0, "{algorithm:?}: {all}");
        assert!(gbps(sent[2]) < 2.0, "{algorithm:?}: {sent:?}");
    }
}

#[test]
fn one_that_has_nothing_to_send_leaves_its_part_to_others() {
    let mut hosts = Hosts::new(Algorithm::Dcqcn, 4, true);
    hosts.post(0, 100_000);
    hosts.post(1, 100_000_000);
    hosts.run(SPAN, None);
    let sent = hosts.run(SPAN, None);
    assert_eq!(sent[0], 0);
    assert!((gbps(sent[1]) - 100.0).abs() < 1.0, "{sent:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is marked, whoever has something to send: no more than one flow would send.
    #[test]
    fn never_more_than_one_flow(
        swift in any::<bool>(),
        steps in prop::collection::vec((0usize..6, 1u64..400_000, prop::option::of(0usize..6)), 1..30),
    ) {
        let algorithm = if swift { Algorithm::Swift } else { Algorithm::Dcqcn };
        let mut hosts = Hosts::new(algorithm, 6, true);
        for (at, size, marked) in steps {
            hosts.post(at, size);
            let sent = hosts.run(SPAN, marked);
            // A packet of each may have been paced before others joined.
            prop_assert!(sent.iter().sum::<u64>() < 1_250_000 + 6 * 1100 * 6, "{sent:?}");
        }
    }
}
