//! Who is active when, and at which rates.

use fairlane_drum::schedule::{Length, Schedule, rates, schedule};
use fairlane_drum::{
    Application, Fairness, Host, Load, Mode, Options, Row, RowName, Supply, Table, Utility, solve,
};

use crate::instances::{Instance, Random};

/// Part by which rates may be off from the best.
const CLOSE: f64 = 0.005;

fn close(value: f64, right: f64, part: f64) -> bool {
    (value / right - 1.0).abs() <= part
}

/// At most `k` are active in an epoch, none above its peak, no row beyond its capacity; rates are those of the epochs.
fn check(host: &Host<'_>, k: usize, peak: &[f64], found: &Schedule) {
    let mut sums = vec![0.0; peak.len()];
    for epoch in &found.epochs {
        assert!(epoch.applications.len() <= k);
        assert!(epoch.applications.is_sorted_by(|a, b| a < b));
        for (index, rate) in epoch.applications.iter().zip(&epoch.rates) {
            assert!(*rate >= 0.0 && *rate <= peak[*index] * (1.0 + 1e-12));
            sums[*index] += rate / found.epochs.len() as f64;
        }
        for row in &host.rows {
            let Supply::Capacity(capacity) = row.supply else {
                continue;
            };
            let turns = epoch.applications.iter().zip(&epoch.rates);
            let uses =
                turns.map(|(index, rate)| row.coefficient(&host.applications, *index) * rate);
            assert!(
                uses.sum::<f64>() <= capacity * (1.0 + 1e-9),
                "{}",
                row.name.as_str()
            );
        }
    }
    for (index, sum) in sums.iter().enumerate() {
        assert!((sum - found.rates[index]).abs() <= 1e-9 * sum.max(1e-300));
        assert!(*sum <= host.applications.maximum[index] * (1.0 + 1e-9));
    }
    assert!(found.objective <= found.bound);
    for unmet in &found.unmet {
        assert!(found.rates[unmet.application] < host.applications.minimum[unmet.application]);
    }
    assert_eq!(
        found.unmet.len(),
        (0..peak.len())
            .filter(|index| found.rates[*index] < host.applications.minimum[*index] * (1.0 - 1e-7))
            .count()
    );
}

/// A host with one row and a utility of alpha.
fn one_row<'a>(table: &'a Table, alpha: f64, egress: f64) -> Host<'a> {
    let utility = Utility {
        fairness: Fairness::Alpha(alpha),
        latency: 0.0,
    };
    let mut host = Host::new(table.view(), utility, egress, 1.0);
    host.rows.pop();
    host
}

fn table(weights: &[f64], bytes: &[f64]) -> Table {
    let mut table = Table::default();
    for (weight, bytes) in weights.iter().zip(bytes) {
        table.push(Application {
            weight: *weight,
            bytes: *bytes,
            ..Application::default()
        });
    }
    table
}

/// With one active at a time, who is active sends as fast as it can, so that a schedule is how many epochs each has.
#[test]
fn one_at_a_time_is_the_best_of_all_numbers_of_epochs() {
    let (weights, bytes, peak) = ([3.0, 1.0, 2.0], [1.0, 4.0, 2.0], [2.0, 5.0, 1.0]);
    let table = table(&weights, &bytes);
    for (alpha, epochs) in [(0.5, 7), (1.0, 11), (2.0, 9), (1.0, 3)] {
        let host = one_row(&table, alpha, 8.0);
        let value = |counts: [usize; 3]| -> f64 {
            let of = |j: usize| {
                let rate = counts[j] as f64 / epochs as f64 * f64::min(peak[j], 8.0 / bytes[j]);
                let utility = if alpha == 1.0 {
                    rate.ln()
                } else {
                    rate.powf(1.0 - alpha) / (1.0 - alpha)
                };
                weights[j] * utility
            };
            (0..3).map(of).sum()
        };
        let splits = (1..epochs).flat_map(|a| (1..epochs - a).map(move |b| [a, b, epochs - a - b]));
        let best = splits.map(value).fold(f64::NEG_INFINITY, f64::max);
        let found = schedule(&host, 1, &peak, Length::Exactly(epochs)).expect("a schedule");
        check(&host, 1, &peak, &found);
        assert_eq!(found.epochs.len(), epochs);
        assert!(
            (found.objective - best).abs() < 1e-6,
            "alpha {alpha}: {} instead of {best}",
            found.objective
        );
        assert!(found.bound >= best);
    }
}

