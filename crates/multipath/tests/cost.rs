//! What connections cost: no allocation per chunk, little memory.
#![allow(
    unsafe_code,
    reason = "an allocator is unsafe by its contract; nothing of the crate is"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use fairlane_multipath::{
    BalancerKind, Completion, Connection, Event, Frame, LimiterKind, Opening, Operation, Placement,
    Reassembler, Remote, Request, Segment, Settings, TwoSided, Work,
};
use fairlane_units::{Duration, Time};

/// The system's allocator, which counts calls and bytes of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    /// Bytes that are allocated now.
    static LIVE: Cell<i64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        LIVE.set(LIVE.get() + layout.size() as i64);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - layout.size() as i64);
        // SAFETY: `alloc` has got the pointer from the same allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Two ends without a network: work requests complete in the order of posting, some at a time.
struct Pair {
    connection: Connection,
    reassembler: Reassembler,
    now: Time,
    posted: std::collections::VecDeque<fairlane_multipath::Chunk>,
    messages: u64,
    chunks: u64,
    done: u64,
}

impl Pair {
    fn new(settings: Settings, paths: usize) -> Self {
        let settings = Arc::new(settings);
        let opening = Opening {
            paths,
            ..Opening::default()
        };
        Self {
            connection: Connection::new(settings.clone(), &opening).expect("right settings"),
            reassembler: Reassembler::new(settings),
            now: Time::ZERO,
            posted: std::collections::VecDeque::with_capacity(1 << 14),
            messages: 0,
            chunks: 0,
            done: 0,
        }
    }

    fn post(&mut self, operation: Operation, size: u64) {
        let memory = [
            Segment {
                address: 0,
                length: size / 3,
                key: 0,
            },
            Segment {
                address: 1 << 40,
                length: size - size / 3,
                key: 0,
            },
        ];
        if operation == Operation::Send {
            let room = Segment {
                address: 0,
                length: size,
                key: 0,
            };
            let grant = self
                .reassembler
                .post_receive(room, 0)
                .expect("there is room");
            assert!(self.connection.on_grant(&grant));
        }
        self.connection
            .post(self.now, &Request::new(operation, &memory))
            .expect("there is room");
        self.messages += 1;
    }

    /// Everything that can go goes; then half of what is in flight completes.
    fn turn(&mut self) {
        while let Some(chunk) = self.connection.poll_chunk(self.now) {
            assert_eq!(
                self.connection
                    .segments(&chunk)
                    .map(|it| it.length)
                    .sum::<u64>(),
                chunk.length.get()
            );
            self.posted.push_back(chunk);
            self.chunks += 1;
        }
        for _ in 0..self.posted.len().div_ceil(2) {
            let chunk = self.posted.pop_front().expect("it was counted");
            self.now += Duration::from_us(2);
            if let Work::Send(Frame::Transfer(transfer)) = chunk.work {
                let placed = self.reassembler.on_transfer(&transfer, chunk.length.get());
                let placed = placed.expect("the sender keeps to the rules");
                assert_eq!(placed == Placement::Nothing, chunk.length.is_zero());
            }
            self.connection
                .on_completion(self.now, chunk.tag, &Completion::DELIVERED);
        }
        while self.reassembler.poll_arrived().is_some() {}
        while let Some(event) = self.connection.poll_event() {
            assert!(matches!(event, Event::Completed { .. }), "{event:?}");
            self.done += 1;
        }
    }

    fn finish(&mut self) {
        while self.done < self.messages {
            self.turn();
        }
    }

    fn round(&mut self) {
        for number in 0..8 {
            self.post(
                Operation::Write(Remote {
                    address: number << 40,
                    key: 0,
                }),
                1 << 20,
            );
            self.post(
                Operation::Read(Remote {
                    address: 64 << 40,
                    key: 0,
                }),
                1 << 20,
            );
            self.post(Operation::Send, 1 << 20);
            self.post(Operation::Send, 100);
        }
        self.finish();
    }
}

#[test]
fn nothing_is_allocated_after_the_first_round() {
    for balancer in BalancerKind::ALL {
        for limiter in LimiterKind::ALL {
            for two_sided in [TwoSided::WriteThenSend, TwoSided::Stream] {
                let settings = Settings {
                    balancer,
                    limiter,
                    two_sided,
                    ..Settings::default()
                };
                let mut pair = Pair::new(settings, 8);
                for _ in 0..3 {
                    pair.round();
                }
                let (before, chunks) = (ALLOCATIONS.get(), pair.chunks);
                for _ in 0..5 {
                    pair.round();
                }
                let (after, chunks) = (ALLOCATIONS.get() - before, pair.chunks - chunks);
                assert!(chunks > 200, "{chunks} chunks");
                assert_eq!(
                    after, 0,
                    "{balancer}, {limiter}, {two_sided:?}: {chunks} chunks"
                );
            }
        }
    }
}

#[test]
fn allocations_are_counted() {
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(ALLOCATIONS.get(), before + 1);
}

/// Each has 16 messages of 1 MiB under way, of all kinds, and both ends.
#[test]
fn ten_thousand_connections_of_eight_paths_take_less_than_100_mb() {
    const CONNECTIONS: usize = 10_000;
    for balancer in [
        BalancerKind::Completion,
        BalancerKind::Proportional,
        BalancerKind::LeastDelay,
    ] {
        let settings = Settings {
            balancer,
            ..Settings::default()
        };
        let mut pair = Pair::new(settings, 8);
        for number in 0..4 {
            pair.post(
                Operation::Write(Remote {
                    address: number << 40,
                    key: 0,
                }),
                1 << 20,
            );
            pair.post(
                Operation::Read(Remote {
                    address: 64 << 40,
                    key: 0,
                }),
                1 << 20,
            );
            pair.post(Operation::Send, 1 << 20);
            pair.post(Operation::Send, 100);
            pair.turn();
        }
        pair.finish();
        let each = pair.connection.footprint() + pair.reassembler.footprint();
        println!("{balancer}: {each} bytes");
        assert!(
            each * CONNECTIONS < 100_000_000,
            "{balancer}: {each} bytes each"
        );
    }
}

/// What the footprint says is what the allocator gave.
#[test]
fn the_footprint_is_all_that_is_held() {
    let mut pair = Pair::new(Settings::default(), 8);
    pair.round();
    let before = LIVE.get();
    let (connection, reassembler) = (pair.connection.clone(), pair.reassembler.clone());
    let held = (LIVE.get() - before) as usize;
    let said = connection.footprint() + reassembler.footprint()
        - size_of::<Connection>()
        - size_of::<Reassembler>();
    assert_eq!(held, said);
}
