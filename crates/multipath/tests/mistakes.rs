//! What is refused, with a place and a hint, and what never panics.

use std::net::IpAddr;
use std::sync::Arc;

use fairlane_multipath::{
    Atomic, Connection, Frame, FrameError, Grant, MOST_PATHS, Mistake, Opening, Operation,
    PathPlan, Placement, PortFile, Reassembler, Refusal, Remote, Request, Segment, Selector,
    Settings, Transfer, TwoSided,
};
use fairlane_units::{Bytes, Duration, Time};
use proptest::prelude::*;

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// A mistake has a place, a message and a hint.
fn check<T: std::fmt::Debug>(result: Result<T, Mistake>, place: &str, says: &str) {
    let mistake = result.expect_err(says);
    assert_eq!(mistake.place, place);
    assert!(mistake.message.contains(says), "{mistake}");
    assert!(!mistake.hint.is_empty());
    let text = mistake.to_string();
    assert!(
        text.starts_with("error ") && text.contains("\nhint: "),
        "{text}"
    );
}

fn open(settings: Settings, paths: usize) -> Result<Connection, Mistake> {
    let opening = Opening {
        paths,
        ..Opening::default()
    };
    Connection::new(Arc::new(settings), &opening)
}

type Change = fn(&mut Settings);

fn changed(change: Change) -> Result<Connection, Mistake> {
    let mut settings = Settings::default();
    change(&mut settings);
    open(settings, 2)
}

#[test]
fn parameters_out_of_range_are_refused() {
    let place = "multipath.paths";
    check(open(Settings::default(), 0), place, "no path");
    let many = open(Settings::default(), MOST_PATHS + 1);
    check(many, place, "1025 paths");
    let from = "a size from 1B to 2GiB";
    let cases: [(Change, &str, &str); 18] = [
        (|it| it.chunk = Bytes::ZERO, "chunk", from),
        (|it| it.chunk = Bytes::new((1 << 31) + 1), "chunk", from),
        (|it| it.message_limit = Bytes::ZERO, "message_limit", from),
        (|it| it.chunk_least = Bytes::ZERO, "chunk_least", from),
        (
            |it| it.chunk_most = Bytes::new(5),
            "chunk_most",
            "from 16KiB",
        ),
        (|it| it.mtu = Bytes::ZERO, "mtu", from),
        (|it| it.probe = Bytes::ZERO, "probe", from),
        (|it| it.depth = 0, "depth", "from 1 to"),
        (|it| it.segments = 1, "segments", "from 2 to"),
        (
            |it| it.message_segments = 0,
            "message_segments",
            "from 1 to",
        ),
        (|it| it.messages = 0, "messages", "from 1 to"),
        (|it| it.suspect_loss = 101, "suspect_loss", "from 1 to 100"),
        (|it| it.reps_cache = 0, "reps_cache", "from 1 to"),
        (
            |it| it.chunk_time = Duration::ZERO,
            "chunk_time",
            "from 1ps",
        ),
        (
            |it| it.timeout_least = Duration::from_ms(101),
            "timeout_least",
            "`timeout_most`",
        ),
        (
            |it| it.timeout_most = Duration::MAX,
            "timeout_most",
            "to 3600s",
        ),
        (
            |it| it.first_timeout = Duration::ZERO,
            "first_timeout",
            "from 1ps",
        ),
        (
            |it| it.first_timeout = Duration::from_ms(101),
            "first_timeout",
            "`timeout_most`",
        ),
    ];
    for (change, key, says) in cases {
        check(changed(change), &format!("multipath.{key}"), says);
    }
    assert!(changed(|_| {}).is_ok());
}

#[test]
fn parameters_that_contradict_each_other_are_refused() {
    let limited: Change = |it| {
        (it.message_limit, it.mtu) = (Bytes::new(1000), Bytes::new(1000));
        it.chunk = Bytes::new(1001);
    };
    check(changed(limited), "multipath.chunk", "from 1B to 1kB");
    let holes: Change = |it| {
        it.two_sided = TwoSided::Stream;
        it.holes = 3;
    };
    check(changed(holes), "multipath.holes", "up to 4 holes");
}

#[test]
fn plans_give_paths() {
    let (source, destination) = (ip("10.0.0.1"), ip("10.0.0.2"));
    let ports = PathPlan::Ports { first: 49_152 };
    let found = ports
        .resolve(source, destination, Some(3))
        .expect("three ports");
    let expected = [49_152, 49_153, 49_154].map(|port| Selector {
        source,
        port: Some(port),
    });
    assert_eq!(found, expected);
    assert_eq!(
        ports.resolve(source, destination, None).map(|it| it.len()),
        Ok(4)
    );
    let aliases = vec![ip("10.0.1.1"), ip("10.0.2.1")];
    let found = PathPlan::Addresses(aliases.clone()).resolve(source, destination, None);
    let expected: Vec<Selector> = aliases
        .iter()
        .map(|&source| Selector { source, port: None })
        .collect();
    assert_eq!(found, Ok(expected.clone()));
    assert_eq!(
        PathPlan::List(expected.clone()).resolve(source, destination, None),
        Ok(expected)
    );
}

