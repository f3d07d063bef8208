//! GOAL schedules: what they become, what is refused, and that they are written as they are read.

use fairlane_program::{Operation, Program, Work};
use fairlane_traces::{Error, Format, goal, read};
use fairlane_units::{Bytes, Duration};
use proptest::prelude::*;

fn parse(text: &str) -> Result<Program, Error> {
    read(Format::Goal, &[("a.goal", text.as_bytes())])
}

fn operation(work: Work, name: &str) -> Operation {
    Operation {
        work,
        after: vec![],
        after_start: vec![],
        stream: 0,
        nic: None,
        step: 0,
        name: name.into(),
    }
}

#[test]
fn each_statement_becomes_an_operation() {
    let text = "\
num_ranks 2
/* a comment
   of two lines */
rank 0 {
l1: calc 1500 cpu 3
l2: send 10b to 1 tag 7 cpu 1 nic 2 // another
send 0b to 1
l2 requires l1
l1 irequires l4
l4: calc 1
}

rank 1 {
r: recv 10b from 0 tag 7
recv 0b from 0
}
";
    let program = parse(text).expect("it is right");
    let message = |size, tag| (Bytes::new(size), tag);
    let send = |(size, tag)| Work::Send { to: 1, size, tag };
    let receive = |(size, tag)| Work::Receive { from: 0, size, tag };
    let compute = |ns| Work::Compute(Duration::from_ns(ns));
    let ranks = vec![
        vec![
            Operation {
                stream: 3,
                after_start: vec![3],
                ..operation(compute(1500), "l1")
            },
            Operation {
                stream: 1,
                after: vec![0],
                nic: Some(2),
                ..operation(send(message(10, 7)), "l2")
            },
            // A message without data is a packet.
            operation(send(message(1, 0)), ""),
            operation(compute(1), "l4"),
        ],
        vec![
            operation(receive(message(10, 7)), "r"),
            operation(receive(message(1, 0)), ""),
        ],
    ];
    let groups = vec![];
    assert_eq!(program, Program { ranks, groups });
}

#[test]
fn computations_have_the_unit_that_is_asked_for() {
    let text = b"num_ranks 1\nrank 0 {\ncalc 3\n}\n";
    let program = goal::read("a.goal", text, Duration::from_us(2)).expect("it is right");
    assert_eq!(
        program.ranks[0][0].work,
        Work::Compute(Duration::from_us(6))
    );
}

#[test]
fn lines_may_end_as_on_other_systems_and_ranks_come_in_any_order() {
    let text = "num_ranks 2\r\nrank 1 {\r\nrecv 5b from 0\r\n}\r\nrank 0 {\r\nsend 5b to 1\r\n}";
    let program = parse(text).expect("it is right");
    assert!(matches!(program.ranks[0][0].work, Work::Send { .. }));
    assert!(matches!(program.ranks[1][0].work, Work::Receive { .. }));
}

/// A rank of two with these statements, which begin in line 3.
fn with(statements: &str) -> String {
    format!("num_ranks 2\nrank 0 {{\n{statements}\n}}\nrank 1 {{\n}}\n")
}

