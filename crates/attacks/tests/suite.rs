//! The suite: what it runs, and the verdicts that come out.

use std::sync::Mutex;

use fairlane_attacks::{Contention, Plan, Role, Row, Run, Suite, Verdict, Watch};
use fairlane_congestion::Scope;
use fairlane_fabric::{Results, base_round_trip};
use fairlane_scenario::{Attack, AttackKind};
use fairlane_threads::Threads;
use fairlane_units::Bytes;

use crate::common::{dumbbell, flows, loaded, plan, run, star};

/// Red sends two long messages over the link of a dumbbell, blue one long and many short ones.
fn scenario() -> String {
    let long = flows("red", &[(0, 8, 10_000_000), (2, 10, 10_000_000)]);
    let victim = flows("blue", &[(1, 9, 15_000_000)]);
    let short = "[[workload]]\nkind = \"poisson\"\ntenant = \"blue\"\nload = 0.05\nduration = \"2ms\"\n\
         sources = \"3,5\"\ndestinations = \"11,13\"\n\
         sizes = [{ size = 1000, percent = 0 }, { size = 20000, percent = 100 }]\n";
    dumbbell(8) + &long + &victim + short
}

fn suite(kinds: &[AttackKind], scopes: &[Scope]) -> Suite {
    Suite {
        scenarios: vec![loaded(&scenario(), &[])],
        attacker: "red".into(),
        attacks: kinds.iter().copied().map(Attack::new).collect(),
        scopes: scopes.to_vec(),
        seeds: 2,
    }
}

fn rows(kinds: &[AttackKind], scopes: &[Scope]) -> Vec<Row> {
    suite(kinds, scopes).run(Threads::new(2), &()).unwrap()
}

#[test]
fn cutting_pays_under_scope_qp() {
    let rows = rows(&[AttackKind::Parallel, AttackKind::Staggered], &[Scope::Qp]);
    for row in &rows {
        assert!(row.gain.unwrap() > 1.3, "{row:?}");
        assert!(row.victims_p99_ratio.unwrap() > 1.1, "{row:?}");
        assert_eq!(row.short_flow_penalty_p99, Some(1.0));
        assert!(row.secure == Some(false) && row.decided_by == "honest" && row.gain_ci.is_some());
    }
}

#[test]
fn rotating_attacks_are_held_against_an_honest_tenant_at_equal_goodput() {
    let rows = rows(&[AttackKind::Churn], &[Scope::Qp]);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].decided_by, "paced");
    assert!(rows[0].victims_p99_vs_paced.is_some());
    assert!(rows[0].victim_messages > 100);
}

#[test]
fn what_can_t_be_tried_is_told_apart() {
    let suite = suite(
        &[AttackKind::CacheFlood, AttackKind::Parallel],
        &[Scope::Qp],
    );
    let refused = suite.refused().unwrap();
    let numbers: Vec<usize> = refused.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [0]);
    let alone = Suite {
        scenarios: vec![loaded(&(dumbbell(8) + &flows("red", &[(0, 8, 10)])), &[])],
        ..suite.clone()
    };
    assert!(alone.refused().unwrap_err().message.contains("red"));
    let nobody = Suite {
        attacker: "green".into(),
        ..suite
    };
    assert!(nobody.refused().unwrap_err().hint.contains("blue"));
}

/// Notes every run.
#[derive(Default)]
struct Notes(Mutex<Vec<(Role, Scope)>>);

impl Watch for Notes {
    fn begin(&self, _run: &Run, number: usize, of: usize) {
        assert!(number <= of);
    }

    fn ended(&self, run: &Run, _plan: &Plan, _results: &Results) {
        self.0.lock().unwrap().push((run.role, run.scope));
    }

    fn stopped(&self) -> bool {
        false
    }
}

