//! Traces that are refused.

use fairlane_traces::{Format, read};
use proptest::prelude::*;

use crate::write::{Field, Node, attribute, delimited, file, message, varint};
use crate::{COLLECTIVE, COMPUTE, RECEIVE, SEND, collective, declaration, parse, ranks};

fn send() -> Node {
    Node::new(5, SEND)
}

fn to(rank: i64) -> Node {
    send().int("comm_dst", rank)
}

/// Each node is refused where it stands, with a hint.
fn refused(cases: impl IntoIterator<Item = (Node, &'static str)>) {
    for (node, message) in cases {
        let error = ranks(&[vec![node], vec![]]).expect_err(message);
        assert_eq!(error.place, "t.0.et: node 5", "{error}");
        assert!(error.message.contains(message), "{error}");
        let says_all = error.message.contains("expected 0 to");
        assert!(!error.hint.is_empty() || says_all, "{error}");
    }
}

#[test]
fn mistakes_of_messages_name_the_node_and_have_a_hint() {
    let long = 1 << 41;
    refused([
        (send().int("comm_size", 1), "lacks the attribute comm_dst"),
        (to(1), "lacks the attribute comm_size"),
        (
            to(2).int("comm_size", 1),
            "comm_dst 2, but there are 2 ranks",
        ),
        (
            to(-1).int("comm_size", 1),
            "comm_dst -1, but there are 2 ranks",
        ),
        (to(0).int("comm_size", 1), "comm_dst 0, itself"),
        (
            to(1).int("comm_size", -1),
            "comm_size -1, which is negative",
        ),
        (to(1).int("comm_size", long), "which is too large"),
        (
            to(1).int("comm_size", 1).int("comm_tag", -1),
            "comm_tag -1, which is negative",
        ),
        (
            to(1).int("comm_size", 1).int("comm_src", 1),
            "comm_src 1, expected 0",
        ),
        (
            Node::new(5, RECEIVE).int("comm_size", 1),
            "lacks the attribute comm_src",
        ),
    ]);
}

#[test]
fn mistakes_of_other_nodes_name_the_node_and_have_a_hint() {
    let dimensions = message(&[(1, Field::Bytes(&[1, 0]))]);
    refused([
        (
            Node::new(5, COLLECTIVE).int("comm_size", 1),
            "lacks the attribute comm_type",
        ),
        (
            Node::new(5, COLLECTIVE).int("comm_type", 0),
            "lacks the attribute comm_size",
        ),
        (
            collective(5, 0, 0),
            "is all-reduce with comm_size 0, expected at least 1 byte",
        ),
        (collective(5, 2, 0), "is all-gather with comm_size 0"),
        (collective(5, 3, 1), "GATHER isn't supported"),
        (collective(5, 4, 1), "SCATTER isn't supported"),
        (collective(5, 77, 1), "comm_type 77 isn't supported"),
        (collective(5, 2, 1 << 40), "too large"),
        (
            collective(5, 5, 1).int("root", 2),
            "root 2, which is too large, expected 0 to 1",
        ),
        (
            collective(5, 0, 1).text("pg_name", "x"),
            "\"x\", which isn't declared",
        ),
        (
            collective(5, 0, 1).with(attribute("involved_dim", 28, Field::Bytes(&dimensions))),
            "dimension 1",
        ),
        (Node::new(5, 8), "is of type 8"),
        (
            Node::new(5, COMPUTE).int("num_ops", 9),
            "9 operations (num_ops) and no duration",
        ),
        (Node::new(5, COMPUTE).micros(u64::MAX), "213 days"),
        (
            Node::new(5, COMPUTE).after(&[6]),
            "waits for node 6, which isn't in the file",
        ),
        (
            Node::new(5, COMPUTE).after(&[5]),
            "node 5, which waits for node 5",
        ),
        (declaration(5, "[{\"ranks\": 3}]"), "aren't process groups"),
    ]);
}

#[test]
fn groups_have_ranks_that_there_are_once_and_their_users() {
    let cases = [
        ("[0, 0]", "has rank 0 twice"),
        ("[0, 2]", "has rank 2, but there are 2 ranks"),
        ("[1]", "rank 0 isn't in its process group"),
    ];
    for (members, message) in cases {
        let groups = format!("[{{\"pg_name\": \"4\", \"ranks\": {members}}}]");
        let nodes = vec![
            declaration(1, &groups),
            collective(2, 0, 1).text("pg_name", "4"),
        ];
        let error = ranks(&[nodes, vec![]]).expect_err(message);
        assert_eq!(error.place, "t.0.et: node 2");
        assert!(error.message.contains(message), "{error}");
    }
}

#[test]
fn cycles_and_numbers_that_are_there_twice_are_found() {
    let [one, two] = [1, 2].map(|id| Node::new(id, COMPUTE).after(&[3 - id]));
    let error = ranks(&[vec![one.clone(), two]]).unwrap_err();
    assert!(
        error
            .message
            .contains("node 1, which waits for node 2, which waits for node 1"),
        "{error}"
    );
    let error = ranks(&[vec![one.clone(), one]]).unwrap_err();
    assert_eq!(error.place, "t.0.et: node 1");
    assert!(error.message.contains("is there twice"), "{error}");
}

#[test]
fn every_rank_has_a_file() {
    let empty = file(&[]);
    let cases: [(&[&str], &str, &str); 6] = [
        (&[], "files", "no file of any rank"),
        (
            &["t.0.et", "t.2.et"],
            "files",
            "rank 1 is missing, that of rank 2 is there",
        ),
        (&["t.1.et"], "files", "rank 0 is missing"),
        (&["t.0.et", "t.00.et"], "t.00.et", "a second file of rank 0"),
        (&["trace.et"], "trace.et", "no number"),
        (&["t.99999999999.et"], "t.99999999999.et", "no number"),
    ];
    for (names, place, message) in cases {
        let files: Vec<(&str, &[u8])> = names.iter().map(|it| (*it, &empty[..])).collect();
        let error = read(Format::Chakra, &files).expect_err(message);
        assert_eq!(error.place, place);
        assert!(
            error.message.contains(message) && !error.hint.is_empty(),
            "{error}"
        );
    }
    let groups: [(&str, &[u8]); 2] = [("t.0.et", &empty), ("g.json", b"{\n\"1\": 5}")];
    assert_eq!(
        read(Format::Chakra, &groups).unwrap_err().place,
        "g.json:2:6"
    );
    let twice: [(&str, &[u8]); 3] = [("t.0.et", &empty), ("g.json", b"{}"), ("h.json", b"{}")];
    assert_eq!(read(Format::Chakra, &twice).unwrap_err().place, "h.json");
}

#[test]
fn faults_in_the_bytes_say_where() {
    let good = file(&[]);
    let behind = |bytes: &[u8]| [&good, bytes].concat();
    let at = good.len();
    let mut huge = Vec::new();
    varint(1 << 40, &mut huge);
    let node = |fields: &[u8]| behind(&delimited(fields));
    let cases = [
        (vec![], 0, "an empty file"),
        (
            behind(&huge),
            at,
            "a length of 1099511627776 bytes, of which 0 are there",
        ),
        (behind(&[0]), at + 1, "an empty message"),
        (behind(&[0x80]), at, "the number's end is missing"),
        (behind(&[0xff; 11]), at, "more than 64 bits"),
        (node(&[0x08]), at + 2, "the number's end is missing"),
        (
            node(&[0x09, 1]),
            at + 2,
            "a number of 8 bytes, of which 1 are there",
        ),
        (node(&[0x0b]), at + 1, "wire type 3"),
        (node(&[0x00, 1]), at + 1, "field 0"),
        (
            node(&[0x12, 9, b'x']),
            at + 2,
            "a length of 9 bytes, of which 1 are there",
        ),
        (
            node(&[0x0a, 1, b'x']),
            at + 1,
            "field 1 of a node has another type",
        ),
        (
            delimited(&Node::new(1, COMPUTE).bytes()),
            1,
            "field 1 has another type than GlobalMetadata's",
        ),
        (b"num_ranks 2\n".to_vec(), 0, "a length of 110 bytes"),
    ];
    for (bytes, at, message) in cases {
        let error = parse(&[bytes]).expect_err(message);
        assert_eq!(error.place, format!("t.0.et: byte {at}"), "{error}");
        assert!(
            error.message.contains(message) && !error.hint.is_empty(),
            "{error}"
        );
    }
    assert!(
        parse(&[vec![0x1f, 0x8b, 8, 0]])
            .unwrap_err()
            .hint
            .contains("gunzip")
    );
}

#[test]
fn attributes_of_another_type_are_refused() {
    for name in ["comm_size", "pg_name", "involved_dim"] {
        let node = collective(5, 0, 1).with(attribute(name, 3, Field::Fixed64(0)));
        let error = ranks(&[vec![node]]).expect_err(name);
        assert!(error.place.starts_with("t.0.et: byte "), "{error}");
        assert!(
            error
                .message
                .starts_with(&format!("{name} has another type")),
            "{error}"
        );
    }
}

fn whole() -> Vec<u8> {
    file(&[
        declaration(0, "[{\"pg_name\": \"1\", \"ranks\": [0]}]"),
        Node::new(1, COMPUTE).micros(4).int("stream", 7),
        collective(2, 0, 300).text("pg_name", "1").after(&[1, 0]),
    ])
}

#[test]
fn a_file_that_is_cut_off_has_fewer_nodes_or_is_refused() {
    let bytes = whole();
    let read: Vec<usize> = (0..=bytes.len())
        .filter_map(|length| Some(parse(&[bytes[..length].to_vec()]).ok()?.ranks[0].len()))
        .collect();
    // Only where one message ends and the next would begin.
    assert_eq!(read, [0, 1, 2, 3]);
}

proptest! {
    #[test]
    fn garbage_is_refused_with_a_place(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for files in [vec![bytes.clone()], vec![[file(&[]), bytes].concat()]] {
            if let Err(error) = parse(&files) {
                prop_assert!(error.place.starts_with("t.0.et") && !error.message.is_empty());
            }
        }
    }

    #[test]
    fn changed_files_are_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)
    ) {
        let mut bytes = whole();
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        if let Err(error) = parse(&[bytes]) {
            prop_assert!(error.place.starts_with("t.0.et") && !error.message.is_empty());
        }
    }
}
