//! Verdicts from measurements.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

use std::collections::BTreeMap;

use fairlane_attacks::{Estimate, Measurement, Subject, Trial, verdict};
use fairlane_fabric::metrics::Spread;
use fairlane_units::Rate;

/// Victims and short messages all at one slowdown, the attacker at a goodput.
fn measured(goodput: u64, slowdown: f64) -> Measurement {
    Measurement {
        goodput: Rate::from_gbps(goodput),
        sources: 1,
        jobs: BTreeMap::new(),
        victims: Spread::of(vec![slowdown; 100]),
        victim_messages: 100,
        short: Spread::of(vec![slowdown; 100]),
    }
}

fn trial<'a>(attack: &'a Measurement, honest: &'a Measurement) -> Trial<'a> {
    Trial {
        attack,
        cut: &[],
        honest,
        paced: None,
        plain: honest,
        plain_qp: honest,
    }
}

const SUBJECT: Subject = Subject {
    attack: "churn",
    scope: "qp",
    controller: "dcqcn",
};

#[test]
fn secure_means_neither_gain_nor_harm_above_a_tenth() {
    let honest = measured(40, 2.0);
    for (goodput, slowdown, secure) in [
        (44, 2.2, true),
        (45, 2.0, false),
        (40, 2.21, false),
        (10, 1.0, true),
    ] {
        let attack = measured(goodput, slowdown);
        let row = verdict(SUBJECT, &[trial(&attack, &honest)]);
        assert_eq!(row.secure, secure, "{goodput} {slowdown}");
        assert_eq!(row.gain, Some(goodput as f64 / 40.0));
        assert_eq!(row.victims_p99_ratio, Some(slowdown / 2.0));
        assert_eq!(row.gain_ci, None);
    }
}

#[test]
fn harm_beside_a_paced_tenant_decides_where_there_is_one() {
    let (honest, attack, paced) = (measured(40, 1.0), measured(40, 3.0), measured(40, 2.9));
    let trial = Trial {
        paced: Some(&paced),
        ..trial(&attack, &honest)
    };
    let row = verdict(SUBJECT, &[trial]);
    assert!(row.secure && row.decided_by == "paced");
    assert_eq!(row.victims_p99_ratio, Some(3.0));
}

#[test]
fn the_penalty_is_that_of_short_messages_without_attack() {
    let (qp, scope, attack) = (measured(40, 2.0), measured(40, 3.0), measured(40, 3.0));
    let trial = Trial {
        plain_qp: &qp,
        ..trial(&attack, &scope)
    };
    assert_eq!(verdict(SUBJECT, &[trial]).short_flow_penalty, Some(1.5));
}

#[test]
fn the_gain_of_cut_messages_is_that_of_their_completion_times() {
    let jobs = |list: &[(u32, f64)]| Measurement {
        jobs: list.iter().copied().collect(),
        ..measured(40, 1.0)
    };
    let honest = jobs(&[(0, 1.0), (3, 2.0), (4, 6.0), (9, 100.0)]);
    // Job 4 isn't finished under the attack, and 9 isn't cut.
    let attack = jobs(&[(0, 0.5), (3, 1.0), (9, 1.0)]);
    let trial = Trial {
        cut: &[0, 3, 4],
        ..trial(&attack, &honest)
    };
    assert_eq!(trial.gain(), Some(2.0));
}

#[test]
fn no_victims_is_no_security() {
    let honest = measured(40, 1.0);
    let attack = Measurement {
        victims: None,
        ..measured(40, 1.0)
    };
    let row = verdict(SUBJECT, &[trial(&attack, &honest)]);
    assert!(!row.secure && row.victims_p99_ratio.is_none());
}

#[test]
fn intervals_are_student_s() {
    // Mean 2, sample deviation 1, t(2) = 4.303.
    let estimate = Estimate::of([Some(1.0), Some(2.0), None, Some(3.0)]);
    assert_eq!(estimate.mean, Some(2.0));
    assert!((estimate.half_width.unwrap() - 4.303 / 3f64.sqrt()).abs() < 1e-12);
    assert_eq!(Estimate::of([None]), Estimate::default());
    let many = Estimate::of((0..100).map(|n| Some(f64::from(n))));
    assert!(
        (many.half_width.unwrap() - 1.96 * (841.666_666_666_666_7f64 / 100.0).sqrt()).abs() < 1e-9
    );
}
