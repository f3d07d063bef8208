//! `fairlane drum`: answers, streams, schedules, and every refusal.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Case;

fn snapshot(name: &str, text: &str) {
    let timeless = |line: &str| {
        if line.starts_with("time ") {
            "time        TIME"
        } else {
            line
        }
        .to_owned()
    };
    let text: Vec<String> = text.lines().map(timeless).collect();
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text.join("\n"));
    });
}

/// The reference problems, if they are beside the checkout.
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn reference() -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference");
    let folder = std::env::var_os("FAIRLANE_REFERENCE")
        .map_or(beside, PathBuf::from)
        .join("drum");
    let found = folder.is_dir();
    if !found {
        println!(
            "skipped: there is no {}; FAIRLANE_REFERENCE names the folder above it",
            folder.display()
        );
    }
    found.then_some(folder)
}

fn answer(case: &Case, arguments: &str) -> Value {
    let output = case.run(arguments);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments}: {words}");
    serde_json::from_slice(&output.stdout).expect("as documented")
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .expect("as documented")
        .iter()
        .map(|number| number.as_f64().expect("as documented"))
        .collect()
}

fn close(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() <= tolerance * expected.abs().max(1e-9)
}

#[test]
fn the_reference_problems_are_solved_as_they_are() {
    let Some(folder) = reference() else { return };
    let case = Case::new();
    let mut seen = 0;
    for entry in fs::read_dir(folder).expect("as documented") {
        let path = entry.expect("as documented").path();
        let file: Value = serde_json::from_str(&fs::read_to_string(&path).expect("as documented"))
            .expect("as documented");
        let found = answer(&case, &format!("drum solve {}", path.display()));
        let optimum = &file["optimum"];
        let name = file["name"].as_str().expect("as documented");
        assert_eq!(found["name"], file["name"]);
        let objective = found["objective"].as_f64().expect("as documented");
        assert!(
            close(
                objective,
                optimum["objective"].as_f64().expect("as documented"),
                1e-9
            ),
            "{name}: {objective}"
        );
        let bound = found["dual_bound"].as_f64().expect("as documented");
        assert!(
            bound >= objective - 1e-12 * objective.abs(),
            "{name}: {bound}"
        );
        for (j, (x, best)) in numbers(&found["x"])
            .iter()
            .zip(numbers(&optimum["x"]))
            .enumerate()
        {
            assert!(close(*x, best, 1e-7), "{name}: x[{j}] = {x}, not {best}");
        }
        if optimum["selected"].is_array() {
            assert_eq!(found["selected"], optimum["selected"], "{name}");
        }
        seen += 1;
    }
    assert!(seen >= 6, "found only {seen}");
}

/// One host of two applications.
fn host() -> Value {
    json!({"name": "two", "kind": "host_fixed", "inputs": {
        "m": 2, "alpha": 0.5, "beta": 0.1, "weight": [1.0, 2.0], "bytes_per_wqe": [1.0, 1.0],
        "poll_cost": [1.0, 1.0], "Q": 3.0, "C": 2.5, "x_min": [0.0, 0.0], "x_max": [null, 5.0]}})
}

fn with(change: impl Fn(&mut Value)) -> String {
    let mut file = host();
    change(&mut file["inputs"]);
    file.to_string()
}

#[test]
fn answers_read_well() {
    let time = with(|inputs| {
        inputs["k"] = json!(1);
        inputs["peak_rate"] = json!([1.0, 2.0]);
    });
    let case = Case::with("two.json", &host().to_string()).and("time.json", &time);
    snapshot(
        "drum_solve_text",
        &case.transcript("drum solve two.json --format text"),
    );
    snapshot(
        "drum_schedule",
        &case.transcript("drum schedule time.json --frame 8"),
    );
    let plan = answer(&case, "drum schedule time.json --format json");
    assert_eq!(
        plan["active"].as_array().expect("as documented").len() as u64,
        plan["epochs"].as_u64().expect("as documented")
    );
    assert!(plan["longest_wait"].as_u64() <= plan["longest_wait_bound"].as_u64());
    let plan = answer(
        &case,
        "drum schedule time.json --policy reserve --reserved 1 --format json",
    );
    assert_eq!(plan["longest_wait_bound"], 2);
}

