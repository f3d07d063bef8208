//! The key-value store of `examples/key-value`: its server, and several clients at a time.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::pair::SERVER;
use crate::setup::{alone, at, has, library, root};

/// How long one command may take on a machine that does other things, too.
const MOST: &str = "60";

/// The folder of the programs, which are compiled the first time as the example's page says, with every warning an error and every
/// access checked; none if something is missing.
pub(crate) fn programs() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(build).as_deref()
}

fn build() -> Option<PathBuf> {
    if !has("cc", "gcc") || !has("make", "make") {
        return None;
    }
    let headers = [
        ("infiniband/verbs.h", "libibverbs-dev"),
        ("rdma/rdma_cma.h", "librdmacm-dev"),
    ];
    for (header, package) in headers {
        if !Path::new("/usr/include").join(header).exists() {
            println!("skipped: there is no {header} (Debian: apt-get install {package})");
            return None;
        }
    }
    let folder = root().join("target/interop/key-value");
    std::fs::create_dir_all(&folder).expect("target can be written");
    let checks = "-fsanitize=address,undefined -fno-sanitize-recover=all";
    let mut make = Command::new("make");
    make.args(["--no-print-directory", "-B", "-C", "examples/key-value"])
        .arg(format!("BUILD={}", folder.display()))
        .arg(format!("CFLAGS=-O1 -g -Wall -Wextra -Werror {checks}"))
        .env_remove("MAKEFLAGS")
        .current_dir(root());
    let made = make.output().expect("make has been found");
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(made.status.success(), "{said}");
    library();
    Some(folder)
}

/// A process that ends with the test, however that ends.
struct Running(Child);

impl Running {
    /// Waits until it ends; with what status, and what it has said of errors.
    #[track_caller]
    fn ended(mut self) -> (Option<i32>, String) {
        let until = Instant::now() + Duration::from_secs(60);
        let status = loop {
            if let Some(status) = self.0.try_wait().expect("it is a child") {
                break status;
            }
            assert!(Instant::now() < until, "it doesn't end");
            sleep(Duration::from_millis(20));
        };
        let mut said = String::new();
        let errors = self.0.stderr.as_mut().expect("it is a pipe");
        errors.read_to_string(&mut said).expect("it can be read");
        (status.code(), said)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server that listens, and where its clients' programs are.
struct Store {
    folder: &'static Path,
    server: Running,
    said: BufReader<ChildStdout>,
}

impl Store {
    /// Starts a server with options; none if it can't be compiled here.
    fn start(options: &[&str]) -> Option<Self> {
        let folder = programs()?;
        let mut command = at(SERVER, &folder.join("kv-server").display().to_string());
        command.args(["--bind", SERVER]).args(options);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it has been compiled");
        let output = child.stdout.take().expect("it is a pipe");
        let mut store = Self {
            folder,
            server: Running(child),
            said: BufReader::new(output),
        };
        let line = store.line();
        assert!(line.starts_with("serving "), "{line}");
        Some(store)
    }

    /// The next line of the server.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("it can be read");
        line
    }

    /// Runs a client, whose address ends so, to its end.
    fn run(&self, last: u8, arguments: &[&str]) -> Output {
        let program = self.client();
        let mut command = at(&format!("127.77.0.{last}"), "timeout");
        command.args(["-s", "KILL", MOST, program.as_str()]);
        let ended = command.args(arguments).stdin(Stdio::null()).output();
        ended.expect("there is timeout")
    }

    /// Starts a client.
    fn begin(&self, last: u8, arguments: &[&str]) -> Running {
        let mut command = at(&format!("127.77.0.{last}"), &self.client());
        command.args(arguments).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        Running(command.spawn().expect("it has been compiled"))
    }

    fn client(&self) -> String {
        self.folder.join("kv-client").display().to_string()
    }

    /// Runs a client that must succeed, and returns what it prints.
    #[track_caller]
    fn ask(&self, last: u8, arguments: &[&str]) -> String {
        let ended = self.run(last, arguments);
        let said = text(&ended.stderr);
        assert!(ended.status.success(), "{arguments:?}: {said}");
        text(&ended.stdout)
    }

    /// Runs a client that must fail with this status, and say this.
    #[track_caller]
    fn refuse(&self, arguments: &[&str], status: i32, why: &str) {
        let ended = self.run(2, arguments);
        let said = text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(status), "{arguments:?}: {said}");
        assert!(said.contains(why), "{arguments:?}: no \"{why}\" in {said}");
    }

