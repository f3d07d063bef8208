//! Two software NICs on addresses of the loopback interface, with a queue pair for each path.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Instant;

use fairlane_middleware::Posting;
use fairlane_multipath::{Atomic, Frame, Outcome, Remote, Segment, Tag, Work};
use fairlane_softnic::{
    Completion, CompletionQueue, Connection, Device, Domain, Done, Modify, Operation, QpNumber,
    QueuePairOptions, ReceiveRequest, Region, Rights, SendRequest, Sending, Settings, Sge, Status,
    Target,
};
use fairlane_units::{Duration, PathId, Time};

use crate::carrier::{Carrier, Happened, Side};
use crate::memory::{MESSAGES, ROOM};
use crate::operations::{MOST, SHARED};

/// Receives of a queue pair: a sender keeps to its depth, grants come beside.
const RECEIVES: u64 = 64;
/// What a SEND has at most.
const SEND: u64 = Frame::LENGTH as u64 + MOST;
/// Frames of SENDs under way, by number of the slot.
const FRAMES: u64 = 1 << 12;

struct Host {
    device: Device,
    domain: Domain,
    queue: CompletionQueue,
    pairs: Vec<QpNumber>,
    /// By path, what was posted and hasn't completed.
    outstanding: Vec<VecDeque<Tag>>,
    /// By path, buffers of receives.
    buffers: Vec<Region>,
    frames: Region,
    /// Of the sender: data of messages; of the receiver: receives.
    data: Region,
    shared: Region,
    happened: VecDeque<Happened>,
}

/// An address that no other device of the process has.
fn address() -> IpAddr {
    static NEXT: AtomicU16 = AtomicU16::new(1);
    let [high, low] = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let process = std::process::id() as u8;
    Ipv4Addr::new(127, 32 | high & 0x1f, process, low.max(1)).into()
}

impl Host {
    fn new(paths: usize) -> Self {
        let mut settings = Settings::new(address());
        settings.stat = false;
        settings.sysfs = None;
        let device = Device::open(settings).expect("the address is free");
        let domain = device.allocate_domain().expect("there is room");
        let queue = device.create_completion_queue(4096).expect("there is room");
        let memory = |length: u64| {
            let region = device.allocate(domain, length as usize, Rights::ALL);
            region.expect("there is room")
        };
        Self {
            pairs: Vec::new(),
            outstanding: vec![VecDeque::new(); paths],
            buffers: (0..paths).map(|_| memory(RECEIVES * SEND)).collect(),
            frames: memory(FRAMES * Frame::LENGTH as u64),
            data: memory(MESSAGES * ROOM),
            shared: memory(SHARED),
            happened: VecDeque::new(),
            domain,
            queue,
            device,
        }
    }

    fn pair(&self) -> QpNumber {
        let options = QueuePairOptions::new(self.domain, self.queue);
        let pair = self.device.create_queue_pair(&options);
        pair.expect("there is room")
    }

    fn connect(&self, path: usize, (to, number): (IpAddr, QpNumber), sending: Sending) {
        let mut connection = Connection::new(to, number);
        connection.mtu = 1024;
        let pair = self.pairs[path];
        for modify in [
            Modify::Init(Rights::ALL),
            Modify::ReadyToReceive(connection),
            Modify::ReadyToSend(sending),
        ] {
            self.device.modify(pair, &modify).expect("it is in order");
        }
        (0..RECEIVES).for_each(|slot| self.post_receive(path, slot));
    }

    fn post_receive(&self, path: usize, slot: u64) {
        let pieces = vec![Sge::of(&self.buffers[path], slot * SEND, SEND as u32)];
        let request = ReceiveRequest { id: slot, pieces };
        let posted = self.device.post_receive(self.pairs[path], request);
        posted.expect("there is room");
    }

    fn region(&self, address: u64) -> (&Region, usize) {
        let all = [&self.data, &self.shared];
        let is =
            |region: &&&Region| (region.address..region.address + region.length).contains(&address);
        let region = all.iter().find(is).expect("it is of one of them");
        (region, (address - region.address) as usize)
    }

    fn on_completion(&mut self, completion: &Completion) {
        // Of one that was replaced.
        let Some(path) = self.pairs.iter().position(|&pair| pair == completion.pair) else {
            return;
        };
        if completion.done == Done::Receive {
            if completion.status == Status::Success {
                let mut bytes = vec![0; completion.length as usize];
                let at = (completion.id * SEND) as usize;
                let read = self.device.read(&self.buffers[path], at, &mut bytes);
                read.expect("it is there");
                self.post_receive(path, completion.id);
                self.happened.push_back(Happened::Came(bytes));
            }
            return;
        }
        let tag = Tag::from_number(completion.id);
        self.outstanding[path].retain(|&own| own != tag);
        let outcome = match completion.status {
            Status::Success => Outcome::Delivered,
            Status::RetryExceeded | Status::RnrRetryExceeded => Outcome::RetryExceeded,
            Status::Flushed => Outcome::Flushed,
            _ => Outcome::Rejected,
        };
        let path = PathId::new(path as u32);
        self.happened.push_back(Happened::Ended(path, tag, outcome));
    }
}

pub(crate) struct Nics {
    hosts: [Host; 2],
    dead: Vec<bool>,
    rough: bool,
    start: Instant,
}

