//! A device without sockets, to which any bytes may come.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use fairlane_transport::Service;
use fairlane_units::{Bytes, Duration, Psn, QpNumber, Time};
use fairlane_wire::Udp;

use crate::batch::Batches;
use crate::engine::{Engine, Incoming, Surroundings};
use crate::icrc::IcrcMode;
use crate::keys::{Binding, Domain, Region, Window, WindowType};
use crate::memory::Span;
use crate::queue_pair::{Connection, Modify, QueuePairOptions, Sending};
use crate::rights::Rights;
use crate::settings::Settings;
use crate::work::{Operation, ReceiveRequest, SendRequest, Sge, Target};

const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const PORTS: [u16; 1] = [0xc000];
/// Where its region begins that is open to the peer, as that names it.
const OPEN: u64 = 0x1000;
/// Bytes of each region.
const LENGTH: usize = 4096;

/// The part of a region that a window opens.
const WINDOW: std::ops::Range<usize> = 1024..2048;

/// A device with queue pairs that take whatever their peer sends: one of each service (numbers 2 to 4), a reliable connection
/// with a shared queue (5) and the one for management (1). It has a region that is open, with key 1 at address 0x1000, one that is
/// closed, and one of which a window opens a part: key 0x305 from address 0x3400 on.
#[derive(Debug)]
pub struct Sandbox {
    engine: Engine,
    batches: Batches,
    now: Time,
    closed: Region,
    framed: Region,
}

impl Sandbox {
    /// The device before anything has come. Its reliable connection has a WRITE and a READ under way.
    ///
    /// # Panics
    /// If a device can't be set up, which is its own fault.
    pub fn new() -> Self {
        let mut settings = Settings::new(ADDRESS);
        settings.icrc = IcrcMode::Ignore;
        let mut engine = Engine::new(
            &settings,
            Surroundings::sockets(&settings, Bytes::new(1 << 16)),
        )
        .expect("a descriptor");
        let domain = engine.keys.allocate_domain().expect("there is room");
        let mut region = |rights, name| {
            let registered = (engine.keys).register((domain, rights), name, Span::zeroed(LENGTH));
            registered.expect("there is room")
        };
        let open = region(Rights::ALL, OPEN);
        let closed = region(Rights::NONE, OPEN * 2);
        let framed = region(Rights::LOCAL_WRITE | Rights::BIND, OPEN * 3);
        let window = engine.keys.allocate_window(domain, WindowType::One);
        let window = window.expect("there is room");
        let mut sandbox = Self {
            engine,
            batches: Batches::new(ADDRESS, true),
            now: Time::from_ns(1),
            closed,
            framed,
        };
        let services = [
            Service::ReliableConnection,
            Service::UnreliableConnection,
            Service::UnreliableDatagram,
        ];
        let options = sandbox.options(domain);
        let [reliable, ..] = services.map(|service| {
            let options = QueuePairOptions {
                service,
                ..options.clone()
            };
            let pair = sandbox.engine.create_pair(&options, PORTS.len());
            sandbox.prepare(pair.expect("there is room"), &open)
        });
        sandbox.with_shared_queue(&options, &open);
        let manager = sandbox.engine.create_management(&options, PORTS.len());
        sandbox.prepare(manager.expect("there is room"), &open);
        let binding = Binding {
            key: Window::next_key(window.key),
            region: framed.local_key,
            address: framed.address + WINDOW.start as u64,
            length: WINDOW.len() as u64,
            rights: Rights::REMOTE_READ | Rights::REMOTE_WRITE | Rights::REMOTE_ATOMIC,
            zero_based: false,
        };
        let target = Target {
            address: OPEN,
            key: 1,
        };
        let piece = Sge::of(&open, 0, 4096);
        for request in [
            SendRequest::new(0, Operation::Bind(binding), Vec::new()),
            SendRequest::write(1, vec![piece], target),
            SendRequest::read(2, vec![piece], target),
        ] {
            let posted = sandbox.engine.post_all(reliable, [request], sandbox.now);
            posted.expect("it may be posted");
        }
        sandbox.transmit();
        sandbox
    }

