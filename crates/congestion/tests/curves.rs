//! Golden curves: what each algorithm does in a story that a reader can judge.
//!
//! A change of a curve is reviewed with `cargo insta review`.

use std::fmt::Write as _;

use fairlane_congestion::dcqcn::Dcqcn;
use fairlane_congestion::dctcp::Dctcp;
use fairlane_congestion::hpcc::Hpcc;
use fairlane_congestion::infiniband::InfiniBand;
use fairlane_congestion::nscc::Nscc;
use fairlane_congestion::powertcp::PowerTcp;
use fairlane_congestion::swift::Swift;
use fairlane_congestion::timely::Timely;
use fairlane_congestion::{Algorithm, CongestionControl, Controller, Params};
use fairlane_units::{Duration, Rate};

use crate::common::link::{Link, Story};
use crate::common::{ENVIRONMENT, NOTIFICATION, ack, hop, run_timers, telemetry, us};

fn gbps(rate: Rate) -> f64 {
    rate.as_f64() / 1e9
}

#[test]
fn fixed_hears_nothing() {
    let mut controller = Controller::new(&Params::new(Algorithm::Fixed), &ENVIRONMENT);
    let mut table = String::from("A notification every microsecond until 100 us.\n\n");
    table += " time us | rate Gb/s\n";
    for at in 0..=200 {
        if at <= 100 {
            controller.on_ack(us(at), &NOTIFICATION);
        }
        if at % 50 == 0 {
            writeln!(table, "{at:8} | {:9.3}", gbps(controller.rate())).expect("a string");
        }
    }
    insta::assert_snapshot!("fixed", table);
}

#[test]
fn dcqcn_falls_and_recovers() {
    let mut dcqcn = Dcqcn::new(Default::default(), &ENVIRONMENT);
    let mut table = String::from(
        "A notification every 2 us until 60 us: the rate falls to its floor, the target stays.\n\
         Fast recovery, then additive and hyper increase. Three notifications from 3000 us on,\n\
         8 us apart: the target falls to where the rate was.\n\n",
    );
    table += " time us | rate Gb/s | target Gb/s |  alpha\n";
    let rows = |at: u64| match at {
        0..=100 => at.is_multiple_of(10),
        101..=2900 => at.is_multiple_of(300),
        2901..=3100 => at.is_multiple_of(10) && (2990..3041).contains(&at),
        _ => at.is_multiple_of(600),
    };
    for at in 0..=6000 {
        run_timers(&mut dcqcn, us(at));
        if at <= 60 && at % 2 == 0 || [3000, 3008, 3016].contains(&at) {
            dcqcn.on_ack(us(at), &NOTIFICATION);
        }
        if rows(at) {
            let (rate, target) = (gbps(dcqcn.rate()), gbps(dcqcn.target_rate()));
            writeln!(
                table,
                "{at:8} | {rate:9.3} | {target:11.3} | {:6.4}",
                dcqcn.alpha()
            )
            .expect("a string");
        }
    }
    insta::assert_snapshot!("dcqcn", table);
}

#[test]
fn hpcc_makes_room_and_takes_it_back() {
    let mut hpcc = Hpcc::new(Default::default(), &ENVIRONMENT);
    let mut link = Link::default();
    let mut position = 0;
    let mut table = String::from(
        "One sender on a link of 100 Gb/s; from 100 us to 300 us others send 60 Gb/s.\n\
         An acknowledgement every microsecond, 12.5 us behind.\n\n",
    );
    table += " time us | rate Gb/s | queue B | utilisation\n";
    for at in 0..=800 {
        let ours = hpcc.rate().bytes_in(Duration::from_us(1)).get();
        let others = if (100..300).contains(&at) { 7_500 } else { 0 };
        link.step(ours + others);
        position += ours;
        let record = telemetry(&[hop(at * 1_000_000, link.sent, link.queue as u32)]);
        hpcc.on_ack(
            us(at),
            &ack(position.saturating_sub(156_250), position, &record),
        );
        let dense = [0, 100, 300]
            .iter()
            .any(|start| (start + 1..start + 20).contains(&at));
        let rare = if at < 500 { 20 } else { 50 };
        if at % rare == 0 || dense && at % 4 == 0 {
            let (rate, queue) = (gbps(hpcc.rate()), link.queue);
            writeln!(
                table,
                "{at:8} | {rate:9.3} | {queue:7} | {:11.4}",
                hpcc.utilization()
            )
            .expect("a string");
        }
    }
    insta::assert_snapshot!("hpcc", table);
}

/// The common story told of one algorithm, with a column of its own.
fn tell<C: CongestionControl>(name: &str, column: &str, inner: impl Fn(&C) -> f64) {
    let mut story = Story::<C>::new();
    let mut table = String::from(
        "One sender on a link of 100 Gb/s, 12.5 us there and back; from 200 us to 600 us others\n\
         send 60 Gb/s. Marks above 300 kB of queue. Sent is the mean since the row before.\n\n",
    );
    let width = column.len().max(9);
    writeln!(table, " time us | sent Gb/s | queue B | {column:>width$}").expect("a string");
    let (mut sent, mut steps) = (0, 0);
    for at in 0..=2000 {
        let others = if (200..600).contains(&at) { 7_500 } else { 0 };
        sent += story.step(others);
        steps += 1;
        let dense = [200, 600]
            .iter()
            .any(|start| (start + 1..start + 80).contains(&at));
        if at % 100 == 0 || dense && at % 10 == 0 {
            let (rate, queue) = (sent as f64 / steps as f64 * 8e-3, story.link.queue);
            (sent, steps) = (0, 0);
            let inner = inner(&story.control);
            writeln!(table, "{at:8} | {rate:9.3} | {queue:7} | {inner:width$.4}")
                .expect("a string");
        }
    }
    insta::assert_snapshot!(name, table);
}

#[test]
fn timely_swings_between_its_thresholds() {
    tell("timely", "gradient", Timely::gradient);
}

#[test]
fn dctcp_cuts_by_the_share_of_marks() {
    tell("dctcp", "alpha", Dctcp::alpha);
}

#[test]
fn swift_holds_its_target() {
    tell("swift", "packets", Swift::packets);
}

#[test]
fn nscc_halves_at_marks_and_comes_back_fast() {
    tell("nscc", "packets", Nscc::packets);
}

#[test]
fn powertcp_sees_the_queue_coming() {
    tell("powertcp", "power", PowerTcp::power);
}

#[test]
fn infiniband_walks_through_its_table() {
    tell("infiniband", "index", |state: &InfiniBand| {
        state.index().into()
    });
}

#[test]
fn every_algorithm_has_a_curve() {
    for algorithm in Algorithm::ALL {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots");
        let curve = format!("{folder}/tests__curves__{algorithm}.snap");
        assert!(std::path::Path::new(&curve).exists(), "{curve} is missing");
    }
}