/// `examples/drum/host.json`. Its best schedule by mixtures of all 15 pairs, found by a generic solver (SLSQP of scipy 1.17): the
/// relaxation, by which rates could be shared in any parts, is 6 % above it.
#[test]
fn two_at_a_time_come_close_to_the_best_mixture_of_pairs() {
    const BEST: f64 = 13933.365;
    let mut table = Table::default();
    let bytes = [4096.0, 4096.0, 16384.0, 16384.0, 65536.0, 65536.0];
    let (weights, completions) = (
        [4.0, 2.0, 2.0, 1.0, 1.0, 1.0],
        [0.5, 0.5, 0.25, 0.25, 0.125, 0.125],
    );
    for j in 0..6 {
        table.push(Application {
            weight: weights[j],
            completions: completions[j],
            bytes: bytes[j],
            poll_cost: 1e-6,
            ..Application::default()
        });
    }
    let utility = Utility {
        fairness: Fairness::Alpha(0.5),
        latency: 0.0,
    };
    let host = Host::new(table.view(), utility, 1.25e10, 1.0);
    let peak = [1.5e6, 1.5e6, 7e5, 7e5, 1.8e5, 1.8e5];
    let found = schedule(&host, 2, &peak, Length::Any).expect("a schedule");
    check(&host, 2, &peak, &found);
    assert!(found.objective > BEST * (1.0 - CLOSE) && found.objective <= BEST * 1.000_001);
    assert!(found.bound >= BEST * 0.999_999 && found.bound < BEST * (1.0 + CLOSE));
    assert!(found.rate_gap < CLOSE && found.epochs.len() < 200);
}

/// One at a time has the link alone, so that a mixture is parts of time: `t` in proportion to `(w r^(1 - alpha))^(1 / alpha)`
/// where rates are `r`, by Lagrange.
#[test]
fn bounds_are_those_of_the_best_parts_of_time() {
    let mut random = Random(33);
    for (count, alpha) in [
        (5, 0.5),
        (5, 2.0),
        (12, 1.0),
        (40, 0.5),
        (40, 1.0),
        (40, 3.0),
    ] {
        let draw = |values: &[f64], random: &mut Random| -> Vec<f64> {
            (0..count).map(|_| random.pick(values)).collect()
        };
        let weights = draw(&[1.0, 2.0, 4.0], &mut random);
        let bytes = draw(&[1.0, 8.0, 64.0], &mut random);
        let peak = draw(&[0.01, 0.05, 0.2], &mut random);
        let table = table(&weights, &bytes);
        let host = one_row(&table, alpha, 8.0);
        let rates: Vec<f64> = (0..count).map(|j| peak[j].min(8.0 / bytes[j])).collect();
        let part = |j: usize| (weights[j] * rates[j].powf(1.0 - alpha)).powf(1.0 / alpha);
        let total: f64 = (0..count).map(part).sum();
        let best: f64 = (0..count)
            .map(|j| worth(weights[j], rates[j] * part(j) / total, alpha))
            .sum();
        let found = schedule(&host, 1, &peak, Length::Any).expect("a schedule");
        check(&host, 1, &peak, &found);
        let sound = 1e-9 * best.abs();
        assert!(found.objective <= best + sound && found.bound >= best - sound);
        assert!(
            found.rate_gap < CLOSE,
            "{count}, {alpha}: {}",
            found.rate_gap
        );
    }
}

fn worth(weight: f64, rate: f64, alpha: f64) -> f64 {
    if alpha == 1.0 {
        weight * rate.ln()
    } else {
        weight * rate.powf(1.0 - alpha) / (1.0 - alpha)
    }
}

/// Small messages, each of which takes a tenth of the link at its peak, and large ones that fill what is left; two at a time. An
/// epoch has one of either kind, or two small ones, so that a mixture is one number: the part `t` of epochs with a large one.
#[test]
fn who_fills_the_link_takes_a_whole_slot() {
    for (few, many, alpha, weight) in [
        (3, 3, 0.5, 1.0),
        (20, 30, 0.5, 0.5),
        (20, 30, 1.0, 3.0),
        (30, 20, 2.0, 1.0),
    ] {
        let count = few + many;
        let large = |j: usize| j >= few;
        let weights: Vec<f64> = (0..count)
            .map(|j| if large(j) { weight } else { 1.0 })
            .collect();
        let bytes: Vec<f64> = (0..count)
            .map(|j| if large(j) { 100.0 } else { 1.0 })
            .collect();
        let peak: Vec<f64> = (0..count)
            .map(|j| if large(j) { 0.1 } else { 1.0 })
            .collect();
        let table = table(&weights, &bytes);
        let host = one_row(&table, alpha, 10.0);
        let value = |t: f64| {
            few as f64 * worth(1.0, (2.0 - t) / few as f64, alpha)
                + many as f64 * worth(weight, 0.1 * 0.9 * t / many as f64, alpha)
        };
        let best = (1..=100_000)
            .map(|t| value(f64::from(t) / 1e5))
            .fold(f64::NEG_INFINITY, f64::max);
        let found = schedule(&host, 2, &peak, Length::Any).expect("a schedule");
        check(&host, 2, &peak, &found);
        let sound = 1e-9 * best.abs();
        assert!(
            found.objective <= best + sound,
            "{} above {best}",
            found.objective
        );
        assert!(found.bound >= best - sound, "{} below {best}", found.bound);
        assert!(
            found.rate_gap < CLOSE,
            "{count}, {alpha}: {}",
            found.rate_gap
        );
    }
}

