//! What a NIC has where receivers apportion their links (`fairlane_congestion::dasr`): its downlink to divide, and what it may
//! send to each receiver. Ports at which an enforcer or receivers' shares decide beside the round robin are entered here.

mod due;
mod gates;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use fairlane_congestion::Environment;
use fairlane_congestion::dasr::{Data, Mode, Part, Peer, Push, Receiver};
use fairlane_congestion::scope::{Grant, Scope, Share, shares};
use fairlane_transport::Reply;
use fairlane_units::{Bytes, HostId, Rate, TenantId, Time};
use fairlane_wire::{Aeth, Opcode, Position, Syndrome};

use self::gates::Gates;
use crate::nic::Nic;
use crate::packet::{Arrival, Departure, PairId, Role};
use crate::pair::{NONE, Pair, Stream};
use crate::port::Port;
use crate::replies::{Answer, ReplyKind};
use crate::scoped::Tenants;
use crate::settings::Settings;

/// A port's part in apportioning.
#[derive(Clone, Debug)]
pub(crate) struct Apportion {
    mode: Mode,
    /// Divides the downlink, unless senders only limit themselves.
    receiver: Option<Receiver>,
    /// Open queue pairs by the host at the other end and tenant.
    peers: BTreeMap<(TenantId, HostId), u32>,
    /// By number of the queue pair whether data has come by it, and if so whether in responses to READs.
    came: Vec<Option<bool>>,
    gates: Gates,
    /// When the NIC looks at the receiver's deadline, [`Time::MAX`] if it doesn't.
    queued: Time,
}

impl Port {
    /// Gives the port's part to `act`, beside the rest of the port; nothing happens where nobody apportions.
    pub(crate) fn with_apportion<T>(
        &mut self,
        act: impl FnOnce(&mut Apportion, &mut Self) -> T,
    ) -> Option<T> {
        let mut own = self.apportion.take()?;
        let result = act(&mut own, self);
        self.apportion = Some(own);
        Some(result)
    }

    /// The queue pair whose turn it is by round robin, or by the enforcer.
    fn choose(&mut self, now: Time, pairs: &mut [Pair]) -> Option<PairId> {
        let moved = |pair: u32, position| pairs[pair as usize].position = position;
        if let Some(chosen) = self.rounds.choose(now, moved) {
            return Some(PairId(chosen));
        }
        let scoped = self.scoped.as_deref_mut()?;
        scoped.turn(now).map(PairId)
    }
}

impl Apportion {
    /// What the settings ask of a port; nothing if nobody apportions, or where nobody replies.
    pub(crate) fn new(
        settings: &Settings,
        environment: &Environment,
        tenants: &Tenants,
    ) -> Option<Box<Self>> {
        let (params, mode) = (&settings.dasr, settings.dasr.mode);
        if !mode.is_on() || !settings.transport.service.is_reliable() {
            return None;
        }
        let weights = match settings.scope {
            // There a guarantee is a part of every link.
            Scope::Tenant => shares(&tenants.all, environment.line_rate),
            _ => (tenants.all.iter().map(|one| (one.tenant, one.weight))).collect(),
        };
        let receiver = || Receiver::new(params, environment, &weights);
        Some(Box::new(Self {
            mode,
            receiver: mode.divides().then(receiver),
            peers: BTreeMap::new(),
            came: Vec::new(),
            gates: Gates::new(params, environment),
            queued: Time::MAX,
        }))
    }

    /// A queue pair is opened.
    pub(crate) fn join(&mut self, number: u32, pair: &Pair) {
        let at = number as usize;
        if self.came.len() <= at {
            self.came.resize(at + 1, None);
        }
        self.came[at] = None;
        *self.peers.entry(peer_of(pair)).or_default() += 1;
    }