#[test]
fn mistakes_have_a_place_and_a_hint() {
    let cases = [
        (with("send 10b to 2"), "3:13", "rank 2, but there are 2"),
        (with("send 10b to 0"), "3:13", "to itself"),
        (with("send -5b to 1"), "3:6", "-5 is negative"),
        (with("send 99999999999999b to 1"), "3:6", "at most 1024GiB"),
        (with("send 99999999999999999999b to 1"), "3:6", "too large"),
        (with("send 10 to 1"), "3:9", "\"to\", expected \"b\""),
        (with("send 10b from 1"), "3:10", "expected \"to\""),
        (
            with("send 10b to 1 nic 1 nic 2"),
            "3:21",
            "\"nic\", expected",
        ),
        (with("recv 10b from -1"), "3:15", "any (-1)"),
        (with("recv 10b from 1 tag -1"), "3:21", "any (-1)"),
        (with("calc 18446744073709551615"), "3:6", "213 days"),
        (with("calc 1 nic 1"), "3:8", "expected \"cpu\""),
        (with("calc 1 cpu 4294967296"), "3:1", "cpu 4294967296"),
        (with("calc"), "3:5", "the end of the line, expected"),
        (with("a: calc 1\na: calc 2"), "4:1", "it stands in line 3"),
        (with("a: calc 1\na requires b"), "4:12", "label \"b\""),
        (with("a: calc 1\na requires 5"), "4:12", "expected a label"),
        (with("a: jump 1"), "3:4", "\"jump\", expected"),
        (with("a calc 1"), "3:3", "expected \":\""),
        (with("calc 1; calc 2"), "3:7", "';', expected"),
        (with("calc 1 }"), "4:1", "expected \"num_ranks N\" once"),
        (
            with("a: calc 1\na requires a"),
            "3:4",
            "a, which waits for a",
        ),
        (
            with("a: calc 1\nb: calc 1\na requires b\nb irequires a"),
            "3:4",
            "a, which waits for b, which waits for a",
        ),
        (with("/* no end"), "3:1", "without end"),
        (with("}\nrank 0 {"), "4:6", "rank 0 a second time"),
        (
            "num_ranks 2\nrank 0 {\n}\n".into(),
            "4:1",
            "no block of rank 1",
        ),
        (
            "num_ranks 1\nrank 0 {\ncalc 1\n".into(),
            "4:1",
            "the end of the file",
        ),
        ("rank 0 {\n}\n".into(), "1:6", "\"num_ranks N\" before it"),
        (String::new(), "1:1", "\"num_ranks N\""),
        ("num_ranks 4294967295".into(), "1:21", "no block of rank 0"),
        ("num_ranks 4294967296".into(), "1:11", "too large"),
        ("num_ranks 1\nnum_ranks 1".into(), "2:1", "once"),
        ("größe".into(), "1:3", "'ö'"),
    ];
    for (text, place, message) in cases {
        let error = parse(&text).expect_err(&text);
        assert_eq!(error.place, format!("a.goal:{place}"), "{text}\n{error}");
        assert!(error.message.contains(message), "{text}\n{error}");
        assert!(!error.hint.is_empty(), "{error}");
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let error = goal::read("a", b"num_ranks 1\n\xff", Duration::from_ns(1)).unwrap_err();
    assert_eq!(
        (error.place.as_str(), error.message.contains("0xff")),
        ("a:2:1", true)
    );
}

#[test]
fn all_ranks_are_in_one_file() {
    let one: (&str, &[u8]) = ("a.goal", b"num_ranks 0");
    assert!(read(Format::Goal, &[one]).is_ok());
    assert_eq!(read(Format::Goal, &[one, one]).unwrap_err().place, "a.goal");
    assert_eq!(read(Format::Goal, &[]).unwrap_err().place, "files");
}

#[test]
fn what_goal_has_no_words_for_is_not_written() {
    let mut program = parse(&with("calc 1")).expect("it is right");
    program.ranks[0][0].work = Work::Compute(Duration::from_ps(1500));
    let error = goal::write(&program).unwrap_err();
    assert_eq!(error.place, "rank 0, operation 0");
}

fn arbitrary_work(rank: u32, ranks: u32) -> impl Strategy<Value = Work> {
    let other = (1..ranks).prop_map(move |far| (rank + far) % ranks);
    let size = (1u64..1 << 40).prop_map(Bytes::new);
    prop_oneof![
        (0u64..1 << 50).prop_map(|ns| Work::Compute(Duration::from_ns(ns))),
        (other.clone(), size.clone(), any::<u64>()).prop_map(|(to, size, tag)| Work::Send {
            to,
            size,
            tag
        }),
        (other, size, any::<u64>()).prop_map(|(from, size, tag)| Work::Receive { from, size, tag }),
    ]
}

/// The operations of a rank: each waits for earlier ones at most.
fn arbitrary_rank(rank: u32, ranks: u32) -> impl Strategy<Value = Vec<Operation>> {
    let waits = || prop::collection::btree_set(0u32..12, 0..4);
    let nic = prop::option::of(any::<u32>());
    let work = arbitrary_work(rank, ranks);
    let one = (work, waits(), waits(), any::<u32>(), nic);
    prop::collection::vec(one, 0..12).prop_map(|all| {
        let operations = (0u32..).zip(all);
        let earlier = |number: u32, waits: std::collections::BTreeSet<u32>| {
            waits.into_iter().filter(|it| *it < number).collect()
        };
        let operation = |(number, (work, after, after_start, stream, nic)): (
            u32,
            (_, _, _, _, Option<u32>),
        )| Operation {
            after: earlier(number, after),
            after_start: earlier(number, after_start),
            stream,
            // Computations are on no NIC.
            nic: nic.filter(|_| !matches!(work, Work::Compute(_))),
            ..operation(work, &format!("l{number}"))
        };
        operations.map(operation).collect()
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        ranks in (2u32..5).prop_flat_map(|ranks| {
            (0..ranks).map(|rank| arbitrary_rank(rank, ranks)).collect::<Vec<_>>()
        })
    ) {
        let program = Program { ranks, groups: vec![] };
        let text = goal::write(&program).expect("there are words for it");
        prop_assert_eq!(parse(&text), Ok(program));
    }

    #[test]
    fn garbage_is_refused_with_a_place(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Err(error) = goal::read("a", &bytes, Duration::from_ns(1)) {
            prop_assert!(error.place.starts_with("a:") && !error.message.is_empty());
        }
    }

    #[test]
    fn words_in_any_order_are_read_or_refused(
        words in prop::collection::vec(prop::sample::select(vec![
            "num_ranks", "rank", "{", "}", "\n", "a", "b", ":", "calc", "send", "recv", "to", "from",
            "tag", "cpu", "nic", "requires", "irequires", "0", "1", "-1", "18446744073709551616", "//", "/*", "*/",
        ]), 0..40)
    ) {
        let text = format!("num_ranks 2\nrank 0 {{\n{}", words.join(" "));
        if let Ok(program) = parse(&text) {
            let again = parse(&goal::write(&program).expect("it was read")).expect("it was written");
            prop_assert_eq!(again.ranks.len(), program.ranks.len());
        }
    }
}