/// What operators have: messages of 64 B to 1 MB, shares 1 to 4, some with minimums, 100 Gb/s, 20 at a time.
fn nic(random: &mut Random, count: usize, alpha: f64) -> (Table, Vec<f64>) {
    let (mut table, mut peak) = (Table::default(), Vec::new());
    for number in 0..count {
        let bytes = random.pick(&[64.0, 1024.0, 4096.0, 65536.0, 1048576.0]);
        let share: f64 = random.pick(&[1.0, 1.0, 1.0, 2.0, 4.0]);
        let fair = 12.5e9 / count as f64 / bytes;
        table.push(Application {
            weight: share.powf(alpha),
            completions: 1.0 / 16.0,
            bytes,
            poll_cost: 2e-7,
            // Three want ten times as much as they would have.
            minimum: if number % (count / 3) == 1 {
                f64::min(10.0 * fair, 1e6)
            } else {
                0.0
            },
            ..Application::default()
        });
        peak.push(f64::min(3e6, 12.5e9 / bytes));
    }
    (table, peak)
}

#[test]
fn a_nic_of_200_applications_is_full_and_keeps_minimums() {
    let mut random = Random(31);
    for alpha in [1.0, 2.0] {
        let (table, peak) = nic(&mut random, 200, alpha);
        let utility = Utility {
            fairness: Fairness::Alpha(alpha),
            latency: 0.0,
        };
        let host = Host::new(table.view(), utility, 12.5e9, 1.0);
        let found = schedule(&host, 20, &peak, Length::Any).expect("a schedule");
        check(&host, 20, &peak, &found);
        assert!(found.unmet.is_empty(), "{:?}", found.unmet);
        assert!(found.rate_gap < CLOSE, "alpha {alpha}: {}", found.rate_gap);
        let sent: f64 = found
            .rates
            .iter()
            .zip(&table.bytes)
            .map(|(rate, bytes)| rate * bytes)
            .sum();
        assert!(sent > 0.999 * 12.5e9, "{sent}");
        assert!(found.rates.iter().all(|rate| *rate > 0.0));
    }
}

#[test]
fn schedules_keep_every_limit() {
    let mut random = Random(32);
    for number in 0..24 {
        let m = 2 + (random.bits() % 20) as usize;
        let k = 1 + (random.bits() % 4) as usize % m;
        let alpha = random.pick(&[0.0, 0.5, 1.0, 2.0, 3.0]);
        let beta = if alpha > 0.0 {
            random.pick(&[0.0, 0.01])
        } else {
            0.0
        };
        let mut instance = Instance::random(&mut random, m, k, alpha, beta);
        let peak: Vec<f64> = (0..m).map(|_| random.within(0.1, 2.0)).collect();
        for (j, peak) in peak.iter().enumerate() {
            instance.table.minimum[j] =
                random.pick(&[0.0, 0.0, 0.0, 0.1 * peak]) * k as f64 / m as f64;
            instance.table.maximum[j] = random.pick(&[f64::INFINITY, 0.5 * peak]);
        }
        if number % 3 == 0 {
            instance.requests = Some(((0..m).map(|_| random.within(0.5, 2.0)).collect(), k as f64));
        }
        let host = instance.host();
        let length = match number % 4 {
            0 => Length::Exactly(m.div_ceil(k) + 40),
            1 => Length::AtMost(64),
            _ => Length::Any,
        };
        let found = schedule(&host, k, &peak, length).expect("a schedule");
        check(&host, k, &peak, &found);
        assert!(found.unmet.is_empty(), "{number}: {:?}", found.unmet);
        assert_eq!(
            schedule(&host, k, &peak, length).expect("a schedule"),
            found,
            "{number}"
        );
        if length == Length::Any && alpha > 0.0 {
            assert!(
                found.rate_gap < 0.02,
                "{number}: m {m}, k {k}, alpha {alpha}: {}",
                found.rate_gap
            );
        }
    }
}