#[test]
fn plans_without_enough_paths_are_refused() {
    let (source, destination) = (ip("10.0.0.1"), ip("10.0.0.2"));
    let resolve = |plan: PathPlan, count| plan.resolve(source, destination, count);
    let few = "3 paths were asked for, the plan has 2";
    check(
        resolve(PathPlan::Ports { first: 65_534 }, Some(3)),
        "multipath.paths",
        few,
    );
    check(
        resolve(PathPlan::Ports { first: 1 }, Some(0)),
        "multipath.paths",
        "no path",
    );
    check(
        resolve(PathPlan::Addresses(vec![]), None),
        "multipath.paths",
        "no path",
    );
    check(
        resolve(PathPlan::List(vec![]), None),
        "multipath.paths",
        "no path",
    );
    check(
        resolve(PathPlan::Addresses(vec![source, source]), None),
        "multipath.paths",
        "two paths have source 10.0.0.1",
    );
    let file = PortFile::parse("10.0.0.1,10.0.0.2=5,6", "ports").expect("a file");
    check(
        resolve(PathPlan::File(file), Some(3)),
        "multipath.paths",
        few,
    );
}

#[test]
fn files_of_ports_are_read() {
    let text = "# comment\n\n0.0.0.0,0.0.0.0=1\n10.0.0.1,0.0.0.0=2,3\n0.0.0.0,10.0.0.2 = 4\r\n10.0.0.1,10.0.0.2=65535\n";
    let file = PortFile::parse(text, "ports").expect("it is right");
    assert_eq!(file.len(), 4);
    let ports = |from, to| file.ports(ip(from), ip(to)).map(<[u16]>::to_vec);
    assert_eq!(ports("10.0.0.1", "10.0.0.2"), Ok(vec![65_535]));
    assert_eq!(ports("10.0.0.1", "10.0.0.3"), Ok(vec![2, 3]));
    assert_eq!(ports("10.0.0.4", "10.0.0.2"), Ok(vec![4]));
    assert_eq!(ports("10.0.0.4", "10.0.0.3"), Ok(vec![1]));
    let one = PortFile::parse("::,fe80::1=9", "ports").expect("version 6");
    assert_eq!(one.ports(ip("fe80::2"), ip("fe80::1")), Ok(&[9][..]));
    check(
        one.ports(ip("10.0.0.1"), ip("10.0.0.2")),
        "ports",
        "no line fits 10.0.0.1,10.0.0.2",
    );
}

#[test]
fn malformed_files_of_ports_are_refused_by_line() {
    let many = format!(
        "1.1.1.1,1.1.1.2={}",
        (1..=33)
            .map(|it| it.to_string())
            .collect::<Vec<_>>()
            .join(",")
    );
    let cases = [
        ("1.1.1.1,1.1.1.2", "no `=`"),
        ("1.1.1.1=5", "no `,` between the two addresses"),
        ("1.1.1,1.1.1.2=5", "\"1.1.1\" is no IP address"),
        ("1.1.1.1,::=5", "version 4, the other of version 6"),
        ("1.1.1.1,1.1.1.2=", "\"\" is no port"),
        ("1.1.1.1,1.1.1.2=0", "\"0\" is no port"),
        ("1.1.1.1,1.1.1.2=65536", "\"65536\" is no port"),
        ("1.1.1.1,1.1.1.2=+5", "\"+5\" is no port"),
        ("1.1.1.1,1.1.1.2=5,6,5", "port 5 is named twice"),
        (&many, "33 ports; at most 32"),
        ("1.1.1.1,1.1.1.3=5", "an earlier line names the same two"),
    ];
    for (line, says) in cases {
        let text = format!("# ports\n1.1.1.1,1.1.1.3=1\n{line}\n");
        check(PortFile::parse(&text, "ports"), "ports:3", says);
    }
    let long = "#\n".repeat(131_072) + "0.0.0.0,0.0.0.0=1\n";
    check(
        PortFile::parse(&long, "ports"),
        "ports:131073",
        "more than 131072 lines",
    );
}

