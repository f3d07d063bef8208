//! The suite: what it runs, and the verdicts that come out.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;

use std::sync::Mutex;

use common::{dumbbell, flows, loaded};
use fairlane_attacks::{Plan, Role, Row, Run, Suite, Watch};
use fairlane_congestion::Scope;
use fairlane_fabric::Results;
use fairlane_scenario::{Attack, AttackKind};
use fairlane_threads::Threads;

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
        assert_eq!(row.short_flow_penalty, Some(1.0));
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
fn rows_don_t_depend_on_threads() {
    let suite = suite(&[AttackKind::Staggered], &[Scope::Qp, Scope::None]);
    let [one, three] = [1, 3].map(|count| suite.run(Threads::new(count), &()).unwrap());
    assert_eq!(one, three);
}
