//! A device without sockets, to which any bytes may come.

use std::net::{Ipv4Addr, SocketAddrV4};

use fairlane_transport::Service;
use fairlane_units::{Bytes, Duration, Psn, QpNumber, Time};
use fairlane_wire::Udp;

use crate::batch::Batches;
use crate::engine::{Engine, Incoming};
use crate::icrc::IcrcMode;
use crate::keys::{Domain, Region};
use crate::memory::Span;
use crate::queue_pair::{Connection, Modify, QueuePairOptions, Sending};
use crate::rights::Rights;
use crate::settings::Settings;
use crate::work::{ReceiveRequest, SendRequest, Sge, Target};

const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const PORTS: [u16; 1] = [0xc000];
/// Where its region begins that is open to the peer, as that names it.
const OPEN: u64 = 0x1000;
/// Bytes of each region.
const LENGTH: usize = 4096;

/// A device with a queue pair of each service, which take whatever their peer sends: a region that is open, with key 1 at
/// address 0x1000, and one that is closed.
#[derive(Debug)]
pub struct Sandbox {
    engine: Engine,
    batches: Batches,
    now: Time,
    closed: Region,
}

impl Sandbox {
    /// The device before anything has come. Its reliable connection has a WRITE and a READ under way.
    ///
    /// # Panics
    /// If a device can't be set up, which is its own fault.
    pub fn new() -> Self {
        let mut settings = Settings::new(ADDRESS);
        settings.icrc = IcrcMode::Ignore;
        let mut engine = Engine::new(&settings, Bytes::new(1 << 16));
        let domain = engine.keys.allocate_domain();
        let mut region = |rights, name| {
            let registered = (engine.keys).register((domain, rights), name, Span::zeroed(LENGTH));
            registered.expect("there is room")
        };
        let open = region(Rights::ALL, OPEN);
        let closed = region(Rights::NONE, OPEN * 2);
        let mut sandbox = Self {
            engine,
            batches: Batches::new(ADDRESS, true),
            now: Time::from_ns(1),
            closed,
        };
        let services = [
            Service::ReliableConnection,
            Service::UnreliableConnection,
            Service::UnreliableDatagram,
        ];
        let [reliable, ..] = services.map(|service| sandbox.pair(domain, service, &open));
        let target = Target {
            address: OPEN,
            key: 1,
        };
        let piece = Sge::of(&open, 0, 4096);
        for request in [
            SendRequest::write(1, vec![piece], target),
            SendRequest::read(2, vec![piece], target),
        ] {
            let posted = sandbox.engine.post_send(reliable, &request, sandbox.now);
            posted.expect("it may be posted");
        }
        sandbox.transmit();
        sandbox
    }

    /// A queue pair that is ready, with receives.
    fn pair(&mut self, domain: Domain, service: Service, open: &Region) -> QpNumber {
        let (engine, now) = (&mut self.engine, self.now);
        let queue = engine.create_completions(64).expect("there is room");
        let mut options = QueuePairOptions::new(domain, queue);
        options.service = service;
        let pair = engine.create_pair(&options, PORTS.len());
        let pair = pair.expect("there is room");
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
            let posted = engine.post_receive(pair, ReceiveRequest { id, pieces });
            posted.expect("there is room");
        }
        pair
    }

    /// Takes what a datagram of the peer carries, and sends what is due.
    pub fn take(&mut self, bytes: &[u8]) {
        let incoming = Incoming {
            source: SocketAddrV4::new(PEER, Udp::ROCE_PORT),
            bytes,
            marked: bytes.len() % 2 == 1,
        };
        self.engine.on_packet(self.now, &incoming, &mut 0);
        self.now = self.now.saturating_add(Duration::from_us(100));
        self.engine.on_deadline(self.now);
        self.transmit();
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
        let mut bytes = [1; LENGTH];
        let span = self.engine.keys.span(self.closed.local_key);
        let read = span.is_ok_and(|span| span.read(0, &mut bytes));
        read && bytes.iter().all(|byte| *byte == 0)
    }
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}