#[test]
fn messages_that_cannot_be_right_are_refused() {
    let settings = Settings {
        messages: 2,
        ..Settings::default()
    };
    let mut connection = open(settings, 2).expect("right settings");
    let piece = |address, length| Segment {
        address,
        length,
        key: 0,
    };
    let there = Remote {
        address: u64::MAX - 5,
        key: 0,
    };
    let mut post = |operation, memory: &[Segment]| {
        connection.post(Time::ZERO, &Request::new(operation, memory))
    };
    let mut refused =
        |operation, memory: &[Segment], place: &str, says: &str| match post(operation, memory) {
            Err(Refusal::Mistake(mistake)) => check(Err::<(), _>(mistake), place, says),
            other => panic!("{says}: {other:?}"),
        };
    refused(
        Operation::Write(there),
        &[piece(0, 10)],
        "message 0: remote",
        "behind the last address",
    );
    let (memory, behind) = ("message 0: memory", "behind the last address");
    refused(Operation::Send, &[piece(u64::MAX, 2)], memory, behind);
    refused(
        Operation::Send,
        &[piece(0, u64::MAX), piece(0, u64::MAX)],
        memory,
        behind,
    );
    let add = Operation::Atomic(Remote::default(), Atomic::FetchAdd(1));
    refused(add, &[piece(0, 4)], memory, "8 were expected");
    refused(
        Operation::Send,
        &[piece(0, 1); 1025],
        memory,
        "at most 1024",
    );
    assert_eq!(post(Operation::Send, &[]), Ok(0));
    assert_eq!(post(Operation::Write(Remote::default()), &[]), Ok(1));
    assert_eq!(post(Operation::Send, &[]), Err(Refusal::Full));
    check(connection.probe(), "multipath.probe", "no memory");
}

/// A receiver of two holes with one receive of 100 bytes at address 1000.
fn receiver() -> Reassembler {
    let settings = Settings {
        holes: 2,
        ..Settings::default()
    };
    let mut receiver = Reassembler::new(Arc::new(settings));
    let room = Segment {
        address: 1000,
        length: 100,
        key: 0,
    };
    let grant = receiver.post_receive(room, 7).expect("there is room");
    assert_eq!(grant.id, 0);
    receiver
}

const fn transfer(id: u64, total: u64, offset: u64) -> Transfer {
    Transfer { id, total, offset }
}

#[test]
fn receivers_refuse_what_no_sender_does() {
    let mut receiver = receiver();
    let behind = u64::MAX;
    let cases = [
        (transfer(1, 0, 0), 0, "no receive"),
        (transfer(0, 101, 0), 1, "don't fit into a receive of 100"),
        (transfer(0, 10, 0), 11, "don't fit"),
        (transfer(0, 10, behind), 2, "don't fit"),
    ];
    for (transfer, data, says) in cases {
        let place = format!("SEND {} at {}", transfer.id, transfer.offset);
        check(receiver.on_transfer(&transfer, data), &place, says);
    }
    for offset in [50, 20] {
        assert!(receiver.on_transfer(&transfer(0, 90, offset), 10).is_ok());
    }
    let other = receiver.on_transfer(&transfer(0, 80, 0), 1);
    check(other, "SEND 0 at 0", "90 before");
    let third = receiver.on_transfer(&transfer(0, 90, 0), 10);
    check(third, "SEND 0 at 0", "more than 2 holes");
}

#[test]
fn receivers_place_data_once() {
    let mut receiver = receiver();
    let to = Segment {
        address: 1050,
        length: 10,
        key: 0,
    };
    let mut hear = |offset, data| receiver.on_transfer(&transfer(0, 90, offset), data);
    assert_eq!(hear(50, 10), Ok(Placement::Place(to)));
    assert_eq!(hear(52, 3), Ok(Placement::Nothing), "it is there");
    // The notice: all has been written.
    assert_eq!(hear(90, 0), Ok(Placement::Nothing));
    assert_eq!(hear(0, 10), Ok(Placement::Nothing), "it was written");
    let arrived = receiver.poll_arrived().expect("it is complete");
    let expected = (0, 7, Bytes::new(90));
    assert_eq!((arrived.receive, arrived.context, arrived.size), expected);
    let late = receiver.on_transfer(&transfer(0, 90, 0), 10);
    assert_eq!(late, Ok(Placement::Nothing), "it is over");
    assert_eq!(receiver.poll_arrived(), None);
}

#[test]
fn receives_that_are_too_small_fail_the_message() {
    let mut connection = open(Settings::default(), 2).expect("right settings");
    let memory = [Segment {
        address: 0,
        length: 100,
        key: 0,
    }];
    connection
        .post(Time::ZERO, &Request::new(Operation::Send, &memory))
        .expect("there is room");
    assert_eq!(
        connection.poll_chunk(Time::ZERO),
        None,
        "no receive is known"
    );
    let grant = Grant {
        id: 0,
        length: 99,
        ..Grant::default()
    };
    assert!(connection.on_grant(&grant));
    assert_eq!(connection.poll_chunk(Time::ZERO), None);
    let event = connection.poll_event();
    let text = format!("{event:?}");
    assert!(text.contains("TooLong { size: 100, room: 99 }"), "{text}");
    assert!(
        !connection.on_grant(&Grant {
            id: 1 << 40,
            ..Grant::default()
        }),
        "nobody posts as many"
    );
}

