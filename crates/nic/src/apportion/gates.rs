//! What a port may send to each receiver, and which queue pairs wait for that.

use alloc::vec::Vec;

use fairlane_congestion::Environment;
use fairlane_congestion::dasr::{Declared, DestinationId, Load, Params, Sender};
use fairlane_congestion::scope::{Grant, Scope};
use fairlane_units::{Bytes, Rate, Time};

use super::allowed;
use super::due::Due;
use crate::pair::{NONE, Pair};
use crate::port::Port;
use crate::settings::Settings;

/// What a call may look at: settings, the port, and all queue pairs of the NIC.
type Around<'a> = (&'a Settings, &'a mut Port, &'a [Pair]);

/// A gate for each receiver that the port sends to for a tenant.
///
/// A queue pair whose turn it is at a closed gate is withdrawn and waits there: in one line with others at small messages, or
/// in one for the rest. The first of each is offered when the gate opens, since the pacer of their pair may stop one and not
/// the other; so a packet concerns three queue pairs, however many there are.
///
/// A response to a READ that acknowledgements wait behind goes first, and waits for none itself: what those acknowledge may
/// keep the gate shut at the other end, and that this one.
#[derive(Clone, Debug)]
pub(super) struct Gates {
    sender: Sender,
    /// The largest payload.
    mtu: Bytes,
    /// By number of the destination.
    gates: Vec<Gate>,
    /// When gates open that queue pairs wait at.
    due: Due,
    /// By number of the queue pair.
    members: Vec<Member>,
}

#[derive(Clone, Copy, Debug)]
struct Gate {
    /// From when on a packet may pass, [`Time::MAX`] if something must be heard before.
    opens: Time,
    /// Whether that holds only for the first one that waits, which is urgent.
    urgent: bool,
    /// What controllers of its queue pairs allow together, in bits per second.
    allowed: u64,
    /// Queue pairs at small messages, whether or not they wait.
    small: u32,
    /// Queue pairs that wait, by [`Member::line`].
    lines: [Line; 2],
}

/// Queue pairs that wait, linked through [`Member`].
#[derive(Clone, Copy, Debug)]
struct Line {
    head: u32,
    tail: u32,
}

/// A queue pair.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// Number of its gate, or [`NONE`] if it has never had data to send.
    gate: u32,
    waits: bool,
    /// Whether acknowledgements wait behind what it has to send.
    urgent: bool,
    /// Whether it is at a small message.
    small: bool,
    /// The line that it waits in.
    line: u8,
    before: u32,
    behind: u32,
    /// What its gate has of it.
    load: Load,
    allowed: u64,
}

const OUTSIDE: Member = Member {
    gate: NONE,
    waits: false,
    urgent: false,
    small: false,
    line: FIRST,
    before: NONE,
    behind: NONE,
    load: Load {
        in_flight: Bytes::ZERO,
        backlog: Bytes::ZERO,
    },
    allowed: 0,
};

/// The line of what is urgent or small, and that of the rest.
const FIRST: u8 = 0;
const REST: u8 = 1;

const SHUT: Gate = Gate {
    opens: Time::MAX,
    urgent: false,
    allowed: 0,
    small: 0,
    lines: [Line {
        head: NONE,
        tail: NONE,
    }; 2],
};

impl Gate {
    /// The first queue pair of the line of what is urgent or small.
    const fn first(&self) -> u32 {
        self.lines[FIRST as usize].head
    }
}

impl Member {
    /// The line that it belongs to.
    const fn due_line(&self) -> u8 {
        match self.urgent || self.small {
            true => FIRST,
            false => REST,
        }
    }
}

impl Gates {
    pub(super) fn new(params: &Params, environment: &Environment) -> Self {
        Self {
            sender: Sender::new(params, environment),
            mtu: environment.mtu,
            gates: Vec::new(),
            due: Due::default(),
            members: Vec::new(),
        }
    }

    /// A queue pair is to send data; nothing is new if it has before.
    pub(super) fn open(&mut self, now: Time, number: u32, pair: &Pair) {
        let at = number as usize;
        if self.members.len() <= at {
            self.members.resize(at + 1, OUTSIDE);
        }
        if self.members[at].gate != NONE {
            return;
        }
        let opening = &pair.opening;
        let environment = &opening.environment;
        let to = (self.sender).open(now, opening.tenant, opening.peer, environment);
        self.members[at].gate = to.index() as u32;
        while self.gates.len() <= to.index() {
            self.gates.push(SHUT);
        }
    }