/// What is changed about [`host`], and what the command line adds.
fn mistakes() -> Vec<(String, &'static str)> {
    let set = |key: &'static str, value: Value| with(move |inputs| inputs[key] = value.clone());
    vec![
        (String::new(), ""),
        ("{\"kind\": \"host_fixed\"".into(), ""),
        ("[1, 2]".into(), ""),
        ("{\"inputs\": {}}".into(), ""),
        ("{\"kind\": \"host_fixed\"}".into(), ""),
        ("{\"kind\": \"host_fixd\", \"inputs\": {}}".into(), ""),
        (host().to_string().replace("2.0]", "NaN]"), ""),
        (host().to_string().replace("2.0]", "1e999]"), ""),
        (host().to_string().replace("2.0]", "\"2\"]"), ""),
        (set("weight", json!([1.0, -2.0])), ""),
        (set("weight", json!([1.0])), ""),
        (set("weights", json!([1.0, 2.0])), ""),
        (set("share", json!([1.0, 2.0])), ""),
        (set("m", json!(3)), ""),
        (set("alpha", json!(-0.5)), ""),
        (set("alpha", json!("maxmin")), ""),
        (set("beta", json!(-1.0)), ""),
        (set("Q", json!(0.0)), ""),
        (set("C", json!(-2.5)), ""),
        (
            with(|inputs| drop(inputs.as_object_mut().expect("as documented").remove("Q"))),
            "",
        ),
        (set("segments", json!([[0.0, 0.2]])), ""),
        (set("x_min", json!([2.0, 2.0])), ""),
        (set("x_max", json!([null, -1.0])), ""),
        (set("x_min", json!([0.0, 6.0])), ""),
        (
            with(|inputs| (inputs["Q"], inputs["C"]) = (json!(null), json!(null))),
            "",
        ),
        (
            with(|inputs| {
                (inputs["bytes_per_wqe"], inputs["C"]) = (json!([0.0, 1.0]), json!(null))
            }),
            " --mode fixed",
        ),
        (host().to_string(), " --mode topk_utility"),
        (host().to_string(), " --mode topk_utility --k 3"),
        (host().to_string(), " --mode active_set --k 1"),
        (host().to_string(), " --mode active_set --k 0.5"),
        (host().to_string(), " --mode timeshare --k 1"),
        (host().to_string(), " --tolerance 2"),
        (
            host().to_string() + "\n" + &host().to_string() + "\n{\"kind\": 3}\n",
            "",
        ),
    ]
}

#[test]
fn every_mistake_is_refused_with_its_place() {
    let mut all = String::new();
    for (file, arguments) in mistakes() {
        let case = Case::with("p.json", &file);
        let output = case.run(&format!("drum solve p.json{arguments}"));
        assert_eq!(output.status.code(), Some(2), "{file}");
        let stream = file.lines().count() > 1;
        assert!(output.stdout.is_empty() || stream, "{file}");
        let words = String::from_utf8(output.stderr).expect("as documented");
        all.push_str(&format!("{file}{arguments}\n{words}\n"));
    }
    snapshot("drum_refused", &all);
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let two = host().to_string() + "\n" + &host().to_string() + "\n";
    let mut shared = host();
    shared["kind"] = json!("host_timeshare");
    shared["inputs"]["k"] = json!(1);
    shared["inputs"]["peak_rate"] = json!([2.0, 2.0]);
    let case = Case::with("two.jsonl", &two).and("one.json", &shared.to_string());
    let mut all = String::new();
    for arguments in [
        "drum solve missing.json",
        "drum solve two.jsonl --threads 0",
        "drum schedule two.jsonl",
        "drum random --hosts 0 --apps 1 --seed 1",
        "drum random --hosts 1 --apps 2 --seed 1 --alpha -1",
        "drum solve one.json --tolerance -1",
        "drum schedule one.json --frame 1",
        "drum schedule one.json --frame 2000000",
        "drum random --hosts 1 --apps 2 --seed 1 --mode topk_utility",
        "drum random --hosts 1 --apps 2 --seed 1 --mode timeshare --k 3",
    ] {
        let text = case.transcript(arguments);
        assert!(text.ends_with("--- exit 2\n"), "{text}");
        all.push_str(&text);
    }
    snapshot("drum_arguments_refused", &all);
}

