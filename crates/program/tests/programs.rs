//! Programs: what they become, and what is refused.

use fairlane_program::{
    Algorithm, Collective, Error, Expansion, Kind, Node, Operation, Program, Work,
};
use fairlane_units::{Bytes, Duration};
use proptest::prelude::*;

fn operation(work: Work, after: &[u32]) -> Operation {
    Operation {
        work,
        after: after.to_vec(),
        after_start: Vec::new(),
        stream: 0,
        nic: None,
        step: 0,
        name: String::new(),
    }
}

fn send(to: u32, size: u64, tag: u64) -> Work {
    let size = Bytes::new(size);
    Work::Send { to, size, tag }
}

fn receive(from: u32, size: u64, tag: u64) -> Work {
    let size = Bytes::new(size);
    Work::Receive { from, size, tag }
}

fn reduce(group: u32, size: u64) -> Collective {
    Collective {
        kind: Kind::AllReduce,
        algorithm: Algorithm::Usual,
        group,
        size: Bytes::new(size),
        parts: Vec::new(),
    }
}

fn program(ranks: Vec<Vec<Operation>>) -> Program {
    let groups = vec![(0..ranks.len() as u32).collect()];
    Program { ranks, groups }
}

fn refused(program: &Program) -> Error {
    let error = Expansion::new(program).expect_err("an unsound program");
    assert!(!error.hint.is_empty(), "{error}");
    error
}

#[test]
fn a_receive_may_be_longer_than_what_is_sent() {
    let it = program(vec![
        vec![operation(send(1, 10, 0), &[])],
        vec![operation(receive(0, 4096, 0), &[])],
    ]);
    let expansion = Expansion::new(&it).expect("it is right");
    assert_eq!(expansion.messages.len(), 1);
    assert_eq!(expansion.messages[0].size, Bytes::new(10));
}

#[test]
fn a_message_through_two_ranks() {
    let it = program(vec![
        vec![
            operation(Work::Compute(Duration::from_us(1)), &[]),
            operation(send(1, 100, 7), &[0]),
        ],
        vec![
            operation(receive(0, 100, 7), &[]),
            operation(Work::Compute(Duration::from_us(2)), &[0]),
        ],
    ]);
    let it = Expansion::new(&it).expect("a sound program");
    assert_eq!(it.messages.len(), 1);
    assert_eq!(it.streams, 2);
    assert_eq!(
        it.edges,
        [
            (Node::Step(0), Node::Message(0)),
            (Node::Message(0), Node::Step(1))
        ]
    );
}

#[test]
fn what_begins_with_another_waits_for_what_that_waits_for() {
    let mut second = operation(Work::Compute(Duration::from_us(1)), &[]);
    (second.after_start, second.stream) = (vec![0], 1);
    let it = program(vec![vec![
        operation(Work::Compute(Duration::from_us(3)), &[]),
        second,
    ]]);
    let it = Expansion::new(&it).expect("a sound program");
    let first = it.steps.iter().find(|step| step.begins.is_some());
    let begins = first
        .and_then(|step| step.begins)
        .expect("it begins another");
    assert!(
        it.edges
            .iter()
            .any(|(before, _)| *before == Node::Step(begins))
    );
    assert!(it.steps[begins as usize].time.is_zero());
}

#[test]
fn the_nth_collective_of_each_member_is_one() {
    let twice = || {
        vec![
            operation(Work::Collective(reduce(0, 90)), &[]),
            operation(Work::Collective(reduce(0, 30)), &[0]),
        ]
    };
    let it = Expansion::new(&program(vec![twice(), twice(), twice()])).expect("sound");
    let sizes: Vec<u64> = it.collectives.iter().map(|it| it.size.get()).collect();
    assert_eq!(sizes, [90, 30]);
    assert_eq!(it.collectives[0].algorithm, Algorithm::Ring);
    assert_eq!(it.collectives[0].sent, Bytes::new(2 * 2 * 90));
}

