//! Single steps against the formulas of the papers.

use fairlane_congestion::CongestionControl;
use fairlane_congestion::dcqcn::{self, Dcqcn};
use fairlane_congestion::hpcc::{self, Hpcc};
use fairlane_units::{Duration, Rate, Time};

use crate::common::{ENVIRONMENT, NOTIFICATION, ack, hop, run_timers, telemetry, us};

fn notified(config: dcqcn::Config) -> Dcqcn {
    let mut dcqcn = Dcqcn::new(config.into(), &ENVIRONMENT);
    dcqcn.on_ack(Time::ZERO, &NOTIFICATION);
    dcqcn
}

#[test]
fn dcqcn_decreases_by_half_of_alpha() {
    // SIGCOMM 2015, eq. 1: R_T = R_C, R_C = R_C (1 - alpha / 2). Alpha starts at 1 and has lost a share
    // of g = 1/256 four times when the first check comes, 4.001 us after the first CNP.
    let mut dcqcn = notified(dcqcn::Config::default());
    run_timers(&mut dcqcn, us(4));
    let alpha = (255.0_f64 / 256.0).powi(4);
    assert!((dcqcn.alpha() - alpha).abs() < 1e-15);
    assert_eq!(dcqcn.rate(), Rate::from_gbps(100));
    run_timers(&mut dcqcn, Time::from_ns(4001));
    assert_eq!(
        dcqcn.rate(),
        Rate::from_gbps(100).scale(1.0 - dcqcn.alpha() / 2.0)
    );
    assert_eq!(dcqcn.target_rate(), Rate::from_gbps(100));
}

#[test]
fn dcqcn_moves_alpha_by_its_gain() {
    // Eq. 1 with a CNP in the interval: alpha = (1 - g) alpha + g; eq. 2 without: (1 - g) alpha.
    let config = dcqcn::Config {
        gain: 0.25,
        ..dcqcn::Config::default()
    };
    let mut dcqcn = notified(config);
    run_timers(&mut dcqcn, us(2));
    assert_eq!(dcqcn.alpha(), 0.75 * 0.75);
    dcqcn.on_ack(us(2), &NOTIFICATION);
    run_timers(&mut dcqcn, us(3));
    assert_eq!(dcqcn.alpha(), 0.75 * 0.75 * 0.75 + 0.25);
}

#[test]
fn dcqcn_recovers_in_three_phases() {
    // Figure 7 with F = 1. After the cut at 4.001 us: fast recovery after 300 us, additive increase
    // after 600 us (eq. 3: R_T += R_AI), hyper increase from then on (R_T += R_HAI), each followed by
    // R_C = (R_C + R_T) / 2 and never above the line rate.
    let mut dcqcn = notified(dcqcn::Config::default());
    let at = |times_300: u64| Time::from_ns(4001 + times_300 * 300_000);
    run_timers(&mut dcqcn, at(0));
    let cut = dcqcn.rate().as_bps();
    let line = 100_000_000_000;
    let halves = |a: u64, b: u64| a / 2 + b / 2;
    run_timers(&mut dcqcn, at(1));
    assert_eq!(dcqcn.rate().as_bps(), halves(cut, line));
    run_timers(&mut dcqcn, at(2));
    assert_eq!(dcqcn.target_rate().as_bps(), line);
    // A second congestion while recovering lowers the target to the rate.
    dcqcn.on_ack(at(2), &NOTIFICATION);
    run_timers(&mut dcqcn, at(2) + Duration::from_us(4));
    let target = halves(halves(cut, line), line);
    assert_eq!(dcqcn.target_rate().as_bps(), target);
    let cut = dcqcn.rate().as_bps();
    let again = |times: u64| at(2) + Duration::from_ns(times * 300_000) + Duration::from_us(4);
    run_timers(&mut dcqcn, again(1));
    let first = halves(cut, target);
    assert_eq!(
        (dcqcn.rate().as_bps(), dcqcn.target_rate().as_bps()),
        (first, target)
    );
    run_timers(&mut dcqcn, again(2));
    let second = halves(first, target + 20_000_000);
    assert_eq!(dcqcn.target_rate().as_bps(), target + 20_000_000);
    assert_eq!(dcqcn.rate().as_bps(), second);
    run_timers(&mut dcqcn, again(3));
    assert_eq!(dcqcn.target_rate().as_bps(), target + 220_000_000);
    assert_eq!(dcqcn.rate().as_bps(), halves(second, target + 220_000_000));
}

