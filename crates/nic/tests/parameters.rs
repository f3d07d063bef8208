//! Queue pairs with parameters of their own, as those of real devices have them.

use std::sync::Arc;

use fairlane_congestion::scope::{Scope, Weight};
use fairlane_congestion::{Algorithm, Environment, WindowMode};
use fairlane_nic::{
    Arrival, Departure, Event, Extensions, Measured, Nic, Opening, PairId, Settings, Start, Tenants,
};
use fairlane_transport::{Config, Operation, Remote, Status, Unchecked, WorkRequest};
use fairlane_units::{Bytes, Duration, FlowId, HostId, Psn, Rate, TenantId, Time};

fn environment(bdp: u64) -> Environment {
    Environment {
        line_rate: Rate::from_gbps(100),
        base_rtt: Duration::from_us(8),
        bdp: Bytes::new(bdp),
        mtu: Bytes::new(1024),
    }
}

fn nic(bdp: u64, window: WindowMode) -> Nic {
    nic_under(Scope::Qp, bdp, window)
}

fn nic_under(scope: Scope, bdp: u64, window: WindowMode) -> Nic {
    let algorithm: Algorithm = "dcqcn".parse().expect("it is in the list");
    let mut settings = Settings::new(algorithm);
    (settings.window, settings.read_feedback) = (window, false);
    settings.scope = scope;
    let all = vec![Weight {
        tenant: TenantId::new(0),
        weight: 1.0,
        guarantee: None,
    }];
    let here = all.clone();
    Nic::new(
        Arc::new(settings),
        &[environment(bdp)],
        &Tenants { all, here },
    )
}

fn opening(bdp: u64) -> Opening {
    Opening {
        flow: FlowId::new(7),
        port: 0,
        class: 3,
        tenant: TenantId::new(0),
        peer: HostId::new(0),
        extensions: Extensions::with(Rate::from_gbps(100)),
        environment: environment(bdp),
        group: None,
    }
}

fn of_mtu(mtu: u64) -> Arc<Config> {
    Arc::new(Config {
        mtu: Bytes::new(mtu),
        ..Config::default()
    })
}

fn write(nic: &mut Nic, pair: PairId, length: u64) {
    let write = Operation::Write(Remote::default());
    nic.post(
        Time::ZERO,
        pair,
        WorkRequest::new(1, write, Bytes::new(length)),
    );
}

/// All that a host sends, as fast as its pacers let it.
fn departures(nic: &mut Nic) -> Vec<Departure> {
    let (mut now, mut all) = (Time::ZERO, Vec::new());
    while let Some(at) = nic.sends_at(0) {
        now = now.max(at);
        all.extend(nic.poll_transmit(now, 0));
    }
    all
}

#[test]
fn each_queue_pair_has_its_path_mtu() {
    for (mtu, packets) in [(256, 20), (1024, 5), (4096, 2)] {
        let mut nic = nic(0, WindowMode::None);
        let start = Start {
            transport: Some(of_mtu(mtu)),
            ..Start::default()
        };
        let usual = nic.open(Time::ZERO, &opening(0));
        let own = nic.open_at(Time::ZERO, &opening(0), start);
        for pair in [usual, own] {
            write(&mut nic, pair, 5000);
        }
        let all = departures(&mut nic);
        let count = |pair| all.iter().filter(|sent| sent.pair == pair).count();
        assert_eq!((count(usual), count(own)), (5, packets));
    }
}

#[test]
fn a_queue_pair_begins_to_send_when_it_has_a_number() {
    let mut nic = nic(0, WindowMode::None);
    let start = Start {
        expects: Psn::new(5),
        ..Start::default()
    };
    let pair = nic.open_at(Time::ZERO, &opening(0), start);
    nic.begin_sending(pair, Psn::new(0xff_ffff), of_mtu(2048));
    write(&mut nic, pair, 5000);
    let psns: Vec<u32> = (departures(&mut nic).iter())
        .map(|sent| sent.packet.psn.get())
        .collect();
    assert_eq!(psns, [0xff_ffff, 0, 1]);
    assert_eq!(nic.pair(pair).responder().expected(), Psn::new(5));
}

/// The responses to a READ go on although nobody says that they have arrived, however small the window is.
#[test]
fn a_window_holds_no_responses_that_nobody_confirms() {
    for scope in Scope::ALL {
        read_without_feedback(scope);
    }
}

fn read_without_feedback(scope: Scope) {
    let bdp = 2048;
    let mut hosts = [0, 1].map(|_| nic_under(scope, bdp, WindowMode::Fixed));
    let pairs = [0, 1].map(|at: usize| hosts[at].open(Time::ZERO, &opening(bdp)));
    let read = Operation::Read(Remote::default());
    let request = WorkRequest::new(1, read, Bytes::new(100_000));
    hosts[0].post(Time::ZERO, pairs[0], request);
    let mut now = Time::ZERO;
    loop {
        for sender in [0, 1] {
            while let Some(departure) = hosts[sender].poll_transmit(now, 0) {
                let arrival = Arrival::from_departure(&departure, Measured::default());
                let (memory, receives) = (&mut Unchecked, &mut Unchecked);
                let receiver = 1 - sender;
                hosts[receiver].on_packet(now, pairs[receiver], &arrival, memory, receives);
            }
        }
        if let Some(event) = hosts[0].poll_event() {
            let succeeds = matches!(
                event,
                Event::Completed {
                    status: Status::Success,
                    ..
                }
            );
            assert!(succeeds, "{event:?}");
            break;
        }
        let times = [0, 1].map(|at: usize| hosts[at].sends_at(0));
        let next = times.into_iter().flatten().min();
        now = next.expect("no response waits for a timeout");
    }
    assert!(now < Time::from_ns(20_000), "{now:?}");
}
