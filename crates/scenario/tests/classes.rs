//! Mistakes in when traffic classes send at ports.

use crate::common::{STAR, read, refused, refused_star};

#[test]
fn classes_of_switches_and_nics() {
    for (classes, parts) in [
        (
            "{ class = 0, strict = true }",
            ["[0].class`", "is 0, expected 1 to 7"],
        ),
        (
            "{ class = 8, weight = 1 }",
            ["[0].class`", "is 8, expected 1 to 7"],
        ),
        ("{ class = 3 }", ["[0].weight`", "is missing for class 3"]),
        (
            "{ class = 3, strict = false }",
            ["[0].weight`", "is missing for class 3"],
        ),
        (
            "{ class = 3, strict = true, weight = 1 }",
            ["[0].weight`", "class 3, which is strict"],
        ),
        (
            "{ class = 3, weight = 0 }",
            ["[0].weight`", "is 0, expected 1 to 1000"],
        ),
        ("{ class = 3, wieght = 1 }", ["[0].wieght`", "`weight`?"]),
        (
            "{ class = 3, weight = 1 }, { class = 4, weight = 1 }, { class = 3, strict = true }",
            ["[2].class`", "is 3, as of"],
        ),
    ] {
        for table in ["switch", "nic"] {
            let place = format!("`{table}.class{}", parts[0]);
            refused_star(
                &format!("[{table}]\nclass = [{classes}]\n"),
                &[&place, parts[1]],
            );
        }
    }
}

#[test]
fn nics_schedule_classes_unless_a_scope_or_receivers_order_queue_pairs() {
    let nic = "[nic]\nclass = [{ class = 3, strict = true }]\n";
    let traffic = "[[workload]]\nkind = \"permutation\"\nsize = \"1kB\"\n";
    for scope in ["qp", "none"] {
        read(&format!(
            "{STAR}[congestion]\nscope = \"{scope}\"\n{nic}{traffic}"
        ))
        .expect(scope);
    }
    for scope in ["pair", "destination-unsplit", "tenant"] {
        let text = format!("[congestion]\nscope = \"{scope}\"\n{nic}{traffic}");
        refused_star(&text, &["`nic.class`", scope, "switch.class"]);
    }
    let text = format!("[congestion.dasr]\nmode = \"demand-aware\"\n{nic}{traffic}");
    refused_star(&text, &["`nic.class`", "receivers decide", "switch.class"]);
    for table in ["switch", "nic"] {
        let class = format!("{table}.class = [{{ class = 3, strict = true }}]");
        let text = format!("profile = \"hpcc-ns3\"\n{class}\n{STAR}{traffic}");
        let place = format!("`{table}.class`");
        refused(&text, &[&place, "hpcc-ns3", "exact"]);
    }
}
