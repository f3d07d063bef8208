//! A simulated fabric in real time, to whose hosts software NICs of other processes attach.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration as Wall;

use fairlane_fabric::{
    Attachment, Control, Ending, FiveTuple, Flow, Happening, Kind, LiveSimulation, Packet,
    Progress, Results, Simulation, WorkRequest,
};
use fairlane_rings::{
    Frame, MOST_BYTES, Port, Refused, SLOTS, Waiter, give, monotonic, precise_sleep, refuse,
};
use fairlane_scenario::{Error, Loaded};
use fairlane_units::{Duration, FlowId, HostId, Time};
use fairlane_wire::Udp;

use crate::address::Place;
use crate::contents::Captured;
use crate::frames::{self, Frames};
use crate::lateness::Lateness;
use crate::requests;
use crate::roster::{Member, Roster};

/// How long the loop sleeps if nothing is due: so often it looks whether it is to end.
const IDLE: Wall = Wall::from_millis(100);
/// Real time between two reports of progress, in nanoseconds.
const REPORT: u64 = 50_000_000;
/// How long somebody who has connected may take to say for which address.
const PATIENCE: Wall = Wall::from_millis(200);

/// A fabric whose clock is the real one, but for going slower.
pub struct Live {
    sim: LiveSimulation,
    socket: Socket,
    /// How much slower the fabric's clock goes, in thousandths.
    scale: u64,
    /// When it was zero, in nanoseconds of the real one.
    origin: u64,
    mtu: u16,
    nics: Vec<AttachedNic>,
    /// The NIC that is looked at first.
    turn: usize,
    /// By address, the NIC that has it now.
    places: HashMap<Ipv4Addr, usize>,
    /// By address that it comes from, that it goes to, and source port: the flow of a packet.
    flows: HashMap<(Ipv4Addr, Ipv4Addr, u16), FlowId>,
    /// By flow that was opened, where its packets come from and go to.
    ways: HashMap<FlowId, (Ipv4Addr, Ipv4Addr)>,
    roster: Roster,
    frames: Frames,
    /// Bytes of captured packets.
    contents: Vec<Option<Box<str>>>,
    counts: Counts,
    lateness: Lateness,
    /// Whether a packet waits that was sent behind the fabric's time.
    is_ahead: bool,
    waiter: Waiter,
}

/// The port of a program's NIC.
struct AttachedNic {
    port: Port,
    address: Ipv4Addr,
    host: HostId,
    place: Place,
    member: Member,
}

/// What became of packets of programs that the fabric doesn't carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// NICs that have attached.
    pub attached: u64,
    /// Packets that were none, too large, in a class that hosts don't send in, or for an address that nobody has.
    pub refused: u64,
    /// Packets whose receiver has taken none for too long.
    pub overrun: u64,
    /// NICs that have written nonsense.
    pub nonsense: u64,
}

impl Live {
    /// The fabric of a scenario's `simulation`, `scale` times slower than real time, to which NICs attach at the socket `path`.
    ///
    /// # Errors
    /// As [`LiveSimulation::new`] and [`places`](crate::places); if software NICs can't have the scenario's congestion control; and if nobody
    /// can listen there.
    pub fn new(
        simulation: Simulation,
        loaded: &Loaded,
        scale: f64,
        path: &Path,
    ) -> Result<Self, Error> {
        let mut sim = LiveSimulation::new(simulation, loaded, None)?;
        sim.stay();
        let failed = |error: io::Error| {
            let message = format!("{}: {error}", path.display());
            let hint = "name another directory for the results with --out";
            Error::new("socket", message, hint)
        };
        let socket = Socket::bind(path).map_err(failed)?;
        let roster = Roster::new(&loaded.scenario, sim.base_rtt())?;
        let mtu = sim.nic_settings().transport.mtu.get();
        Ok(Self {
            sim,
            socket,
            scale: (scale * 1000.0).round().max(1.0) as u64,
            origin: monotonic(),
            mtu: u16::try_from(mtu).unwrap_or(u16::MAX),
            nics: Vec::new(),
            turn: 0,
            places: HashMap::new(),
            flows: HashMap::new(),
            ways: HashMap::new(),
            roster,
            frames: Frames::default(),
            contents: Vec::new(),
            counts: Counts::default(),
            lateness: Lateness::default(),
            is_ahead: false,
            waiter: Waiter::default(),
        })
    }