proptest! {
    #[test]
    fn files_of_ports_never_panic(text in "[0-9.,=:#a-f \n]{0,200}|\\PC{0,100}") {
        match PortFile::parse(&text, "ports") {
            Ok(file) => prop_assert!(file.len() <= text.lines().count()),
            Err(mistake) => {
                prop_assert!(mistake.place.starts_with("ports:"));
                prop_assert!(!mistake.message.is_empty() && !mistake.hint.is_empty());
            }
        }
    }

    #[test]
    fn what_is_written_is_read(
        from in any::<[u8; 4]>(),
        to in any::<[u8; 4]>(),
        ports in proptest::collection::btree_set(1..=u16::MAX, 1..=32),
    ) {
        let (from, to) = (IpAddr::from(from), IpAddr::from(to));
        let ports: Vec<u16> = ports.into_iter().collect();
        let list = ports.iter().map(u16::to_string).collect::<Vec<_>>().join(",");
        let file = PortFile::parse(&format!("{from},{to}={list}"), "ports").expect("right");
        prop_assert_eq!(file.ports(from, to), Ok(&ports[..]));
    }

    #[test]
    fn frames_are_read_as_written(
        id: u64, total: u64, offset: u64, key: u32, data in proptest::collection::vec(any::<u8>(), 0..100),
    ) {
        let transfer = Frame::Transfer(Transfer { id, total, offset });
        let bytes = [&transfer.encode()[..], &data].concat();
        let fits = offset.checked_add(data.len() as u64).is_some_and(|end| end <= total);
        let expected = if fits { Ok((transfer, &data[..])) } else { Err(FrameError::Outside) };
        prop_assert_eq!(Frame::parse(&bytes), expected);
        let grant = Frame::Grant(Grant { id, length: total, remote: Remote { address: offset, key } });
        let expected = match (data.is_empty(), offset.checked_add(total)) {
            (false, _) => Err(FrameError::Trailing),
            (true, None) => Err(FrameError::Outside),
            (true, Some(_)) => Ok((grant, &[][..])),
        };
        let bytes = [&grant.encode()[..], &data].concat();
        prop_assert_eq!(Frame::parse(&bytes), expected);
    }

    #[test]
    fn frames_of_any_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        if let Ok((frame, data)) = Frame::parse(&bytes) {
            let again = [&frame.encode()[..], data].concat();
            prop_assert_eq!(Frame::parse(&again), Ok((frame, data)));
        }
        let mut known = bytes;
        if let Some(kind) = known.first_mut() {
            *kind = *kind % 2 + 1;
        }
        let _ = Frame::parse(&known);
    }

    /// Whatever arrives, in whatever order: a receiver completes a message once, when all of it is there.
    #[test]
    fn receivers_complete_once_in_any_order(
        sizes in proptest::collection::vec(0..200u64, 1..6),
        frames in proptest::collection::vec((0..7u64, 0..210u64, 0..60u64), 0..400),
    ) {
        let mut receiver = Reassembler::new(Arc::new(Settings::default()));
        let mut seen: Vec<Vec<bool>> = sizes.iter().map(|&it| vec![false; it as usize]).collect();
        let mut is_noticed = vec![false; sizes.len()];
        for (at, &size) in sizes.iter().enumerate() {
            let room = Segment { address: 0, length: size, key: 0 };
            receiver.post_receive(room, at as u64).expect("there is room");
        }
        let mut arrived = 0;
        for (id, offset, data) in frames {
            let total = sizes.get(id as usize).copied().unwrap_or(9);
            let transfer = Transfer { id, total, offset };
            let outcome = receiver.on_transfer(&transfer, data);
            let is_right = (id as usize) < sizes.len() && offset + data <= total;
            prop_assert!(outcome.is_ok() == is_right || id < arrived);
            if is_right {
                seen[id as usize][offset as usize..(offset + data) as usize].fill(true);
                is_noticed[id as usize] |= data == 0 && offset == total;
            }
            while let Some(it) = receiver.poll_arrived() {
                prop_assert_eq!((it.receive, it.context), (arrived, arrived));
                arrived += 1;
            }
            let whole = |at: &usize| is_noticed[*at] || (sizes[*at] > 0 && seen[*at].iter().all(|&it| it));
            let expected = (0..sizes.len()).take_while(whole).count();
            prop_assert_eq!(arrived as usize, expected);
        }
    }
}
