//! Every message a person may see: help, usage errors, refusals, with the exit status.

use std::fs;
use std::process::Stdio;

use crate::support::{Case, LEAF_SPINE, STAR};

fn snapshot(name: &str, text: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn help() {
    let case = Case::new();
    snapshot("help", &case.transcript("--help"));
    for command in [
        "run",
        "check",
        "init",
        "completions",
        "sweep",
        "import hpcc",
        "import conweave",
        "import htsim",
        "explain",
        "export hpcc-fct",
        "export pcap",
        "topology",
        "paths",
        "compare",
        "drum",
        "drum solve",
        "drum random",
        "drum schedule",
        "attack",
        "reproduce",
        "stat",
        "schema",
    ] {
        let name = format!("help_{}", command.replace([' ', '-'], "_"));
        snapshot(&name, &case.transcript(&format!("{command} --help")));
    }
}

#[test]
fn usage_errors_exit_with_2() {
    let case = Case::with("s.toml", STAR);
    let mut all = String::new();
    for arguments in [
        "",
        "frobnicate",
        "run s.toml --ouput d",
        "sweep s.toml --outptu d",
        "export pcap d --ouput f",
        "run s.toml --frobnicate",
        "run s.toml -q -v",
        "run s.toml --out d --seed x",
        "run s.toml --out d --seed -1",
        "check s.toml --seed 9223372036854775808",
        "attack s.toml --seed 9223372036854775808",
        "drum random --hosts 1 --apps 1 --seed 9223372036854775808",
        "run s.toml --out d --format csv",
        "run s.toml --out d --threads 0",
        "compare one",
        "paths s.toml 0 1 --ports 5-4",
        "paths s.toml 0 1 --ports 1-70000",
        "export hpcc-fct d",
        "export pcap d",
        "import hpcc config.txt",
        "stat --format xml",
        "stat --interval 0",
        "stat --interval 1 --format prometheus",
        "stat --address localhost",
    ] {
        let text = case.transcript(arguments);
        assert!(text.ends_with("--- exit 2\n"), "{text}");
        all.push_str(&text);
    }
    snapshot("usage_errors", &all);
}

#[test]
fn what_is_no_scenario_is_refused_with_a_fitting_hint() {
    let case = Case::with("empty.toml", "")
        .and("nameless.toml", &STAR.replace("\"star\"\n[", "\"\"\n["))
        .and("negative.toml", &STAR.replace("\"1us\" }", "\"-1us\" }"))
        .and("below.toml", &STAR.replace("hosts = 3", "hosts = -3"))
        .and("folder/scenario.toml", STAR);
    let mut all = String::new();
    for file in ["empty", "nameless", "negative", "below"] {
        all.push_str(&case.transcript(&format!("run {file}.toml --out d")));
    }
    all.push_str(&case.transcript("run folder --out d"));
    all.push_str(&case.transcript("run - --out d"));
    snapshot("no_scenario", &all);
    assert!(!case.path("d").exists());
}

#[test]
fn scenario_errors_name_the_place_and_the_remedy() {
    let case = Case::with("broken.toml", "[topology]\nkind = \"star\"\nhosst = 3\n");
    snapshot(
        "scenario_missing",
        &case.transcript("run missing.toml --out d"),
    );
    snapshot(
        "scenario_broken",
        &case.transcript("run broken.toml --out d"),
    );
    assert_eq!(case.list(), ["broken.toml"]);
}

#[test]
fn a_set_that_names_no_key_is_refused() {
    let case = Case::with("s.toml", STAR);
    let text = case.transcript("run s.toml --out d --set congestion.algorithn=hpcc");
    assert!(text.ends_with("--- exit 2\n"), "{text}");
    assert!(text.contains("\nhint: "), "{text}");
    assert_eq!(case.list(), ["s.toml"]);
}

#[test]
fn a_directory_that_holds_something_is_refused() {
    let case = Case::with("s.toml", STAR)
        .and("full/notes.txt", "mine")
        .and("file", "");
    let mut all = String::new();
    for out in ["full", "file", ".", "/"] {
        all.push_str(&case.transcript(&format!("run s.toml --out {out}")));
    }
    all.push_str(&case.transcript("run s.toml --out . --force"));
    snapshot("directory_refused", &all);
    assert_eq!(case.text("full/notes.txt"), "mine");
    assert_eq!(case.list(), ["file", "full", "s.toml"]);
}

#[test]
fn results_that_are_none_are_refused() {
    let case = Case::with("s.toml", STAR).and("empty/notes.txt", "");
    let mut all = String::new();
    for arguments in [
        "compare empty missing",
        "compare s.toml s.toml",
        "export hpcc-fct empty -o fct.txt",
        "export hpcc-fct missing -o fct.txt",
        "export hpcc-fct empty -o empty",
    ] {
        all.push_str(&case.transcript(arguments));
    }
    snapshot("results_refused", &all);
    assert_eq!(case.list(), ["empty", "s.toml"]);
}

#[test]
fn broken_flow_files_are_refused() {
    let header = "source,destination,source_port,destination_port,size_bytes,start_ps,completion_ps,standalone_ns";
    let case = Case::with("short/flows.csv", &format!("{header}\n1,2,10000\n"))
        .and(
            "word/flows.csv",
            &format!("{header}\n1,2,10000,100,x,0,0,0\n"),
        )
        .and(
            "big/flows.csv",
            &format!("{header}\n1,2,99999,100,1,0,0,0\n"),
        )
        .and("column/flows.csv", "source,destination\n1,2\n")
        .and("parquet/flows.parquet", "PAR1 this is no Parquet file PAR1");
    let mut all = String::new();
    for directory in ["short", "word", "big", "column", "parquet"] {
        all.push_str(&case.transcript(&format!("export hpcc-fct {directory} -o fct.txt")));
    }
    snapshot("flow_files_refused", &all);
    assert!(!case.path("fct.txt").exists());
}

#[test]
fn captures_that_are_none_are_refused() {
    let captures = format!("capture = [\"host:0\"]\n{STAR}");
    let case = Case::with("s.toml", STAR)
        .and("c.toml", &captures)
        .and("wrong.toml", &captures.replace("host:0", "host:3"))
        .and("empty/notes.txt", "")
        .and("c.pcapng", "former");
    assert!(case.run("run s.toml --out none").status.success());
    for directory in ["some", "damaged", "row"] {
        let done = case.run(&format!("run c.toml --out {directory}"));
        assert!(done.status.success());
    }
    fs::write(case.path("damaged/capture.parquet"), "PAR1 no PAR1").unwrap();
    fs::copy(
        case.path("row/ports.parquet"),
        case.path("row/capture.parquet"),
    )
    .unwrap();
    let mut all = case.transcript("run wrong.toml --out wrong");
    for arguments in [
        "export pcap none -o c.pcapng",
        "export pcap empty -o c.pcapng",
        "export pcap missing -o c.pcapng",
        "export pcap s.toml -o c.pcapng",
        "export pcap damaged -o c.pcapng --force",
        "export pcap row -o c.pcapng --force",
        "export pcap some -o empty",
        "export pcap some -o missing/c.pcapng",
    ] {
        all.push_str(&case.transcript(arguments));
    }
    snapshot("captures_refused", &all);
    assert_eq!(case.text("c.pcapng"), "former");
    let here = [
        "c.pcapng",
        "c.toml",
        "damaged",
        "empty",
        "none",
        "row",
        "s.toml",
        "some",
        "wrong.toml",
    ];
    assert_eq!(case.list(), here);
}

#[test]
fn export_writes_the_format_of_the_reference() {
    let header = "id,source,destination,source_port,destination_port,size_bytes,start_ps,completion_ps,standalone_ns";
    let rows =
        "3,3,7,10000,100,2000000,2000000000000,1079141000,173920\n4,300,7,10001,200,1,5999,,1\n";
    let case = Case::with("d/flows.csv", &format!("{header}\n{rows}"));
    let output = case.run("export hpcc-fct d -o fct.txt");
    assert!(output.status.success());
    assert_eq!(
        case.text("fct.txt"),
        "0b000301 0b000701 10000 100 2000000 2000000000 1079141 173920\n"
    );
    assert_eq!(case.list(), ["d", "fct.txt"]);
}

#[test]
fn an_export_replaces_a_file_only_if_asked_to() {
    let header = "id,source,destination,source_port,destination_port,size_bytes,start_ps,completion_ps,standalone_ns";
    let case = Case::with("d/flows.csv", &format!("{header}\n")).and("fct.txt", "mine");
    let refused = case.transcript("export hpcc-fct d -o fct.txt");
    assert!(
        refused.contains("error: fct.txt: exists") && refused.contains("--force"),
        "{refused}"
    );
    assert_eq!(case.text("fct.txt"), "mine");
    assert!(
        case.run("export hpcc-fct d -o fct.txt --force")
            .status
            .success()
    );
    assert_eq!(case.text("fct.txt"), "");
}

#[test]
fn a_failed_export_leaves_the_former_file() {
    let case = Case::with("d/flows.csv", "no,columns\n").and("fct.txt", "former");
    assert_eq!(
        case.run("export hpcc-fct d -o fct.txt --force")
            .status
            .code(),
        Some(2)
    );
    assert_eq!(case.text("fct.txt"), "former");
    assert_eq!(case.list(), ["d", "fct.txt"]);
}

#[test]
fn the_schema_is_one() {
    let output = Case::new().run("schema");
    assert!(output.status.success());
    let schema: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(schema["type"], "object");
    assert!(schema["properties"]["topology"].is_object());
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let case = Case::with("s.toml", LEAF_SPINE);
    for arguments in ["schema", "paths s.toml 0 2 --ports 0-65535 --format csv"] {
        let mut child = case
            .command(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments}");
    }
}

#[test]
fn topology_and_paths() {
    let case = Case::with("s.toml", LEAF_SPINE);
    snapshot("topology", &case.transcript("topology s.toml"));
    snapshot(
        "topology_json",
        &case.transcript("topology s.toml --format json"),
    );
    snapshot(
        "paths",
        &case.transcript("paths s.toml 0 2 --ports 10000-10007"),
    );
    snapshot(
        "paths_csv",
        &case.transcript("paths s.toml 0 2 --ports 10000-10003 --format csv"),
    );
    snapshot(
        "paths_json",
        &case.transcript("paths s.toml 0 2 --ports 10000-10001 --format json"),
    );
    snapshot(
        "paths_not_hosts",
        &(case.transcript("paths s.toml 0 0") + &case.transcript("paths s.toml 0 9")),
    );
}

#[test]
fn an_unwritable_place_is_found_before_the_run() {
    let case = Case::with("s.toml", STAR).and("file", "");
    let text = case.transcript("run s.toml --out file/below/d");
    assert!(text.ends_with("--- exit 2\n"), "{text}");
    assert!(fs::metadata(case.path("file")).unwrap().is_file());
}

#[test]
fn compare_is_legible_with_many_runs() {
    let two_kinds =
        format!("{STAR}\n[[workload]]\nkind = \"incast\"\ndegree = 2\nsize = \"300kB\"\n");
    let case = Case::with("s.toml", &two_kinds);
    let algorithms = ["fixed", "dctcp", "timely", "swift", "powertcp"];
    for algorithm in algorithms {
        let run =
            format!("run s.toml --out out/{algorithm} --set congestion.algorithm={algorithm}");
        assert!(case.run(&run).status.success());
    }
    let directories = algorithms.map(|algorithm| format!("out/{algorithm}"));
    let text = case.transcript(&format!("compare {}", directories.join(" ")));
    snapshot("compare", &text);
    let widest = text.lines().skip(1).map(|line| line.chars().count()).max();
    assert!(widest.is_some_and(|width| width <= 160), "{widest:?}");
    let csv = case
        .run(&format!("compare {} --format csv", directories.join(" ")))
        .stdout;
    let csv = String::from_utf8_lossy(&csv).into_owned();
    assert!(
        csv.lines()
            .next()
            .is_some_and(|line| line.contains(",signals.cnps_sent,")),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), 6);
}

