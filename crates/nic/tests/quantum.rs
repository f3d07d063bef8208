//! A queue pair sends several packets before others are served, where a driver wants that.

use std::sync::Arc;

use fairlane_congestion::scope::{Scope, Weight};
use fairlane_congestion::{Algorithm, Environment};
use fairlane_nic::{Extensions, Nic, Opening, PairId, Quantum, Settings, Tenants};
use fairlane_transport::{Operation, Remote, WorkRequest};
use fairlane_units::{Bytes, Duration, FlowId, HostId, Rate, TenantId, Time};

/// A packet of 1024 bytes with its headers takes 86.88 or 88.16 ns of it.
const RATE: Rate = Rate::from_gbps(100);

/// A NIC from which a queue pair of each of two tenants sends to a host of its own.
struct Sender {
    nic: Nic,
    pairs: [PairId; 2],
    now: Time,
}

impl Sender {
    fn new(scope: Scope, quantum: Quantum) -> Self {
        let mut settings = Settings::new(Algorithm::Dcqcn);
        settings.transport.mtu = Bytes::new(1024);
        settings.transport.ack_timeout = None;
        (settings.scope, settings.quantum) = (scope, quantum);
        let environment = Environment {
            line_rate: RATE,
            base_rtt: Duration::from_us(80),
            bdp: Bytes::new(1_000_000),
            mtu: settings.transport.mtu,
        };
        let tenant = |number| Weight {
            tenant: TenantId::new(number),
            weight: 1.0,
            guarantee: None,
        };
        let both: Vec<Weight> = (0..2).map(tenant).collect();
        let tenants = Tenants {
            all: both.clone(),
            here: both,
        };
        let mut nic = Nic::new(Arc::new(settings), &[environment], &tenants);
        let pairs = [0, 1].map(|number| {
            let opening = Opening {
                flow: FlowId::new(number),
                port: 0,
                class: 3,
                tenant: TenantId::new(number),
                peer: HostId::new(10 + number),
                extensions: Extensions::with(RATE),
                environment,
                group: None,
            };
            nic.open(Time::ZERO, &opening)
        });
        Self {
            nic,
            pairs,
            now: Time::ZERO,
        }
    }

    /// Posts a WRITE of so many packets.
    fn write(&mut self, pair: usize, packets: u64) {
        let request = WorkRequest::new(
            0,
            Operation::Write(Remote::default()),
            Bytes::new(packets * 1024),
        );
        self.nic.post(self.now, self.pairs[pair], request);
    }

    /// Sends what may be sent; returns the queue pair of each packet, `a` the first one, in upper case where others are served
    /// next.
    fn send(&mut self) -> String {
        let mut order = String::new();
        let mut first = None;
        while let Some(at) = self.nic.sends_at(0) {
            self.now = self.now.max(at);
            let departure = self.nic.poll_transmit(self.now, 0);
            let departure = departure.expect("the NIC said when");
            let first = *first.get_or_insert(departure.pair);
            order.push(match (departure.pair == first, departure.ends_quantum) {
                (true, false) => 'a',
                (true, true) => 'A',
                (false, false) => 'b',
                (false, true) => 'B',
            });
        }
        order
    }
}

const fn quantum(packets: u32, gap: Duration) -> Quantum {
    Quantum { packets, gap }
}

#[test]
fn queue_pairs_alternate_by_packets_and_by_quanta() {
    for scope in [Scope::Qp, Scope::Pair, Scope::Tenant] {
        for (quantum, expected) in [
            (Quantum::PACKET, "abababababab"),
            (quantum(3, Duration::from_us(1)), "aaAbbBaaAbbB"),
            (quantum(4, Duration::from_us(1)), "aaaAbbbBaAbB"),
            (quantum(16, Duration::from_us(1)), "aaaaaAbbbbbB"),
        ] {
            let mut sender = Sender::new(scope, quantum);
            sender.write(0, 6);
            sender.write(1, 6);
            assert_eq!(sender.send(), expected, "{scope} {quantum:?}");
        }
    }
}

#[test]
fn whoever_is_paced_at_more_than_the_gap_lets_others_go() {
    let shorter_than_a_packet = Duration::from_ns(50);
    for scope in [Scope::Qp, Scope::Pair] {
        let mut sender = Sender::new(scope, quantum(16, shorter_than_a_packet));
        sender.write(0, 3);
        sender.write(1, 3);
        assert_eq!(sender.send(), "ABABAB", "{scope}");
    }
}

#[test]
fn a_queue_pair_without_more_to_send_is_served_no_further() {
    let mut sender = Sender::new(Scope::Qp, quantum(16, Duration::from_us(1)));
    sender.write(0, 2);
    assert_eq!(sender.send(), "aA");
    sender.now += Duration::from_us(10);
    sender.write(0, 20);
    sender.write(1, 20);
    assert_eq!(sender.send(), "aaaaaaaaaaaaaaaAbbbbbbbbbbbbbbbBaaaAbbbB");
}

#[test]
fn a_queue_pair_that_closes_is_served_no_further() {
    for scope in [Scope::Qp, Scope::Tenant] {
        let mut sender = Sender::new(scope, quantum(16, Duration::from_us(1)));
        sender.write(0, 8);
        sender.write(1, 8);
        let first = sender.nic.poll_transmit(sender.now, 0).unwrap();
        assert!(!first.ends_quantum);
        sender.nic.close(sender.now, first.pair, false);
        assert_eq!(sender.send(), "aaaaaaaA", "{scope}");
    }
}

/// Between two packets of a quantum the port waits for the pacer, though others could send: the link has no room for them.
#[test]
fn the_port_waits_for_a_pacer_within_the_gap() {
    let mut sender = Sender::new(Scope::Qp, quantum(16, Duration::from_us(1)));
    sender.write(0, 2);
    sender.write(1, 2);
    let first = sender.nic.poll_transmit(Time::ZERO, 0).unwrap();
    assert!(sender.nic.poll_transmit(Time::ZERO, 0).is_none());
    let next = sender.nic.sends_at(0).unwrap();
    assert!(Time::ZERO < next && next < Time::from_ns(90), "{next}");
    let second = sender.nic.poll_transmit(next, 0).unwrap();
    assert_eq!(second.pair, first.pair);
}
