//! What other processes can ask a device for: its counters, and those of its queue pairs.
//!
//! A device listens on a stream socket in the abstract namespace of Unix sockets, `fairlane/` and its [address](name). So it is
//! where the address is, in the network namespace; it needs no file, and goes away with the process. If somebody else has that
//! name, as a child that has been forked off may, `#` and the number of the process follow. Devices are found in
//! `/proc/net/unix`.
//!
//! Whoever connects sends a line, [`DEVICE`] or [`PAIRS`], and gets one document of JSON of [`VERSION`]:
//! ```json
//! {"version": 1, "device": "fairlane0", "address": "127.76.0.1", "gid": "::ffff:127.76.0.1", "pid": 77, "program": "ib_write_bw",
//!  "state": "ACTIVE", "mtu": 4096, "queue_pairs": 1, "counters": {"port_xmit_data": 1038, "sent_pkts": 6},
//!  "pairs": [{"number": 2, "service": "RC", "state": "RTS", "peer": "127.76.0.2", "peer_number": 2, "counters": {"sent_pkts": 6}}]}
//! ```
//! `pairs` is there if it was asked for; their counters are those that aren't 0. `mtu` is 0 if the interface has gone; `peer` and
//! `peer_number` are there if the queue pair has another end. Later versions add members, or have another number.
//!
//! **Who may ask:** processes of the same user, and root. **What it costs:** a thread of its own answers one after the other; it
//! takes the device's lock for the counters alone, for at most 64 queue pairs at a time. Who doesn't read, or sends nothing, is
//! left after a second.

use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::progress::Shared;
use crate::signal::{self, Signal, start_thread};

mod document;
mod user;

pub(crate) use document::Subject;

/// The version of the document.
pub const VERSION: u32 = 1;
/// What the names of all devices begin with.
pub const PREFIX: &str = "fairlane/";
/// The line that asks for the device.
pub const DEVICE: &str = "device\n";
/// The line that asks for its queue pairs, too.
pub const PAIRS: &str = "pairs\n";

/// The name of an address's socket; `interface` is the number of its interface if the address holds for a link only, else 0.
pub fn name(address: IpAddr, interface: u32) -> String {
    match interface {
        0 => format!("{PREFIX}{address}"),
        _ => format!("{PREFIX}{address}%{interface}"),
    }
}

/// How long somebody may take to ask, and to go on reading.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long an answer may take in all.
const WHOLE: Duration = Duration::from_secs(10);
/// How often it is looked whether the device closes.
const STEP: Duration = Duration::from_millis(20);
/// How long nothing is accepted if the system has no descriptor for it.
const PAUSE: Duration = Duration::from_millis(100);
/// Room of its stack, of which it needs little.
const STACK: usize = 256 << 10;

/// The thread that answers.
#[derive(Debug)]
pub(crate) struct StatServer {
    thread: JoinHandle<()>,
    stop: Arc<Signal>,
}

impl StatServer {
    /// Listens for a device, and answers. `None` if both names are taken.
    pub(crate) fn start(shared: Arc<Shared>, subject: Subject) -> Result<Option<Self>, Error> {
        let Some(listener) = listen(&subject) else {
            return Ok(None);
        };
        let stop = Arc::new(Signal::new()?);
        let told = stop.clone();
        let run = move || {
            let answering = Answering {
                shared,
                subject,
                listener,
                stop: told,
            };
            answering.run();
        };
        let builder = std::thread::Builder::new().name("softnic-stat".to_owned());
        // Signals stay away from it, SIGPIPE too, which a reader that goes away would cause.
        let thread = start_thread(builder.stack_size(STACK), run);
        let thread = thread.map_err(|error| Error::System("thread", error))?;
        Ok(Some(Self { thread, stop }))
    }

    /// Ends the thread.
    pub(crate) fn close(self) {
        self.stop.raise();
        // A thread that has panicked has said so.
        drop(self.thread.join());
    }
}

/// A listener at the first name that nobody has.
fn listen(subject: &Subject) -> Option<UnixListener> {
    let own = name(subject.address, subject.interface);
    let other = format!("{own}#{}", std::process::id());
    [own, other].iter().find_map(|name| {
        let address = SocketAddr::from_abstract_name(name).ok()?;
        let listener = UnixListener::bind_addr(&address).ok()?;
        listener.set_nonblocking(true).ok()?;
        Some(listener)
    })
}

/// What the thread has.
struct Answering {
    shared: Arc<Shared>,
    subject: Subject,
    listener: UnixListener,
    stop: Arc<Signal>,
}

impl Answering {
    fn run(&self) {
        let descriptors = [self.stop.descriptor(), self.listener.as_raw_fd()];
        while !self.stops() {
            signal::wait(descriptors, None);
            match self.listener.accept() {
                Ok((stream, _)) => {
                    // Who asked has gone, or doesn't do as it should: nobody is left to tell.
                    drop(self.answer(&stream));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => drop(signal::wait([self.stop.descriptor()], Some(PAUSE))),
            }
        }
    }

    fn stops(&self) -> bool {
        signal::wait([self.stop.descriptor()], Some(Duration::ZERO))[0]
    }

    fn answer(&self, stream: &UnixStream) -> io::Result<()> {
        if !user::may_ask(stream.as_raw_fd())? {
            return Ok(());
        }
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(STEP))?;
        stream.set_write_timeout(Some(STEP))?;
        let with_pairs = match self.question(stream)?.as_slice() {
            line if line == DEVICE.as_bytes() => false,
            line if line == PAIRS.as_bytes() => true,
            _ => return Ok(()),
        };
        let until = Instant::now() + WHOLE;
        document::write(&self.shared, &self.subject, with_pairs, |part| {
            self.write(stream, part, until)
        })
    }

    /// The line that comes, if it comes in time and isn't too long.
    fn question(&self, mut stream: &UnixStream) -> io::Result<Vec<u8>> {
        const MOST: usize = 16;
        let until = Instant::now() + PATIENCE;
        let mut line = Vec::new();
        while line.len() < MOST && !line.ends_with(b"\n") {
            let mut byte = [0];
            match stream.read(&mut byte) {
                Ok(0) => break,
                Ok(_) => line.extend(byte),
                Err(error) => self.go_on(error, until)?,
            }
        }
        Ok(line)
    }

    fn write(&self, mut stream: &UnixStream, mut bytes: &[u8], whole: Instant) -> io::Result<()> {
        let mut until = Instant::now() + PATIENCE;
        while !bytes.is_empty() {
            match stream.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    bytes = bytes.get(count..).unwrap_or_default();
                    until = whole.min(Instant::now() + PATIENCE);
                }
                Err(error) => self.go_on(error, until)?,
            }
        }
        Ok(())
    }

    /// Whether it is tried again after an error: one that says that nothing has happened for a step.
    fn go_on(&self, error: io::Error, until: Instant) -> io::Result<()> {
        use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
        let waits = matches!(error.kind(), Interrupted | TimedOut | WouldBlock);
        match waits && Instant::now() < until && !self.stops() {
            true => Ok(()),
            false => Err(error),
        }
    }
}
