//! Rings between two ends that may do anything.
#![allow(clippy::unwrap_used, reason = "a failure fails the test")]

use std::os::unix::net::UnixStream;
use std::thread;

use fairlane_rings::{Ended, Frame, MOST_BYTES, Port, Refused, SLOTS, Shared, give, refuse, take};
use proptest::prelude::*;

fn frame(number: u32) -> Frame {
    Frame {
        time: u64::from(number) << 33,
        peer: number.to_be_bytes(),
        source_port: number as u16,
        class: (number % 8) as u8,
        marked: number.is_multiple_of(3),
        is_report: number.is_multiple_of(5),
    }
}

fn bytes(number: u32) -> Vec<u8> {
    vec![number as u8; number as usize * 37 % (MOST_BYTES + 1)]
}

#[test]
fn packets_come_in_order_and_whole_as_long_as_there_is_room() {
    let (mut owner, mut other) = Port::pair().unwrap();
    let mut room = [0; MOST_BYTES];
    for round in 0..3 {
        let first = round * SLOTS;
        for number in first..first + SLOTS {
            owner.sender.send(&frame(number), &bytes(number)).unwrap();
        }
        assert_eq!(owner.sender.waiting(), Ok(SLOTS));
        assert_eq!(owner.sender.send(&frame(0), b""), Err(Refused::Full));
        for number in first..first + SLOTS {
            let (received, length) = other.receiver.receive(&mut room).unwrap().unwrap();
            assert_eq!(
                (received, &room[..length]),
                (frame(number), &*bytes(number))
            );
        }
        assert_eq!(other.receiver.receive(&mut room), Ok(None));
    }
    let too_long = vec![0; MOST_BYTES + 1];
    assert_eq!(
        owner.sender.send(&frame(0), &too_long),
        Err(Refused::TooLong)
    );
}

#[test]
fn who_sleeps_is_woken_and_nobody_sleeps_over_a_packet() {
    const PACKETS: u32 = 200_000;
    let (socket, theirs) = UnixStream::pair().unwrap();
    let sending = thread::spawn(move || {
        let mut port = take(theirs).unwrap();
        assert_eq!(port.shared.mtu(), 4096);
        for number in 0..PACKETS {
            while port.sender.send(&frame(number), &bytes(number)) == Err(Refused::Full) {
                thread::yield_now();
            }
        }
        port
    });
    let mut port = give(socket, |shared| shared.set_mtu(4096)).unwrap();
    let (mut room, mut next) = ([0; MOST_BYTES], 0);
    while next < PACKETS {
        match port.receiver.receive(&mut room).unwrap() {
            Some((received, length)) => {
                assert_eq!((received, &room[..length]), (frame(next), &*bytes(next)));
                next += 1;
            }
            None if port.receiver.sleep().unwrap() => wait(port.receiver.descriptor()),
            None => {}
        }
    }
    drop(sending.join().unwrap());
}

/// Waits until a descriptor is readable; a second without a packet is one that nobody was woken for.
fn wait(descriptor: std::os::fd::RawFd) {
    let mut polled = libc::pollfd {
        fd: descriptor,
        events: libc::POLLIN,
        revents: 0,
    };
    let count = poll(&mut polled, 10_000);
    assert_eq!(count, 1, "nobody was woken");
}

#[allow(unsafe_code, reason = "poll, which the standard library doesn't have")]
fn poll(polled: &mut libc::pollfd, milliseconds: i32) -> i32 {
    // SAFETY: one structure, which outlives the call.
    unsafe { libc::poll(polled, 1, milliseconds) }
}

#[test]
fn the_owner_tells_of_pauses_and_the_clock() {
    let (owner, other) = Port::pair().unwrap();
    assert_eq!((other.shared.paused(), other.shared.clock()), (0, (0, 1)));
    owner.shared.set_paused(0b1000);
    owner.shared.set_clock(77, 100_000);
    assert_eq!(other.shared.paused(), 0b1000);
    assert_eq!(other.shared.clock(), (77, 100_000));
}