    /// What its queue pairs are made with.
    fn options(&mut self, domain: Domain) -> QueuePairOptions {
        let queue = self.engine.create_completions(64).expect("there is room");
        QueuePairOptions::new(domain, queue)
    }

    /// A reliable connection that takes receives from a shared queue, which soon reaches its limit.
    fn with_shared_queue(&mut self, options: &QueuePairOptions, open: &Region) {
        let engine = &mut self.engine;
        let shared = engine.create_shared(options.domain, (4, 1));
        let shared = shared.expect("there is room");
        for id in 0..2 {
            let pieces = vec![Sge::of(open, 0, 2048)];
            let posted = engine.post_shared(shared, ReceiveRequest { id, pieces });
            posted.expect("there is room");
        }
        let limited = engine.modify_shared(shared, None, Some(1));
        limited.expect("it has room for more");
        let mut options = options.clone();
        options.shared = Some(shared);
        let pair = engine.create_pair(&options, PORTS.len());
        self.prepare(pair.expect("there is room"), open);
    }

    /// Makes a queue pair ready, with receives.
    fn prepare(&mut self, pair: QpNumber, open: &Region) -> QpNumber {
        let (engine, now) = (&mut self.engine, self.now);
        let mut connection = Connection::new(PEER, QpNumber::new(2));
        (connection.mtu, connection.first) = (1024, Psn::new(0));
        for modify in [
            Modify::Init(Rights::ALL),
            Modify::ReadyToReceive(connection),
            Modify::ReadyToSend(Sending::default()),
        ] {
            engine.modify(pair, &modify, now).expect("it is in order");
        }
        for id in 0..2 {
            let pieces = vec![Sge::of(open, 0, 2048)];
            // One with a shared queue has none of its own.
            drop(engine.post_receive(pair, ReceiveRequest { id, pieces }));
        }
        pair
    }

    /// Takes what a datagram of the peer carries, and sends what is due.
    pub fn take(&mut self, bytes: &[u8]) {
        let incoming = Incoming {
            source: SocketAddr::new(PEER, Udp::ROCE_PORT),
            bytes,
            marked: bytes.len() % 2 == 1,
        };
        self.engine.on_packet(self.now, &incoming, &mut 0);
        self.now = self.now.saturating_add(Duration::from_us(100));
        self.engine.on_deadline(self.now);
        self.transmit();
    }

    /// Takes datagrams, each with its length in front in two bytes.
    pub fn take_all(&mut self, mut datagrams: &[u8]) {
        while let Some((length, behind)) = datagrams.split_first_chunk() {
            let length = usize::from(u16::from_be_bytes(*length)).min(behind.len());
            let (datagram, rest) = behind.split_at(length);
            self.take(datagram);
            datagrams = rest;
        }
    }

    fn transmit(&mut self) {
        while self.engine.transmit(self.now, &PORTS, &mut self.batches) {
            self.forget();
        }
        self.forget();
    }

    fn forget(&mut self) {
        let count = self.batches.all().len();
        self.batches.forget(count);
    }

    /// Whether nothing of what is closed has changed.
    pub fn is_untouched(&mut self) -> bool {
        let [closed, framed] = [self.closed, self.framed].map(|region| {
            let mut bytes = [1; LENGTH];
            let span = self.engine.keys.span(region.local_key);
            let read = span.is_ok_and(|span| span.read(0, &mut bytes));
            read.then_some(bytes)
        });
        let outside = |bytes: [u8; LENGTH]| {
            let all = bytes.iter().enumerate();
            all.filter(|(at, _)| !WINDOW.contains(at))
                .all(|(_, byte)| *byte == 0)
        };
        closed.is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0))
            && framed.is_some_and(outside)
    }

    /// The part that the window opens.
    pub fn window(&self) -> Vec<u8> {
        let mut bytes = vec![0; WINDOW.len()];
        let span = self.engine.keys.span(self.framed.local_key);
        if let Ok(span) = span {
            span.read(WINDOW.start, &mut bytes);
        }
        bytes
    }
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}