    /// A queue pair is to send data; nothing is new if it has before, or the other end gives no shares.
    pub(crate) fn open(&mut self, now: Time, number: u32, pair: &Pair) {
        if pair.opening.extensions.shares.is_some() {
            self.gates.open(now, number, pair);
        }
    }

    /// What both ends of a queue pair use beside plain RoCEv2 has changed.
    pub(crate) fn on_extensions(&mut self, now: Time, id: PairId, port: &mut Port, pairs: &[Pair]) {
        let pair = &pairs[id.index()];
        match pair.opening.extensions.shares {
            // Else it is opened with the first data.
            Some(_) if pair.position != NONE => self.gates.open(now, id.0, pair),
            Some(_) => {}
            None => self.gates.close(now, id.0, (port, pairs)),
        }
    }

    /// What a reply says of the share of the host at the other end of a queue pair, if anything.
    pub(crate) fn share(&self, pair: &Pair) -> Option<u16> {
        let receiver = self.receiver.as_ref()?;
        Some(receiver.share(peer(pair)?).get())
    }

    /// What the receiver of a queue pair's data lets this port send, if it has said so.
    pub(crate) fn share_of(&self, id: PairId) -> Option<Rate> {
        self.gates.share(id.0)
    }

    /// The queue pair by which a sender is told of its share, and whether its data are responses to READs: that of its last packet,
    /// or if that has gone any other by which data has come.
    fn via(&self, pairs: &[Pair], port: u8, push: &Push) -> Option<(PairId, bool)> {
        let leads = |number: u32| {
            let pair = pairs.get(number as usize)?;
            let its = pair.live && pair.port == port && peer(pair) == Some(push.peer);
            let reads = self.came.get(number as usize).copied().flatten();
            reads.filter(|_| its).map(|reads| (PairId(number), reads))
        };
        leads(push.via).or_else(|| (0..self.came.len() as u32).find_map(leads))
    }

    /// When a queue pair that waits for its receiver may send, if nothing else happens.
    pub(crate) fn opens(&self) -> Option<Time> {
        self.gates.earliest()
    }

    /// From when on its receiver lets a queue pair send data; `None` if something must be heard before.
    pub(crate) fn opens_for(&self, number: u32) -> Option<Time> {
        self.gates.opens_for(number)
    }

    /// Whether it will tell a sender something without being asked.
    pub(crate) fn will_act(&self) -> bool {
        self.gates.earliest().is_some()
            || (self.receiver.as_ref()).is_some_and(|receiver| receiver.deadline().is_some())
    }
}

/// The queue pair whose turn it is at a port: those that have to wait for their receiver are passed over.
#[cold]
pub(crate) fn turn(nic: &mut Nic, now: Time, number: u8) -> Option<PairId> {
    let (port, pairs) = (&mut nic.ports[usize::from(number)], &mut nic.pairs);
    loop {
        port.with_apportion(|own, port| own.gates.open_due(now, port, pairs));
        let id = port.choose(now, pairs)?;
        let admitted = port.with_apportion(|own, port| {
            // Requests for data are free: the rate is that of the data.
            let free = port.asks_for_data(&pairs[id.index()]);
            let admitted = free || own.gates.admits(now, id.0);
            if !admitted {
                own.gates.hold(now, id.0, port, pairs);
            }
            admitted
        });
        if admitted != Some(false) {
            return Some(id);
        }
    }
}

/// Brings up to date what a queue pair has to send, and whether it may, at a port that is arbitrated.
#[cold]
pub(crate) fn refresh(nic: &mut Nic, now: Time, id: PairId) {
    let pair = &nic.pairs[id.index()];
    let number = pair.port;
    let port = &mut nic.ports[usize::from(number)];
    if port.apportion.is_none() {
        port.offer(pair, true);
        return;
    }
    port.with_apportion(|own, port| {
        own.gates
            .refresh(now, id.0, (&nic.settings, port, &nic.pairs));
    });
}

/// What a packet with data says of its sender: demand and backlog.
pub(crate) type Declaration = (Option<u16>, Option<u32>);

