//! How fast a device is on this machine, beside plain UDP sockets in the same run.
//!
//! `cargo run --release -p fairlane-softnic --example speed` measures; every figure is the median of several runs. Two
//! devices of one process talk over the loopback interface, one thread each; with `--veth`, which takes root, over a pair of
//! veth between two network namespaces. A name measures only lines that contain it.

use std::error::Error;
use std::time::{Duration, Instant};

use fairlane_softnic::{
    Completion, CompletionQueue, Connection, Device, Domain, Faults, Modify, PacketFaults,
    QpNumber, QueuePairOptions, ReceiveRequest, Region, Rights, SendRequest, Sending, Settings,
    Sge, Status, Target,
};

mod place;
mod raw;

use place::Place;

type Outcome<T> = Result<T, Box<dyn Error>>;

struct End {
    device: Device,
    domain: Domain,
    queue: CompletionQueue,
}

impl End {
    fn open(place: &Place, end: usize) -> Outcome<Self> {
        let device = place.within(end, |address| Ok(Device::open(Settings::new(address))?))?;
        let (domain, queue) = (
            device.allocate_domain()?,
            device.create_completion_queue(8192)?,
        );
        Ok(Self {
            device,
            domain,
            queue,
        })
    }

    fn memory(&self, length: usize) -> Outcome<Region> {
        Ok(self.device.allocate(self.domain, length, Rights::ALL)?)
    }

    fn connect(&self, pair: QpNumber, to: (&Self, QpNumber), selective: u32) -> Outcome<()> {
        let connection = Connection {
            selective,
            ..Connection::new(to.0.device.address(), to.1)
        };
        self.device.modify(pair, &Modify::Init(Rights::ALL))?;
        self.device
            .modify(pair, &Modify::ReadyToReceive(connection))?;
        self.device
            .modify(pair, &Modify::ReadyToSend(Sending::default()))?;
        Ok(())
    }

    /// Sleeps until there are completions.
    fn wait(&self, polled: &mut Vec<Completion>) -> Outcome<u64> {
        let first = self.device.wait(self.queue, Duration::from_secs(60))?;
        polled.clear();
        polled.extend(first);
        self.device.take(self.queue, 256, polled)?;
        check(polled)?;
        Ok(polled.len() as u64)
    }

    /// Polls until there are completions.
    fn poll(&self, polled: &mut Vec<Completion>) -> Outcome<()> {
        polled.clear();
        while self.device.poll(self.queue, 64, polled)? == 0 {
            std::hint::spin_loop();
        }
        check(polled)
    }
}

/// An error if something has failed.
fn check(polled: &[Completion]) -> Outcome<()> {
    let mut failed = polled.iter().filter(|one| one.status != Status::Success);
    match failed.next() {
        Some(one) => Err(format!("{:?}", one.status).into()),
        None => Ok(()),
    }
}

fn connected(a: &End, b: &End, selective: u32) -> Outcome<(QpNumber, QpNumber)> {
    let new = |end: &End| {
        let options = QueuePairOptions::new(end.domain, end.queue);
        end.device.create_queue_pair(&options)
    };
    let (own, other) = (new(a)?, new(b)?);
    a.connect(own, (b, other), selective)?;
    b.connect(other, (a, own), selective)?;
    Ok((own, other))
}

/// Gbit/s, by the clock and by the second of processor time of both ends.
struct Speed {
    wall: f64,
    core: f64,
}

fn measure(bytes: f64, act: impl FnOnce() -> Outcome<()>) -> Outcome<Speed> {
    let (before, start) = (raw::processor()?, Instant::now());
    act()?;
    let wall = start.elapsed().as_secs_f64();
    let core = raw::processor()? - before;
    let gigabits = bytes * 8.0 / 1e9;
    Ok(Speed {
        wall: gigabits / wall,
        core: gigabits / core,
    })
}

/// WRITEs of `size` bytes, `total` together, over so many queue pairs with 64 requests under way.
#[derive(Clone, Copy)]
struct Writes {
    size: u32,
    total: u64,
    pairs: usize,
    /// Packets that may be kept out of order.
    selective: u32,
    /// The part of packets that is lost, each way.
    loss: f64,
}

fn writes(place: &Place, writes: Writes) -> Outcome<Speed> {
    let Writes {
        size, total, pairs, ..
    } = writes;
    let (a, b) = (End::open(place, 0)?, End::open(place, 1)?);
    if writes.loss > 0.0 {
        for (seed, end) in [(1, &a), (2, &b)] {
            let packets = PacketFaults {
                loss: writes.loss,
                ..PacketFaults::default()
            };
            end.device
                .set_faults(Some(Faults::of_packets(seed, packets)));
        }
    }
    let numbers = (0..pairs).map(|_| Ok(connected(&a, &b, writes.selective)?.0));
    let numbers: Outcome<Vec<QpNumber>> = numbers.collect();
    let numbers = numbers?;
    let (from, to) = (a.memory(size as usize)?, b.memory(size as usize)?);
    let target = Target {
        address: to.address,
        key: to.remote_key,
    };
    let count = total / u64::from(size);
    let under_way = 64.max(pairs as u64);
    measure((count * u64::from(size)) as f64, || {
        let (mut posted, mut ended, mut polled) = (0, 0, Vec::new());
        while ended < count {
            while posted < count && posted - ended < under_way {
                let pair = numbers[posted as usize % pairs];
                let piece = Sge::of(&from, 0, size);
                a.device
                    .post_send(pair, SendRequest::write(posted, vec![piece], target))?;
                posted += 1;
            }
            ended += a.wait(&mut polled)?;
        }
        Ok(())
    })
}