#[test]
fn runs_are_shared_and_scope_qp_is_always_there_for_comparison() {
    let notes = Notes::default();
    let kinds = [AttackKind::Parallel, AttackKind::Pulse];
    let suite = Suite {
        seeds: 1,
        ..suite(&kinds, &[Scope::None])
    };
    suite.run(Threads::new(1), &notes).unwrap();
    let runs = notes.0.into_inner().unwrap();
    // Without attack; parallel; pulse honestly and not; without attack under qp.
    assert_eq!(
        runs,
        [
            (Role::Plain, Scope::None),
            (Role::Attack, Scope::None),
            (Role::Honest, Scope::None),
            (Role::Attack, Scope::None),
            (Role::Plain, Scope::Qp),
        ]
    );
}

#[test]
fn an_attack_that_the_scenario_runs_honestly_attacks_all_the_same() {
    let verdicts = |honest: bool| {
        let attack = |kind| Attack {
            honest,
            ..Attack::new(kind)
        };
        let suite = Suite {
            attacks: vec![attack(AttackKind::Parallel), attack(AttackKind::Churn)],
            seeds: 1,
            ..suite(&[], &[Scope::Qp])
        };
        suite.run(Threads::new(2), &()).unwrap()
    };
    let rows = verdicts(true);
    assert!(rows[0].gain.unwrap() > 1.3, "{:?}", rows[0]);
    assert_eq!(rows, verdicts(false));
}

#[test]
fn scopes_that_a_scenario_can_t_have_are_refused_before_anything_runs() {
    let notes = Notes::default();
    let suite = Suite {
        scenarios: vec![loaded(&scenario(), &["profile=\"hpcc-ns3\""])],
        ..suite(&[AttackKind::Parallel], &[Scope::Qp, Scope::Pair])
    };
    let refused = suite.refused_scopes();
    let scopes: Vec<Scope> = refused.iter().map(|(scope, _)| *scope).collect();
    assert_eq!(scopes, [Scope::Pair]);
    let error = suite.run(Threads::new(1), &notes).unwrap_err();
    assert_eq!(error.place, "congestion.scope");
    assert!(notes.0.into_inner().unwrap().is_empty());
}

#[test]
fn rows_count_pauses_and_drops_and_know_parts_by_weight() {
    // Headroom and reserve take 300 kB; marks begin at 400 kB.
    let small = ["switch.buffer=\"400kB\"", "tenant.1.weight=3"];
    let row = |set: &[&str]| {
        let suite = Suite {
            scenarios: vec![loaded(&scenario(), &[&small, set].concat())],
            seeds: 1,
            ..suite(&[AttackKind::Parallel], &[Scope::Qp])
        };
        suite.run(Threads::new(2), &()).unwrap().remove(0)
    };
    let lossless = row(&[]);
    assert!(lossless.pauses.unwrap() > 0.0 && lossless.drops == Some(0.0));
    assert!(lossless.plain_pauses.unwrap() > 0.0 && lossless.plain_drops == Some(0.0));
    let lossy = row(&["switch.pfc.enabled=false"]);
    assert!(lossy.pauses == Some(0.0) && lossy.drops.unwrap() > 0.0);
    for row in [lossless, lossy] {
        // Of weights 1 and 3.
        let share = row.weight_share.unwrap();
        assert!((1.0..4.0).contains(&share), "{row:?}");
    }
}

#[test]
fn an_attack_that_begins_late_is_measured_from_then_on() {
    // Blue has the link alone until red's attack begins, in the last fifth of the run.
    let churn = Attack {
        start: Some("4ms".parse().unwrap()),
        ..Attack::new(AttackKind::Churn)
    };
    let text = dumbbell(8)
        + &flows("red", &[(0, 8, 1000), (2, 10, 1000)])
        + &flows("blue", &[(1, 9, 100_000_000)]);
    let suite = Suite {
        scenarios: vec![loaded(&text, &["stop=\"5ms\""])],
        attacks: vec![churn],
        seeds: 1,
        ..suite(&[], &[Scope::Qp])
    };
    let row = suite.run(Threads::new(2), &()).unwrap().remove(0);
    let (red, blue) = (
        row.rates.goodput_gbps.unwrap(),
        row.rates.victims_gbps.unwrap(),
    );
    assert!(red + blue < 100.0 && red > 10.0, "{red} {blue}");
    assert!(row.rates.victims_honest_gbps.unwrap() < 100.0, "{row:?}");
    let share = 2.0 * red / (red + blue);
    assert!((row.weight_share.unwrap() - share).abs() < 1e-6, "{row:?}");
}