    /// Runs until the scenario's end, or until `report` says so.
    pub fn run(mut self, report: &mut dyn FnMut(&Progress<'_>) -> Control) -> Ended {
        precise_sleep();
        self.origin = monotonic();
        let mut reported = 0;
        loop {
            let (real, now) = self.now();
            if real.saturating_sub(reported) >= REPORT {
                reported = real;
                if report(&self.sim.progress()) == Control::Interrupt {
                    self.sim.end(Ending::Stopped);
                }
            }
            if self.advance(now) {
                break;
            }
            self.accept();
            let moved = self.take_from_programs();
            if !std::mem::take(&mut self.is_ahead) && !moved {
                self.sleep();
            }
        }
        self.hear_reports();
        let mut results = self.sim.into_results();
        results.contents = self.contents;
        let scale = self.scale as f64 / 1000.0;
        let base_rtt = results.totals.base_rtt;
        results.real_time = Some(self.lateness.summary(scale, base_rtt));
        Ended {
            results,
            counts: self.counts,
        }
    }

    /// The real time since the beginning in nanoseconds, and the fabric's.
    fn now(&self) -> (u64, Time) {
        clock(self.origin, self.scale)
    }

    /// Has everything happen in the fabric that is due by now; whether the run has ended.
    fn advance(&mut self, now: Time) -> bool {
        self.sim.set_will_act(true);
        loop {
            let next = self.sim.next_time().filter(|next| *next <= now);
            if let Some(next) = next {
                self.lateness.note(now - next);
            }
            let until = next.unwrap_or_else(|| now.max(self.sim.now()));
            if self.sim.advance(until) {
                return true;
            }
            while let Some(happening) = self.sim.poll() {
                self.on_happening(happening);
            }
            if next.is_none() {
                return false;
            }
        }
    }

    fn on_happening(&mut self, happening: Happening) {
        match happening {
            Happening::Posted(_) => debug_assert!(false, "programs post for themselves"),
            Happening::Arrived { packet, attachment } => self.deliver(&packet, attachment),
            Happening::Captured { record, attachment } => {
                let way = record.packet.transport();
                let way = way.and_then(|transport| self.ways.get(&transport.flow));
                let captured = attachment.zip(way).map(|(attachment, way)| Captured {
                    bytes: self.frames.get(attachment),
                    way: (*way).into(),
                    source_port: self.frames.source_port(attachment),
                });
                let digits = captured.and_then(|captured| captured.digits(&record));
                self.contents.push(digits);
            }
            Happening::Lost(attachment) => self.frames.forget(attachment),
            Happening::Pauses {
                host,
                plane,
                paused,
            } => {
                for nic in &self.nics {
                    if (nic.host, nic.place.plane) == (host, plane) {
                        nic.port.shared.set_paused(paused);
                    }
                }
            }
            Happening::Free { host, plane } => {
                if !self.take_turn(host, plane) {
                    self.sim.resume(host, plane);
                }
            }
        }
    }

    /// A packet has come to a host: its bytes go to the program there, if it is still there.
    fn deliver(&mut self, packet: &Packet, attachment: Attachment) {
        let way = self.ways.get(&packet.flow);
        let nic = way.and_then(|(_, to)| self.places.get(to));
        if let (Some((from, _)), Some(&nic)) = (way, nic) {
            let frame = Frame {
                time: self.sim.now().as_ps(),
                peer: from.octets(),
                source_port: self.frames.source_port(attachment),
                class: packet.class,
                marked: packet.marked,
                is_report: false,
            };
            if let Some(telemetry) = self
                .sim
                .telemetry(attachment)
                .filter(|_| packet.kind == Kind::Data)
            {
                self.frames.stamp(attachment, telemetry);
            }
            let bytes = self.frames.get(attachment);
            match self.nics[nic].port.sender.send(&frame, bytes) {
                Ok(()) => {}
                Err(Refused::Nonsense) => self.detach(nic, true),
                Err(Refused::Full | Refused::TooLong) => self.counts.overrun += 1,
            }
        }
        self.frames.forget(attachment);
    }

    /// Takes packets of programs whose ports are free; whether there were any.
    fn take_from_programs(&mut self) -> bool {
        let (turn, count) = (self.turn, self.nics.len());
        let mut moved = false;
        for step in 0..count {
            moved |= self.take_from((turn + step) % count);
        }
        moved
    }

    /// A port of a host is free: takes packets of the next of its programs that has some, if one has.
    fn take_turn(&mut self, host: HostId, plane: u8) -> bool {
        let (turn, count) = (self.turn, self.nics.len());
        for at in (0..count).map(|step| (turn + step) % count) {
            let nic = self.nics.get(at);
            let is_here = nic.is_some_and(|nic| (nic.host, nic.place.plane) == (host, plane));
            if is_here && self.take_from(at) {
                self.turn = at + 1;
                return true;
            }
        }
        false
    }

    /// Takes packets of a program as long as its port is free, and no more than its ring has; whether there was one.
    fn take_from(&mut self, at: usize) -> bool {
        let mut taken = false;
        let mut bytes = [0; MOST_BYTES];
        for _ in 0..SLOTS {
            let Some(nic) = self.nics.get_mut(at) else {
                break;
            };
            let (host, plane) = (nic.host, nic.place.plane);
            if !self.sim.is_free(host, plane) {
                // It comes again when it is.
                self.sim.await_free(host, plane);
                break;
            }
            if let Some(sent) = nic.port.receiver.peek_time()
                && sent > self.sim.now().as_ps()
                && sent <= clock(self.origin, self.scale).1.as_ps()
            {
                // What the fabric does until then comes first.
                self.is_ahead = true;
                break;
            }
            match nic.port.receiver.receive(&mut bytes) {
                Ok(Some((frame, length))) if frame.is_report => {
                    if self.record(at, &frame, &bytes[..length]).is_none() {
                        self.counts.refused += 1;
                    }
                }
                Ok(Some((frame, length))) => {
                    taken = true;
                    let from = nic.address;
                    // It may have waited for the port.
                    let due = Time::from_ps(frame.time).max(self.sim.free_since(host, plane));
                    self.lateness.note(self.sim.now().saturating_since(due));
                    if self.inject(from, &frame, &bytes[..length]).is_none() {
                        self.counts.refused += 1;
                    }
                }
                Ok(None) => break,
                Err(_) => {
                    self.detach(at, true);
                    break;
                }
            }
        }
        taken
    }

    /// Takes what programs have told of work requests and nobody has heard; packets between are lost.
    fn hear_reports(&mut self) {
        let mut bytes = [0; MOST_BYTES];
        for at in 0..self.nics.len() {
            for _ in 0..SLOTS {
                match self.nics[at].port.receiver.receive(&mut bytes) {
                    Ok(Some((frame, length))) if frame.is_report => {
                        let heard = self.record(at, &frame, &bytes[..length]);
                        self.counts.refused += u64::from(heard.is_none());
                    }
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => break,
                }
            }
        }
    }

    /// Takes note of a work request of a program that has ended; `None` if it can't be one.
    fn record(&mut self, at: usize, frame: &Frame, bytes: &[u8]) -> Option<()> {
        let report = requests::read(bytes, self.now().1)?;
        let verb = requests::verb(report.done)?;
        let (from, to) = (self.nics[at].address, Ipv4Addr::from(frame.peer));
        let (own, member) = (self.nics[at].place, self.nics[at].member);
        let other = Place::of(to).filter(|_| (1..8).contains(&frame.class))?;
        let flow = self.flow(from, to, frame.source_port, frame.class)?;
        let is_possible = self.sim.record(&WorkRequest {
            flow,
            ends: [own.host, other.host],
            workload: member.workload,
            class: frame.class,
            verb,
            size: report.size,
            part: requests::part(&report),
            mtu: report.mtu,
            is_reliable: report.is_reliable,
            posted: report.posted,
            ended: report.ended,
            outcome: requests::outcome(report.end),
            retransmitted: report.retransmitted,
            tenant: member.tenant,
        });
        is_possible.then_some(())
    }

    /// Puts a packet of a program on the link of its port; `None` if it can't be one.
    fn inject(&mut self, from: Ipv4Addr, frame: &Frame, bytes: &[u8]) -> Option<()> {
        let to = Ipv4Addr::from(frame.peer);
        let flow = self.flow(from, to, frame.source_port, frame.class)?;
        let packet = frames::packet(bytes, flow, frame.class)?;
        let attachment = self.frames.keep(bytes, frame.source_port);
        let injected = self.sim.inject(&packet, attachment);
        match injected {
            Ok(()) if packet.kind == Kind::Data => self.sim.ledger().all.data_packets += 1,
            Ok(()) => {}
            Err(_) => self.frames.forget(attachment),
        }
        injected.ok()
    }

    /// The flow of packets from an address to another by a source port, if both have NICs.
    fn flow(&mut self, from: Ipv4Addr, to: Ipv4Addr, port: u16, class: u8) -> Option<FlowId> {
        if let Some(&known) = self.flows.get(&(from, to, port)) {
            return Some(known);
        }
        let own = self.nics.get(*self.places.get(&from)?)?;
        let (own, tenant) = (own.place, own.member.tenant);
        let other = Place::of(to)?;
        if !self.sim.has_port(other.host, other.plane) || own.host == other.host {
            // No link leads from a host to itself.
            return None;
        }
        let tuple = FiveTuple {
            source: own.host,
            destination: other.host,
            source_port: port,
            destination_port: Udp::ROCE_PORT,
        };
        let flow = Flow::new(tuple, [own.plane, other.plane], class);
        let flow = self.sim.open(flow, tenant);
        self.flows.insert((from, to, port), flow);
        self.ways.insert(flow, (from, to));
        Some(flow)
    }

    /// Attaches who has connected.
    fn accept(&mut self) {
        while let Ok((socket, _)) = self.socket.listener.accept() {
            // Who doesn't say what it should is left; nobody else waits long for it.
            drop(self.attach(socket));
        }
    }

    fn attach(&mut self, socket: UnixStream) -> io::Result<()> {
        socket.set_nonblocking(false)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let mut line = String::new();
        BufReader::new((&socket).take(64)).read_line(&mut line)?;
        match self.find(line.trim()) {
            Ok(place) => self.give(socket, place),
            Err(reason) => refuse(&socket, &reason),
        }
    }

    /// Where the NIC is whose address somebody asks for, if they may have it.
    fn find(&mut self, line: &str) -> Result<Place, String> {
        let is_none = || format!("{line} is no address of a host of the lab");
        let address: Ipv4Addr = line.parse().map_err(|_| is_none())?;
        let place = Place::of(address).ok_or_else(is_none)?;
        if !self.sim.has_port(place.host, place.plane) {
            return Err(is_none());
        }
        if let Some(&known) = self.places.get(&address) {
            if self.nics[known].port.receiver.sleep().is_ok() {
                return Err(format!("another program has the address {address}"));
            }
            self.detach(known, false);
        }
        Ok(place)
    }

    fn give(&mut self, socket: UnixStream, place: Place) -> io::Result<()> {
        let no_address = || io::Error::other("no address");
        let address = place.address().ok_or_else(no_address)?;
        let rate = self.sim.attach(place.host, place.plane);
        let rate = rate.map_err(|error| io::Error::other(error.message))?;
        let member = self.roster.member(address);
        let words = self.roster.words(member);
        let port = give(socket, |shared| {
            shared.set_text(words);
            shared.set_clock(self.origin, self.scale);
            shared.set_mtu(self.mtu);
            shared.set_rate(rate.as_bps());
        })?;
        self.places.insert(address, self.nics.len());
        self.nics.push(AttachedNic {
            port,
            address,
            host: self.sim.host(place.host),
            place,
            member,
        });
        self.counts.attached += 1;
        Ok(())
    }

    /// A program has gone, or does what no NIC does.
    fn detach(&mut self, at: usize, nonsense: bool) {
        self.counts.nonsense += u64::from(nonsense);
        let gone = self.nics.swap_remove(at);
        self.places.remove(&gone.address);
        if let Some(moved) = self.nics.get(at) {
            self.places.insert(moved.address, at);
        }
    }

    /// Sleeps until something is due, a packet or a program comes.
    fn sleep(&mut self) {
        let mut at = 0;
        while let Some(nic) = self.nics.get(at) {
            match nic.port.receiver.sleep() {
                Ok(true) => at += 1,
                // It waits for its port, which is due then.
                Ok(false) if !self.is_free(at) => at += 1,
                Ok(false) => return,
                Err(_) => self.detach(at, false),
            }
        }
        let (_, now) = self.now();
        let next = self.sim.next_time().map(|next| next.saturating_since(now));
        let most = next.map_or(IDLE, |span| self.wall(span).min(IDLE));
        if !most.is_zero() {
            let mut waiter = std::mem::take(&mut self.waiter);
            waiter.wait(self.descriptors(), most);
            self.waiter = waiter;
        }
    }

    fn is_free(&mut self, at: usize) -> bool {
        let nic = &self.nics[at];
        self.sim.is_free(nic.host, nic.place.plane)
    }

    fn descriptors(&self) -> impl Iterator<Item = RawFd> + '_ {
        let ports = self.nics.iter().map(|nic| nic.port.receiver.descriptor());
        std::iter::once(self.socket.listener.as_raw_fd()).chain(ports)
    }