#[test]
fn dcqcn_clamps_the_target_if_asked_and_keeps_its_floor() {
    for (clamp, target) in [(false, Rate::from_gbps(100)), (true, Rate::from_gbps(40))] {
        let min_rate = Rate::from_gbps(40);
        let clamp_target_rate = clamp;
        let mut dcqcn = notified(dcqcn::Config {
            min_rate,
            clamp_target_rate,
            ..Default::default()
        });
        for at in 1..60 {
            run_timers(&mut dcqcn, us(at));
            dcqcn.on_ack(us(at), &NOTIFICATION);
        }
        assert_eq!((dcqcn.rate(), dcqcn.target_rate()), (min_rate, target));
    }
}

/// A sender that has had the first acknowledgement: nothing sent, nothing queued, at time 0, while
/// byte 1000 was the next to send.
fn started(config: hpcc::Config) -> Hpcc {
    let mut hpcc = Hpcc::new(config.into(), &ENVIRONMENT);
    assert!(!hpcc.on_ack(
        Time::ZERO,
        &ack(500, 1000, &telemetry(&[hop(0, 0, 40_000)]))
    ));
    assert_eq!(hpcc.rate(), ENVIRONMENT.line_rate);
    hpcc
}

const RTT_PS: u64 = 12_500_000;

#[test]
fn hpcc_divides_by_its_utilisation() {
    // SIGCOMM 2019, eq. 2: u = qlen / (B T) + txRate / B; the shorter of both queues counts (line 5).
    // 156,250 B in 12.5 us are 100 Gb/s; 31,250 B of queue are 0.2 of B T. So u = 1.2 and, as
    // tau = T, U = 1.2. Eq. 4: the rate becomes R_C / (U / eta) + W_AI.
    let mut hpcc = started(hpcc::Config::default());
    assert!(hpcc.on_ack(
        Time::ZERO,
        &ack(2000, 3000, &telemetry(&[hop(RTT_PS, 156_250, 31_250)]))
    ));
    assert!((hpcc.utilization() - 1.2).abs() < 1e-12);
    let expected = 100e9 / (1.2 / 0.95) + 50e6;
    assert!(
        (hpcc.rate().as_f64() - expected).abs() <= 1.0,
        "{}",
        hpcc.rate()
    );
}

#[test]
fn hpcc_averages_over_a_round_trip() {
    // Line 10: U = (1 - tau / T) U + tau / T u, from U = 1; a quarter of T at u = 0.5.
    let mut hpcc = started(hpcc::Config::default());
    hpcc.on_ack(
        Time::ZERO,
        &ack(2000, 3000, &telemetry(&[hop(RTT_PS / 4, 156_250 / 8, 0)])),
    );
    assert!((hpcc.utilization() - (0.75 + 0.25 * 0.5)).abs() < 1e-5);
    // Spans longer than T count as T.
    hpcc.on_ack(
        Time::ZERO,
        &ack(
            4000,
            5000,
            &telemetry(&[hop(RTT_PS * 5 / 4, 156_250 / 8 + 15_625, 0)]),
        ),
    );
    assert!((hpcc.utilization() - 0.1).abs() < 1e-4);
}

