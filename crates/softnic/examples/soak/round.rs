//! One round: connections, memory, windows and queues that are made, used and destroyed.

use std::time::Duration;

use fairlane_softnic::{
    Binding, Completion, CompletionQueue, Connection, Device, Domain, Error, Modify, Operation,
    QpNumber, QueuePairOptions, ReceiveRequest, Region, Rights, SendRequest, Sending, Settings,
    Sge, Status, Target, Window, WindowType,
};

/// Connections of a round.
const CONNECTIONS: u64 = 8;

/// Bytes of memory of this process that are resident.
pub(crate) fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0) * 1024
}

struct End {
    device: Device,
    domain: Domain,
    queue: CompletionQueue,
}

impl End {
    fn open(address: [u8; 4]) -> Result<Self, Error> {
        let device = Device::open(Settings::new(address.into()))?;
        let (domain, queue) = (
            device.allocate_domain()?,
            device.create_completion_queue(4096)?,
        );
        Ok(Self {
            device,
            domain,
            queue,
        })
    }

    fn connect(&self, pair: QpNumber, to: (&Self, QpNumber)) -> Result<(), Error> {
        let connection = Connection::new(to.0.device.address(), to.1);
        self.device.modify(pair, &Modify::Init(Rights::ALL))?;
        self.device
            .modify(pair, &Modify::ReadyToReceive(connection))?;
        self.device
            .modify(pair, &Modify::ReadyToSend(Sending::default()))
    }

    fn memory(&self, length: usize) -> Result<Region, Error> {
        self.device.allocate(self.domain, length, Rights::ALL)
    }

    fn wait(&self) -> Result<Completion, Error> {
        let ended = self.device.wait(self.queue, Duration::from_secs(60))?;
        let ended = ended.ok_or(Error::Unknown("completion"))?;
        assert_eq!(ended.status, Status::Success, "{ended:?}");
        Ok(ended)
    }
}

/// Two devices.
pub(crate) struct Soak {
    ends: [End; 2],
}

impl Soak {
    pub(crate) fn new(addresses: [[u8; 4]; 2]) -> Result<Self, Error> {
        let [a, b] = addresses;
        Ok(Self {
            ends: [End::open(a)?, End::open(b)?],
        })
    }

    /// What the devices have.
    pub(crate) fn live(&self) -> [[usize; 7]; 2] {
        self.ends.each_ref().map(|end| end.device.live())
    }

    /// Makes, uses and destroys; the number says what with.
    pub(crate) fn round(&self, number: u64) -> Result<(), Error> {
        let [a, b] = &self.ends;
        let length = 1 + (number.wrapping_mul(0x9e37_79b9) % 100_000) as usize;
        let mut pairs = Vec::new();
        for _ in 0..CONNECTIONS {
            let mine = a
                .device
                .create_queue_pair(&QueuePairOptions::new(a.domain, a.queue))?;
            let its = b
                .device
                .create_queue_pair(&QueuePairOptions::new(b.domain, b.queue))?;
            a.connect(mine, (b, its))?;
            b.connect(its, (a, mine))?;
            pairs.push((mine, its));
        }
        let regions = [a.memory(length)?, b.memory(length)?, a.memory(length)?];
        let bytes: Vec<u8> = (0..length)
            .map(|at| (at as u64 * 31 + number) as u8)
            .collect();
        a.device.write(&regions[0], 0, &bytes)?;
        for &(mine, its) in &pairs {
            self.exchange(&regions, (mine, its))?;
        }
        self.break_off(&regions)?;
        let mut back = vec![0; length];
        a.device.read(&regions[2], 0, &mut back)?;
        assert!(back == bytes, "what was written is what is read");
        for (mine, its) in pairs {
            a.device.destroy_queue_pair(mine)?;
            b.device.destroy_queue_pair(its)?;
        }
        a.device.deregister(&regions[0])?;
        a.device.deregister(&regions[2])?;
        b.device.deregister(&regions[1])
    }

    /// A WRITE, a READ by a window, and a SEND that closes the window.
    fn exchange(&self, regions: &[Region; 3], pair: (QpNumber, QpNumber)) -> Result<(), Error> {
        let ([a, b], [from, to, back]) = (&self.ends, regions);
        let (mine, its) = pair;
        let length = from.length as u32;
        let target = Target {
            address: to.address,
            key: to.remote_key,
        };
        let window = b.device.allocate_window(b.domain, WindowType::Two)?;
        let binding = Binding {
            key: Window::next_key(window.key),
            region: to.local_key,
            address: to.address,
            length: to.length,
            rights: Rights::REMOTE_READ,
            zero_based: true,
        };
        b.device.post_send(
            its,
            SendRequest::new(1, Operation::Bind(binding), Vec::new()),
        )?;
        b.wait()?;
        let empty = ReceiveRequest {
            id: 2,
            pieces: Vec::new(),
        };
        b.device.post_receive(its, empty)?;
        let window_target = Target {
            address: 0,
            key: binding.key,
        };
        let invalidate = Operation::SendInvalidate(binding.key);
        for request in [
            SendRequest::write(1, vec![Sge::of(from, 0, length)], target),
            SendRequest::read(2, vec![Sge::of(back, 0, length)], window_target),
            SendRequest::new(3, invalidate, Vec::new()),
        ] {
            a.device.post_send(mine, request)?;
            a.wait()?;
        }
        b.wait()?;
        b.device.free_window(window.key)
    }

    /// A SEND to a shared queue, of which a queue pair goes in the middle.
    fn break_off(&self, [from, to, _]: &[Region; 3]) -> Result<(), Error> {
        let [a, b] = &self.ends;
        let shared = b.device.create_shared_queue(b.domain, 1, 16)?;
        let mut options = QueuePairOptions::new(b.domain, b.queue);
        options.shared = Some(shared);
        let mine = a
            .device
            .create_queue_pair(&QueuePairOptions::new(a.domain, a.queue))?;
        let its = b.device.create_queue_pair(&options)?;
        a.connect(mine, (b, its))?;
        b.connect(its, (a, mine))?;
        let pieces = |region: &Region| vec![Sge::of(region, 0, region.length as u32); 16];
        let receive = ReceiveRequest {
            id: 1,
            pieces: pieces(to),
        };
        b.device.post_shared(shared, receive)?;
        a.device
            .post_send(mine, SendRequest::send(2, pieces(from)))?;
        let first = Sending::default().first;
        while b.device.query(its)?.expects == first {
            std::thread::yield_now();
        }
        b.device.destroy_queue_pair(its)?;
        a.device.destroy_queue_pair(mine)?;
        b.device.destroy_shared_queue(shared)
    }
}