#[test]
fn a_page_without_a_place_is_refused_before_runs_are_read() {
    let case = Case::with("s.toml", STAR);
    let text = case.transcript("compare a b --report missing/x.html");
    assert!(text.contains("missing/x.html: no such directory"), "{text}");
    assert!(
        text.contains("\nhint: ") && text.ends_with("--- exit 2\n"),
        "{text}"
    );
}

#[test]
fn import_writes_a_case_that_can_be_described() {
    let case = Case::with("case/config.txt", CONFIG)
        .and(
            "case/topology.txt",
            "3 1 2\n2\n0 2 100Gbps 0.001ms 0\n1 2 100Gbps 0.001ms 0\n",
        )
        .and("case/flow.txt", "1\n0 1 3 100 1000 2.0\n")
        .and("case/trace.txt", "0\n\n");
    for output in ["imported.toml", "other"] {
        let output = case.run(&format!("import hpcc case/config.txt -o {output}"));
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(output.stdout.is_empty());
    }
    assert!(case.run("topology imported.toml").status.success());
    let again = "import hpcc case/config.txt -o imported";
    assert_eq!(case.run(again).status.code(), Some(2));
    assert!(case.run(&format!("{again} --force")).status.success());
    assert!(case.run("topology other.toml").status.success());
}

