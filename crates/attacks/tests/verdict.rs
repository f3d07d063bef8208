//! Verdicts from measurements.

use fairlane_attacks::{
    Contention, Estimate, Job, Measurement, Subject, Tail, Trial, Verdict, notes_of, verdict,
};
use fairlane_scenario::Error;
use fairlane_units::{Bytes, Duration, MessageId, Rate, TenantId, Time};

/// Victims and short messages all at one slowdown, the attacker at a goodput.
fn measured(goodput: u64, slowdown: f64) -> Measurement {
    Measurement {
        goodput: Rate::from_gbps(goodput),
        contention: one_long_victim(goodput, 10).contention,
        ..of_messages(slowdown, 1000)
    }
}

/// So many messages of victims at one slowdown, all of them short.
fn of_messages(slowdown: f64, messages: usize) -> Measurement {
    let tail = Tail::of(vec![slowdown; messages]);
    Measurement {
        victims: tail,
        short_victims: tail,
        short: tail,
        ..Measurement::default()
    }
}

fn trial<'a>(attack: &'a Measurement, honest: &'a Measurement) -> Trial<'a> {
    Trial {
        attack,
        cut: &[],
        honest,
        paced: None,
        unpaced: None,
        plain: honest,
        plain_qp: honest,
    }
}