#[test]
fn everyone_is_served_and_more_is_sent_than_by_the_best_few() {
    let mut random = Random(21);
    let (m, k) = (300, 20);
    let instance = Instance::random(&mut random, m, k, 0.5, 0.0);
    let host = instance.host();
    // An active application gets what a fair share of the capacities among k is.
    let peak: Vec<f64> = (0..m)
        .map(|j| (instance.egress / host.applications.bytes[j]).min(instance.poll) / k as f64)
        .collect();
    let found = schedule(&host, k, &peak, Length::Any).expect("a schedule");
    check(&host, k, &peak, &found);
    assert!(found.waits().iter().all(Option::is_some));
    let fixed = Mode::ActiveSet { k, outage: None };
    let fixed = solve(&host, &fixed, &Options::default()).expect("a solution");
    assert!(found.objective > 1.5 * fixed.dual_bound);
}

#[test]
fn an_application_that_needs_all_its_time_has_it() {
    let mut random = Random(23);
    let mut instance = Instance::random(&mut random, 10, 3, 1.0, 0.0);
    let peak = vec![0.2; 10];
    instance.table.minimum[4] = 0.2;
    let found = schedule(&instance.host(), 3, &peak, Length::Any).expect("a schedule");
    check(&instance.host(), 3, &peak, &found);
    assert!(
        found
            .epochs
            .iter()
            .all(|epoch| epoch.applications.contains(&4))
    );
    assert_eq!(found.waits()[4], Some(1));
}

/// Minimums of 6 and 4 on a row of 5, so that each gets half; and three that need all epochs of two slots.
#[test]
fn minimums_that_do_not_fit_are_named() {
    let mut row = table(&[1.0, 1.0, 1.0], &[1.0; 3]);
    row.minimum = vec![6.0, 0.0, 4.0];
    let host = one_row(&row, 1.0, 5.0);
    let found = schedule(&host, 2, &[10.0; 3], Length::Any).expect("a schedule");
    let names: Vec<usize> = found.unmet.iter().map(|unmet| unmet.application).collect();
    assert_eq!(names, [0, 2]);
    assert!(close(found.unmet[0].rate, 3.0, 0.02) && close(found.unmet[1].rate, 2.0, 0.02));
    let mut slots = table(&[1.0; 4], &[0.001; 4]);
    slots.minimum = vec![1.0, 1.0, 1.0, 0.0];
    let host = one_row(&slots, 1.0, 5.0);
    let found = schedule(&host, 2, &[1.0; 4], Length::Any).expect("a schedule");
    let names: Vec<usize> = found.unmet.iter().map(|unmet| unmet.application).collect();
    assert_eq!(names, [0, 1, 2]);
}

#[test]
fn frames_too_short_for_everyone_are_refused() {
    let table = table(&[1.0; 5], &[1.0; 5]);
    let host = one_row(&table, 1.0, 5.0);
    assert!(schedule(&host, 2, &[1.0; 5], Length::Exactly(2)).is_err());
    let found = schedule(&host, 2, &[1.0; 5], Length::Exactly(5)).expect("a schedule");
    // Two of five at a time: each 2/5 of its peak.
    assert!(
        found.rates.iter().all(|rate| close(*rate, 0.4, 1e-9)),
        "{:?}",
        found.rates
    );
}

/// Max-min of one row and enough slots: rates in proportion to weights, 8 bytes in all.
#[test]
fn max_min_shares_come_close() {
    let table = table(&[1.0, 2.0, 1.0], &[1.0, 1.0, 4.0]);
    let mut host = one_row(&table, 1.0, 8.0);
    host.utility.fairness = Fairness::MaxMin;
    let peak = [8.0, 8.0, 2.0];
    let found = schedule(&host, 2, &peak, Length::Any).expect("a schedule");
    check(&host, 2, &peak, &found);
    let level = 8.0 / 7.0;
    assert!(
        found.objective > 0.97 * level && found.objective <= level * 1.000_001,
        "{}",
        found.objective
    );
}

#[test]
fn rates_of_given_epochs_are_the_best() {
    let table = table(&[1.0, 1.0, 1.0], &[1.0, 1.0, 1.0]);
    let mut host = one_row(&table, 1.0, 4.0);
    let loads = [1.0, 0.0, 0.0];
    host.rows.push(Row {
        name: RowName::Other("first"),
        load: Load::Requests(&loads),
        supply: Supply::Capacity(1.0),
    });
    let active = [vec![0, 1], vec![1, 2]];
    let found = rates(&host, &active, None).expect("rates");
    // In the first epoch 0 has its row's 1 and 1 the other 3. In the second 1 sends y and 2 sends 4 - y, where log x wants
    // 3 + y = 4 - y, so y = 1/2.
    for (rate, right) in found.rates.iter().zip([0.5, 1.75, 1.75]) {
        assert!(close(*rate, right, 1e-3), "{:?}", found.rates);
    }
}
