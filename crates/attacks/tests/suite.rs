//! The suite: what it runs, and the verdicts that come out.

use std::sync::Mutex;

use fairlane_attacks::{Plan, Role, Row, Run, Suite, Watch};
use fairlane_congestion::Scope;
use fairlane_fabric::{Results, base_round_trip};
use fairlane_scenario::{Attack, AttackKind};
use fairlane_threads::Threads;
use fairlane_units::Bytes;

use crate::common::{dumbbell, flows, loaded};

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
        assert!(!row.secure && row.decided_by == "honest" && row.gain_ci.is_some());
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
    let (red, blue) = (row.goodput_gbps.unwrap(), row.victims_gbps.unwrap());
    assert!(red + blue < 100.0 && red > 10.0, "{red} {blue}");
    assert!(row.victims_honest_gbps.unwrap() < 100.0, "{row:?}");
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
    let (red, blue) = (row.goodput_gbps.unwrap(), row.victims_gbps.unwrap());
    assert!(2.0 * red / (red + blue) < 0.3, "{row:?}");
    assert!(row.weight_share.unwrap() > 1.1, "{row:?}");
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
    let (goodput, paced) = (rows[0].goodput_gbps.unwrap(), rows[0].paced_gbps.unwrap());
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
        (rows[0].goodput_gbps, rows[0].paced_gbps),
        (Some(0.0), None)
    );
    assert_eq!((rows[0].gain, rows[0].secure), (None, false));
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
