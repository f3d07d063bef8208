//! What must be: a reference that is fed everything that is posted, sent, heard and completed.
//!
//! For each direction of a connection a [`Flow`] knows which packets its work requests take, and takes
//! them off in order. The memory of both hosts is kept a second time, changed by work requests alone.

mod completions;
mod flow;
mod refusal;
mod reliable;
mod unreliable;

use std::collections::BTreeSet;

use fairlane_transport::{
    Access, Completion, Operation, Outgoing, Packet, Placement, Receive, ReceiveCompletion, Remote,
    Service, Status, WorkRequest,
};
use fairlane_units::{Bytes, Psn};

use self::flow::Flow;
use super::memory::{Deed, HostMemory, result};
use super::program::{Program, Region, Side};

/// Ends with a message unless a condition holds.
macro_rules! ensure {
    ($holds:expr, $($message:tt)*) => {
        if !$holds {
            return Err(format!($($message)*));
        }
    };
}
pub(super) use ensure;

/// Something that must not be, in words.
pub(super) type Violation = String;

/// What a packet did where it arrived.
#[derive(Clone, Debug)]
pub(super) struct Effect<'a> {
    pub(super) packet: &'a Packet,
    pub(super) payload: &'a [u8],
    pub(super) placement: Option<Placement>,
    pub(super) deeds: Vec<Deed>,
    /// Whether the queue pair has failed by it.
    pub(super) failed: bool,
}

/// Why a queue pair is in state ERR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Death {
    /// The application asked for it, or its responder failed: requests end as flushed.
    Flushed,
    /// A work request failed.
    Requester,
}

/// One queue pair, as far as it has no direction.
#[derive(Clone, Debug, Default)]
struct Endpoint {
    death: Option<Death>,
    draining: bool,
    /// Packets of the connection lost so far, either way.
    losses: u32,
    /// How many had been lost when deadlines fired, since a request was done.
    timeouts: Vec<u32>,
    /// RNR NAKs that have come since.
    rnr_naks: u32,
}

impl Endpoint {
    /// Whether packets were lost before and between the last `count` timeouts.
    fn each_round_lost(&self, count: usize) -> bool {
        let last = &self.timeouts[self.timeouts.len().saturating_sub(count)..];
        let between = last.windows(2).all(|pair| pair[0] < pair[1]);
        between && last.first().is_some_and(|&losses| losses > 0)
    }
}

/// The reference.
#[derive(Clone, Debug)]
pub(super) struct Model {
    program: Program,
    /// Bytes that all data is cut from.
    pattern: Vec<u8>,
    memories: [HostMemory; 2],
    /// Keys that have been invalidated, by host.
    invalid: [BTreeSet<u32>; 2],
    endpoints: Vec<[Endpoint; 2]>,
    /// By connection and requesting side.
    flows: Vec<[Flow; 2]>,
}

/// Different work requests begin at different places of the pattern.
const PLACES: usize = 1024;

impl Model {
    pub(super) fn new(program: &Program) -> Self {
        let connections = program.connections.len();
        let longest = program.regions[0]
            .first()
            .map_or(0, |region| region.length.get() as usize);
        let flows = (0..connections)
            .map(|connection| Side::BOTH.map(|side| flow(program, connection, side, None)))
            .collect();
        Self {
            program: program.clone(),
            pattern: pattern(PLACES + 2 * longest),
            memories: [0, 1].map(|side| HostMemory::new(&program.regions[side])),
            invalid: [BTreeSet::new(), BTreeSet::new()],
            endpoints: vec![Default::default(); connections],
            flows,
        }
    }

    /// The data of a work request from `offset` on.
    pub(super) fn data(
        &self,
        (side, connection): (Side, usize),
        id: u64,
        part: (u64, u64),
    ) -> &[u8] {
        data(&self.pattern, (side, connection), id, part)
    }

    /// Both queue pairs have been reset and connected again.
    pub(super) fn reconnected(&mut self, connection: usize, initial: [Psn; 2]) {
        self.endpoints[connection] = Default::default();
        for side in Side::BOTH {
            let initial = Some(initial[side.index()]);
            self.flows[connection][side.index()] = flow(&self.program, connection, side, initial);
        }
    }

    pub(super) fn requested(&mut self, (side, connection): (Side, usize), request: WorkRequest) {
        self.flows[connection][side.index()].post(request);
    }

    pub(super) fn receive_posted(&mut self, (side, connection): (Side, usize), receive: Receive) {
        self.flows[connection][side.other().index()]
            .receives
            .push(receive);
    }

    pub(super) fn draining(&mut self, (side, connection): (Side, usize), draining: bool) {
        self.endpoints[connection][side.index()].draining = draining;
    }

    /// Whether the data of a work request can't be read.
    pub(super) fn is_unreadable(&self, (side, connection): (Side, usize), id: u64) -> bool {
        self.program.unreadable.contains(&(side, connection, id))
    }

    /// A packet was polled and not sent, since its data couldn't be read.
    pub(super) fn skipped(&mut self, (side, connection): (Side, usize)) {
        let flow = &mut self.flows[connection][side.index()];
        if flow.service != Service::ReliableConnection {
            flow.sent += 1;
        }
    }