#[test]
fn a_stranger_at_the_socket_is_refused() {
    use std::io::Write as _;
    let (mut socket, theirs) = UnixStream::pair().unwrap();
    socket.write_all(&[1]).unwrap();
    assert!(take(theirs).is_err());
    let (socket, theirs) = UnixStream::pair().unwrap();
    drop(socket);
    assert!(take(theirs).is_err());
    let (socket, theirs) = UnixStream::pair().unwrap();
    refuse(&socket, "it is yours already").unwrap();
    drop(socket);
    let reason = take(theirs).unwrap_err().to_string();
    assert_eq!(reason, "it is yours already");
}

#[test]
fn who_is_left_takes_what_has_come_and_then_knows() {
    let (owner, mut other) = Port::pair().unwrap();
    other.sender.send(&frame(1), b"last").unwrap();
    drop(other);
    let mut owner = owner;
    let mut room = [0; MOST_BYTES];
    assert_eq!(owner.receiver.sleep(), Ok(false));
    assert!(owner.receiver.receive(&mut room).unwrap().is_some());
    assert_eq!(owner.receiver.sleep(), Err(Ended::Gone));
    // Nobody reads any more: that is no error but an end of room.
    for number in 0..SLOTS {
        owner.sender.send(&frame(number), b"").unwrap();
    }
    assert_eq!(owner.sender.send(&frame(0), b""), Err(Refused::Full));
}

/// What an end does that scribbles.
#[derive(Clone, Debug)]
enum Act {
    Scribble(usize, Vec<u8>),
    Send(usize),
    Receive,
    Sleep,
}

fn act() -> impl Strategy<Value = Act> {
    // Words are at the beginning of each ring, and most of what could go wrong is there.
    let ring = (Shared::LENGTH - 64) / 2;
    let at = prop_oneof![0..512_usize, ring..ring + 512, 0..Shared::LENGTH - 64];
    prop_oneof![
        (at, prop::collection::vec(any::<u8>(), 1..64))
            .prop_map(|(at, bytes)| Act::Scribble(at, bytes)),
        (0..MOST_BYTES + 2).prop_map(Act::Send),
        Just(Act::Receive),
        Just(Act::Sleep),
    ]
}

proptest! {
    /// Whatever the other end writes, and wherever: calls return, with bytes of the length that they say or an error.
    #[test]
    fn nonsense_is_an_error_and_no_panic(acts in prop::collection::vec(act(), 1..200)) {
        let (mut owner, other) = Port::pair().unwrap();
        let mut room = [0; MOST_BYTES];
        for act in acts {
            match act {
                Act::Scribble(at, bytes) => other.shared.scribble(at, &bytes),
                Act::Send(length) => {
                    let sent = owner.sender.send(&frame(1), &vec![0; length]);
                    prop_assert_eq!(sent == Err(Refused::TooLong), length > MOST_BYTES);
                }
                Act::Receive => {
                    let received = owner.receiver.receive(&mut room);
                    let length = received.map(|it| it.map_or(0, |(_, length)| length));
                    prop_assert!(length.unwrap_or(0) <= MOST_BYTES);
                }
                Act::Sleep => drop(owner.receiver.sleep()),
            }
        }
    }
}

#[test]
fn who_has_a_port_says_what_the_other_end_is_to_know() {
    let (owner, other) = Port::pair().unwrap();
    assert_eq!(other.shared.text(), "");
    owner.shared.set_text("congestion=dcqcn scope=qp");
    assert_eq!(other.shared.text(), "congestion=dcqcn scope=qp");
    let long = "x".repeat(Shared::MOST_TEXT);
    owner.shared.set_text(&long);
    assert_eq!(other.shared.text(), long);
    other.shared.scribble(0, &vec![0xff; Shared::LENGTH]);
    assert!(owner.shared.text().chars().all(|c| c == '\u{fffd}'));
}

#[test]
fn the_time_of_the_next_packet_is_known_before_it_is_taken() {
    let (mut owner, mut other) = Port::pair().unwrap();
    assert_eq!(other.receiver.peek_time(), None);
    for number in [7, 8] {
        owner.sender.send(&frame(number), &bytes(number)).unwrap();
    }
    let mut room = [0; MOST_BYTES];
    for number in [7, 8] {
        assert_eq!(other.receiver.peek_time(), Some(frame(number).time));
        let (taken, _) = other.receiver.receive(&mut room).unwrap().unwrap();
        assert_eq!(taken, frame(number));
    }
    assert_eq!(other.receiver.peek_time(), None);
}
