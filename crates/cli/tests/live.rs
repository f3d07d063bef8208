//! `fairlane run --live`: the page of a run that goes on, over HTTP and in a browser.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;

use crate::support::Case;

const CHECKS: &str = concat!(
    include_str!("../../../report/checks.js"),
    include_str!("../../../report/livetest.js")
);

const PATIENCE: Duration = Duration::from_secs(120);

/// A fabric with messages of one size.
fn scenario(size: &str) -> String {
    format!(
        r#"
name = "live"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
host_link = {{ rate = "100Gbps", delay = "1us" }}
fabric_link = {{ rate = "100Gbps", delay = "1us" }}
[[workload]]
kind = "permutation"
size = "{size}"
[[workload]]
kind = "incast"
degree = 3
size = "20kB"
"#
    )
}

/// A run that goes on, and where its page is.
struct Live {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    /// Host and port.
    host: String,
}

impl Live {
    fn begin(case: &Case, arguments: &str) -> Self {
        let mut child = case
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        let host = loop {
            line.clear();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "no address");
            if let Some(address) = line.trim().strip_prefix("live at http://") {
                break address.to_owned();
            }
        };
        Self {
            child,
            stderr,
            host,
        }
    }

    fn interrupt(&self) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-INT", &id])
                .status()
                .unwrap()
                .success()
        );
    }

    fn wait(mut self) -> Output {
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        self.child.wait_with_output().unwrap()
    }

    /// Asks for a path, with headers of one's own, and reads the whole answer.
    fn ask(&self, method: &str, path: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Hears events until `enough` says so of their names and data, or there are no more.
    fn hear(&self, mut enough: impl FnMut(&str, &str) -> bool) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream,
            "GET /events HTTP/1.1\r\nHost: {}\r\n\r\n",
            self.host
        )
        .unwrap();
        let (mut name, mut data) = (String::new(), String::new());
        for line in BufReader::new(stream).lines() {
            let line = line.unwrap();
            if let Some(text) = line.strip_prefix("event: ") {
                name = text.to_owned();
            } else if let Some(text) = line.strip_prefix("data: ") {
                data = text.to_owned();
            } else if line.is_empty() && !name.is_empty() {
                if enough(&name, &data) {
                    return;
                }
                name.clear();
            }
        }
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The files of a result directory; of the summary what doesn't depend on the machine.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let names = crate::support::list(directory).into_iter();
    let read = |name: String| {
        let path = directory.join(&name);
        let mut content = match path.is_dir() {
            true => Vec::new(),
            false => fs::read(&path).unwrap(),
        };
        if name == "summary.json" {
            let mut summary = json(&String::from_utf8(content).unwrap());
            summary.as_object_mut().unwrap().remove("host");
            content = summary.to_string().into_bytes();
        }
        (name, content)
    };
    names.map(read).collect()
}

#[test]
fn a_run_is_told_of_while_it_goes_on() {
    let case = Case::with("live.toml", &scenario("4GB"));
    let live = Live::begin(&case, "run live.toml --out out --live");
    let own = format!("Host: {}\r\n", live.host);
    let page = live.ask("GET", "/", &own);
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(page.contains("EventSource") && page.contains("connect-src 'self'"));
    assert!(page.contains("cross-origin-resource-policy: same-origin"));
    assert!(live.ask("POST", "/", &own).starts_with("HTTP/1.1 405"));
    assert!(
        live.ask("GET", "/summary.json", &own)
            .starts_with("HTTP/1.1 404")
    );
    for headers in [
        "Host: evil.example\r\n".to_owned(),
        format!("{own}Origin: http://evil.example\r\n"),
    ] {
        for path in ["/", "/events"] {
            let answer = live.ask("GET", path, &headers);
            assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
            assert!(!answer.contains("<html"), "{answer}");
        }
    }
    let (mut ends, mut last, mut progress) = (Vec::new(), Value::Null, 0);
    let mut over = false;
    live.hear(|name, data| {
        match name {
            // Nobody looked until now, but the run has gone on for a while.
            "progress" if progress == 0 => {
                let words = json(data)["words"].as_str().unwrap().to_owned();
                assert!(!words.contains(" 0 s simulated"), "{words}");
                progress += 1;
            }
            "progress" => progress += 1,
            "report" => {
                last = json(data);
                let series = &last["series"];
                let count = series["marks"].as_array().unwrap().len() as f64;
                ends.push(count * series["step_ns"].as_f64().unwrap());
                if ends.len() == 3 {
                    assert_eq!(last["ending"]["kind"], "running");
                    live.interrupt();
                }
            }
            _ => over = name == "end",
        }
        over
    });
    assert!(over && progress > 0, "{progress} times progress");
    assert!(ends.is_sorted() && ends[0] < ends[2], "{ends:?}");
    assert_eq!(last["ending"]["label"], "Interrupted");
    let host = live.host.clone();
    live.wait();
    assert!(
        TcpStream::connect(host).is_err(),
        "it is served after the end"
    );
    // The page was told at the end what the file says.
    let report = case.text("out/report.html");
    let (_, after) = report.split_once("id=\"data\">").unwrap();
    assert_eq!(json(after.split_once("</script>").unwrap().0), last);
}