/// Half round trips of SENDs of two bytes between two polling threads, in microseconds, sorted.
fn latencies(place: &Place, count: usize) -> Outcome<Vec<f64>> {
    let (a, b) = (End::open(place, 0)?, End::open(place, 1)?);
    let (own, other) = connected(&a, &b, 0)?;
    let send = |end: &End, pair, memory: &Region| {
        let mut request = SendRequest::send(0, vec![Sge::of(memory, 0, 2)]);
        request.signaled = false;
        end.device.post_send(pair, request)
    };
    let receive = |end: &End, pair, memory: &Region| {
        let pieces = vec![Sge::of(memory, 0, 2)];
        end.device
            .post_receive(pair, ReceiveRequest { id: 1, pieces })
    };
    let mut halves = Vec::with_capacity(count);
    std::thread::scope(|scope| {
        let echo = scope.spawn(|| -> Result<(), String> {
            let memory = b.memory(8).map_err(|error| error.to_string())?;
            let mut polled = Vec::new();
            let text = |error: fairlane_softnic::Error| error.to_string();
            receive(&b, other, &memory).map_err(text)?;
            for _ in 0..count {
                b.poll(&mut polled).map_err(|error| error.to_string())?;
                receive(&b, other, &memory).map_err(text)?;
                send(&b, other, &memory).map_err(text)?;
            }
            Ok(())
        });
        let memory = a.memory(8)?;
        let mut polled = Vec::new();
        // The other end posts its first receive meanwhile.
        std::thread::sleep(Duration::from_millis(20));
        for _ in 0..count {
            receive(&a, own, &memory)?;
            let start = Instant::now();
            send(&a, own, &memory)?;
            a.poll(&mut polled)?;
            halves.push(start.elapsed().as_secs_f64() * 1e6 / 2.0);
        }
        echo.join().map_err(|_| "the echo has panicked")??;
        Outcome::Ok(())
    })?;
    halves.sort_by(f64::total_cmp);
    Ok(halves)
}

fn median(mut speeds: Vec<Speed>) -> Speed {
    speeds.sort_by(|one, other| one.core.total_cmp(&other.core));
    speeds.swap_remove(speeds.len() / 2)
}

/// A line of the table, and what it measures.
type Line<'a> = (&'static str, Box<dyn Fn() -> Outcome<Speed> + 'a>);

/// What is measured: first what the others are compared with.
fn lines(place: &Place) -> Vec<Line<'_>> {
    const TOTAL: u64 = 1 << 30;
    let usual = Writes {
        size: 1 << 20,
        total: TOTAL,
        pairs: 1,
        selective: 0,
        loss: 0.0,
    };
    let small = Writes {
        size: 1 << 16,
        ..usual
    };
    let many = Writes {
        pairs: 100,
        ..usual
    };
    let lossy = Writes {
        loss: 0.01,
        total: TOTAL / 4,
        ..usual
    };
    let selective = Writes {
        selective: 1024,
        ..lossy
    };
    vec![
        (
            "UDP, GSO and GRO, 4112 B",
            Box::new(|| raw::udp(place, TOTAL)),
        ),
        (
            "TCP, calls of 1 MiB",
            Box::new(|| raw::tcp(place, TOTAL, 1 << 20)),
        ),
        ("WRITE 64 KiB", Box::new(move || writes(place, small))),
        ("WRITE 1 MiB", Box::new(move || writes(place, usual))),
        (
            "WRITE 1 MiB, 100 queue pairs",
            Box::new(move || writes(place, many)),
        ),
        (
            "WRITE 1 MiB, 1 % loss, go-back-N",
            Box::new(move || writes(place, lossy)),
        ),
        (
            "WRITE 1 MiB, 1 % loss, selective repeat",
            Box::new(move || writes(place, selective)),
        ),
    ]
}

#[expect(clippy::print_stdout, reason = "it is what the program is for")]
fn main() -> Outcome<()> {
    const RUNS: usize = 5;
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let veth = arguments.first().is_some_and(|first| first == "--veth");
    let place = match veth {
        true => Place::veth()?,
        false => Place::loopback(),
    };
    let wanted = match arguments.len() > usize::from(veth) {
        true => arguments.swap_remove(usize::from(veth)),
        false => String::new(),
    };
    let load = std::fs::read_to_string("/proc/loadavg")?;
    println!("load average before: {}", load.trim());
    let mut measured: Vec<(Line<'_>, Vec<Speed>)> = lines(&place)
        .into_iter()
        .filter(|(name, _)| name.contains(&wanted))
        .map(|line| (line, Vec::new()))
        .collect();
    // What is compared is measured in turns, as machines have moods.
    for _ in 0..RUNS {
        for ((_, act), speeds) in &mut measured {
            speeds.push(act()?);
        }
    }
    println!("{:<42}Gbit/s  per core-second  of the first", "");
    let mut first = None;
    for ((name, _), speeds) in measured {
        let speed = median(speeds);
        let part = speed.core / *first.get_or_insert(speed.core);
        println!(
            "{name:<42}{:6.1}  {:15.1}  {part:12.2}",
            speed.wall, speed.core
        );
    }
    match "SEND".contains(&wanted) {
        true => report_latencies(&place),
        false => Ok(()),
    }
}

#[expect(clippy::print_stdout, reason = "it is what the program is for")]
fn report_latencies(place: &Place) -> Outcome<()> {
    let halves = latencies(place, 20_000)?;
    let at = |part: f64| halves[(part * (halves.len() - 1) as f64) as usize];
    println!(
        "SEND 2 B, half round trip, polled: {:.1} us least, {:.1} us median, {:.1} us at 99 %",
        at(0.0),
        at(0.5),
        at(0.99)
    );
    Ok(())
}
