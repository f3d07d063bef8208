//! Execution traces of Chakra: what nodes become, and what is refused.

mod mistakes;
mod write;

use fairlane_program::{Algorithm, Collective, Kind, Operation, Program, Work};
use fairlane_traces::{Error, Format, read};
use fairlane_units::{Bytes, Duration};
use write::{Field, Node, attribute, delimited, file, message};

const METADATA: u64 = 1;
const LOAD: u64 = 2;
const COMPUTE: u64 = 4;
const SEND: u64 = 5;
const RECEIVE: u64 = 6;
const COLLECTIVE: u64 = 7;

/// Reads a trace of these ranks.
fn ranks(nodes: &[Vec<Node>]) -> Result<Program, Error> {
    parse(&nodes.iter().map(|nodes| file(nodes)).collect::<Vec<_>>())
}

fn parse(files: &[Vec<u8>]) -> Result<Program, Error> {
    let names: Vec<String> = (0..files.len()).map(|it| format!("t.{it}.et")).collect();
    let given = names.iter().map(String::as_str).zip(files);
    let given: Vec<(&str, &[u8])> = given.map(|(name, file)| (name, file.as_slice())).collect();
    read(Format::Chakra, &given)
}

fn collective(id: u64, kind: i64, size: i64) -> Node {
    Node::new(id, COLLECTIVE)
        .int("comm_type", kind)
        .int("comm_size", size)
}