    /// A queue pair has left SQE.
    pub(super) fn restarted(&mut self, (side, connection): (Side, usize)) {
        self.flows[connection][side.index()].restart();
    }

    /// The application asked for state ERR.
    pub(super) fn failed(&mut self, (side, connection): (Side, usize)) {
        let death = &mut self.endpoints[connection][side.index()].death;
        *death = death.or(Some(Death::Flushed));
    }

    /// A packet was lost or altered on its way.
    pub(super) fn lost(&mut self, connection: usize) {
        for endpoint in &mut self.endpoints[connection] {
            endpoint.losses += 1;
        }
    }

    pub(super) fn timed_out(&mut self, side: Side, connection: usize) {
        let endpoint = &mut self.endpoints[connection][side.index()];
        endpoint.timeouts.push(endpoint.losses);
    }

    /// A packet leaves.
    pub(super) fn transmitted(
        &mut self,
        (side, connection): (Side, usize),
        outgoing: &Outgoing,
        payload: &[u8],
    ) -> Result<(), Violation> {
        let from = (side, connection);
        let reliable = self.program.service(connection) == Service::ReliableConnection;
        match outgoing.packet.opcode.is_response() {
            true if reliable => self.responded(from, outgoing, payload),
            true => Err("an unreliable service answered".into()),
            false => self.request_sent(from, outgoing),
        }
    }

    /// A packet has arrived at the queue pair `to`.
    pub(super) fn heard(
        &mut self,
        to: (Side, usize),
        effect: &Effect<'_>,
    ) -> Result<(), Violation> {
        if effect.packet.opcode.is_response() {
            self.heard_response(to, effect)
        } else if self.program.service(to.1) == Service::ReliableConnection {
            self.heard_reliable(to, effect)
        } else {
            self.heard_unreliable(to, effect)
        }
    }

    pub(super) fn completed(
        &mut self,
        (side, connection): (Side, usize),
        completion: Completion,
    ) -> Result<(), Violation> {
        self.completion((side, connection), completion)
    }

    pub(super) fn receive_completed(
        &mut self,
        (side, connection): (Side, usize),
        completion: ReceiveCompletion,
    ) -> Result<(), Violation> {
        let dead = self.endpoints[connection][side.index()].death.is_some();
        let flow = &mut self.flows[connection][side.other().index()];
        let expected = match flow.due.pop_front() {
            Some(due) => Some(due),
            None if dead => flow.flush_receive(),
            None => None,
        };
        ensure!(
            expected == Some(completion),
            "receive ended as {completion:?}, expected {expected:?}"
        );
        Ok(())
    }

    /// Compares the memory of a host with what it must be.
    pub(super) fn compare(&self, side: Side, actual: &HostMemory) -> Result<(), Violation> {
        let expected = self.memories[side.index()].bytes();
        let differs = expected
            .iter()
            .zip(actual.bytes())
            .position(|(a, b)| a != b);
        match differs {
            None => Ok(()),
            Some(place) => Err(format!("memory of {side:?} differs at byte {place}")),
        }
    }

    /// Whether an access to memory is allowed now.
    fn allows(&self, side: Side, access: Access, remote: Remote, length: Bytes) -> bool {
        let inside = |region: &Region| {
            let offset = i128::from(remote.address) - i128::from(region.start.address);
            offset >= 0 && offset + i128::from(length.get()) <= i128::from(region.length.get())
        };
        let granted = |region: &Region| match access {
            Access::Read => region.read,
            Access::Write => region.write,
            Access::Atomic => region.atomic,
        };
        let valid = !self.invalid[side.index()].contains(&remote.key);
        let mut regions = self.program.regions[side.index()].iter();
        let region = regions.find(|region| region.start.key == remote.key);
        valid && region.is_some_and(|region| granted(region) && inside(region))
    }

    /// Whether packets can be late or missing without anybody's fault.
    fn is_clean(&self) -> bool {
        self.program.profile.is_clean()
    }
}

fn flow(program: &Program, connection: usize, side: Side, initial: Option<Psn>) -> Flow {
    let ends = &program.connections[connection];
    let (from, to) = (&ends[side.index()], &ends[side.other().index()]);
    Flow::new(&from.config, &to.config, initial.unwrap_or(from.initial))
}

fn pattern(length: usize) -> Vec<u8> {
    let mut state = 0x1234_5678_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

fn data(
    pattern: &[u8],
    (side, connection): (Side, usize),
    id: u64,
    (offset, length): (u64, u64),
) -> &[u8] {
    let place = id as usize * 97 + connection * 331 + side.index() * 557;
    let start = place % PLACES + offset as usize;
    &pattern[start..start + length as usize]
}

/// Carries out an atomic on a memory of the model; returns what the eight bytes were.
fn execute(memory: &mut HostMemory, operation: &Operation) -> Option<u64> {
    let (remote, _) = result(operation, 0)?;
    let bytes = memory.read(remote.address, 8)?.try_into().ok()?;
    let original = u64::from_le_bytes(bytes);
    let (_, value) = result(operation, original)?;
    memory.write(remote.address, &value.to_le_bytes());
    Some(original)
}

/// A receive that ended without data.
fn ended(receive: Receive, status: Status) -> ReceiveCompletion {
    ReceiveCompletion::failed(receive.id, status)
}