#[test]
fn parts_by_weight_are_those_while_the_attacker_sends() {
    // Red is done long before blue is.
    let text =
        dumbbell(8) + &flows("red", &[(0, 8, 10_000_000)]) + &flows("blue", &[(1, 9, 400_000_000)]);
    let suite = Suite {
        scenarios: vec![loaded(&text, &["stop=\"10ms\""])],
        seeds: 1,
        ..suite(&[AttackKind::Parallel], &[Scope::Qp])
    };
    let row = suite.run(Threads::new(2), &()).unwrap().remove(0);
    let (red, blue) = (
        row.rates.goodput_gbps.unwrap(),
        row.rates.victims_gbps.unwrap(),
    );
    let share = row.weight_share.unwrap();
    assert!(
        share > 1.1 && (2.0 * red / (red + blue) / share - 1.0).abs() < 1e-6,
        "{row:?}"
    );
    assert!(row.rates.contention_us.unwrap() < 2000.0, "{row:?}");
}

/// Sizes of red's messages of paced runs.
#[derive(Default)]
struct Sizes(Mutex<Vec<Bytes>>);

impl Watch for Sizes {
    fn begin(&self, _run: &Run, _number: usize, _of: usize) {}

    fn ended(&self, run: &Run, plan: &Plan, _results: &Results) {
        let red = plan.messages.iter().filter(|m| m.tenant.get() == 0);
        if run.role == Role::Paced {
            self.0
                .lock()
                .unwrap()
                .extend(red.map(|message| message.size));
        }
    }

    fn stopped(&self) -> bool {
        false
    }
}

#[test]
fn the_paced_control_of_churn_sends_messages_of_its_size() {
    let bdp = base_round_trip(&loaded(&scenario(), &[])).unwrap().bdp;
    let churn = Attack::new(AttackKind::Churn);
    let products = Attack {
        bdps: Some(6),
        ..churn.clone()
    };
    let pieces = Attack {
        piece: Some(Bytes::new(50_000)),
        ..churn
    };
    for (attack, expected) in [(products, bdp * 6), (pieces, Bytes::new(50_000))] {
        let suite = Suite {
            attacks: vec![attack],
            seeds: 1,
            ..suite(&[], &[Scope::Qp])
        };
        let sizes = Sizes::default();
        suite.run(Threads::new(1), &sizes).unwrap();
        let sizes = sizes.0.into_inner().unwrap();
        assert!(!sizes.is_empty() && sizes.iter().all(|size| *size == expected));
    }
}

#[test]
fn rows_don_t_depend_on_threads() {
    let suite = suite(&[AttackKind::Staggered], &[Scope::Qp, Scope::None]);
    let [one, three] = [1, 3].map(|count| suite.run(Threads::new(count), &()).unwrap());
    assert_eq!(one, three);
}

/// Paced runs, and the attacks that they stand beside: when each ended, and until when it posted.
#[derive(Default)]
struct Ends(Mutex<Vec<(Role, fairlane_units::Time, usize)>>);

impl Watch for Ends {
    fn begin(&self, _run: &Run, _number: usize, _of: usize) {}

    fn ended(&self, run: &Run, plan: &Plan, results: &Results) {
        let blue = results.messages.iter().filter(|m| m.tenant.get() == 1);
        assert_eq!(plan.window, None);
        self.0
            .lock()
            .unwrap()
            .push((run.role, results.totals.end, blue.count()));
    }

    fn stopped(&self) -> bool {
        false
    }
}

