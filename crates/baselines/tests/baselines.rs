//! The schemes that DRUM is compared with.

use fairlane_baselines::admm::{AdmmOptions, Penalty, admm};
use fairlane_baselines::decomposition::{DecompositionOptions, decomposition};
use fairlane_baselines::paper::{Finding, PaperHost, Updates, run, solve_logarithmic};
use fairlane_drum::{Application, Fairness, Host, Mode, Options, Table, Utility, solve};

/// Random numbers by SplitMix64.
struct Random(u64);

impl Random {
    fn within(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let bits = mixed ^ (mixed >> 31);
        low + (high - low) * (bits >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The paper's setting with capacities: completions around 5.5, 50 applications, 20 of which count.
fn paper_table(random: &mut Random) -> Table {
    let mut table = Table::default();
    for _ in 0..50 {
        let normal = (0..12).map(|_| random.within(0.0, 1.0)).sum::<f64>() - 6.0;
        table.push(Application {
            completions: (5.5 + 1.5 * normal).clamp(1.0, 10.0),
            bytes: 1.0,
            poll_cost: 1.0,
            ..Application::default()
        });
    }
    table
}

fn first_twenty(m: usize) -> Vec<bool> {
    (0..m).map(|j| j < 20).collect()
}

#[test]
fn corrected_admm_converges_and_its_penalty_matters() {
    let table = paper_table(&mut Random(3));
    let utility = Utility {
        fairness: Fairness::Alpha(0.5),
        latency: 0.01,
    };
    let host = Host::new(table.view(), utility, 25.0, 15.0);
    let selected: Vec<usize> = (0..20).collect();
    let best = solve(&host, &Mode::Selected(&selected), &Options::default()).unwrap();
    let mut table = String::from("penalty    iterations to 0.5 %, shortfall after 60\n");
    for penalty in [
        Penalty::Fixed(1e-3),
        Penalty::Fixed(0.1),
        Penalty::Fixed(1.0),
        Penalty::Fixed(10.0),
        Penalty::Curvature,
    ] {
        let options = AdmmOptions {
            penalty,
            ..AdmmOptions::default()
        };
        let run = admm(&host, &first_twenty(50), &options).unwrap();
        let reached = run.trace.iterations_within(best.objective, 5e-3);
        let last = run.trace.objective.last().unwrap();
        assert!(
            *last <= best.dual_bound * (1.0 + 1e-9),
            "scaled rates keep the rows"
        );
        let short = (best.objective - last) / best.objective.abs();
        // What is less either way is rounding.
        let short = if short.abs() < 1e-13 { 0.0 } else { short };
        table += &format!("{penalty:?}: {reached:?}, {short:.0e}\n");
    }
    insta::assert_snapshot!(table);
}

#[test]
fn admm_finds_the_optimum_of_random_hosts() {
    let mut random = Random(5);
    for _ in 0..6 {
        let mut table = Table::default();
        for _ in 0..8 {
            table.push(Application {
                weight: random.within(0.5, 2.0),
                latency_weight: random.within(0.5, 2.0),
                completions: random.within(0.5, 2.0),
                bytes: random.within(0.5, 2.0),
                poll_cost: random.within(0.5, 2.0),
                ..Application::default()
            });
        }
        let utility = Utility {
            fairness: Fairness::Alpha(0.5),
            latency: 0.05,
        };
        let (egress, poll) = (random.within(4.8, 9.6), random.within(4.8, 19.2));
        let host = Host::new(table.view(), utility, egress, poll);
        let best = solve(&host, &Mode::All, &Options::default()).unwrap();
        let options = AdmmOptions {
            iterations: 300,
            ..AdmmOptions::default()
        };
        let run = admm(&host, &[true; 8], &options).unwrap();
        let last = run.trace.objective.last().unwrap();
        assert!(
            (last - best.objective).abs() < 1e-6 * best.objective.abs(),
            "{last} {}",
            best.objective
        );
    }
}

#[test]
fn dual_decomposition_creeps() {
    let table = paper_table(&mut Random(3));
    let utility = Utility {
        fairness: Fairness::Alpha(0.5),
        latency: 0.0,
    };
    let host = Host::new(table.view(), utility, 25.0, 1e9);
    let run = decomposition(&host, &DecompositionOptions::default()).unwrap();
    // From price 1, 60 steps leave an excess of about 9 of 25.
    let excess = run.trace.primal_residual.last().unwrap();
    assert!((excess - 9.05).abs() < 0.2, "{excess}");
    let far = DecompositionOptions {
        iterations: 20_000,
        step: 0.1,
        ..DecompositionOptions::default()
    };
    let run = decomposition(&host, &far).unwrap();
    assert!(*run.trace.primal_residual.last().unwrap() < 1e-3);
}

fn paper_host<'a>(table: &'a Table, selected: &'a [bool], alpha: f64, beta: f64) -> PaperHost<'a> {
    let apps = table.view();
    PaperHost {
        alpha,
        beta,
        weight: apps.weight,
        latency_weight: apps.latency_weight,
        completions: apps.completions,
        selected,
        q: 25.0,
        c: 15.0,
    }
}

#[test]
fn the_problem_as_printed_is_diagnosed() {
    let (table, selected) = (paper_table(&mut Random(3)), first_twenty(50));
    let host = paper_host(&table, &selected, 0.5, 1.0);
    let literal = run(&host, Updates::Literal, 1e-3, 17).unwrap();
    assert_eq!(literal.finding, Finding::Diverged);
    let corrected = run(&host, Updates::Corrected, 1.0, 60).unwrap();
    assert_eq!(corrected.finding, Finding::Stationary);
    let slow = run(&host, Updates::Corrected, 1e-3, 60).unwrap();
    assert_eq!(slow.finding, Finding::NotConverged);
    let diagnostics = corrected.diagnostics;
    assert!(diagnostics.unbounded && diagnostics.bounded_up_to == 5.0);
    assert!(!diagnostics.q_can_bind && diagnostics.x_step_vacuous);
    assert!(diagnostics.implied_q < -50.0 && diagnostics.implied_q > -90.0);
    // E3: one application takes all, at no limit.
    let far = |first: f64| {
        let rest = (15.0 - first.ln() - 50.0 * 5.5_f64.ln()) / 49.0;
        2.0 * first.sqrt() + 19.0 * 2.0 * (rest / 2.0).exp() - 49.0 / (5.5 * rest.exp()).powi(2)
    };
    assert!(far(1e16) > 1e4 * far(1e8).abs() / 2.0 && far(1e8) > 0.0);
}

#[test]
fn logarithmic_constraints_are_solved_where_they_are_convex() {
    let (table, selected) = (paper_table(&mut Random(9)), first_twenty(50));
    for alpha in [1.0, 2.0, 3.0] {
        let host = paper_host(&table, &selected, alpha, 0.5);
        let (x, value) = solve_logarithmic(&host).unwrap();
        let total: f64 = x.iter().map(|x| x.ln()).sum();
        assert!((total - host.diagnose().implied_q).abs() < 1e-6, "{total}");
        // No exchange of logarithms between two applications is worth anything.
        let worth = |x: &[f64]| -> f64 {
            let one = |j: usize| {
                let utility = if alpha == 1.0 {
                    x[j].ln()
                } else {
                    x[j].powf(1.0 - alpha) / (1.0 - alpha)
                };
                let latency = 0.5 / (host.completions[j] * x[j]).powi(2);
                f64::from(u8::from(selected[j])) * utility - latency
            };
            (0..50).map(one).sum()
        };
        assert!((worth(&x) - value).abs() < 1e-9 * value.abs());
        for (i, j) in [(0, 1), (3, 30), (40, 2), (44, 45)] {
            for factor in [1.01, 0.99] {
                let mut other = x.clone();
                other[i] *= factor;
                other[j] /= factor;
                assert!(worth(&other) < value);
            }
        }
    }
    let host = paper_host(&table, &selected, 0.5, 0.5);
    assert!(solve_logarithmic(&host).is_err());
}

#[test]
fn baselines_keep_least_rates() {
    let mut table = Table::default();
    for minimum in [2.0, 0.0, 0.0] {
        table.push(Application {
            minimum,
            ..Application::default()
        });
    }
    let utility = Utility {
        fairness: Fairness::Alpha(0.5),
        latency: 0.01,
    };
    let host = Host::new(table.view(), utility, 3.0, 3.0);
    let run = decomposition(&host, &DecompositionOptions::default()).unwrap();
    assert!(run.x[0] >= 2.0 && run.x.iter().sum::<f64>() <= 3.0 + 1e-12);
    let run = admm(&host, &[true; 3], &AdmmOptions::default()).unwrap();
    assert!(run.x[0] >= 2.0 && run.x.iter().sum::<f64>() <= 3.0 + 1e-12);
}