#[test]
fn streams_keep_their_order_and_do_not_depend_on_threads() {
    let case = Case::new();
    let problems = case
        .run("drum random --hosts 40 --apps 12 --seed 7 --mode topk_utility --k 3")
        .stdout;
    assert_eq!(
        problems,
        case.run("drum random --hosts 40 --apps 12 --seed 7 --mode topk_utility --k 3")
            .stdout
    );
    fs::write(case.path("p.jsonl"), &problems).expect("as documented");
    let answers = |threads: &str| {
        let output = case.run(&format!("drum solve p.jsonl --threads {threads}"));
        let summary = String::from_utf8(output.stderr).expect("as documented");
        assert!(
            summary.starts_with("40 hosts, 480 applications in "),
            "{summary}"
        );
        let lines = String::from_utf8(output.stdout).expect("as documented");
        let answer = |line: &str| {
            let mut answer: Value = serde_json::from_str(line).expect("as documented");
            answer["seconds"] = Value::Null;
            answer
        };
        lines.lines().map(answer).collect::<Vec<_>>()
    };
    let one = answers("1");
    assert_eq!(one.len(), 40);
    for (host, answer) in one.iter().enumerate() {
        assert_eq!(answer["name"], format!("random-7-{host}"));
        assert_eq!(
            answer["selected"].as_array().expect("as documented").len(),
            3
        );
    }
    assert_eq!(one, answers("5"));
}

#[test]
fn every_mode_of_random_problems_is_solved() {
    let case = Case::new();
    for mode in ["fixed", "topk_utility", "active_set", "timeshare"] {
        let beta = if mode == "active_set" { "0" } else { "0.01" };
        let random =
            format!("drum random --hosts 1 --apps 9 --seed 3 --mode {mode} --k 2 --beta {beta}");
        fs::write(case.path("p.json"), case.run(&random).stdout).expect("as documented");
        let found = answer(&case, "drum solve p.json");
        assert_eq!(found["mode"], mode);
        assert!(found["gap"].as_f64().expect("as documented") >= 0.0);
        assert_eq!(found["x"].as_array().expect("as documented").len(), 9);
    }
}

#[test]
fn what_is_generated_is_solved_and_so_are_hosts_without_limits() {
    let case = Case::new();
    for mode in ["fixed", "topk_utility --k 1", "active_set --k 1"] {
        let random = format!("drum random --hosts 3 --apps 4 --seed 1 --coupled --mode {mode}");
        fs::write(case.path("p.json"), case.run(&random).stdout).expect("as documented");
        let found = answer(&case, "drum solve p.json");
        assert!(found["objective"].is_f64(), "{mode}: {found}");
    }
    let free = with(|inputs| {
        (inputs["Q"], inputs["C"]) = (json!(null), json!(null));
        inputs["x_max"] = json!([4.0, 5.0]);
    });
    fs::write(case.path("p.json"), free).expect("as documented");
    let found = answer(&case, "drum solve p.json");
    assert_eq!(found["status"], "optimal");
    for (rate, most) in numbers(&found["x"]).into_iter().zip([4.0, 5.0]) {
        assert!(close(rate, most, 1e-12), "{rate}");
    }
}