    /// How long a time of the fabric is.
    fn wall(&self, span: Duration) -> Wall {
        let nanoseconds = u128::from(span.as_ps()) * u128::from(self.scale) / 1_000_000;
        Wall::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }
}

/// The real time since `origin` in nanoseconds, and that of a clock that goes so many thousandths slower.
fn clock(origin: u64, scale: u64) -> (u64, Time) {
    let real = monotonic().saturating_sub(origin);
    let picoseconds = u128::from(real) * 1_000_000 / u128::from(scale);
    let now = Time::from_ps(u64::try_from(picoseconds).unwrap_or(u64::MAX));
    (real, now)
}

/// Where programs attach.
struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Listens at a path, also if one that was killed has left its socket there.
    fn bind(path: &Path) -> io::Result<Self> {
        let bound = UnixListener::bind(path);
        let in_use = |error: &io::Error| error.kind() == io::ErrorKind::AddrInUse;
        let is_left = bound.as_ref().is_err_and(in_use) && UnixStream::connect(path).is_err();
        let listener = match is_left {
            true => {
                std::fs::remove_file(path)?;
                UnixListener::bind(path)?
            }
            false => bound?,
        };
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            path: path.to_owned(),
        })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.path));
    }
}

/// What a run leaves behind.
#[derive(Clone, Debug)]
pub struct Ended {
    /// As of a simulation.
    pub results: Results,
    /// What became of packets that the fabric didn't carry.
    pub counts: Counts,
}
