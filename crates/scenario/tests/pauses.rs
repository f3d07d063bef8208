//! Fixed pause thresholds are refused where they contradict something.

use crate::common::refused;

#[test]
fn fixed_pause_thresholds() {
    refused(
        "[switch.pfc]\nxoff = 0",
        &["x.toml:2:1", "`switch.pfc.xoff`", "is 0B"],
    );
    refused(
        "[switch.pfc]\nxoff = \"2kB\"",
        &["`switch.pfc.xoff`", "resume_offset, 3KiB"],
    );
    refused(
        "[switch.pfc]\nxoff = \"50kB\"\nresume_offset = \"64kB\"",
        &["`switch.pfc.xoff`", "is 50kB", "resume_offset, 64kB"],
    );
    refused(
        "[switch.pfc]\nxoff = \"50kB\"\nthreshold_shift = 1",
        &["x.toml:3:1", "`switch.pfc.threshold_shift`", "is 1", "xoff"],
    );
    refused(
        "profile = \"hpcc-ns3\"\n[switch.pfc]\nxoff = \"50kB\"",
        &["`switch.pfc.xoff`", "hpcc-ns3"],
    );
}
