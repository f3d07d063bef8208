//! No input makes an importer panic.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

#[path = "../../scenario/tests/common/mod.rs"]
mod common;

use common::Folder;
use fairlane_cases::{conweave, hpcc};
use proptest::prelude::*;

const KEYS: &[&str] = &[
    "CC_MODE 1\n",
    "CC_MODE 3\n",
    "KMAX_MAP 1 100000000000 1\n",
    "KMAX_MAP 4294967295 1\n",
    "KMAX_MAP x\n",
    "LINK_DOWN 1 0 2\n",
    "RATE_AI 1Gb/s\n",
    "RP_TIMER 1e300\n",
    "RP_TIMER nan\n",
    "HAS_WIN 1\n",
    "BUFFER_SIZE 4294967295\n",
    "SIMULATOR_STOP_TIME 1e300\n",
    "TOPOLOGY_FILE ..\n",
    "FLOW_FILE /\n",
    "L2_ACK_INTERVAL 1\n",
    "RATE_HAI -1bps\n",
    "ENABLE_QCN 0\n",
    "\n",
    "X",
];

fn configurations() -> impl Strategy<Value = String> {
    let known =
        prop::collection::vec(prop::sample::select(KEYS), 0..40).prop_map(|lines| lines.concat());
    prop_oneof![4 => known, 1 => any::<String>(), 1 => "[ -~\n]{0,200}"]
}

#[test]
fn arbitrary_configurations_never_panic() {
    let folder = Folder::new("cases")
        .with(
            "topology.txt",
            "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n",
        )
        .with("flow.txt", "0\n");
    let file = |name: &str| folder.0.join(name);
    proptest!(ProptestConfig::with_cases(200), |(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        gzipped in any::<bool>(),
        config in configurations(),
    )| {
        let bytes = if gzipped { [&[0x1f, 0x8b, 8], bytes.as_slice()].concat() } else { bytes };
        let files = "TOPOLOGY_FILE topology.txt\nFLOW_FILE flow.txt\nENABLE_TRACE 0\n";
        let whole = format!("{files}{config}").into_bytes();
        for text in [bytes, config.into_bytes(), whole] {
            std::fs::write(file("config.txt"), text).unwrap();
            let _ = hpcc::import(&file("config.txt"));
            let _ = conweave::import(&file("config.txt"));
        }
    });
}
