//! Packets as tshark decodes them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Fields of a packet by tshark's names: those of IP, UDP and InfiniBand.
pub(super) type Fields = BTreeMap<String, String>;

/// A request for what isn't well-formed, or at least suspicious to tshark.
const SUSPICIOUS: &str = "udp.port == 4791 && (_ws.malformed || _ws.expert.severity >= 6291456)";

fn tshark(capture: &Path, arguments: &[&str]) -> Vec<u8> {
    let mut command = Command::new("tshark");
    // It takes short payloads for RPC over RDMA, or by their first bytes for Ethernet, and calls them malformed.
    command.args(["--disable-protocol", "rpcordma"]);
    command.args(["--disable-heuristic", "eth_over_ib"]);
    command.args(["-n", "-r"]).arg(capture).args(arguments);
    let output = command.output().expect("tshark has been found");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    output.stdout
}

/// Packets of RoCEv2 that tshark finds something wrong with, one a line.
pub(super) fn suspicious(capture: &Path) -> String {
    String::from_utf8_lossy(&tshark(capture, &["-Y", SUSPICIOUS])).into_owned()
}

/// All packets of RoCEv2.
pub(super) fn packets(capture: &Path) -> Vec<Fields> {
    let arguments = [
        "-Y",
        "udp.port == 4791",
        "-T",
        "json",
        "--no-duplicate-keys",
    ];
    let said = tshark(capture, &arguments);
    let all: Vec<Value> = serde_json::from_slice(&said).expect("tshark writes JSON");
    let packet = |packet: &Value| {
        let mut fields = Fields::new();
        for layer in ["ip", "udp", "infiniband"] {
            flatten(&packet["_source"]["layers"][layer], &mut fields);
        }
        fields
    };
    all.iter().map(packet).collect()
}

/// Fields that aren't taken apart further.
fn flatten(layer: &Value, fields: &mut Fields) {
    let Some(members) = layer.as_object() else {
        return;
    };
    for (name, value) in members {
        if name.ends_with("_tree") || name == "Timestamps" {
            flatten(value, fields);
        } else if !members.contains_key(&format!("{name}_tree")) {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            fields.insert(name.clone(), text);
        }
    }
}
