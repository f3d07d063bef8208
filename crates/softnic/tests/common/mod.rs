//! Devices on addresses of the loopback interface, and queue pairs between them.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test uses some of it, and a failed helper fails its test"
)]

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use fairlane_softnic::{
    Completion, CompletionQueue, Connection, Device, Domain, Modify, Psn, QpNumber,
    QueuePairOptions, ReceiveRequest, Region, Rights, SendRequest, Sending, Settings, Sge, Target,
};

/// Longer than anything takes.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// An address that no other test of the process has; processes differ in the second byte.
pub(crate) fn address() -> IpAddr {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let process = std::process::id();
    let [high, low] = [(process >> 8) as u8, process as u8];
    let own = NEXT.fetch_add(1, Ordering::Relaxed);
    Ipv4Addr::new(127, 64 | high & 0x3f, low, own).into()
}

/// Sets a flag when it goes, so that a thread that looks at it ends however the test does.
pub(crate) struct Set<'a>(pub(crate) &'a AtomicBool);

impl Drop for Set<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A device with a domain and a completion queue.
pub(crate) struct End {
    pub(crate) device: Device,
    pub(crate) domain: Domain,
    pub(crate) queue: CompletionQueue,
}

pub(crate) fn end_with(change: impl FnOnce(&mut Settings)) -> End {
    end_at(address(), change)
}

pub(crate) fn end_at(address: IpAddr, change: impl FnOnce(&mut Settings)) -> End {
    let mut settings = Settings::new(address);
    change(&mut settings);
    let device = Device::open(settings).unwrap();
    let domain = device.allocate_domain().unwrap();
    let queue = device.create_completion_queue(4096).unwrap();
    End {
        device,
        domain,
        queue,
    }
}

pub(crate) fn end() -> End {
    end_with(|_| {})
}

impl End {
    pub(crate) fn options(&self) -> QueuePairOptions {
        QueuePairOptions::new(self.domain, self.queue)
    }

    pub(crate) fn pair(&self) -> QpNumber {
        self.device.create_queue_pair(&self.options()).unwrap()
    }

    pub(crate) fn connect(&self, pair: QpNumber, to: &Connection, sending: &Sending) {
        let all = [
            Modify::Init(Rights::ALL),
            Modify::ReadyToReceive(*to),
            Modify::ReadyToSend(*sending),
        ];
        for modify in &all {
            self.device.modify(pair, modify).unwrap();
        }
    }

    pub(crate) fn memory(&self, length: usize) -> Region {
        self.device
            .allocate(self.domain, length, Rights::ALL)
            .unwrap()
    }

    pub(crate) fn fill(&self, region: &Region, seed: u64) -> Vec<u8> {
        let bytes = pattern(region.length as usize, seed);
        self.device.write(region, 0, &bytes).unwrap();
        bytes
    }

    pub(crate) fn bytes(&self, region: &Region) -> Vec<u8> {
        let mut bytes = vec![0; region.length as usize];
        self.device.read(region, 0, &mut bytes).unwrap();
        bytes
    }

    pub(crate) fn post(&self, pair: QpNumber, request: &SendRequest) {
        self.device.post_send(pair, request.clone()).unwrap();
    }

    pub(crate) fn receive(&self, pair: QpNumber, id: u64, region: &Region) {
        let pieces = vec![whole(region)];
        self.device
            .post_receive(pair, ReceiveRequest { id, pieces })
            .unwrap();
    }

    pub(crate) fn wait(&self) -> Completion {
        let completion = self.device.wait(self.queue, LONG).unwrap();
        completion.expect("it completes")
    }
}

/// Ways in which the tests' connections differ from the usual.
#[derive(Clone, Copy, Default)]
pub(crate) struct Way {
    pub(crate) selective: u32,
    pub(crate) mtu: Option<u16>,
    pub(crate) sending: Sending,
}

/// A connection between two devices.
pub(crate) fn connected(a: &End, b: &End, way: Way) -> (QpNumber, QpNumber) {
    let pairs = (a.pair(), b.pair());
    join((a, pairs.0), (b, pairs.1), way);
    pairs
}

/// Connects two queue pairs.
pub(crate) fn join((a, at_a): (&End, QpNumber), (b, at_b): (&End, QpNumber), way: Way) {
    let firsts = [Psn::new(0xff_fff0), Psn::new(77)];
    for (end, own, other, to, [mine, theirs]) in [
        (a, at_a, at_b, b, firsts),
        (b, at_b, at_a, a, [firsts[1], firsts[0]]),
    ] {
        let mut connection = Connection::new(to.device.address(), other);
        (connection.first, connection.selective) = (theirs, way.selective);
        connection.mtu = way.mtu.unwrap_or(connection.mtu);
        let sending = Sending {
            first: mine,
            ..way.sending
        };
        end.connect(own, &connection, &sending);
    }
}

pub(crate) const fn whole(region: &Region) -> Sge {
    Sge::of(region, 0, region.length as u32)
}

pub(crate) const fn target(region: &Region) -> Target {
    Target {
        address: region.address,
        key: region.remote_key,
    }
}

/// Bytes that tell where they belong.
pub(crate) fn pattern(length: usize, seed: u64) -> Vec<u8> {
    let word = |at: u64| {
        (at ^ seed << 32)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .to_le_bytes()
    };
    let words = (0..length.div_ceil(8) as u64).flat_map(word);
    words.take(length).collect()
}
