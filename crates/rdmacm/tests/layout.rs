//! Layouts against the header of librdmacm (Debian: librdmacm-dev), which a C program prints.
#![allow(clippy::print_stdout, reason = "what is skipped is said")]
#![allow(dead_code, unused_imports, reason = "the library uses the rest")]

use std::fmt::Write as _;
use std::mem::{offset_of, size_of};
use std::process::Command;

// The library is an archive for C, which no test can be linked with.
#[path = "../src/layout.rs"]
mod layout;

use layout::{AddrInfo, Channel, CmEvent, CmId, ConnParam, PathRecord, Route, UdParam};

macro_rules! places {
    ($($type:ident = $c:literal: $($field:ident = $c_field:literal),*;)*) => {
        vec![$(
            (concat!("sizeof(", $c, ")"), size_of::<$type>()),
            $((concat!("offsetof(", $c, ", ", $c_field, ")"), offset_of!($type, $field)),)*
        )*]
    };
}

fn places() -> Vec<(&'static str, usize)> {
    places! {
        Channel = "struct rdma_event_channel": fd = "fd";
        PathRecord = "struct ibv_sa_path_rec": dgid = "dgid", sgid = "sgid", dlid = "dlid", slid = "slid", raw_traffic = "raw_traffic",
            flow_label = "flow_label", hop_limit = "hop_limit", traffic_class = "traffic_class", reversible = "reversible",
            numb_path = "numb_path", pkey = "pkey", sl = "sl", mtu_selector = "mtu_selector", mtu = "mtu",
            rate_selector = "rate_selector", rate = "rate", packet_life_time_selector = "packet_life_time_selector",
            packet_life_time = "packet_life_time", preference = "preference";
        Route = "struct rdma_route": source = "addr.src_addr", destination = "addr.dst_addr", sgid = "addr.addr.ibaddr.sgid",
            dgid = "addr.addr.ibaddr.dgid", pkey = "addr.addr.ibaddr.pkey", path_rec = "path_rec", num_paths = "num_paths";
        CmId = "struct rdma_cm_id": verbs = "verbs", channel = "channel", context = "context", qp = "qp", route = "route", ps = "ps",
            port_num = "port_num", event = "event", send_cq_channel = "send_cq_channel", send_cq = "send_cq",
            recv_cq_channel = "recv_cq_channel", recv_cq = "recv_cq", srq = "srq", pd = "pd", qp_type = "qp_type";
        ConnParam = "struct rdma_conn_param": private_data = "private_data", private_data_len = "private_data_len",
            responder_resources = "responder_resources", initiator_depth = "initiator_depth", flow_control = "flow_control",
            retry_count = "retry_count", rnr_retry_count = "rnr_retry_count", srq = "srq", qp_num = "qp_num";
        UdParam = "struct rdma_ud_param": private_data = "private_data", private_data_len = "private_data_len",
            ah_attr = "ah_attr", qp_num = "qp_num", qkey = "qkey";
        CmEvent = "struct rdma_cm_event": id = "id", listen_id = "listen_id", event = "event", status = "status", param = "param";
        AddrInfo = "struct rdma_addrinfo": flags = "ai_flags", family = "ai_family", qp_type = "ai_qp_type",
            port_space = "ai_port_space", src_len = "ai_src_len", dst_len = "ai_dst_len", src_addr = "ai_src_addr",
            dst_addr = "ai_dst_addr", src_canonname = "ai_src_canonname", dst_canonname = "ai_dst_canonname",
            route_len = "ai_route_len", route = "ai_route", connect_len = "ai_connect_len", connect = "ai_connect", next = "ai_next";
    }
}

#[test]
fn layouts_are_those_of_the_header() {
    if !std::path::Path::new("/usr/include/rdma/rdma_cma.h").exists() {
        println!("skipped: there is no rdma/rdma_cma.h (Debian: apt-get install librdmacm-dev)");
        return;
    }
    let mut source = String::from(
        "#include <stddef.h>\n#include <stdio.h>\n#include <rdma/rdma_cma.h>\nint main(void)\n{\n",
    );
    for (place, _) in places() {
        let _ = writeln!(source, "    printf(\"%zu\\n\", {place});");
    }
    source.push_str("    return 0;\n}\n");
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (file, program) = (folder.join("rdmacm-layout.c"), folder.join("rdmacm-layout"));
    std::fs::write(&file, source).expect("it can be written");
    let compiled = Command::new("cc")
        .arg("-o")
        .arg(&program)
        .arg(&file)
        .status();
    assert!(compiled.expect("there is a C compiler").success());
    let printed = Command::new(&program)
        .output()
        .expect("it has been compiled");
    let printed = String::from_utf8(printed.stdout).expect("numbers");
    let c: Vec<usize> = printed
        .lines()
        .filter_map(|line| line.parse().ok())
        .collect();
    let own = places();
    assert_eq!(c.len(), own.len());
    for ((place, own), c) in own.iter().zip(c) {
        assert_eq!(*own, c, "{place}");
    }
}