#[test]
fn mistakes_name_rank_and_operation() {
    let at = |error: Error| (error.rank, error.operation);
    let one = |work| program(vec![vec![operation(work, &[])], vec![]]);
    assert_eq!(at(refused(&one(send(2, 1, 0)))), (0, 0));
    assert_eq!(at(refused(&one(send(0, 1, 0)))), (0, 0));
    assert_eq!(at(refused(&one(send(1, 0, 0)))), (0, 0));
    let unmatched = refused(&one(send(1, 1, 5)));
    assert!(unmatched.message.contains("tag 5"), "{unmatched}");
    assert!(
        refused(&one(receive(1, 1, 0)))
            .message
            .contains("doesn't send")
    );
    assert_eq!(at(refused(&one(Work::Collective(reduce(3, 1))))), (0, 0));
    let missing = refused(&one(Work::Collective(reduce(0, 1))));
    assert!(missing.message.contains("rank 1 isn't part"), "{missing}");
    let disagree = program(vec![
        vec![operation(Work::Collective(reduce(0, 1)), &[])],
        vec![operation(Work::Collective(reduce(0, 2)), &[])],
    ]);
    assert_eq!(at(refused(&disagree)), (1, 0));
    let sizes = program(vec![
        vec![operation(send(1, 10, 0), &[])],
        vec![operation(receive(0, 9, 0), &[])],
    ]);
    assert_eq!(at(refused(&sizes)), (1, 0));
    let beyond = program(vec![vec![operation(Work::Compute(Duration::ZERO), &[4])]]);
    assert_eq!(at(refused(&beyond)), (0, 0));
    let mut twice = one(Work::Collective(reduce(0, 1)));
    twice.groups[0] = vec![0, 1, 0];
    assert!(refused(&twice).message.contains("rank 0 twice"));
    let mut impossible = reduce(0, 1);
    (impossible.kind, impossible.algorithm) = (Kind::AllToAll, Algorithm::Tree);
    let error = refused(&one(Work::Collective(impossible)));
    assert_eq!(error.message, "tree isn't an algorithm for all-to-all");
    let spread = |inner, root| {
        let mut it = reduce(0, 8);
        (it.kind, it.algorithm) = match root {
            Some(root) => (Kind::Broadcast { root }, Algorithm::Usual),
            None => (Kind::AllReduce, Algorithm::Hierarchical { inner }),
        };
        vec![operation(Work::Collective(it), &[])]
    };
    for (one, other, words) in [
        (
            (1, None),
            (2, None),
            "is all-reduce of 8B by hierarchical (inner 2)",
        ),
        (
            (1, None),
            (1, Some(0)),
            "operation 0 says all-reduce of 8B by hierarchical (inner 1)",
        ),
        (
            (1, Some(0)),
            (1, Some(1)),
            "is broadcast (root 1) of 8B by usual",
        ),
    ] {
        let ranks = [one, other].map(|(inner, root)| spread(inner, root));
        let error = refused(&program(ranks.into()));
        assert!(error.message.contains(words), "{error}");
    }
}

#[test]
fn circles_are_found_across_ranks() {
    let swap = |other| {
        vec![
            operation(Work::Compute(Duration::from_us(1)), &[]),
            operation(send(other, 10, 0), &[2]),
            operation(receive(other, 10, 0), &[0]),
        ]
    };
    let error = refused(&program(vec![swap(1), swap(0)]));
    assert!(error.message.contains("waits for itself"), "{error}");
    assert_ne!(error.operation, 0);
    let own = program(vec![vec![operation(Work::Compute(Duration::ZERO), &[0])]]);
    assert_eq!(refused(&own).operation, 0);
}

#[test]
fn more_than_fits_is_refused_before_it_is_made() {
    let ranks = 6000;
    let all = (0..ranks).map(|_| vec![operation(Work::Collective(reduce(0, 1 << 20)), &[])]);
    let error = refused(&program(all.collect()));
    assert!(error.message.contains("more than"), "{error}");
}

/// Most parts of a short vector are empty, and aren't sent.
#[test]
fn what_is_not_sent_takes_no_room() {
    let ranks = 2048;
    let all = |collective: &dyn Fn(usize) -> Collective| {
        let rank = |rank| {
            let operation = operation(Work::Collective(collective(rank)), &[]);
            vec![operation; 5]
        };
        program((0..ranks).map(rank).collect())
    };
    let short = |size| {
        move |_| Collective {
            kind: Kind::AllToAll,
            size: Bytes::new(size),
            ..reduce(0, 0)
        }
    };
    // Five times four million messages if each had one for every other.
    let it = Expansion::new(&all(&short(1))).expect("few messages");
    assert_eq!(it.collectives.len(), 5);
    assert!(it.messages.len() < 5 * ranks, "{}", it.messages.len());
    let error = refused(&all(&short(1 << 20)));
    assert!(error.message.contains("more than"), "{error}");
}

fn any_operation() -> impl Strategy<Value = Operation> {
    let number = 0u32..5;
    let work = prop_oneof![
        (0u64..9).prop_map(|time| Work::Compute(Duration::from_us(time))),
        (number.clone(), 0u64..3, 0u64..2).prop_map(|(to, size, tag)| send(to, size, tag)),
        (number.clone(), 0u64..3, 0u64..2).prop_map(|(from, size, tag)| receive(from, size, tag)),
        (number.clone(), 0u64..3, 0u32..7).prop_map(|(root, size, kind)| {
            let kinds = [
                Kind::AllReduce,
                Kind::AllGather,
                Kind::ReduceScatter,
                Kind::AllToAll,
                Kind::Broadcast { root },
                Kind::Reduce { root },
                Kind::Barrier,
            ];
            Work::Collective(Collective {
                kind: kinds[kind as usize],
                ..reduce(root / 3, size)
            })
        }),
    ];
    let list = || prop::collection::vec(number.clone(), 0..2);
    (work, list(), list(), 0u32..2).prop_map(|(work, after, after_start, stream)| Operation {
        after_start,
        stream,
        ..operation(work, &after)
    })
}

proptest! {
    #[test]
    fn no_program_makes_it_panic(
        ranks in prop::collection::vec(prop::collection::vec(any_operation(), 0..5), 0..4),
        groups in prop::collection::vec(prop::collection::vec(0u32..5, 0..4), 0..3),
    ) {
        if let Ok(it) = Expansion::new(&Program { ranks, groups }) {
            for (before, after) in &it.edges {
                for node in [before, after] {
                    let known = match node {
                        Node::Message(at) => (*at as usize) < it.messages.len(),
                        Node::Step(at) => (*at as usize) < it.steps.len(),
                    };
                    prop_assert!(known);
                }
            }
        }
    }
}