    /// Starts a client, and waits until it is the only one that there may be.
    #[track_caller]
    fn occupy(&self, last: u8, arguments: &[&str]) -> Running {
        let until = Instant::now() + Duration::from_secs(30);
        let mut client = self.begin(last, arguments);
        let is_full = || {
            let said = text(&self.run(9, &[SERVER, "get", "a"]).stderr);
            said.contains("as many clients as it takes")
        };
        // What was asked last may count for a moment after it has gone, whoever comes then is refused, and whoever is refused
        // takes a moment to end: so it must be full for a while, during which the client lives.
        loop {
            let mut lives = true;
            let stays = (0..3).all(|_| {
                sleep(Duration::from_millis(100));
                let full = is_full();
                lives = client.0.try_wait().expect("it is a child").is_none();
                full && lives
            });
            if stays {
                break;
            }
            assert!(Instant::now() < until, "the client doesn't connect");
            if !lives {
                client = self.begin(last, arguments);
            }
        }
        client
    }

    /// Ends the server as a user does, and says which lines it had left to say.
    #[track_caller]
    fn interrupt(mut self) -> Vec<String> {
        let id = self.server.0.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status();
        assert!(sent.expect("there is kill").success());
        let ended = self.server.0.wait().expect("it is a child");
        assert!(ended.success(), "{ended}");
        let lines: Vec<String> = self.said.lines().map_while(Result::ok).collect();
        assert!(
            lines.last().is_some_and(|line| line.ends_with(" requests")),
            "{lines:?}"
        );
        lines
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn values_come_back_until_they_are_deleted() {
    let _alone = alone();
    let Some(store) = Store::start(&["--buckets", "1"]) else {
        return;
    };
    assert_eq!(store.ask(2, &[SERVER, "put", "a", "first"]), "version 1\n");
    assert_eq!(store.ask(2, &[SERVER, "get", "a"]), "first\n");
    assert_eq!(store.ask(3, &[SERVER, "put", "a", "-2"]), "version 2\n");
    assert_eq!(store.ask(2, &[SERVER, "get", "a"]), "-2\n");
    store.ask(2, &[SERVER, "put", "b", ""]);
    assert_eq!(store.ask(2, &[SERVER, "get", "b"]), "\n");
    // The longest that there may be.
    let (key, value) = ("k".repeat(40), "v".repeat(192));
    store.ask(2, &[SERVER, "put", &key, &value]);
    assert_eq!(store.ask(2, &[SERVER, "get", &key]), value + "\n");
    store.ask(2, &[SERVER, "put", "d", "4"]);
    store.refuse(&[SERVER, "put", "e", "5"], 1, "no room for e");
    assert_eq!(store.ask(2, &[SERVER, "del", "a"]), "version 6\n");
    store.refuse(&[SERVER, "get", "a"], 1, "not found: a");
    store.refuse(&[SERVER, "del", "a"], 1, "not found: a");
    // There is room again.
    store.ask(2, &[SERVER, "put", "e", "5"]);
    assert_eq!(store.ask(2, &[SERVER, "get", "e"]), "5\n");
    store.interrupt();
}

#[test]
fn a_value_is_never_half_of_one_and_half_of_another() {
    let _alone = alone();
    // The server sleeps in the middle of each write, so most READs come torn.
    let Some(store) = Store::start(&["--pause", "300"]) else {
        return;
    };
    let patterns = ["a".repeat(192), "b".repeat(150)];
    store.ask(2, &[SERVER, "put", "k", &patterns[0]]);
    let write = |last: u8, pattern: &str| {
        let often = ["--count", "100000000", "--depth", "2"];
        store.begin(last, &[&often[..], &[SERVER, "put", "k", pattern]].concat())
    };
    let _writers = [write(2, &patterns[0]), write(3, &patterns[1])];
    // Who comes when is the machine's choice: until both patterns and a torn READ have been seen.
    let (mut seen, mut torn) = ([false; 2], false);
    let until = Instant::now() + Duration::from_secs(30);
    while !(seen == [true; 2] && torn) {
        assert!(Instant::now() < until, "seen: {seen:?}, torn: {torn}");
        let read = store.run(4, &["--count", "2000", SERVER, "get", "k"]);
        let (values, said) = (text(&read.stdout), text(&read.stderr));
        assert!(read.status.success(), "{said}");
        assert_eq!(values.lines().count(), 2000);
        for value in values.lines() {
            let which = patterns.iter().position(|it| it == value);
            seen[which.unwrap_or_else(|| panic!("{value} was never written"))] = true;
        }
        torn |= said.contains(" READs came torn");
    }
    store.interrupt();
}

#[test]
fn counters_of_all_clients_add_up() {
    let _alone = alone();
    let Some(store) = Store::start(&["--counters", "2"]) else {
        return;
    };
    std::thread::scope(|scope| {
        for last in 2..6 {
            let store = &store;
            scope.spawn(move || store.ask(last, &["--count", "3000", SERVER, "incr", "n", "7"]));
        }
    });
    assert_eq!(store.ask(2, &[SERVER, "incr", "n", "0"]), "84000\n");
    // Another one, up to the end of 64 bits.
    let most = u64::MAX.to_string();
    assert_eq!(store.ask(2, &[SERVER, "incr", "m", &most]), most + "\n");
    assert_eq!(store.ask(2, &[SERVER, "incr", "m"]), "0\n");
    store.refuse(&[SERVER, "incr", "third"], 1, "no room for third");
    store.interrupt();
}

#[test]
fn clients_that_are_killed_disturb_nobody() {
    let _alone = alone();
    let Some(mut store) = Store::start(&["--clients", "8"]) else {
        return;
    };
    let busy = ["--count", "100000000", SERVER, "put", "k", "value"];
    let idle = ["--count", "100000000", SERVER, "incr", "n"];
    let killed = [store.begin(2, &busy), store.begin(3, &idle)];
    sleep(Duration::from_millis(500));
    drop(killed);
    // Others come and go meanwhile.
    store.ask(4, &[SERVER, "put", "other", "1"]);
    let mixed = store.ask(4, &["--count", "5000", SERVER, "bench"]);
    assert!(mixed.starts_with("mixed: 5000 operations"), "{mixed}");
    // Who is gone is noticed, whether there was something to answer or not: by the connection's end, or by answers that stay away.
    let mut missing = BTreeSet::from([1, 2]);
    while !missing.is_empty() {
        let line = store.line();
        assert_ne!(line, "", "the server has ended");
        missing.retain(|client| !line.starts_with(&format!("client {client} is gone: ")));
    }
    store.ask(4, &[SERVER, "get", "other"]);
    store.interrupt();
}

#[test]
fn clients_hear_why_it_goes_no_further() {
    let _alone = alone();
    let Some(mut store) = Store::start(&["--clients", "1"]) else {
        return;
    };
    let place = store.occupy(3, &["--count", "100000000", SERVER, "incr", "n"]);
    store.refuse(&[SERVER, "get", "a"], 1, "as many clients as it takes");
    drop(place);
    let line = store.line();
    assert!(line.contains("is gone"), "{line}");
    store.refuse(
        &["--port", "99", SERVER, "get", "a"],
        1,
        "nobody serves port 99",
    );
    // The server ends while there is a client, and then there is none.
    let endless = ["--count", "100000000", SERVER, "put", "k", "value"];
    let client = store.occupy(2, &endless);
    let lines = store.interrupt();
    assert!(lines.iter().any(|line| line.contains("the server ends")));
    let (status, said) = client.ended();
    assert_eq!(status, Some(1), "{said}");
    let why = ["has closed the connection", "doesn't answer any more"];
    assert!(why.iter().any(|why| said.contains(why)), "{said}");
}

#[test]
fn arguments_that_make_no_sense_are_told_with_status_2() {
    let Some(folder) = programs() else {
        return;
    };
    let long = "k".repeat(41);
    let all: [(&str, &[&str], &str); 10] = [
        ("kv-client", &[], "usage: "),
        ("kv-client", &[SERVER], "usage: "),
        ("kv-client", &[SERVER, "take", "k"], "usage: "),
        ("kv-client", &[SERVER, "put", "k"], "usage: "),
        ("kv-client", &[SERVER, "bench", "take"], "usage: "),
        (
            "kv-client",
            &[SERVER, "get", &long],
            "41 bytes, expected 1 to 40",
        ),
        (
            "kv-client",
            &["--depth", "0", SERVER, "get", "k"],
            "from 1 to",
        ),
        ("kv-client", &[SERVER, "incr", "n", "-1"], "BY is \"-1\""),
        ("kv-server", &["here"], "usage: "),
        ("kv-server", &["--port", "65536"], "from 1 to 65535"),
    ];
    for (program, arguments, why) in all {
        let program = folder.join(program).display().to_string();
        let ended = at(SERVER, &program).args(arguments).output();
        let ended = ended.expect("it has been compiled");
        let said = text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(why), "{arguments:?}: {said}");
    }
}
