//! Programs between the software NIC and the kernel's Soft-RoCE.

use std::fmt;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use super::capture::{Capture, length};
use super::counters::Counters;
use super::machine::{Machine, OURS, THEIRS, ended};
use crate::pair::{Meeting, PORT, finish, wait_for};

/// How long a pair may take.
const MOST: Duration = Duration::from_secs(120);
/// What perftest says if the guest's clock was too uneven for its measurement, after everything has been sent.
const UNEVEN: &str = "Correlation coefficient";

/// Who is the client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Client {
    /// The software NIC.
    Ours,
    /// The kernel's.
    Theirs,
}

/// Command lines of a server and its client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Program {
    server: &'static str,
    /// `None` if the client has the arguments of the server, and its address.
    client: Option<&'static str>,
}

impl Program {
    /// One whose client has the arguments of the server, and its address.
    pub(super) const fn both(server: &'static str) -> Self {
        Self {
            server,
            client: None,
        }
    }

    /// Those of the two; `SERVER` stands for the server's address.
    pub(super) const fn pair(server: &'static str, client: &'static str) -> Self {
        Self {
            server,
            client: Some(client),
        }
    }

    fn has(&self, word: &str) -> bool {
        self.server.split(' ').any(|one| one == word)
    }

    fn meeting(&self) -> Meeting {
        Meeting::of(&self.server.split(' ').collect::<Vec<_>>())
    }

    /// perftest that connects by addresses.
    fn connects_twice(&self) -> bool {
        self.server.starts_with("ib_") && self.has("-R")
    }

    /// Whether both ends have one queue pair, so that packets of runs can be told apart, and no settings that rxe hasn't.
    pub(super) fn is_comparable(&self) -> bool {
        let several = [
            "-q 4",
            "-R",
            " -a -n",
            "srq_pingpong",
            "-c 8",
            "rdma_server",
        ];
        let set = self.has("env");
        !set && !several.iter().any(|words| self.server.contains(words))
    }

    /// The command lines of both.
    fn lines(&self, address: &str) -> [String; 2] {
        let client = match self.client {
            Some(client) => client.to_owned(),
            None => format!("{} SERVER", self.server),
        };
        [self.server, &client].map(|line| line.replace("SERVER", address))
    }
}

/// How a program has ended, and what has been seen of it.
#[derive(Debug)]
pub(super) struct Run {
    name: String,
    statuses: [Option<i32>; 2],
    said: [String; 2],
    pub(super) capture: Capture,
    /// What Soft-RoCE has counted.
    pub(super) counted: Counters,
    took: Duration,
}

impl fmt::Display for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sent = self.capture.sent_by(OURS);
        let (counted, seconds) = (&self.counted, self.took.as_secs_f64());
        write!(
            formatter,
            "{}: {:?} in {seconds:.1} s, {sent} packets sent to rxe, {} by it; {counted}",
            self.name,
            self.statuses,
            self.capture.sent_by(THEIRS)
        )
    }
}

impl Run {
    /// Says what went wrong, if something did.
    pub(super) fn complaint(&self) -> Option<String> {
        let mut wrong = Vec::new();
        if self.statuses != [Some(0); 2] {
            let [here, there] = &self.said;
            wrong.push(format!("ours: {here}\nrxe: {there}"));
        }
        // It counts a packet when its ICRC was right and its queue pair is there, which may have gone when the last ones come.
        let sent = self.capture.sent_by(OURS) as u64;
        let late = self.capture.last_acknowledgements(OURS) as u64;
        let received = self.counted.of("rcvd_pkts");
        if !(sent - late..=sent).contains(&received) {
            wrong.push(format!("{sent} packets sent, {received} accepted"));
        }
        (!wrong.is_empty()).then(|| format!("{self}\n{}", wrong.join("\n")))
    }
}

/// Runs a program, and again if it couldn't measure.
pub(super) fn run(machine: &Machine, program: &Program, client: Client) -> Run {
    let mut run = run_once(machine, program, client);
    for _ in 0..3 {
        if run.said.iter().any(|said| said.contains(UNEVEN)) {
            run = run_once(machine, program, client);
        }
    }
    run
}

fn run_once(machine: &Machine, program: &Program, client: Client) -> Run {
    let capture = machine.capture();
    let start = length(&capture);
    let before = Counters::read(machine);
    let began = Instant::now();
    let outputs = pair(machine, program, client);
    let took = began.elapsed();
    let (there_status, there) = ended(&outputs[1]);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let here = [&outputs[0].stdout[..], &outputs[0].stderr].concat();
    let counted = Counters::read(machine).since(&before);
    Run {
        name: format!("{client:?} {}", program.server),
        statuses: [outputs[0].status.code(), there_status],
        said: [text(&here), there],
        capture: Capture::since(&capture, start),
        counted,
        took,
    }
}

/// Runs both ends; the one that is here comes first.
fn pair(machine: &Machine, program: &Program, client: Client) -> [Output; 2] {
    let until = Instant::now() + MOST;
    let here = |line: &str| {
        let arguments: Vec<&str> = line.split(' ').collect();
        let mut command = machine.here(&arguments);
        if program.connects_twice() && client == Client::Ours {
            command.env("LD_PRELOAD", machine.file("../later.so"));
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("nsenter has been found")
    };
    let there = |line: &str| machine.start_there(line, MOST);
    match client {
        Client::Ours => {
            let [server, client] = program.lines(THEIRS);
            let server = there(&server);
            machine.wait_until_there(&match program.meeting() {
                Meeting::Tcp => format!("grep -q ':{PORT:04X} [0-9A-F]*:0000 0A' /proc/net/tcp*"),
                Meeting::Addresses => "rdma resource show cm_id | grep -q LISTEN".to_owned(),
            });
            let client = here(&client);
            [client, server].map(|child| finish(child, until))
        }
        Client::Theirs => {
            let [server, client] = program.lines(OURS);
            let mut server = here(&server);
            wait_for(&mut server, program.meeting(), OURS, until);
            let client = there(&client);
            [server, client].map(|child| finish(child, until))
        }
    }
}