    /// A queue pair goes.
    pub(super) fn close(&mut self, now: Time, number: u32, (port, pairs): (&mut Port, &[Pair])) {
        let Some(gate) = self.gate_of(number) else {
            return;
        };
        self.leave(number);
        let member = core::mem::replace(&mut self.members[number as usize], OUTSIDE);
        let own = &mut self.gates[gate as usize];
        own.allowed = own.allowed.saturating_sub(member.allowed);
        own.small -= u32::from(member.small);
        self.sender.close(id(gate), member.load);
        self.look(now, gate);
        self.show_first(now, gate, port, pairs);
    }

    /// What the receiver of a queue pair's data lets this port send, if it has said so.
    pub(super) fn share(&self, number: u32) -> Option<Rate> {
        self.sender.share(id(self.gate_of(number)?))
    }

    /// When a gate opens that queue pairs wait at.
    pub(super) fn earliest(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| at)
    }

    /// From when on a packet of a queue pair may pass; `None` if something must be heard before.
    pub(super) fn opens_for(&self, number: u32) -> Option<Time> {
        let Some(gate) = self.gate_of(number) else {
            return Some(Time::ZERO);
        };
        let gate = &self.gates[gate as usize];
        let passes = !gate.urgent || gate.first() == number;
        Some(gate.opens).filter(|&at| passes && at != Time::MAX)
    }

    /// Whether a packet of a queue pair may pass.
    pub(super) fn admits(&self, now: Time, number: u32) -> bool {
        self.opens_for(number).is_some_and(|at| at <= now)
    }

    /// Offers the first queue pairs at gates that have opened.
    pub(super) fn open_due(&mut self, now: Time, port: &mut Port, pairs: &[Pair]) {
        while let Some((_, gate)) = self.due.first().filter(|&(at, _)| at <= now) {
            self.look(now, gate);
            self.show_first(now, gate, port, pairs);
        }
    }

    /// A queue pair whose turn it is has to wait.
    pub(super) fn hold(&mut self, now: Time, number: u32, port: &mut Port, pairs: &[Pair]) {
        let Some(gate) = self.gate_of(number) else {
            return;
        };
        self.wait(number);
        self.look(now, gate);
        port.offer(&pairs[number as usize], false);
        self.show_first(now, gate, port, pairs);
    }

    /// Brings a queue pair and its gate up to date with what it has in flight and to send.
    pub(super) fn refresh(&mut self, now: Time, number: u32, (settings, port, pairs): Around<'_>) {
        let pair = &pairs[number as usize];
        let Some(gate) = self.gate_of(number) else {
            port.offer(pair, true);
            return;
        };
        self.account(now, number, settings, port, pair);
        let opens = self.look(now, gate);
        let Gate { urgent, lines, .. } = self.gates[gate as usize];
        let first = lines[usize::from(FIRST)].head;
        match port.data_at(pair) {
            None => self.leave(number),
            Some(own) if opens > own.max(now) => self.wait(number),
            Some(_) => {}
        }
        // What is urgent may pass a gate that must hear something first.
        if (urgent || opens == Time::MAX) && self.gates[gate as usize].first() != first {
            self.look(now, gate);
        }
        let Member { waits, line, .. } = self.members[number as usize];
        if !waits || self.gates[gate as usize].lines[usize::from(line)].head != number {
            port.offer(pair, !waits);
        }
        self.show_first(now, gate, port, pairs);
    }

    /// A packet with data of a queue pair leaves, of so many bytes on the wire and of payload; returns what it says of the
    /// sender.
    pub(super) fn on_sent(
        &mut self,
        now: Time,
        number: u32,
        size: (Bytes, Bytes),
    ) -> Option<Declared> {
        let gate = self.gate_of(number)?;
        self.leave(number);
        self.sender.on_sent(now, id(gate), size);
        let load = &mut self.members[number as usize].load;
        load.in_flight += size.1;
        load.backlog = load.backlog.saturating_sub(size.1);
        Some(self.sender.declare(id(gate)))
    }

    /// Something that a queue pair has sent is to be sent again.
    pub(super) fn on_loss(&mut self, number: u32) {
        if let Some(gate) = self.gate_of(number) {
            self.sender.on_rewound(id(gate), Bytes::ZERO);
        }
    }

    /// A reply has come.
    pub(super) fn on_share(&mut self, now: Time, number: u32, grant: Grant) {
        if let Some(gate) = self.gate_of(number) {
            self.sender.on_share(now, id(gate), grant);
        }
    }

    fn gate_of(&self, number: u32) -> Option<u32> {
        let member = self.members.get(number as usize)?;
        (member.gate != NONE).then_some(member.gate)
    }

    /// Brings up to date what a gate has of a queue pair.
    fn account(&mut self, now: Time, number: u32, settings: &Settings, port: &Port, pair: &Pair) {
        let member = &mut self.members[number as usize];
        let gate = &mut self.gates[member.gate as usize];
        member.urgent = pair.reading.is_some() && pair.responder.delays_answers();
        let small = (port.scoped.as_ref()).is_some_and(|scoped| scoped.is_small(pair));
        gate.small -= u32::from(core::mem::replace(&mut member.small, small));
        gate.small += u32::from(small);
        let load = pair.load();
        let was = core::mem::replace(&mut member.load, load);
        if was != load {
            self.sender.on_load(id(member.gate), was, load);
        }
        let idle = load == Load::default();
        let rate = match idle {
            true => 0,
            false => allowed(now, settings, port, pair, gate.small > 0).as_bps(),
        };
        if rate == member.allowed {
            return;
        }
        gate.allowed = gate.allowed.saturating_sub(member.allowed) + rate;
        member.allowed = rate;
        // Where queue pairs share a controller, each has what all of them have together.
        let all = match settings.scope {
            Scope::Pair | Scope::Tenant => rate,
            _ => gate.allowed,
        };
        if !idle {
            self.sender.set_limit(id(member.gate), Rate::from_bps(all));
        }
    }

    /// Brings up to date when a gate opens.
    fn look(&mut self, now: Time, gate: u32) -> Time {
        let opens = self.sender.available(now, id(gate), self.mtu);
        let own = &mut self.gates[gate as usize];
        own.urgent = opens.is_none()
            && (self.members.get(own.first() as usize)).is_some_and(|first| first.urgent);
        own.opens = match (opens, own.urgent) {
            (Some(opens), _) => opens,
            (None, true) => self.sender.paced(id(gate)),
            (None, false) => Time::MAX,
        };
        own.opens
    }

    /// Offers the first queue pairs that wait at a gate if that is open: the one that is urgent, or one of each line.
    fn show_first(&mut self, now: Time, gate: u32, port: &mut Port, pairs: &[Pair]) {
        let Gate { opens, lines, .. } = self.gates[gate as usize];
        let mut open = opens <= now;
        let mut waits = false;
        for Line { head, .. } in lines {
            if head != NONE {
                port.offer(&pairs[head as usize], open);
                open &= !self.members[head as usize].urgent;
                waits = true;
            }
        }
        let due = Some(opens).filter(|&at| waits && at > now && at != Time::MAX);
        self.due.set(gate, due);
    }

    /// A queue pair waits at its gate, behind the others of its line; if it is urgent before those that aren't, but behind the
    /// first one, so that two of them don't pass each other for ever.
    fn wait(&mut self, number: u32) {
        let member = self.members[number as usize];
        let Member { gate, urgent, .. } = member;
        let due_line = member.due_line();
        let overtakes = urgent && self.gates[gate as usize].first() != number;
        if member.line != due_line || overtakes {
            self.leave(number);
        }
        if core::mem::replace(&mut self.members[number as usize].waits, true) {
            return;
        }
        let line = usize::from(due_line);
        let Line { head, tail } = self.gates[gate as usize].lines[line];
        let first = |it: u32| self.members.get(it as usize).filter(|it| it.urgent);
        let (before, behind) = match (urgent, first(head)) {
            (true, Some(first)) => (head, first.behind),
            (true, None) => (NONE, head),
            (false, _) => (tail, NONE),
        };
        let member = &mut self.members[number as usize];
        (member.before, member.behind, member.line) = (before, behind, due_line);
        let line = &mut self.gates[gate as usize].lines[line];
        match before {
            NONE => line.head = number,
            before => self.members[before as usize].behind = number,
        }
        match behind {
            NONE => line.tail = number,
            behind => self.members[behind as usize].before = number,
        }
    }

    /// A queue pair doesn't wait any more.
    fn leave(&mut self, number: u32) {
        let member = &mut self.members[number as usize];
        if !core::mem::replace(&mut member.waits, false) {
            return;
        }
        let (gate, line, before, behind) = (member.gate, member.line, member.before, member.behind);
        let line = &mut self.gates[gate as usize].lines[usize::from(line)];
        match before {
            NONE => line.head = behind,
            before => self.members[before as usize].behind = behind,
        }
        match behind {
            NONE => line.tail = before,
            behind => self.members[behind as usize].before = before,
        }
    }
}

const fn id(gate: u32) -> DestinationId {
    DestinationId::from_index(gate)
}
