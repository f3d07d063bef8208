//! The parts of a packet's way: the event queue, a switch, a host with its transport.
//!
//! A message from one host to another through one switch, and through two, tell the cost of a switch
//! (the difference, for a data packet and its acknowledgement) and of all the rest: two hosts, the
//! queue pair, the controller.

use std::hint::black_box;
use std::path::Path;

use fairlane_engine::{Component, Engine, Stream, Ties};
use fairlane_fabric::{Control, Simulation};
use fairlane_units::{Duration, Time};

use crate::table::{self, row};
use crate::{Outcome, multipath, process, transport, wire};

/// Events that wait while the queue is measured.
const PENDING: [(&str, u32); 3] = [("1k", 1_000), ("100k", 100_000), ("1M", 1_000_000)];
const ALGORITHMS: [&str; 3] = ["fixed", "dcqcn", "hpcc"];
const EFFORT: Effort = Effort {
    timed: 2_000_000,
    counted: 100_000,
};
const REPETITIONS: usize = 3;

/// Measures the parts and prints a table.
pub(crate) fn table() -> Outcome<()> {
    let counted = process::counts_instructions();
    let mut rows = vec![row(["", "ns", "instructions"])];
    for (name, _) in PENDING {
        let cost = Cost::of(&format!("queue-{name}"), EFFORT, counted)?;
        rows.push(cost.row(&format!("event queue, {name} events wait: pop and push")));
    }
    for algorithm in ALGORITHMS {
        let one = Cost::of(&format!("star-{algorithm}"), EFFORT, counted)?;
        let two = Cost::of(&format!("dumbbell-{algorithm}"), EFFORT, counted)?;
        // Both ways: a switch more for the data packet and for its acknowledgement.
        let switch = two.minus(&one).over(2.0);
        let hosts = one.minus(&switch).minus(&switch);
        rows.push(switch.row(&format!("switch hop of a packet, {algorithm}")));
        rows.push(hosts.row(&format!(
            "both hosts, data packet and acknowledgement, {algorithm}"
        )));
    }
    table::print(&title("operation", counted), &rows)
}

/// The title of a table of costs.
pub(crate) fn title(what: &str, counted: bool) -> String {
    let instructions = if counted {
        "instructions by callgrind"
    } else {
        "no instructions: valgrind is not installed"
    };
    format!("Cost of one {what} (user time; {instructions})")
}

/// How many operations are measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Those timed.
    pub(crate) timed: u64,
    /// Those whose instructions are counted: callgrind is some 50 times slower.
    pub(crate) counted: u64,
}

/// What one operation costs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) ns: f64,
    instructions: Option<f64>,
}

impl Cost {
    pub(crate) fn of(name: &str, effort: Effort, counted: bool) -> Outcome<Self> {
        let Effort {
            timed,
            counted: few,
        } = effort;
        let time = |operations: u64| -> Outcome<f64> {
            let mut best = u64::MAX;
            for _ in 0..REPETITIONS {
                let numbers = process::measure(&["one", name, &operations.to_string()])?;
                best = best.min(*numbers.first().ok_or("no number")?);
            }
            Ok(best as f64 * 1e3)
        };
        let count =
            |operations: u64| process::instructions(&["one", name, &operations.to_string()]);
        let instructions = if counted {
            // What preparation executes cancels out.
            Some((count(2 * few)? as f64 - count(few)? as f64) / few as f64)
        } else {
            None
        };
        Ok(Self {
            ns: time(timed)? / timed as f64,
            instructions,
        })
    }

    fn map(self, other: &Self, combine: impl Fn(f64, f64) -> f64) -> Self {
        let both = self.instructions.zip(other.instructions);
        Self {
            ns: combine(self.ns, other.ns),
            instructions: both.map(|(a, b)| combine(a, b)),
        }
    }

    fn minus(&self, other: &Self) -> Self {
        self.map(other, |a, b| a - b)
    }

    fn over(&self, parts: f64) -> Self {
        self.map(self, |a, _| a / parts)
    }

    pub(crate) fn row(&self, name: &str) -> Vec<String> {
        let count = self
            .instructions
            .map_or_else(|| "-".into(), |count| format!("{count:.0}"));
        vec![name.to_owned(), format!("{:.1}", self.ns), count]
    }
}

/// Runs one part and prints its user time in microseconds.
pub(crate) fn one(name: &str, operations: &str) -> Outcome<()> {
    let operations: u64 = operations.parse()?;
    let (kind, which) = name.split_once('-').ok_or("expected KIND-WHICH")?;
    let spent = match kind {
        "queue" => {
            let (_, pending) = PENDING
                .into_iter()
                .find(|(known, _)| *known == which)
                .ok_or("unknown queue")?;
            hold(pending, operations)?
        }
        "wire" => wire::run(which, operations)?,
        "multipath" => multipath::run(which, operations)?,
        "transport" => transport::run(which, operations)?,
        "star" => message("kind = \"star\"\nhosts = 2", which, operations)?,
        "dumbbell" => {
            let core = "core_link = { rate = \"100Gbps\", delay = \"1us\" }";
            message(
                &format!("kind = \"dumbbell\"\nleft = 1\nright = 1\n{core}"),
                which,
                operations,
            )?
        }
        _ => return Err(format!("unknown benchmark {name}").into()),
    };
    table::numbers(&[spent])
}

/// The hold model: the earliest event is taken and comes back later, seven in eight times soon.
fn hold(pending: u32, operations: u64) -> Outcome<u64> {
    let span = Duration::from_us(8);
    let mut engine = Engine::new(Ties::Rank, span);
    let mut stream = Stream::new(1, 0);
    let mut delay = move || {
        let soon = stream.below(8) < 7;
        Duration::from_ps(stream.below(if soon {
            span.as_ps()
        } else {
            64 * span.as_ps()
        }))
    };
    for number in 0..pending {
        let key = engine.reserve(u64::from(number), Component::new(number));
        engine.schedule(Time::ZERO + delay(), key);
    }
    let before = process::user_us()?;
    for _ in 0..operations {
        let event = engine.next_event().ok_or("the queue has run empty")?;
        engine.schedule(event.time + delay(), event.key);
    }
    black_box(&engine);
    Ok(process::user_us()? - before)
}

/// One message of as many packets as operations.
fn message(topology: &str, algorithm: &str, packets: u64) -> Outcome<u64> {
    let text = format!(
        "[congestion]\nalgorithm = \"{algorithm}\"\n[topology]\n{topology}\n\
         host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
         [[workload]]\nkind = \"flows\"\n\
         flow = [{{ source = 0, destination = 1, size = {} }}]\n",
        packets * 1024
    );
    let loaded = fairlane_scenario::parse(&text, "benchmark", Path::new("."), &[], None)?;
    let simulation = Simulation::new(&loaded)?;
    let before = process::user_us()?;
    let results = simulation.run(&mut |_| Control::Continue);
    let spent = process::user_us()? - before;
    if results.totals.data_packets != packets {
        return Err(format!(
            "{} packets instead of {packets}",
            results.totals.data_packets
        )
        .into());
    }
    Ok(spent)
}