const SUBJECT: Subject = Subject {
    attack: "churn",
    scope: "qp",
    controller: "dcqcn",
    rotates: false,
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
        assert_eq!(row.secure, Some(secure), "{goodput} {slowdown}");
        assert_eq!(row.harm, "p99");
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
    let subject = Subject {
        rotates: true,
        ..SUBJECT
    };
    let row = verdict(subject, &[trial]);
    assert!(row.secure == Some(true) && row.decided_by == "paced");
    assert_eq!(row.victims_p99_ratio, Some(3.0));
    assert_eq!(row.rates.paced_gbps, Some(40.0));
    // Without a paced run nothing is known of victims.
    let alone = Trial {
        paced: None,
        ..trial
    };
    // Nor is it one if only some of the seeds have it.
    let error = Error::new("attack.rate", "is too low", "");
    let failed = Trial {
        unpaced: Some(&error),
        ..alone
    };
    let row = verdict(subject, &[trial, failed]);
    assert_eq!((row.victims_p99_vs_paced_n, row.gain_n), (1, 2));
    assert!(row.secure.is_none() && row.victims_p99_vs_paced.unwrap() < 1.1);
    let reason = "no paced run with 1 of 2 seeds: attack.rate: is too low";
    assert_eq!(row.notes[0], reason);
    assert!(notes_of(&[row])[0].ends_with(reason));
    let row = verdict(subject, &[alone]);
    assert_eq!((row.verdict, row.decided_by), (Verdict::Unknown, "paced"));
    assert!(row.victims_p99_vs_paced.is_none());
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

/// Jobs of 8 MB: number, microseconds, and megabytes that have arrived.
fn with_jobs(list: &[(u32, u64, u64)]) -> Measurement {
    let job = |(number, micros, arrived): &(u32, u64, u64)| {
        let job = Job {
            tenant: TenantId::new(0),
            size: Bytes::new(8_000_000),
            arrived: Bytes::new(arrived * 1_000_000),
            first: Time::ZERO,
            last: Time::ZERO + Duration::from_us(*micros),
            finished: *arrived == 8,
        };
        (MessageId::new(*number), job)
    };
    Measurement {
        jobs: list.iter().map(job).collect(),
        ..measured(40, 1.0)
    }
}

#[test]
fn the_gain_of_cut_messages_is_that_of_their_goodput() {
    let honest = with_jobs(&[(0, 1000, 8), (3, 2000, 8), (9, 100_000, 8)]);
    // Job 9 isn't cut.
    let attack = with_jobs(&[(0, 500, 8), (3, 1000, 8), (9, 1000, 8)]);
    let trial = Trial {
        cut: &[0, 3].map(MessageId::new),
        ..trial(&attack, &honest)
    };
    assert_eq!(trial.gain(), Some(2.0));
    assert_eq!(trial.unfinished_jobs(), 0);
}

#[test]
fn jobs_that_do_not_finish_count_with_what_they_have_got() {
    let cut = [0, 3].map(MessageId::new);
    let honest = with_jobs(&[(0, 1000, 8), (3, 3000, 8)]);
    // The second has half of its bytes when the run ends: 12 MB in 2 ms, honestly 16 MB in 4 ms.
    let attack = with_jobs(&[(0, 500, 8), (3, 1500, 4)]);
    let trial = Trial {
        cut: &cut,
        ..trial(&attack, &honest)
    };
    assert_eq!(trial.gain(), Some(1.5));
    assert_eq!(trial.unfinished_jobs(), 1);
    let row = verdict(SUBJECT, &[trial, trial]);
    assert_eq!((row.jobs, row.jobs_unfinished), (4, 2));
    // One that was never posted has taken no time.
    let never = with_jobs(&[(0, 500, 8)]);
    let trial = Trial {
        attack: &never,
        ..trial
    };
    assert_eq!((trial.gain(), trial.unfinished_jobs()), (Some(4.0), 1));
}

#[test]
fn no_victims_is_no_verdict() {
    let honest = measured(40, 1.0);
    let attack = Measurement {
        victims: None,
        short_victims: None,
        contention: None,
        ..measured(40, 1.0)
    };
    let row = verdict(SUBJECT, &[trial(&attack, &honest)]);
    assert!(row.verdict == Verdict::Unknown && row.victims_p99_ratio.is_none());
}

#[test]
fn a_seed_without_a_gain_leaves_the_verdict_open() {
    let (honest, nothing) = (measured(40, 1.0), measured(0, 1.0));
    let fine = trial(&honest, &honest);
    assert_eq!(verdict(SUBJECT, &[fine, fine]).secure, Some(true));
    let row = verdict(SUBJECT, &[fine, trial(&honest, &nothing)]);
    assert_eq!((row.gain, row.gain_n), (Some(1.0), 1));
    assert!(
        row.secure.is_none() && row.notes[0].contains("gain"),
        "{row:?}"
    );
}

#[test]
fn tails_of_few_messages_are_left_out_or_called_uncertain() {
    for (messages, tail, words) in [
        (99, None, "no p99, their goodput decides"),
        (100, None, "no p99.9"),
        (999, None, "no p99.9"),
        (1000, Some(1.0), "uncertain"),
        (5000, Some(1.0), ""),
    ] {
        let measured = of_messages(1.0, messages);
        let one = trial(&measured, &measured);
        // However many there are in all seeds together, the percentile is one of each.
        let row = verdict(SUBJECT, &[one, one]);
        assert_eq!(row.victim_messages, 2 * messages);
        assert_eq!(row.victims_p999_ratio, tail, "{messages}");
        assert_eq!(row.short_flow_penalty, tail, "{messages}");
        assert_eq!(row.victims_p99_ratio.is_some(), messages >= 100);
        let notes = row.notes.iter().filter(|note| !note.starts_with("unknown"));
        assert_eq!(notes.clone().count(), usize::from(!words.is_empty()));
        assert!(notes.clone().all(|note| note.contains(words)), "{row:?}");
    }
}

#[test]
fn a_tail_is_one_only_if_every_run_of_the_ratio_has_enough_messages() {
    let (many, few) = (of_messages(1.0, 5000), of_messages(1.0, 999));
    let fine = Trial {
        paced: Some(&many),
        ..trial(&many, &many)
    };
    let subject = Subject {
        rotates: true,
        ..SUBJECT
    };
    let counts = |other: Trial<'_>| {
        let row = verdict(subject, &[fine, other]);
        [
            row.victims_p999_ratio_n,
            row.victims_p999_vs_paced_n,
            row.short_flow_penalty_n,
        ]
    };
    assert_eq!(counts(fine), [2, 2, 2]);
    assert_eq!(
        counts(Trial {
            attack: &few,
            ..fine
        }),
        [1, 1, 2]
    );
    assert_eq!(
        counts(Trial {
            honest: &few,
            ..fine
        }),
        [1, 2, 2]
    );
    assert_eq!(
        counts(Trial {
            paced: Some(&few),
            ..fine
        }),
        [2, 1, 2]
    );
    assert_eq!(
        counts(Trial {
            plain: &few,
            ..fine
        }),
        [2, 2, 1]
    );
    assert_eq!(
        counts(Trial {
            plain_qp: &few,
            ..fine
        }),
        [2, 2, 1]
    );
}

#[test]
fn which_victims_are_compared_is_decided_once_for_all_runs() {
    // Short ones suffer, long ones don't; in one run of one seed there is no short one.
    let of = |short: Option<f64>| Measurement {
        short_victims: short.and_then(|slowdown| Tail::of(vec![slowdown; 100])),
        ..of_messages(2.0, 500)
    };
    let (attack, honest, without) = (of(Some(8.0)), of(Some(1.0)), of(None));
    let short = trial(&attack, &honest);
    let row = verdict(SUBJECT, &[short, short]);
    assert_eq!(
        (row.victims_p99_ratio, row.victim_messages),
        (Some(8.0), 200)
    );
    let row = verdict(SUBJECT, &[short, trial(&attack, &without)]);
    assert_eq!(
        (row.victims_p99_ratio, row.victim_messages),
        (Some(1.0), 1000)
    );
}