#[test]
fn beside_cut_messages_the_paced_run_lasts_as_long_and_sends_as_much() {
    let ends = Ends::default();
    let attack = Attack {
        above: Some("1MB".parse().unwrap()),
        ..Attack::new(AttackKind::ShuffledOverlay)
    };
    let suite = Suite {
        scenarios: vec![loaded(&scenario(), &["stop=\"4ms\""])],
        attacks: vec![attack],
        seeds: 1,
        ..suite(&[], &[Scope::Qp])
    };
    let rows = suite.run(Threads::new(1), &ends).unwrap();
    let (goodput, paced) = (
        rows[0].rates.goodput_gbps.unwrap(),
        rows[0].rates.paced_gbps.unwrap(),
    );
    assert!((paced / goodput - 1.0).abs() < 0.1, "{paced} {goodput}");
    assert_eq!((rows[0].decided_by, rows[0].jobs), ("paced", 2));
    let ends = ends.0.into_inner().unwrap();
    let of = |role: Role| ends.iter().find(|run| run.0 == role).unwrap();
    assert_eq!(of(Role::Paced).1, of(Role::Attack).1);
    assert_eq!(of(Role::Paced).2, of(Role::Attack).2);
}

#[test]
fn messages_that_were_never_posted_are_no_slow_ones() {
    // Blue reduces around a ring; a message takes 80 us, so of four steps of three the first is done and the
    // second begun.
    let ring = "[[workload]]\nkind = \"ring-all-reduce\"\ntenant = \"blue\"\nsize = \"3MB\"\nhosts = \"1,3,5\"\n";
    let text = dumbbell(8) + &flows("red", &[(0, 8, 10_000_000)]) + ring;
    let suite = Suite {
        scenarios: vec![loaded(&text, &["stop=\"100us\""])],
        seeds: 1,
        ..suite(&[AttackKind::Parallel], &[Scope::Qp])
    };
    let rows = suite.run(Threads::new(1), &()).unwrap();
    assert_eq!(rows[0].victim_messages, 3);
}

#[test]
fn an_attack_that_gets_nothing_through_leaves_the_rest_alone() {
    // Of 1 us nothing arrives.
    let churn = Attack {
        duration: Some(fairlane_units::Duration::from_us(1)),
        ..Attack::new(AttackKind::Churn)
    };
    let suite = Suite {
        attacks: vec![churn, Attack::new(AttackKind::Parallel)],
        seeds: 1,
        ..suite(&[], &[Scope::Qp])
    };
    let rows = suite.run(Threads::new(1), &()).unwrap();
    assert_eq!(
        (rows[0].rates.goodput_gbps, rows[0].rates.paced_gbps),
        (Some(0.0), None)
    );
    assert_eq!((rows[0].gain, rows[0].verdict), (None, Verdict::Unknown));
    assert!(rows[0].notes[0].contains("nothing of it arrived"));
    assert!(rows[1].gain.is_some());
}

#[test]
fn attacks_are_refused_for_any_seed() {
    // Above 99 kB there is a message with some seeds only.
    let rare = "[[workload]]\nkind = \"poisson\"\ntenant = \"red\"\nload = 0.02\nduration = \"100us\"\n\
         sizes = [{ size = 1000, percent = 0 }, { size = 100000, percent = 100 }]\n";
    let with = |seed: u32| Suite {
        scenarios: vec![loaded(
            &(dumbbell(8) + rare + &flows("blue", &[(1, 9, 1000)])),
            &[&format!("seed={seed}")],
        )],
        attacks: vec![Attack {
            above: Some("90kB".parse().unwrap()),
            ..Attack::new(AttackKind::Parallel)
        }],
        seeds: 1,
        ..suite(&[], &[Scope::Qp])
    };
    let refused = |seed: u32| with(seed).refused().unwrap().len();
    let seed = (0..100).find(|seed| refused(*seed) == 0 && refused(seed + 1) == 1);
    let both = Suite {
        seeds: 2,
        ..with(seed.unwrap())
    };
    assert_eq!(both.refused().unwrap().len(), 1);
}

/// Part of a link that is payload: 1024 bytes in packets of 1086, with gaps of 20.
const PAYLOAD: f64 = 1024.0 / 1106.0;

/// A run of `text`, and what each side got in the time of contention; red attacks.
fn contention(text: &str, sets: &[&str]) -> Contention {
    let results = run(&plan(text, sets));
    Contention::of(&results, fairlane_units::TenantId::new(0)).unwrap()
}

