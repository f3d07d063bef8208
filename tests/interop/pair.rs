//! A server and its client, each with an address of its own.

use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::setup::at;

/// Where the server's device is.
pub(crate) const SERVER: &str = "127.77.0.1";
/// Where the client's device is.
pub(crate) const CLIENT: &str = "127.77.0.2";
/// Where programs meet that exchange by TCP what they have to know of each other.
const MEETING: &str = "127.0.0.1";
/// The TCP port at which programs wait for the other end, unless they connect by addresses.
pub(crate) const PORT: u16 = 18515;
/// How long a pair may take on a machine that does other things, too.
const MOST: Duration = Duration::from_secs(120);
/// How long after its device is there a server gets until it listens, which can't be seen.
const LISTENS: Duration = Duration::from_millis(400);

/// How both have ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) server: Output,
    pub(crate) client: Output,
}

fn start(address: &str, arguments: &[&str], faults: Option<&str>) -> Child {
    let [program, rest @ ..] = arguments else {
        panic!("expected a program");
    };
    let mut command: Command = at(address, program);
    if let Some(faults) = faults {
        command.env("FAIRLANE_FAULTS", faults);
    }
    command.args(rest).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program can be started")
}

/// Waits until a process ends, and ends it if it takes too long.
pub(crate) fn finish(mut child: Child, until: Instant) -> Output {
    while child.try_wait().expect("it is a child").is_none() {
        if Instant::now() > until {
            child.kill().expect("it is a child");
            break;
        }
        sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("its output can be read")
}

/// Runs a program as a server, and as its client, which gets the server's name as last argument.
pub(crate) fn run(arguments: &[&str]) -> Ended {
    run_with(arguments, None)
}

/// The same, over a network that does this to packets.
pub(crate) fn run_with(arguments: &[&str], faults: Option<&str>) -> Ended {
    run_both(arguments, &[arguments, &[MEETING]].concat(), faults)
}

/// Runs a server, and its client, over a network that perhaps does something to packets.
pub(crate) fn run_both(server: &[&str], client: &[&str], faults: Option<&str>) -> Ended {
    run_at([(SERVER, server), (CLIENT, client)], faults)
}

/// The same; soon after the client's end the server is ended, if it doesn't end.
pub(crate) fn run_until_client_ends(
    server: &[&str],
    client: &[&str],
    faults: Option<&str>,
) -> Ended {
    const SOON: Duration = Duration::from_secs(2);
    run_within([(SERVER, server), (CLIENT, client)], faults, SOON)
}

/// Runs a server, and its client, each with a device at its address.
pub(crate) fn run_at(both: [(&str, &[&str]); 2], faults: Option<&str>) -> Ended {
    run_within(both, faults, MOST)
}

/// The same, where the server has so long after its client's end.
fn run_within(
    [server, client]: [(&str, &[&str]); 2],
    faults: Option<&str>,
    behind: Duration,
) -> Ended {
    let until = Instant::now() + MOST;
    let (address, arguments) = server;
    let mut server = start(address, arguments, faults);
    wait_for(&mut server, Meeting::of(arguments), address, until);
    let client = start(client.0, client.1, faults);
    let client = finish(client, until);
    let server = finish(server, until.min(Instant::now() + behind));
    Ended { server, client }
}

/// How programs find each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Meeting {
    /// At [`PORT`], where the server listens until both know of each other.
    Tcp,
    /// By addresses (librdmacm).
    Addresses,
}

impl Meeting {
    /// That of a command line.
    pub(crate) fn of(arguments: &[&str]) -> Self {
        let mut names = arguments.iter().map(|name| name.rsplit('/').next());
        let agrees = names.any(|name| name.is_some_and(|name| name.starts_with("ib")));
        match agrees && !arguments.contains(&"-R") {
            true => Self::Tcp,
            false => Self::Addresses,
        }
    }

    /// Whether a server with a device at this address can be asked, or nearly so, as its network namespace tells.
    fn is_near(self, server: u32, address: &str) -> bool {
        let has = |table: &str, is_sign: &dyn Fn(&str) -> bool| {
            let path = format!("/proc/{server}/net/{table}");
            let table = std::fs::read_to_string(path).unwrap_or_default();
            table.lines().any(is_sign)
        };
        match self {
            Self::Tcp => {
                let port = format!(":{PORT:04X} ");
                let listens = |line: &str| line.contains(&port) && line.contains(":0000 0A ");
                has("tcp", &listens) || has("tcp6", &listens)
            }
            Self::Addresses => {
                // Where the device answers `fairlane stat`.
                let name = format!("@fairlane/{address}");
                has("unix", &|line| line.ends_with(&name))
            }
        }
    }
}

/// Waits until a server with a device at this address can be asked, or has ended.
pub(crate) fn wait_for(server: &mut Child, meeting: Meeting, address: &str, until: Instant) {
    while !meeting.is_near(server.id(), address) && Instant::now() < until {
        if server.try_wait().expect("it is a child").is_some() {
            return;
        }
        sleep(Duration::from_millis(20));
    }
    if meeting == Meeting::Addresses {
        sleep(LISTENS);
    }
}

/// Says what went wrong, if something did.
pub(crate) fn complaint(arguments: &[&str], ended: &Ended) -> Option<String> {
    let all = [("server", &ended.server), ("client", &ended.client)];
    let failed = all.iter().any(|(_, output)| !output.status.success());
    failed.then(|| {
        let say = |(who, output): &(&str, &Output)| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let (out, error) = (text(&output.stdout), text(&output.stderr));
            format!("{who}: {}\n{out}{error}", output.status)
        };
        let said: Vec<String> = all.iter().map(say).collect();
        format!("{}\n{}", arguments.join(" "), said.join("\n"))
    })
}
