//! How mistakes in what switches choose are refused: with their place, what was expected and a hint.

use crate::common::{STAR, refused, refused_star};

#[test]
fn forwarding_and_its_parameters() {
    refused(
        "[switch]\nforwarding = \"sprey\"",
        &["x.toml:2:1", "`switch.forwarding`", "`spray`?"],
    );
    refused_star(
        "[switch.flowlet]\ngap = \"0us\"",
        &["x.toml:7:1", "`switch.flowlet.gap`", "expected 1ns to 1s"],
    );
    refused_star(
        "[switch.flowlet]\ngap = \"2s\"",
        &["`switch.flowlet.gap`", "expected 1ns to 1s"],
    );
    refused_star(
        "[switch.flowlet]\nentries = 0",
        &["`switch.flowlet.entries`", "expected 1 to 1048576"],
    );
    refused(
        "[switch.flowlet]\ngaps = \"1us\"",
        &["`switch.flowlet.gaps`", "`gap`?"],
    );
    refused(
        &format!("profile = \"hpcc-ns3\"\nswitch.forwarding = \"adaptive\"\n{STAR}"),
        &[
            "x.toml:2:8",
            "expected \"ecmp\" under profile",
            "hint:",
            "exact",
        ],
    );
    refused_star(
        "[transport]\nreorder_tolerance = 8",
        &["`transport.reorder_tolerance`", "selective-repeat", "hint:"],
    );
    refused_star(
        "[transport]\nrecovery = \"selective-repeat\"\nreorder_window = 8\nreorder_tolerance = 8",
        &[
            "`transport.reorder_tolerance`",
            "less than reorder_window, 8",
        ],
    );
}

#[test]
fn flows_that_move_in_order() {
    refused_star(
        "[switch.iofd]\ntrigger = 0",
        &["x.toml:7:1", "`switch.iofd.trigger`", "expected 1B to"],
    );
    refused_star(
        "[switch.iofd]\ntrigger = \"30kB\"",
        &[
            "`switch.iofd.target`",
            "is 25kB, expected at most 15kB",
            "hint:",
        ],
    );
    refused_star(
        "[switch.iofd]\nhold = 0",
        &["x.toml:7:1", "`switch.iofd.hold`", "is 0", "hint:"],
    );
    refused_star(
        "[switch.iofd]\nhold_timeout = \"0us\"",
        &["`switch.iofd.hold_timeout`", "above 0", "hint:"],
    );
    refused_star(
        "[switch.iofd]\nlabels = 5",
        &["`switch.iofd.labels`", "expected 1 to 4"],
    );
    refused_star(
        "[switch.iofd]\nlabels = 0",
        &["`switch.iofd.labels`", "expected 1 to 4"],
    );
    refused_star(
        "[switch.iofd]\nstreams = 65537",
        &["`switch.iofd.streams`", "expected 1 to 65536"],
    );
    refused_star(
        "[switch]\nforwarding = \"iofd\"\narbitration = \"ingress\"",
        &[
            "x.toml:8:1",
            "`switch.arbitration`",
            "expected \"fifo\"",
            "hint:",
        ],
    );
    refused(
        &format!("profile = \"hpcc-ns3\"\nswitch.forwarding = \"iofd\"\n{STAR}"),
        &["x.toml:2:8", "expected \"ecmp\" under profile", "hint:"],
    );
}