/// A stream isn't held: when nobody takes its answers, no more is read than pipes and buffers hold.
#[test]
fn a_stream_is_answered_as_it_comes() {
    const PROBLEMS: usize = 20_000;
    let case = Case::new();
    let mut child = case
        .command("drum solve - --threads 2")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("as documented");
    let (mut questions, answers) = (
        child.stdin.take().expect("as documented"),
        child.stdout.take().expect("as documented"),
    );
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&sent);
    let writer = thread::spawn(move || {
        let line = host().to_string() + "\n";
        for _ in 0..PROBLEMS {
            questions.write_all(line.as_bytes()).expect("as documented");
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    let mut last = usize::MAX;
    while sent.load(Ordering::Relaxed) != last {
        last = sent.load(Ordering::Relaxed);
        thread::sleep(Duration::from_millis(500));
    }
    assert!((1..PROBLEMS / 4).contains(&last), "{last}");
    assert_eq!(BufReader::new(answers).lines().count(), PROBLEMS);
    writer.join().expect("as documented");
    assert!(child.wait().expect("as documented").success());
}

#[test]
fn a_stream_goes_on_after_lines_that_are_wrong() {
    let good = |name: &str| {
        let mut file = host();
        file["name"] = json!(name);
        file.to_string()
    };
    let long = format!("{{\"kind\": \"{}\"}}", "x".repeat(100_000));
    let wrong = with(|inputs| inputs["alpha"] = json!(-1));
    let lines = [
        "{\"kind\":",
        &good("a"),
        &long,
        "",
        &wrong,
        "\u{7f}\u{fffd}",
        &good("b"),
    ];
    let mut bytes = lines.join("\n").into_bytes();
    // The first byte of the sixth line's last character is no UTF-8 by itself.
    let at = bytes
        .windows(3)
        .position(|part| part == "\u{fffd}".as_bytes());
    bytes.remove(at.expect("as written") + 1);
    let case = Case::new();
    fs::write(case.path("p.jsonl"), bytes).expect("as documented");
    let arguments = "drum solve p.jsonl --keep-going --longest-line 5000 --threads 2";
    let output = case.run(arguments);
    assert_eq!(output.status.code(), Some(2));
    let answers = String::from_utf8(output.stdout).expect("as documented");
    let names: Vec<String> = answers
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("as documented")["name"].to_string())
        .collect();
    assert_eq!(names, ["\"a\"", "\"b\""]);
    let words = String::from_utf8(output.stderr).expect("as documented");
    let words: Vec<&str> = words
        .lines()
        .filter(|line| !line.starts_with("2 hosts"))
        .collect();
    snapshot("drum_keep_going", &words.join("\n"));
    let stops = case.run("drum solve p.jsonl");
    assert!(stops.stdout.is_empty() && stops.status.code() == Some(2));
}

/// An input without an end is refused once it is longer than a line may be.
#[test]
fn a_line_without_an_end_is_refused() {
    for more in ["", " --keep-going"] {
        let case = Case::new();
        let mut child = case
            .command(&format!("drum solve - --longest-line 100000{more}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("as documented");
        let mut endless = child.stdin.take().expect("as documented");
        let mut sent = 0;
        while sent < 50_000_000 && endless.write_all(&[b'7'; 4096]).is_ok() {
            sent += 4096;
        }
        drop(endless);
        let output = child.wait_with_output().expect("as documented");
        assert_eq!(output.status.code(), Some(2));
        let words = String::from_utf8(output.stderr).expect("as documented");
        assert!(
            words.contains("standard input: line 1: longer than 100000 bytes"),
            "{words}"
        );
        assert!(more.is_empty() == (sent < 50_000_000), "{sent}{more}");
    }
}

#[test]
fn a_gap_that_is_too_large_is_status_1() {
    let case = Case::with("two.json", &host().to_string());
    let status = |arguments: &str| {
        case.run(&format!("drum solve two.json{arguments}"))
            .status
            .code()
    };
    assert_eq!(status(" --require-gap 1e-9"), Some(0));
    let loose = " --mode dual_decomposition";
    assert_eq!(status(loose), Some(0));
    assert_eq!(status(&format!("{loose} --require-gap 1e-9")), Some(1));
    assert_eq!(status(" --require-gap -1"), Some(2));
    let two = format!("{}\n{}\n", host(), host());
    fs::write(case.path("two.jsonl"), two).expect("as documented");
    let output = case.run(&format!("drum solve two.jsonl{loose} --require-gap 1e-9"));
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8(output.stderr).expect("as documented");
    assert!(
        words.ends_with("answers with a relative gap above 1e-9: 2\n"),
        "{words}"
    );
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 2);
}

/// Frames of every length, of hosts whose peaks are far more than their rows have.
#[test]
fn schedules_use_no_row_beyond_its_capacity() {
    let case = Case::new();
    let mut full: f64 = 0.0;
    for seed in 0..6 {
        let beta = if seed % 2 == 0 { "0" } else { "0.01" };
        let random = format!(
            "drum random --hosts 1 --apps 12 --seed {seed} --mode timeshare --k 3 --beta {beta}"
        );
        fs::write(case.path("p.json"), case.run(&random).stdout).expect("as documented");
        let shortest = answer(&case, "drum schedule p.json --format json")["epochs"].as_u64();
        let shortest = shortest.expect("as documented");
        let frame = shortest + 5 * seed;
        for arguments in [
            format!("--frame {frame}"),
            "--policy reserve --reserved 1".to_owned(),
        ] {
            let plan = answer(
                &case,
                &format!("drum schedule p.json {arguments} --format json"),
            );
            for row in plan["rows"].as_array().expect("as documented") {
                let number = |key: &str| row[key].as_f64().expect("as documented");
                let room = number("capacity") * (1.0 + 1e-12);
                assert!(
                    number("usage") <= room && number("most") <= room,
                    "{seed}: {row}"
                );
                full = full.max(number("most") / number("capacity"));
            }
            let objective = plan["objective"].as_f64().expect("as documented");
            if let Some(bound) = plan["dual_bound"].as_f64() {
                assert!(
                    objective <= bound + 1e-9 * bound.abs(),
                    "{seed}: {objective} {bound}"
                );
            }
        }
    }
    assert!(full > 0.999, "some epoch fills a row: {full}");
}

/// Minimums of 2 each on a row of 3: both are named, the schedule is printed, and the status is 1.
#[test]
fn minimums_that_cannot_be_kept_are_named() {
    let file = with(|inputs| {
        inputs["k"] = json!(1);
        inputs["peak_rate"] = json!([3.0, 3.0]);
        inputs["x_min"] = json!([2.0, 2.0]);
        inputs["C"] = json!(null);
    });
    let case = Case::with("time.json", &file);
    let output = case.run("drum schedule time.json --format json");
    assert_eq!(output.status.code(), Some(1));
    let plan: Value = serde_json::from_slice(&output.stdout).expect("as documented");
    let unmet = plan["unmet"].as_array().expect("as documented");
    let names: Vec<u64> = unmet
        .iter()
        .filter_map(|one| one["application"].as_u64())
        .collect();
    assert_eq!(names, [0, 1]);
    let words = String::from_utf8(output.stderr).expect("as documented");
    assert!(
        words.contains("application 0 gets") && words.contains("application 1 gets"),
        "{words}"
    );
}

/// Names stand beside numbers in tables and messages, and in JSON.
#[test]
fn applications_are_called_what_the_problem_says() {
    let named = |names: &Value| {
        with(|inputs| {
            inputs["k"] = json!(1);
            inputs["peak_rate"] = json!([3.0, 3.0]);
            inputs["x_min"] = json!([2.0, 2.0]);
            inputs["C"] = json!(null);
            inputs["names"] = names.clone();
        })
    };
    let names = json!(["storage", "web"]);
    let case = Case::with("time.json", &named(&names)).and("wrong.json", &named(&json!(["web"])));
    let output = case.run("drum schedule time.json --format text");
    let table = String::from_utf8(output.stdout).expect("as documented");
    assert!(
        table.contains("0 storage ") && table.contains("1 web "),
        "{table}"
    );
    let words = String::from_utf8(output.stderr).expect("as documented");
    assert!(words.contains("application 0 (storage) gets"), "{words}");
    let refused = case.run("drum schedule wrong.json");
    let words = String::from_utf8(refused.stderr).expect("as documented");
    assert!(
        words.contains("inputs.names: 1 entries for 2 applications"),
        "{words}"
    );
    let case = Case::with(
        "fixed.json",
        &with(|inputs| inputs["names"] = names.clone()),
    );
    assert_eq!(answer(&case, "drum solve fixed.json")["names"], names);
    let text = case.run("drum solve fixed.json --format text").stdout;
    let text = String::from_utf8(text).expect("as documented");
    assert!(text.contains("0 storage "), "{text}");
}

/// The shipped problem is within 0.5 % of the best mixture of pairs (see `schedules.rs` of the solver), and so is its bound.
#[test]
fn the_example_is_scheduled_near_the_best() {
    const BEST: f64 = 13933.365;
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/drum/host.json");
    let case = Case::with(
        "host.json",
        &fs::read_to_string(example).expect("an example"),
    );
    let plan = answer(&case, "drum schedule host.json --format json");
    let number = |key: &str| plan[key].as_f64().expect("as documented");
    assert!(number("objective") > 0.995 * BEST && number("objective") < 1.000_001 * BEST);
    assert!(number("dual_bound") < 1.005 * BEST && number("rate_gap") < 0.005);
    let (active, rates) = (&plan["active"], &plan["rates"]);
    for (active, rates) in active
        .as_array()
        .into_iter()
        .flatten()
        .zip(rates.as_array().into_iter().flatten())
    {
        assert_eq!(
            active.as_array().map(Vec::len),
            rates.as_array().map(Vec::len)
        );
    }
}

#[test]
fn the_schema_of_problems_is_one() {
    let schema = answer(&Case::new(), "schema drum");
    let text = schema.to_string();
    for kind in [
        "host_fixed",
        "host_pwl",
        "host_topk",
        "host_timeshare",
        "coupled",
        "max-min",
    ] {
        assert!(text.contains(kind), "{kind}");
    }
}

/// The answers of a stream.
fn answers(case: &Case, arguments: &str) -> Vec<Value> {
    let output = case.run(arguments);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments}: {words}");
    let lines = output.stdout.split(|byte| *byte == b'\n');
    let full = lines.filter(|line| !line.is_empty());
    full.map(|line| serde_json::from_slice(line).expect("as documented"))
        .collect()
}

#[test]
fn a_solver_starts_from_earlier_answers() {
    let case = Case::new();
    let problems = case.run("drum random --hosts 3 --apps 200 --seed 4").stdout;
    fs::write(case.path("p.jsonl"), problems).expect("as documented");
    let cold = answers(&case, "drum solve p.jsonl");
    let lines: Vec<String> = cold.iter().map(Value::to_string).collect();
    let case = case
        .and("a.jsonl", &lines[..2].join("\n"))
        .and("a.json", &lines[0])
        .and(
            "nameless.jsonl",
            "{\"rows\": [], \"dual_prices\": []}\n".repeat(2).as_str(),
        )
        .and("no.json", "{\"rows\": 1}");
    let passes = |answer: &Value| answer["iterations"].as_u64().expect("as documented");
    // An answer to one problem says little of another; without any a problem starts anew.
    for (start, known) in [("a.jsonl", 2), ("a.json", 1)] {
        let warm = answers(&case, &format!("drum solve p.jsonl --start {start}"));
        for (number, (cold, warm)) in cold.iter().zip(&warm).enumerate() {
            if number < known {
                assert!(passes(warm) < passes(cold), "{start}: {number}");
            } else if start == "a.jsonl" {
                assert_eq!(passes(warm), passes(cold));
            }
            let value = |answer: &Value| answer["objective"].as_f64().expect("as documented");
            assert!(close(value(warm), value(cold), 1e-12));
        }
    }
    for (start, words) in [
        ("nameless.jsonl", "nameless.jsonl: line 1: has no name"),
        ("no.json", "no.json: invalid type"),
        ("absent.json", "absent.json: No such file"),
        ("-", "standard input"),
    ] {
        let output = case.run(&format!("drum solve p.jsonl --start {start}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2));
        assert!(said.contains(words) && said.contains("hint:"), "{said}");
    }
}

#[test]
fn a_column_comes_from_numpy() {
    let header = format!(
        "{:<117}\n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }"
    );
    let file = |numbers: [f64; 2]| {
        let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        file.extend(header.as_bytes());
        file.extend(numbers.iter().flat_map(|it| it.to_le_bytes()));
        file
    };
    let bare = with(|inputs| drop(inputs.as_object_mut().map(|inputs| inputs.remove("weight"))));
    let case = Case::with("bare.json", &bare).and("whole.json", &host().to_string());
    fs::write(case.path("w.npy"), file([1.0, 2.0])).expect("as documented");
    fs::write(case.path("bad.npy"), file([1.0, -2.0])).expect("as documented");
    let found = answer(&case, "drum solve bare.json --column weight=w.npy");
    assert_eq!(found["x"], answer(&case, "drum solve whole.json")["x"]);
    for (column, words) in [
        ("weight", "expected NAME=FILE.npy"),
        ("wait=w.npy", "--column: wait: no such column"),
        ("weight=none.npy", "none.npy: No such file"),
        ("weight=bad.npy", "bare.json: bad.npy: inputs.weight[1]: "),
    ] {
        let output = case.run(&format!("drum solve bare.json --column {column}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2));
        assert!(said.contains(words), "{said}");
    }
}
