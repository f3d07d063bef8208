//! Programs of ranks: what a run of one leaves behind, and that it can be run again and explained.

use crate::support::{Case, list};

const STAR: &str = "[topology]\nkind = \"star\"\nhosts = 4\n\
    host_link = { rate = \"100Gbps\", delay = \"1us\" }\n";

/// Four ranks in a ring; each sends 40 kB to the next, into a buffer that is longer.
fn goal() -> String {
    let rank = |rank: u32| {
        let (next, before) = ((rank + 1) % 4, (rank + 3) % 4);
        format!(
            "rank {rank} {{\na: calc {}\nb: send 40000b to {next} tag 1\n\
             c: recv 65536b from {before} tag 1\nb requires a\n}}\n",
            1000 * rank
        )
    };
    let ranks: Vec<_> = (0..4).map(rank).collect();
    format!("num_ranks 4\n{}", ranks.concat())
}

fn succeed(case: &Case, arguments: &str) -> String {
    let output = case.run(arguments);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments}: {words}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_trace_goes_with_the_results() {
    let scenario = format!("{STAR}[[workload]]\nkind = \"program\"\npath = \"ring.goal\"\n");
    let case = Case::with("s.toml", &scenario).and("ring.goal", &goal());
    succeed(&case, "run s.toml --out d");
    assert_eq!(list(&case.path("d/inputs")), ["ring.goal"]);
    assert_eq!(case.text("d/inputs/ring.goal"), goal());
    std::fs::remove_file(case.path("ring.goal")).unwrap();
    succeed(&case, "run d/scenario.toml --out again");
    assert_eq!(case.text("again/flows.csv"), case.text("d/flows.csv"));
    assert!(succeed(&case, "explain d").contains("4 messages"));
}

#[test]
fn collectives_are_tables_a_part_of_the_page_and_explained() {
    let scenario = format!(
        "{STAR}[[workload]]\nkind = \"collective\"\noperation = \"all-reduce\"\nalgorithm = \"ring\"\n\
         size = \"1MB\"\nrounds = 3\n"
    );
    let case = Case::with("s.toml", &scenario);
    succeed(&case, "run s.toml --out d");
    let names = list(&case.path("d"));
    assert!(
        names.contains(&"collectives.csv".into()) && names.contains(&"collectives.parquet".into())
    );
    let csv = case.text("d/collectives.csv");
    let mut lines = csv.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(
        columns[..5],
        ["workload", "step", "operation", "algorithm", "name"]
    );
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 3);
    assert!(
        rows.iter()
            .all(|row| row[2..4] == ["all-reduce", "ring"] && row.len() == columns.len())
    );
    let page = case.text("d/report.html");
    assert!(
        page.contains("\"what\":\"all-reduce ring\""),
        "the page lacks them"
    );
    // What explain reads is the Parquet file: it has the rows of the CSV file.
    let words = succeed(&case, "explain d");
    assert!(
        words.contains("3 collectives waited for their slowest ranks"),
        "{words}"
    );
    let column = |name: &str| columns.iter().position(|it| *it == name).unwrap();
    let slowest = rows
        .iter()
        .max_by_key(|row| row[column("time_ps")].parse::<u64>().unwrap());
    let rank = format!("rank {} on host", slowest.unwrap()[column("slowest_rank")]);
    assert!(words.contains(&rank), "{words}");
}