impl Nics {
    pub(crate) fn new(paths: usize, rough: bool) -> Self {
        let mut nics = Self {
            hosts: [Host::new(paths), Host::new(paths)],
            dead: vec![false; paths],
            rough,
            start: Instant::now(),
        };
        for path in 0..paths {
            for host in &mut nics.hosts {
                let pair = host.pair();
                host.pairs.push(pair);
            }
            nics.connect(path);
        }
        nics
    }

    /// Connects the queue pairs of a path; if that is dead, packets of one find no queue pair at the other end.
    fn connect(&self, path: usize) {
        // A path that has died is soon known for it.
        let sending = match self.rough {
            true => Sending {
                timeout: Some(Duration::from_ms(4)),
                retries: 1,
                ..Sending::default()
            },
            false => Sending::default(),
        };
        for [own, other] in [[0, 1], [1, 0]] {
            let there = &self.hosts[other];
            let number = there.pairs[path];
            let there = (there.device.address(), number);
            self.hosts[own].connect(path, there, sending);
        }
        if self.dead[path] {
            self.silence(path);
        }
    }

    /// Nobody answers on a path any more.
    fn silence(&self, path: usize) {
        for host in &self.hosts {
            let failed = host.device.modify(host.pairs[path], &Modify::Error);
            failed.expect("any state may become an error");
        }
    }
}

impl Carrier for Nics {
    fn now(&self) -> Time {
        Time::from_ns(1000 + self.start.elapsed().as_nanos() as u64)
    }

    fn post(&mut self, side: Side, posting: &Posting, pieces: &[Segment]) {
        let host = &mut self.hosts[side as usize];
        let chunk = &posting.chunk;
        let (path, tag) = (chunk.path.index(), chunk.tag);
        let there = |remote: Remote| Target {
            address: remote.address,
            key: remote.key,
        };
        let mut gathered: Vec<Sge> = pieces
            .iter()
            .map(|piece| Sge {
                address: piece.address,
                length: piece.length as u32,
                key: piece.key,
            })
            .collect();
        let operation = match chunk.work {
            Work::Write(remote) => Operation::Write(there(remote)),
            Work::Read(remote) => Operation::Read(there(remote)),
            Work::Send(frame) => {
                let at = tag.get() % FRAMES * Frame::LENGTH as u64;
                let written = host
                    .device
                    .write(&host.frames, at as usize, &frame.encode());
                written.expect("it has room");
                gathered.insert(0, Sge::of(&host.frames, at, Frame::LENGTH as u32));
                Operation::Send
            }
            Work::Atomic(remote, Atomic::FetchAdd(add)) => Operation::FetchAdd(there(remote), add),
            Work::Atomic(..) => unreachable!("the model adds"),
        };
        let request = SendRequest::new(tag.get(), operation, gathered);
        host.outstanding[path].push_back(tag);
        host.device
            .post_send(host.pairs[path], request)
            .expect("there is room");
    }

    fn poll(&mut self, side: Side) -> Option<Happened> {
        let host = &mut self.hosts[side as usize];
        if host.happened.is_empty() {
            let mut completions = Vec::new();
            let polled = host.device.poll(host.queue, 64, &mut completions);
            polled.expect("it is there");
            completions
                .iter()
                .for_each(|completion| host.on_completion(completion));
        }
        host.happened.pop_front()
    }

    fn wait(&mut self, _: Time) {
        std::thread::yield_now();
    }

    fn replace(&mut self, path: PathId) -> [Vec<Tag>; 2] {
        let path = path.index();
        let flushed = [0, 1].map(|side| {
            let host: &mut Host = &mut self.hosts[side];
            let gone = host.pairs[path];
            host.device.destroy_queue_pair(gone).expect("it was there");
            host.pairs[path] = host.pair();
            std::mem::take(&mut host.outstanding[path]).into()
        });
        self.connect(path);
        flushed
    }

    fn kill(&mut self, path: PathId) {
        if let Some(dead) = self.dead.get_mut(path.index())
            && !std::mem::replace(dead, true)
        {
            self.silence(path.index());
        }
    }

    fn revive(&mut self, path: PathId) {
        if let Some(dead) = self.dead.get_mut(path.index()) {
            *dead = false;
        }
    }

    fn local(&self, message: u64) -> Segment {
        let data = &self.hosts[Side::Sender as usize].data;
        Segment {
            address: data.address + message * ROOM,
            length: ROOM,
            key: data.local_key,
        }
    }

    fn receive(&self, number: u64) -> Segment {
        let data = &self.hosts[Side::Receiver as usize].data;
        Segment {
            address: data.address + number * ROOM,
            length: ROOM,
            key: data.remote_key,
        }
    }

    fn shared(&self, at: u64) -> Remote {
        let shared = &self.hosts[Side::Receiver as usize].shared;
        Remote {
            address: shared.address + at,
            key: shared.remote_key,
        }
    }

    fn write(&mut self, side: Side, address: u64, bytes: &[u8]) {
        let host = &self.hosts[side as usize];
        let (region, at) = host.region(address);
        host.device.write(region, at, bytes).expect("it has room");
    }

    fn read(&self, side: Side, address: u64, length: u64) -> Vec<u8> {
        let host = &self.hosts[side as usize];
        let (region, at) = host.region(address);
        let mut bytes = vec![0; length as usize];
        host.device
            .read(region, at, &mut bytes)
            .expect("it has them");
        bytes
    }
}
