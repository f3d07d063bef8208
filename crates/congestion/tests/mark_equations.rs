//! Single steps of DCTCP and of InfiniBand's congestion control, and the notification point.

use std::sync::Arc;

use fairlane_congestion::dctcp::{self, Dctcp};
use fairlane_congestion::infiniband::{self, CctEntry, InfiniBand};
use fairlane_congestion::{CongestionControl, NotificationPoint};
use fairlane_units::{Duration, Rate};

use crate::common::{ENVIRONMENT, NOTIFICATION, marked, run_timers, us};

#[test]
fn dctcp_averages_the_share_of_marks() {
    // SIGCOMM 2010, eq. 1 with g = 1/4. The second round has 8 packets in flight, and 3 marks over
    // 8 + 1 are its share.
    let mut dctcp = Dctcp::new(
        Arc::new(dctcp::Config {
            gain: 0.25,
            ..dctcp::Config::default()
        }),
        &ENVIRONMENT,
    );
    dctcp.on_ack(us(1), &marked(1000, 8000, false));
    dctcp.on_ack(us(2), &marked(9000, 17_000, false));
    assert_eq!(dctcp.alpha(), 0.75);
    for packet in 10..13 {
        dctcp.on_ack(us(3), &marked(packet * 1000, 20_000, true));
    }
    dctcp.on_ack(us(4), &marked(18_000, 26_000, false));
    assert_eq!(dctcp.alpha(), 0.75 * 0.75 + 0.25 * (3.0 / 9.0));
}

#[test]
fn dctcp_cuts_once_per_round_trip_and_then_adds() {
    let mut dctcp = Dctcp::new(Arc::default(), &ENVIRONMENT);
    // Eq. 2 with alpha = 1: a half.
    dctcp.on_ack(us(1), &marked(1000, 8000, true));
    assert_eq!(dctcp.rate(), Rate::from_gbps(50));
    (2..=8).for_each(|packet| {
        dctcp.on_ack(us(2), &marked(packet * 1000, 9000, true));
    });
    assert_eq!(dctcp.rate(), Rate::from_gbps(50));
    // The first acknowledgement past position 8000 ends the reduction and begins a round.
    dctcp.on_ack(us(3), &marked(9000, 16_000, false));
    assert_eq!(dctcp.rate(), Rate::from_mbps(50_615));
    dctcp.on_ack(us(3), &marked(10_000, 17_000, false));
    assert_eq!(dctcp.rate(), Rate::from_mbps(50_615));
}

fn infiniband(config: infiniband::Config) -> InfiniBand {
    InfiniBand::new(Arc::new(config), &ENVIRONMENT)
}

#[test]
fn a_becn_raises_the_index_and_the_timer_lowers_it() {
    // A10.2.2.1: entry i of the default table delays by i / 4 transmission times.
    let mut state = infiniband(infiniband::Config {
        ccti_timer: Duration::from_us(10),
        ..infiniband::Config::default()
    });
    for at in 0..4 {
        state.on_ack(us(at), &NOTIFICATION);
    }
    assert_eq!((state.index(), state.rate()), (4, Rate::from_gbps(50)));
    run_timers(&mut state, us(9));
    assert_eq!(state.index(), 4);
    run_timers(&mut state, us(10));
    let three_quarters = 100_000_000_000u64 * 4 / 7;
    assert_eq!((state.index(), state.rate().as_bps()), (3, three_quarters));
    run_timers(&mut state, us(1000));
    assert_eq!((state.index(), state.rate()), (0, ENVIRONMENT.line_rate));
    assert!(state.timers().next().is_none(), "nothing left to lower");
}

#[test]
fn the_index_stays_between_its_limits() {
    let mut state = infiniband(infiniband::Config {
        ccti_increase: 50,
        ccti_min: 4,
        ..infiniband::Config::default()
    });
    assert_eq!(state.rate(), Rate::from_gbps(50));
    (0..5).for_each(|at| state.on_cnp(us(at)));
    assert_eq!(state.index(), 127);
    run_timers(&mut state, us(100_000));
    assert_eq!((state.index(), state.rate()), (4, Rate::from_gbps(50)));
}

#[test]
fn the_table_may_be_stated() {
    let entry = |multiplier, shift| CctEntry { multiplier, shift };
    let mut state = infiniband(infiniband::Config {
        table: vec![entry(0, 0), entry(1, 3), entry(3, 0)],
        ..infiniband::Config::default()
    });
    state.on_cnp(us(1));
    assert_eq!(state.rate().as_bps(), 100_000_000_000 * 8 / 9);
    state.on_cnp(us(1));
    assert_eq!(state.rate(), Rate::from_gbps(25));
    state.on_cnp(us(1));
    assert_eq!(state.rate(), Rate::from_gbps(25), "the last entry goes on");
}

#[test]
fn a_notification_point_keeps_its_distance() {
    let mut point = NotificationPoint::new();
    let interval = Duration::from_us(50);
    let sent: Vec<u64> = (7..200)
        .filter(|&at| point.on_mark(us(at), interval))
        .collect();
    assert_eq!(sent, [7, 57, 107, 157]);
}