/// A packet with data of a queue pair leaves a port that is arbitrated: it is charged to the enforcer, if there is one, which is
/// returned with what the packet says of its sender.
#[cold]
pub(crate) fn charge(
    nic: &mut Nic,
    now: Time,
    id: PairId,
    departure: &Departure,
) -> (bool, Option<Declaration>) {
    let wire = Bytes::new(u64::from(departure.meta.wire));
    let pair = &mut nic.pairs[id.index()];
    let number = pair.port;
    let stream = match departure.from_responder {
        true => Stream::Responses,
        false => Stream::Requests,
    };
    let enforced = match &mut nic.ports[usize::from(number)].scoped {
        Some(scoped) => {
            scoped.charge(now, (pair, stream), wire);
            true
        }
        None => {
            pair.sending.advance(&nic.settings, now, false);
            false
        }
    };
    let own = nic.ports[usize::from(number)].apportion.as_deref_mut();
    let says = own.and_then(|own| {
        let size = (
            nic.settings.sizes.on_link(departure.meta.wire),
            departure.packet.payload,
        );
        let says = own.gates.on_sent(now, id.0, size)?;
        let demand = own.mode.declares().then_some(says.demand);
        let backlog = own.mode.states_backlog().then_some(says.backlog);
        Some((demand, backlog))
    });
    (enforced, says)
}

/// Passes on what a reply says of the receiver's share; `acknowledges` says that it confirms and nothing else, `lost` that
/// something is to be sent again.
#[cold]
pub(crate) fn hear(
    nic: &mut Nic,
    now: Time,
    id: PairId,
    (share, acknowledges, lost): (u16, bool, bool),
) {
    let number = usize::from(nic.pairs[id.index()].port);
    let Some(own) = nic.ports[number].apportion.as_deref_mut() else {
        return;
    };
    if lost {
        own.gates.on_loss(id.0);
    }
    let grant = match (acknowledges, Share::new(share)) {
        (false, _) => Grant::Unsaid,
        (true, Some(share)) if own.mode.divides() => Grant::Share(share),
        (true, _) => Grant::Free,
    };
    own.gates.on_share(now, id.0, grant);
}

/// Data has arrived, of a request or in the response to one; `taken` says that the transport acts on it.
#[cold]
pub(crate) fn on_data(nic: &mut Nic, now: Time, id: PairId, arrival: &Arrival<'_>, taken: bool) {
    let pair = &nic.pairs[id.index()];
    let number = pair.port;
    let Some(own) = nic.ports[usize::from(number)].apportion.as_deref_mut() else {
        return;
    };
    let (Some(receiver), Some(peer)) = (&mut own.receiver, peer(pair)) else {
        return;
    };
    let reads = arrival.meta.role == Role::Response;
    own.came[id.index()] = Some(reads);
    let data = Data {
        via: id.0,
        wire: nic.settings.sizes.on_link(arrival.meta.wire),
        part: match taken {
            true => part(arrival.packet.opcode),
            false => Part::Other,
        },
        demand: arrival.meta.demand.filter(|_| taken),
        backlog: arrival.meta.backlog,
    };
    receiver.on_data(now, peer, data);
    tell(nic, now, number);
}

/// A queue pair goes.
#[cold]
pub(crate) fn close(nic: &mut Nic, now: Time, id: PairId) {
    let number = nic.pairs[id.index()].port;
    let (port, pairs) = (&mut nic.ports[usize::from(number)], &nic.pairs);
    port.with_apportion(|own, port| {
        own.gates.close(now, id.0, (port, pairs));
        let of = peer_of(&pairs[id.index()]);
        let open = own.peers.get_mut(&of).map(|open| {
            *open -= 1;
            *open
        });
        if open == Some(0) {
            own.peers.remove(&of);
            if let Some(receiver) = &mut own.receiver {
                receiver.close(now, of.0, of.1);
            }
        }
    });
    tell(nic, now, number);
}