#[test]
fn about_nothing_is_no_gain() {
    let placed = |bytes: u64| Measurement {
        placed: Bytes::new(bytes),
        bdp: Bytes::new(50_000),
        ..measured(bytes, 1.0)
    };
    let (little, much) = (placed(40_000), placed(60_000));
    assert_eq!(trial(&little, &little).gain(), None);
    assert_eq!(trial(&much, &little).gain(), Some(1.5));
    assert_eq!(trial(&much, &much).gain(), Some(1.0));
}

/// A victim with one long message, which gets so many Gb/s while the attacker gets others.
fn one_long_victim(attacker: u64, victims: u64) -> Measurement {
    Measurement {
        goodput: Rate::from_gbps(attacker),
        contention: Some(Contention {
            time: Duration::from_us(100),
            attacker: Rate::from_gbps(attacker),
            victims: Rate::from_gbps(victims),
        }),
        ..Measurement::default()
    }
}

#[test]
fn goodput_in_the_time_of_contention_decides_where_there_is_no_tail() {
    let honest = one_long_victim(46, 46);
    for (attacker, victims, expected) in [
        (46, 46, Verdict::Secure),
        (46, 42, Verdict::Secure),
        // Less than 46 / 1.1.
        (46, 41, Verdict::Insecure),
        (55, 46, Verdict::Insecure),
    ] {
        let attack = one_long_victim(attacker, victims);
        let row = verdict(SUBJECT, &[trial(&attack, &honest)]);
        assert_eq!(
            (row.verdict, row.harm),
            (expected, "goodput"),
            "{attacker} {victims}"
        );
        assert_eq!(row.victims_goodput_ratio, Some(victims as f64 / 46.0));
        assert_eq!(
            (row.rates.victims_gbps, row.rates.victims_honest_gbps),
            (Some(victims as f64), Some(46.0))
        );
    }
    // A tail that every seed has decides alone: how much short messages get depends on what is offered.
    let attack = Measurement {
        contention: one_long_victim(40, 20).contention,
        ..measured(40, 1.0)
    };
    let honest = Measurement {
        contention: honest.contention,
        ..measured(40, 1.0)
    };
    let row = verdict(SUBJECT, &[trial(&attack, &honest)]);
    assert_eq!((row.verdict, row.harm), (Verdict::Secure, "p99"));
}

#[test]
fn a_verdict_needs_an_interval_on_one_side_of_the_bar() {
    let honest = measured(100, 1.0);
    let row = |gains: &[u64]| {
        let attacks: Vec<_> = gains.iter().map(|gain| measured(*gain, 1.0)).collect();
        let trials: Vec<_> = attacks
            .iter()
            .map(|attack| trial(attack, &honest))
            .collect();
        verdict(SUBJECT, &trials)
    };
    // Mean 1.05, deviation 0.01 and t(2) = 4.303: half the width is 0.025.
    assert_eq!(row(&[104, 105, 106]).verdict, Verdict::Secure);
    // Deviation 0.03: 0.075.
    let open = row(&[102, 105, 108]);
    assert_eq!((open.verdict, open.secure), (Verdict::Unknown, None));
    assert!(open.notes[0].contains("interval of gain"), "{open:?}");
    assert_eq!(row(&[112, 115, 118]).verdict, Verdict::Unknown);
    assert_eq!(row(&[114, 115, 116]).verdict, Verdict::Insecure);
    // One seed has no interval.
    assert_eq!(row(&[110]).verdict, Verdict::Secure);
}

#[test]
fn intervals_are_student_s() {
    // Mean 2, sample deviation 1, t(2) = 4.303.
    let estimate = Estimate::of([Some(1.0), Some(2.0), None, Some(3.0)]);
    assert_eq!((estimate.mean, estimate.count), (Some(2.0), 3));
    assert!((estimate.half_width.unwrap() - 4.303 / 3f64.sqrt()).abs() < 1e-12);
    assert_eq!(Estimate::of([None]), Estimate::default());
    let many = Estimate::of((0..100).map(|n| Some(f64::from(n))));
    assert!(
        (many.half_width.unwrap() - 1.96 * (841.666_666_666_666_7f64 / 100.0).sqrt()).abs() < 1e-9
    );
}
