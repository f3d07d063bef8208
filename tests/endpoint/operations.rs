//! What is done to a connection, and what one queue pair would make of it.

use fairlane_multipath::{BalancerKind, LimiterKind, Settings, TwoSided};
use fairlane_units::{Bytes, Duration};
use proptest::prelude::*;

/// Bytes of the memory that WRITEs, READs and atomics touch.
pub(crate) const SHARED: u64 = 1 << 14;
/// Most bytes of a SEND.
pub(crate) const MOST: u64 = 6000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Operation {
    Write {
        at: u64,
        size: u64,
    },
    Read {
        at: u64,
        size: u64,
    },
    Send {
        size: u64,
    },
    Add {
        at: u64,
    },
    /// The other end posts so many receives.
    Receive(u32),
    /// A path dies without a word.
    Kill(usize),
    /// It works again, once its queue pair is replaced.
    Revive(usize),
    Pause(Duration),
}

impl Operation {
    pub(crate) const fn size(&self) -> u64 {
        match *self {
            Self::Write { size, .. } | Self::Read { size, .. } | Self::Send { size } => size,
            Self::Add { .. } => 8,
            _ => 0,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) settings: Settings,
    pub(crate) paths: usize,
    /// Whether paths die and work requests fail.
    pub(crate) rough: bool,
    pub(crate) operations: Vec<Operation>,
}

/// A byte of a message that tells where it belongs.
pub(crate) const fn pattern(message: usize, at: u64) -> u8 {
    (message as u64 * 37 + at * 11 + 1) as u8
}

fn operation(paths: usize) -> impl Strategy<Value = Operation> {
    let place = (0..SHARED, prop_oneof![Just(0), 1..900_u64, 1..SHARED])
        .prop_map(|(at, size)| (at, size.min(SHARED - at)));
    let other = place.clone();
    prop_oneof![
        4 => place.prop_map(|(at, size)| Operation::Write { at, size }),
        2 => other.prop_map(|(at, size)| Operation::Read { at, size }),
        4 => prop_oneof![Just(0), 1..100_u64, 1..MOST].prop_map(|size| Operation::Send { size }),
        1 => (0..SHARED / 8).prop_map(|word| Operation::Add { at: word * 8 }),
        2 => (1_u32..4).prop_map(Operation::Receive),
        1 => (1..paths.max(2)).prop_map(Operation::Kill),
        1 => (1..paths.max(2)).prop_map(Operation::Revive),
        2 => (1_u64..300).prop_map(|us| Operation::Pause(Duration::from_us(us))),
    ]
}

fn settings() -> impl Strategy<Value = Settings> {
    let kinds = (
        proptest::sample::select(&BalancerKind::ALL[..]),
        proptest::sample::select(&LimiterKind::ALL[..]),
        prop_oneof![Just(TwoSided::WriteThenSend), Just(TwoSided::Stream)],
    );
    let numbers = (200..3000_u64, 1..4_u32, 2..5_usize, 0..2000_u64);
    (kinds, numbers).prop_map(|((balancer, limiter, two_sided), numbers)| {
        let (chunk, depth, segments, single) = numbers;
        Settings {
            balancer,
            limiter,
            two_sided,
            chunk: Bytes::new(chunk),
            chunk_least: Bytes::new(chunk.min(400)),
            chunk_most: Bytes::new(4000),
            mtu: Bytes::new(1024),
            depth,
            segments,
            single_send: Bytes::new(single),
            retries: 100,
            first_timeout: Duration::from_ms(2),
            timeout_least: Duration::from_ms(1),
            timeout_most: Duration::from_ms(8),
            ..Settings::default()
        }
    })
}

/// The first path never dies. An atomic that fails may or may not have been executed, so that nobody can say what is right: a case
/// has atomics, or is rough.
pub(crate) fn case() -> impl Strategy<Value = Case> {
    let operations = (1..5_usize).prop_flat_map(|paths| {
        let all = proptest::collection::vec(operation(paths), 1..40);
        (Just(paths), all, any::<bool>())
    });
    (settings(), operations).prop_map(|(settings, (paths, mut operations, rough))| {
        operations.retain(|one| match one {
            Operation::Add { .. } => !rough,
            Operation::Kill(_) | Operation::Revive(_) => rough && paths > 1,
            _ => true,
        });
        Case {
            settings,
            paths,
            rough,
            operations,
        }
    })
}

/// What one queue pair makes of messages: everything in order, at once.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) shared: Vec<u8>,
    pub(crate) sent: Vec<Vec<u8>>,
}

impl Model {
    pub(crate) fn of(messages: &[Operation]) -> Self {
        let mut model = Self {
            shared: vec![0; SHARED as usize],
            sent: Vec::new(),
        };
        for (message, operation) in messages.iter().enumerate() {
            let data = |size: u64| (0..size).map(move |at| pattern(message, at));
            match *operation {
                Operation::Write { at, size } => {
                    let range = at as usize..(at + size) as usize;
                    model.shared[range]
                        .iter_mut()
                        .zip(data(size))
                        .for_each(|(to, byte)| *to = byte);
                }
                Operation::Send { size } => model.sent.push(data(size).collect()),
                Operation::Add { at } => {
                    let word = &mut model.shared[at as usize..at as usize + 8];
                    let before = u64::from_ne_bytes(word.try_into().expect("eight bytes"));
                    word.copy_from_slice(&(before.wrapping_add(1)).to_ne_bytes());
                }
                _ => {}
            }
        }
        model
    }
}