/// The number under which a port's receiver has its deadline among those of queue pairs.
const fn place(port: u8) -> u32 {
    NONE - port as u32
}

/// A deadline that isn't that of a queue pair has come.
#[cold]
pub(crate) fn on_deadline(nic: &mut Nic, now: Time, (at, number): (Time, u32)) {
    let port = (NONE - number) as u8;
    let own = nic.ports[usize::from(port)].apportion.as_deref_mut();
    let Some(own) = own.filter(|own| own.queued == at) else {
        return;
    };
    own.queued = Time::MAX;
    if let Some(receiver) = &mut own.receiver {
        receiver.on_deadline(now);
    }
    tell(nic, now, port);
}

/// Tells senders of their shares that haven't asked, and sees to it that the receiver comes up in time.
fn tell(nic: &mut Nic, now: Time, port: u8) {
    loop {
        let own = nic.ports[usize::from(port)].apportion.as_deref_mut();
        let Some(own) = own else { return };
        let Some(receiver) = &mut own.receiver else {
            return;
        };
        let Some(push) = receiver.poll_push(now) else {
            if let Some(at) = receiver.deadline() {
                nic.deadlines.arm(place(port), at, &mut own.queued);
            }
            return;
        };
        push_share(nic, port, &push);
    }
}

/// Queues a repeated acknowledgement, or repeated feedback, which has the share of now.
fn push_share(nic: &mut Nic, port: u8, push: &Push) {
    let own = nic.ports[usize::from(port)].apportion.as_deref();
    let Some((id, reads)) = own.and_then(|own| own.via(&nic.pairs, port, push)) else {
        return;
    };
    let pair = &mut nic.pairs[id.index()];
    let reply = match reads {
        true => Some(feedback(pair)),
        false => pair.responder.acknowledge_again(&pair.config),
    };
    let Some(reply) = reply else { return };
    let role = match reads {
        true => Role::Feedback,
        false => Role::Response,
    };
    let answer = Answer {
        pair: id,
        meta: pair.meta(role),
        kind: ReplyKind::Reply(reply),
        control: pair.control,
        from_responder: !reads,
    };
    nic.push(answer);
}

/// Feedback that confirms what has been confirmed before.
const fn feedback(pair: &Pair) -> Reply {
    Reply {
        psn: pair.requester.acknowledged_psn(),
        aeth: Aeth {
            syndrome: Syndrome::ACK,
            msn: 0,
        },
        selective: false,
    }
}

/// The host at the other end, to its receiver; nothing if that host hears no shares.
const fn peer(pair: &Pair) -> Option<Peer> {
    match pair.opening.extensions.shares {
        Some(line_rate) => Some(Peer {
            tenant: pair.opening.tenant,
            host: pair.opening.peer,
            line_rate,
        }),
        None => None,
    }
}

const fn peer_of(pair: &Pair) -> (TenantId, HostId) {
    (pair.opening.tenant, pair.opening.peer)
}

/// Which part of a message a packet is.
const fn part(opcode: Opcode) -> Part {
    match opcode.position() {
        Position::First => Part::First,
        Position::Middle => Part::Middle,
        Position::Last => Part::Last,
        Position::Only => Part::Only,
    }
}

/// The rate that a queue pair's controller allows, or the enforcer in its place: to packets of `small` messages, too.
fn allowed(now: Time, settings: &Settings, port: &Port, pair: &Pair, small: bool) -> Rate {
    let Some(scoped) = &port.scoped else {
        return match settings.paced {
            true => pair.sending.rate(),
            false => port.rate,
        };
    };
    let mut senders = (Stream::BOTH.iter()).filter_map(|&of| pair.sending.sender(of));
    let sender = senders.next();
    sender.map_or(port.rate, |sender| {
        scoped.enforcer.usable(now, sender, small)
    })
}