fn kind_and_size(operation: &Operation) -> (Kind, u64) {
    match &operation.work {
        Work::Collective(it) => (it.kind, it.size.get()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn computations_messages_and_their_order_are_read() {
    let zero = vec![
        Node::new(9, SEND)
            .after(&[4, 4, 2])
            .int("comm_dst", 1)
            .int("comm_size", 500)
            .int("comm_tag", 3),
        Node::new(4, COMPUTE)
            .micros(20)
            .with(attribute("is_cpu_op", 27, Field::Varint(1))),
        Node::new(2, COMPUTE).micros(5).int("stream", 7),
    ];
    let one = vec![
        Node::new(0, RECEIVE)
            .int("comm_src", 0)
            .int("comm_dst", 1)
            .int("comm_size", 500)
            .int("comm_tag", 3),
    ];
    let program = ranks(&[zero, one]).expect("it is right");
    let operation = |work, stream, after: &[u32], name: &str| Operation {
        work,
        after: after.to_vec(),
        after_start: vec![],
        stream,
        nic: None,
        step: 0,
        name: name.into(),
    };
    let (size, tag) = (Bytes::new(500), 3);
    let expected = vec![
        vec![
            operation(Work::Compute(Duration::from_us(5)), 2, &[], "node 2"),
            operation(Work::Compute(Duration::from_us(20)), 1, &[], "node 4"),
            operation(Work::Send { to: 1, size, tag }, 0, &[0, 1], "node 9"),
        ],
        vec![operation(
            Work::Receive { from: 0, size, tag },
            0,
            &[],
            "node 0",
        )],
    ];
    assert_eq!(
        program,
        Program {
            ranks: expected,
            groups: vec![]
        }
    );
}

#[test]
fn only_barriers_have_no_size() {
    let barrier = ranks(&[vec![collective(1, 9, 0)], vec![collective(1, 9, 0)]]);
    let work = &barrier.expect("it is right").ranks[0][0].work;
    assert!(matches!(work, Work::Collective(it) if it.size == Bytes::new(0)));
    let error = ranks(&[vec![collective(1, 0, 0)], vec![collective(1, 0, 0)]]).unwrap_err();
    assert_eq!(error.place, "t.0.et: node 1");
    assert!(error.hint.contains("schema"), "{error}");
}

#[test]
fn callers_are_not_waited_for() {
    let callee = Node {
        ctrl_deps: vec![1, 99],
        ..Node::new(2, COMPUTE)
    };
    let caller = Node::new(1, COMPUTE).after(&[2]);
    let program = ranks(&[vec![caller, callee]]).expect("it is right");
    assert_eq!(
        (
            program.ranks[0][0].after.as_slice(),
            program.ranks[0][1].after.len()
        ),
        (&[1][..], 0)
    );
}

#[test]
fn what_launches_a_collective_is_a_computation_of_the_host() {
    let on_host = || attribute("is_cpu_op", 27, Field::Varint(1));
    let launch = Node::new(1, COLLECTIVE).micros(3).with(on_host());
    let program = ranks(&[vec![launch, collective(2, 0, 10).after(&[1])]]).expect("it is right");
    let first = &program.ranks[0][0];
    let compute = Work::Compute(Duration::from_us(3));
    assert_eq!((&first.work, first.stream), (&compute, 1));
    assert_eq!(kind_and_size(&program.ranks[0][1]), (Kind::AllReduce, 10));
    // One that says more is what it says.
    let program = ranks(&[vec![collective(1, 0, 10).with(on_host())]]).expect("it is right");
    assert_eq!(kind_and_size(&program.ranks[0][0]), (Kind::AllReduce, 10));
}

#[test]
fn nodes_without_work_only_have_others_wait() {
    let nodes = vec![
        Node::new(0, METADATA).micros(9),
        Node::new(1, 0).micros(9),
        Node::new(2, LOAD).micros(9),
        Node::new(3, COMPUTE).micros(1).int("stream", 20),
        Node::new(4, COMPUTE).micros(1).int("stream", 7),
        Node::new(5, COMPUTE).micros(1).int("stream", 20),
    ];
    let program = ranks(&[nodes]).expect("it is right");
    let found: Vec<_> = program.ranks[0]
        .iter()
        .map(|it| (it.work.clone(), it.stream))
        .collect();
    let compute = |us, stream| (Work::Compute(Duration::from_us(us)), stream);
    let expected = [
        compute(0, 0),
        compute(0, 0),
        compute(9, 2),
        compute(1, 3),
        compute(1, 4),
        compute(1, 3),
    ];
    assert_eq!(found, expected);
}

#[test]
fn collectives_have_the_size_that_the_program_wants() {
    let kinds = [
        (0, 100, Kind::AllReduce, 100),
        (1, 100, Kind::Reduce { root: 0 }, 100),
        (2, 100, Kind::AllGather, 300),
        (5, 100, Kind::Broadcast { root: 0 }, 100),
        (6, 100, Kind::AllToAll, 100),
        (7, 100, Kind::ReduceScatter, 100),
        (8, 100, Kind::ReduceScatter, 100),
        (9, 100, Kind::Barrier, 0),
    ];
    for (number, given, kind, size) in kinds {
        let rank = vec![collective(0, number, given)];
        let program = ranks(&vec![rank; 3]).expect("it is right");
        assert_eq!(kind_and_size(&program.ranks[2][0]), (kind, size));
        assert_eq!(program.groups, [[0, 1, 2]]);
    }
    let rooted = vec![collective(0, 5, 10).int("root", 2)];
    let program = ranks(&vec![rooted; 3]).expect("it is right");
    assert_eq!(
        kind_and_size(&program.ranks[0][0]).0,
        Kind::Broadcast { root: 2 }
    );
    let barrier = vec![Node::new(0, COLLECTIVE).int("comm_type", 9)];
    assert!(ranks(&[barrier.clone(), barrier]).is_ok());
}

/// As PyTorch records them.
fn declaration(id: u64, groups: &str) -> Node {
    Node {
        name: "## process_group:init ##".into(),
        inputs: format!("['{groups}']"),
        ..Node::new(id, METADATA)
    }
}

#[test]
fn process_groups_are_those_that_nodes_declare() {
    let groups = r#"[{"pg_name": "0", "pg_desc": "default_pg", "ranks": [], "group_size": 4},
        {"pg_name": "7", "ranks": [2, 0]}, {"pg_name": "8", "ranks": [1, 3]}, {"pg_name": "9", "ranks": [0, 2]}]"#;
    let rank = |own: &str| {
        vec![
            collective(1, 0, 10),
            collective(2, 0, 10).text("pg_name", "0"),
            collective(3, 0, 10).text("pg_name", own),
            declaration(4, groups),
        ]
    };
    let program = ranks(&[rank("7"), rank("8"), rank("7"), rank("8")]).expect("it is right");
    assert_eq!(program.groups, [vec![0, 1, 2, 3], vec![2, 0], vec![1, 3]]);
    let of = |rank: usize| {
        let group = |it: &Operation| match it.work {
            Work::Collective(Collective { group, .. }) => Some(group),
            _ => None,
        };
        program.ranks[rank]
            .iter()
            .filter_map(group)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        [of(0), of(1), of(2), of(3)],
        [[0, 0, 1], [0, 0, 2], [0, 0, 1], [0, 0, 2]]
    );
}

#[test]
fn process_groups_are_those_of_a_file_beside_the_traces() {
    let trace = file(&[collective(0, 0, 10).text("pg_name", "3")]);
    let other = file(&[collective(0, 0, 10).text("pg_name", "4")]);
    let groups = br#"{"3": [0, 1], "4": [2]}"#;
    let given: [(&str, &[u8]); 4] = [
        ("rank2", &other),
        ("rank0", &trace),
        ("g.json", groups),
        ("rank1", &trace),
    ];
    let program = read(Format::Chakra, &given).expect("it is right");
    assert_eq!(program.groups, [vec![0, 1], vec![2]]);
}

#[test]
fn attributes_may_have_any_integer_type() {
    let types = [
        (7, Field::Varint(1)),
        (9, Field::Varint(1)),
        (11, Field::Varint(1)),
        (13, Field::Varint(1)),
        (15, Field::Varint(2)),
        (17, Field::Varint(2)),
        (19, Field::Fixed32(1)),
        (21, Field::Fixed64(1)),
        (23, Field::Fixed32(1)),
        (25, Field::Fixed64(1)),
    ];
    for (number, value) in types {
        let node = Node::new(0, SEND)
            .int("comm_size", 5)
            .with(attribute("comm_dst", number, value));
        let program = ranks(&[vec![node], vec![]]).expect("it is right");
        assert!(matches!(program.ranks[0][0].work, Work::Send { to: 1, .. }));
    }
}

#[test]
fn what_the_schema_may_get_later_is_left_out() {
    let mut node = Node::new(0, COMPUTE).micros(3).bytes();
    node.extend(message(&[
        (99, Field::Varint(1)),
        (100, Field::Bytes(b"x")),
        (5, Field::Varint(1)),
    ]));
    let metadata = message(&[(9, Field::Fixed64(1))]);
    let second = Node::new(1, COMPUTE).with(attribute("other", 3, Field::Fixed64(1)));
    let bytes = [
        delimited(&metadata),
        delimited(&node),
        delimited(&second.bytes()),
    ]
    .concat();
    let program = parse(&[bytes]).expect("it is right");
    // Numbers of a list may also come one by one.
    assert_eq!(program.ranks[0][0].after, [1]);
    assert!(matches!(
        program.ranks[0][1].work,
        Work::Compute(Duration::ZERO)
    ));
}

#[test]
fn every_dimension_of_the_topology_may_be_involved() {
    let list = message(&[(1, Field::Bytes(&[1, 1, 1]))]);
    let rank = vec![collective(0, 0, 10).with(attribute("involved_dim", 28, Field::Bytes(&list)))];
    let program = ranks(&[rank.clone(), rank]).expect("it is right");
    let Work::Collective(it) = &program.ranks[0][0].work else {
        panic!()
    };
    assert_eq!((it.algorithm, it.group), (Algorithm::Usual, 0));
}