#[test]
fn hpcc_listens_to_the_busiest_hop() {
    let hops = |at: u64, sent: [u64; 3]| {
        let [a, b, c] = sent.map(|sent| hop(at, sent, 0));
        telemetry(&[a, b, c])
    };
    let mut hpcc = Hpcc::new(Default::default(), &ENVIRONMENT);
    hpcc.on_ack(Time::ZERO, &ack(500, 1000, &hops(0, [0; 3])));
    hpcc.on_ack(
        Time::ZERO,
        &ack(2000, 3000, &hops(RTT_PS, [15_625, 125_000, 62_500])),
    );
    assert!((hpcc.utilization() - 0.8).abs() < 1e-12);
}

#[test]
fn hpcc_increases_additively_for_max_stage_rounds() {
    // Lines 13 to 17: below eta, R_C + W_AI for maxStage rounds, then one multiplicative step.
    let config = hpcc::Config {
        max_stage: 2,
        ..hpcc::Config::default()
    };
    let mut hpcc = started(config);
    let mut rates = Vec::new();
    // A round at u = 1.9, then rounds at u = 0.5.
    hpcc.on_ack(
        Time::ZERO,
        &ack(2000, 3000, &telemetry(&[hop(RTT_PS, 156_250 * 19 / 10, 0)])),
    );
    assert!(
        (hpcc.rate().as_f64() - 50.05e9).abs() < 1e5,
        "{}",
        hpcc.rate()
    );
    let sent = |round: u64| 156_250 * 19 / 10 + (round - 1) * 78_125;
    for round in 2..=4 {
        let record = telemetry(&[hop(round * RTT_PS, sent(round), 0)]);
        hpcc.on_ack(Time::ZERO, &ack(round * 2000, round * 2000 + 1000, &record));
        rates.push(hpcc.rate().as_f64());
    }
    let first = 50.05e9;
    let expected = [
        first + 50e6,
        first + 100e6,
        (first + 100e6) / (0.5 / 0.95) + 50e6,
    ];
    let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e5;
    assert!(
        rates.iter().zip(&expected).all(close),
        "{rates:?} {expected:?}"
    );
}

#[test]
fn hpcc_reacts_to_every_acknowledgement_but_commits_once_a_round() {
    // Section 3.2: within a round each reaction starts from the rate committed last.
    let busy = |at: u64| telemetry(&[hop(at * RTT_PS, at * 312_500, 0)]);
    let mut hpcc = started(hpcc::Config::default());
    hpcc.on_ack(Time::ZERO, &ack(900, 3000, &busy(1)));
    let once = hpcc.rate();
    assert!(
        (once.as_f64() - (100e9 * 0.475 + 50e6)).abs() < 10.0,
        "{once}"
    );
    hpcc.on_ack(Time::ZERO, &ack(950, 3000, &busy(2)));
    assert_eq!(hpcc.rate(), once, "no further in the same round");
    hpcc.on_ack(Time::ZERO, &ack(1500, 3000, &busy(3)));
    assert_eq!(hpcc.rate(), once, "committed");
    hpcc.on_ack(Time::ZERO, &ack(1600, 3000, &busy(4)));
    let twice = once.as_f64() * 0.475 + 50e6;
    assert!(
        (hpcc.rate().as_f64() - twice).abs() < 10.0,
        "{}",
        hpcc.rate()
    );
    // Without fast reaction the rate follows once a round.
    let mut slow = started(hpcc::Config {
        fast_react: false,
        ..hpcc::Config::default()
    });
    assert!(!slow.on_ack(Time::ZERO, &ack(900, 3000, &busy(1))));
    assert_eq!(slow.rate(), ENVIRONMENT.line_rate);
}

#[test]
fn hpcc_starts_over_on_another_path() {
    let mut hpcc = started(hpcc::Config::default());
    let other = telemetry(&[hop(RTT_PS, 0, 0), hop(RTT_PS, 999_999, 99_999)]);
    assert!(!hpcc.on_ack(Time::ZERO, &ack(2000, 3000, &other)));
    assert_eq!(hpcc.rate(), ENVIRONMENT.line_rate);
}