#[test]
fn tenants_that_divide_a_receiver_evenly_get_half_each_and_the_verdict_is_secure() {
    // One long message of each to host 3; under scope tenant the receiver gives each half of its link.
    let size = 1_000_000_000;
    let text = star(4, 1) + &flows("red", &[(0, 3, size)]) + &flows("blue", &[(1, 3, size)]);
    let sets = ["stop=\"2ms\"", "congestion.scope=\"tenant\""];
    let half = 50.0 * PAYLOAD;
    for attack in ["", "attack = { kind = \"parallel\", qps = 16 }\n"] {
        let got = contention(&format!("{attack}{text}"), &sets);
        assert_eq!(got.time, fairlane_units::Duration::from_ms(2));
        for rate in [got.attacker, got.victims] {
            let gbps = rate.as_f64() * 1e-9;
            assert!(
                (gbps / half - 1.0).abs() < 0.05,
                "{gbps} instead of {half}: {attack}"
            );
        }
    }
    let suite = Suite {
        scenarios: vec![loaded(&text, &["stop=\"2ms\""])],
        ..suite(&[AttackKind::Parallel], &[Scope::Tenant, Scope::Qp])
    };
    let rows = suite.run(Threads::new(2), &()).unwrap();
    let [tenant, qp] = [&rows[0], &rows[1]];
    assert_eq!(
        (tenant.verdict, tenant.harm),
        (Verdict::Secure, "goodput"),
        "{tenant:?}"
    );
    assert!(
        (tenant.victims_goodput_ratio.unwrap() - 1.0).abs() < 0.03,
        "{tenant:?}"
    );
    assert_eq!(qp.verdict, Verdict::Insecure, "{qp:?}");
    assert!(qp.victims_goodput_ratio.unwrap() < 0.5, "{qp:?}");
}

#[test]
fn an_attacker_whose_nic_serves_three_queue_pairs_to_one_gains_half() {
    // Both tenants send from host 0, to hosts of their own: the NIC serves queue pairs in turn, and nothing else is
    // contended. Honestly each has half of the link; cut in three, red has 3/4 of it, and its message takes 2/3 of the time.
    let size = 20_000_000;
    let link = "{ rate = \"100Gbps\", delay = \"1us\" }";
    let text = format!(
        "topology = {{ kind = \"star\", hosts = 3, host_link = {link} }}\n\
         tenant = [{{ name = \"red\", hosts = \"all\" }}, {{ name = \"blue\", hosts = \"all\" }}]\n\
         congestion = {{ algorithm = \"fixed\" }}\n"
    ) + &flows("red", &[(0, 1, size)])
        + &flows("blue", &[(0, 2, 10 * size)]);
    let got = |attack: &str| {
        let got = contention(&format!("{attack}{text}"), &[]);
        [got.attacker, got.victims].map(|rate| rate.as_f64() * 1e-9 / 100.0 / PAYLOAD)
    };
    for (attack, shares) in [
        ("", [0.5, 0.5]),
        ("attack = { kind = \"parallel\", qps = 3 }\n", [0.75, 0.25]),
    ] {
        for (found, expected) in got(attack).into_iter().zip(shares) {
            assert!(
                (found / expected - 1.0).abs() < 0.02,
                "{found} instead of {expected}"
            );
        }
    }
    let attack = Attack {
        qps: Some(3),
        ..Attack::new(AttackKind::Parallel)
    };
    let suite = Suite {
        scenarios: vec![loaded(&text, &[])],
        attacks: vec![attack],
        seeds: 1,
        ..suite(&[], &[Scope::Qp])
    };
    let row = suite.run(Threads::new(2), &()).unwrap().remove(0);
    assert!((row.gain.unwrap() - 1.5).abs() < 0.03, "{row:?}");
    assert!(
        (row.victims_goodput_ratio.unwrap() - 0.5).abs() < 0.01,
        "{row:?}"
    );
    assert_eq!((row.verdict, row.secure), (Verdict::Insecure, Some(false)));
    // In the whole run both get all that they have, whoever is first.
    let whole = row.rates.contention_us.unwrap() / row.rates.honest_contention_us.unwrap();
    assert!((whole * 1.5 - 1.0).abs() < 0.02, "{row:?}");
}