#[test]
fn a_run_that_is_watched_has_the_same_results() {
    let case = Case::with("live.toml", &scenario("300MB"));
    let output = case.run("run live.toml --out plain --threads 1");
    assert!(output.status.success(), "{output:?}");
    let plain = files(&case.path("plain"));
    for threads in [1, 2] {
        let arguments = format!("run live.toml --out live{threads} --live --threads {threads}");
        let live = Live::begin(&case, &arguments);
        let mut running = 0;
        live.hear(|name, data| {
            let goes_on = name == "report" && json(data)["ending"]["kind"] == "running";
            running += usize::from(goes_on);
            false
        });
        assert!(live.wait().status.success());
        assert!(running > 0, "nobody looked while it went on");
        let watched = files(&case.path(&format!("live{threads}")));
        for (name, content) in &plain {
            assert!(
                watched[name] == *content,
                "{name} differs with {threads} threads"
            );
        }
        assert_eq!(watched.len(), plain.len());
    }
}

#[test]
fn a_port_in_use_is_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let case = Case::with("live.toml", &scenario("10kB"));
    let output = case.run(&format!("run live.toml --out out --live --port {port}"));
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(
        words.contains(&format!("--live: 127.0.0.1:{port}: Address already in use")),
        "{words}"
    );
    assert!(
        words.contains("hint: another program listens there"),
        "{words}"
    );
    assert!(!case.path("out").exists());
    let output = case.run("run live.toml --out out --port 1234");
    assert!(String::from_utf8(output.stderr).unwrap().contains("--live"));
}

#[test]
fn nobody_has_to_look() {
    let case = Case::with("live.toml", &scenario("10kB"));
    let output = case.run("run live.toml --out out --live");
    assert!(output.status.success(), "{output:?}");
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("live at http://127.0.0.1:")
    );
}

/// Reads a request: its first line and its body.
fn request(stream: &TcpStream) -> Option<(String, String)> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? <= 2 {
            break;
        }
        let (name, value) = line.split_once(':')?;
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((first, String::from_utf8(body).ok()?))
}

/// Stands between a browser and the page, to which it adds checks; tells what the browser posts.
fn between(host: String) -> (String, Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (posted, heard) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (host, posted) = (host.clone(), posted.clone());
            std::thread::spawn(move || {
                let Some((first, body)) = request(&stream) else {
                    return;
                };
                pass_on((stream, &first, body), &host, |path, body| {
                    // The test may have its verdict already.
                    let _ = posted.send((path, body));
                });
            });
        }
    });
    (address, heard)
}

fn pass_on(
    (mut stream, first, body): (TcpStream, &str, String),
    host: &str,
    posted: impl Fn(String, String),
) {
    let mut words = first.split_whitespace();
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return;
    };
    if method == "POST" {
        let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
        posted(path.to_owned(), body);
        return;
    }
    let mut served = TcpStream::connect(host).unwrap();
    write!(
        served,
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    if path != "/" {
        let _ = std::io::copy(&mut served, &mut stream);
        return;
    }
    let mut answer = String::new();
    served.read_to_string(&mut answer).unwrap();
    let (_, page) = answer.split_once("\r\n\r\n").unwrap();
    let watch = "<head><script>const selftestErrors = [];
        addEventListener('error', (event) => selftestErrors.push(event.message));
        addEventListener('unhandledrejection', (event) => selftestErrors.push(String(event.reason)));
        addEventListener('securitypolicyviolation', (event) => selftestErrors.push('blocked ' + event.blockedURI));
        </script>";
    let page = page.replacen("<head>", watch, 1);
    let (before, after) = page.rsplit_once("</body>").unwrap();
    let page = format!("{before}<script>{CHECKS}</script></body>{after}");
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        page.len()
    );
    let _ = stream.write_all((head + &page).as_bytes());
}

#[test]
fn the_page_works_in_a_browser() {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let is_there = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let Some(browser) = names.into_iter().find(is_there) else {
        println!("skipped: none of {names:?} in PATH");
        return;
    };
    let case = Case::with("live.toml", &scenario("4GB"));
    let live = Live::begin(&case, "run live.toml --out out --live");
    let (address, heard) = between(live.host.clone());
    let mut child = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ])
        .args([
            "--no-first-run",
            "--disable-background-networking",
            "--disable-sync",
        ])
        .args([
            "--force-device-scale-factor=1",
            "--window-size=1200,1000",
            "--remote-debugging-port=0",
        ])
        .arg(format!(
            "--user-data-dir={}",
            case.path("profile").display()
        ))
        .arg(format!("http://{address}/"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let seen = heard.recv_timeout(PATIENCE);
    live.interrupt();
    let verdict = seen.and_then(|_| heard.recv_timeout(PATIENCE));
    child.kill().unwrap();
    child.wait().unwrap();
    live.wait();
    let (path, lines) = verdict.expect("the browser says nothing");
    assert_eq!(path, "/verdict");
    let failed: Vec<&str> = lines
        .lines()
        .filter(|line| line.starts_with("fail"))
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(
        lines
            .lines()
            .filter(|line| line.starts_with("pass"))
            .count(),
        5
    );
}