#[test]
fn import_replaces_no_side_file_unless_asked_to() {
    for side in ["imported.topology.txt", "imported.flows.txt"] {
        let case = Case::with("case/config.txt", CONFIG)
            .and(
                "case/topology.txt",
                "3 1 2\n2\n0 2 100Gbps 0.001ms 0\n1 2 100Gbps 0.001ms 0\n",
            )
            .and("case/flow.txt", "1\n0 1 3 100 1000 2.0\n")
            .and("case/trace.txt", "0\n\n")
            .and(side, "mine");
        let import = "import hpcc case/config.txt -o imported";
        let text = case.transcript(import);
        assert!(text.ends_with("--- exit 2\n"), "{text}");
        assert!(text.contains(side) && text.contains("--force"), "{text}");
        assert_eq!(fs::read_to_string(case.path(side)).unwrap(), "mine");
        assert!(!case.path("imported.toml").exists());
        assert!(case.run(&format!("{import} --force")).status.success());
    }
}

#[test]
fn an_import_that_fails_names_the_key_and_writes_nothing() {
    let case = Case::with(
        "case/config.txt",
        &CONFIG.replace("CC_MODE 1", "CC_MODE 10"),
    );
    let text = case.transcript("import hpcc case/config.txt -o imported.toml");
    assert!(text.ends_with("--- exit 2\n"), "{text}");
    assert!(
        text.contains("CC_MODE") && text.contains("\nhint: "),
        "{text}"
    );
    assert_eq!(case.list(), ["case"]);
}

/// The least that a configuration of HPCC's simulator says for DCQCN.
const CONFIG: &str = "\
TOPOLOGY_FILE topology.txt
FLOW_FILE flow.txt
TRACE_FILE trace.txt
PACKET_PAYLOAD_SIZE 1000
SIMULATOR_STOP_TIME 4.00
CC_MODE 1
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
RP_TIMER 300
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 20Mb/s
RATE_HAI 200Mb/s
MIN_RATE 1000Mb/s
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
HAS_WIN 0
VAR_WIN 0
RATE_BOUND 1
ACK_HIGH_PRIO 1
ENABLE_TRACE 0
KMAX_MAP 1 100000000000 1600
KMIN_MAP 1 100000000000 400
PMAX_MAP 1 100000000000 0.2
BUFFER_SIZE 32
";
