//! The report in a browser: `report/selftest.js` and what it needs are added to a page, the page is opened in a
//! headless Chromium, and the verdict is read from the DOM that it prints.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fairlane_units::{TenantId, Time};

use super::sample::Sample;
use super::{ReportInput, Throughput, Timeline, render};

const SELFTEST: &str = concat!(
    include_str!("../../../../report/checks.js"),
    include_str!("../../../../report/detailtest.js"),
    include_str!("../../../../report/selftest.js")
);

/// Runs before all scripts of the page and keeps what they complain about.
const WATCH: &str = "<script>
const selftestErrors = [];
const complain = (text) => selftestErrors.push(String(text));
addEventListener('error', (event) => complain(event.message));
addEventListener('unhandledrejection', (event) => complain(event.reason));
addEventListener('securitypolicyviolation', (event) => complain('blocked ' + event.blockedURI));
console.error = (...parts) => complain(parts.join(' '));
console.warn = console.error;
</script>";

const FLAGS: [&str; 12] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-device-scale-factor=1",
    "--virtual-time-budget=20000",
    "--dump-dom",
];

const PATIENCE: Duration = Duration::from_secs(120);

/// The first browser in `PATH`, or nothing and a line that says so.
pub(super) fn browser() -> Option<&'static str> {
    let there = |name: &&str| {
        let version = Command::new(name)
            .arg("--version")
            .stdin(Stdio::null())
            .output();
        version.is_ok_and(|output| output.status.success())
    };
    let found = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(there);
    if found.is_none() {
        println!("skipped: no chromium, chromium-browser or google-chrome in PATH");
    }
    found
}

/// The page with the checks in it.
fn instrument(page: &str, checks: &str) -> String {
    let watched = page.replacen("<head>", &format!("<head>{WATCH}"), 1);
    let (before, after) = watched.rsplit_once("</body>").unwrap();
    format!("{before}<script>{checks}</script></body>{after}")
}

/// The DOM of `page` when its scripts have run in a window `width` pixels wide.
fn dump(browser: &str, page: &Path, width: u32) -> String {
    let folder = tempfile::tempdir().unwrap();
    let dom = folder.path().join("dom.html");
    let log = folder.path().join("log.txt");
    let mut child = Command::new(browser)
        .args(FLAGS)
        .arg(format!("--window-size={width},1000"))
        .arg(format!(
            "--user-data-dir={}",
            folder.path().join("profile").display()
        ))
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stdout(File::create(&dom).unwrap())
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!(
                "{browser} didn't finish:\n{}",
                fs::read_to_string(&log).unwrap()
            );
        }
        sleep(Duration::from_millis(50));
    }
    fs::read_to_string(&dom).unwrap()
}

/// The lines of the verdict, without the last, which says that there are no more.
fn verdict(dom: &str) -> Vec<&str> {
    let (_, after) = dom
        .rsplit_once("<pre id=\"selftest\">")
        .expect("the checks didn't finish");
    let (text, _) = after.split_once("</pre>").unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.pop(), Some("done"));
    lines
}

/// Opens a page and returns how many of its checks passed; all must.
fn checks_passed(browser: &str, page: &str, width: u32) -> usize {
    checks_passed_with(browser, (page, SELFTEST), width)
}

/// Opens a page and counts how many of the given checks passed; all must.
pub(super) fn checks_passed_with(browser: &str, (page, checks): (&str, &str), width: u32) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    fs::write(&path, instrument(page, checks)).unwrap();
    let dom = dump(browser, &path, width);
    let lines = verdict(&dom);
    let failed: Vec<&&str> = lines
        .iter()
        .filter(|line| !line.starts_with("pass "))
        .collect();
    assert!(failed.is_empty(), "at {width} px: {failed:#?}");
    lines.len()
}

#[test]
fn a_report_works_in_a_browser() {
    let Some(browser) = browser() else { return };
    let page = render(&Sample::fat_tree(5, 206).input());
    for width in [1400, 800] {
        assert_eq!(checks_passed(browser, &page, width), 35);
    }
}

#[test]
fn a_report_compares_tenants() {
    let Some(browser) = browser() else { return };
    let page = render(&Sample::tenants().input());
    for width in [1400, 800, 500] {
        assert_eq!(checks_passed(browser, &page, width), 40);
    }
}

#[test]
fn a_report_marks_failures_and_shows_the_action() {
    let Some(browser) = browser() else { return };
    let page = render(&Sample::faulty().input());
    for width in [1400, 500] {
        assert_eq!(checks_passed(browser, &page, width), 39);
    }
}

/// The page of a sample as if its second tenant attacked from 1 to 8 ms, beside the same run.
pub(super) fn attacked(sample: &Sample) -> String {
    let honest = Throughput::of(&sample.results);
    let timeline = Timeline {
        title: "staggered under scope qp".into(),
        attacker: TenantId::new(1),
        window: (Time::from_ns(1_000_000), Time::from_ns(8_000_000)),
        honest: &honest,
    };
    render(&ReportInput {
        attack: Some(&timeline),
        ..sample.input()
    })
}

#[test]
fn a_report_shows_an_attack() {
    let Some(browser) = browser() else { return };
    let page = attacked(&Sample::tenants());
    for width in [1400, 500] {
        assert_eq!(checks_passed(browser, &page, width), 43);
    }
}

#[test]
fn a_report_of_a_stalled_run_says_what_is_missing() {
    let Some(browser) = browser() else { return };
    let page = render(&Sample::stalled_star().input());
    assert_eq!(checks_passed(browser, &page, 600), 6);
}

#[test]
fn the_browser_test_notices_a_broken_page() {
    let Some(browser) = browser() else { return };
    let page = render(&Sample::stalled_star().input());
    let broken = page.replace(
        "</body>",
        "<img src=\"x.png\"><script>nowhere()</script></body>",
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    fs::write(&path, instrument(&broken, SELFTEST)).unwrap();
    let dom = dump(browser, &path, 800);
    let complaint = verdict(&dom)
        .into_iter()
        .find(|line| line.starts_with("fail no errors"));
    let complaint = complaint.expect("no complaint");
    assert!(complaint.contains("nowhere is not defined"), "{complaint}");
    assert!(complaint.contains("blocked file"), "{complaint}");
}

/// Also leaves the samples to look at: `cargo test -p fairlane-cli write_samples -- --nocapture`.
#[test]
fn write_samples() {
    let folder = std::env::temp_dir().join("fairlane-report");
    fs::create_dir_all(&folder).unwrap();
    for (name, sample) in [
        ("fat-tree", Sample::fat_tree(5, 206)),
        ("large", Sample::fat_tree(16, 60)),
        ("mesh", Sample::mesh(6)),
        ("tenants", Sample::tenants()),
        ("faulty", Sample::faulty()),
        ("stalled", Sample::stalled_star()),
    ] {
        let path = folder.join(format!("{name}.html"));
        let page = render(&sample.input());
        assert!(page.trim_end().ends_with("</html>"), "{name} is cut short");
        fs::write(&path, page).unwrap();
        println!("{}", path.display());
    }
    let path = folder.join("attack.html");
    fs::write(&path, attacked(&Sample::tenants())).unwrap();
    println!("{}", path.display());
}
