//! Layouts against the headers of rdma-core (Debian: libibverbs-dev), which a C program prints.

use std::fmt::Write as _;
use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;

use fairlane_verbs::abi::*;

/// What a structure of C has in its header, and here.
struct Pair {
    c: &'static str,
    own: usize,
}

macro_rules! sizes {
    ($($type:ty = $c:literal;)*) => {
        vec![$(Pair { c: concat!("sizeof(", $c, ")"), own: size_of::<$type>() },)*]
    };
}

macro_rules! offsets {
    ($($type:ident = $c:literal: $($field:ident $(= $c_field:literal)?),*;)*) => {
        vec![$($(Pair {
            c: offsets!(@name $c $field $($c_field)?),
            own: offset_of!($type, $field),
        },)*)*]
    };
    (@name $c:literal $field:ident $c_field:literal) => { concat!("offsetof(", $c, ", ", $c_field, ")") };
    (@name $c:literal $field:ident) => { concat!("offsetof(", $c, ", ", stringify!($field), ")") };
}

fn pairs() -> Vec<Pair> {
    let mut all = sizes! {
        IbvDevice = "struct ibv_device"; IbvContext = "struct ibv_context"; VerbsContext = "struct verbs_context";
        ContextOps = "struct ibv_context_ops"; IbvPd = "struct ibv_pd"; IbvMr = "struct ibv_mr"; IbvMw = "struct ibv_mw";
        IbvAh = "struct ibv_ah"; IbvCompChannel = "struct ibv_comp_channel"; IbvSrq = "struct ibv_srq";
        IbvCq = "struct ibv_cq"; IbvCqEx = "struct ibv_cq_ex"; IbvQp = "struct ibv_qp";
        QpCap = "struct ibv_qp_cap"; QpInitAttr = "struct ibv_qp_init_attr"; QpInitAttrEx = "struct ibv_qp_init_attr_ex";
        QpAttr = "struct ibv_qp_attr"; Sge = "struct ibv_sge"; SendWr = "struct ibv_send_wr"; RecvWr = "struct ibv_recv_wr";
        Wc = "struct ibv_wc"; AsyncEvent = "struct ibv_async_event"; DeviceAttr = "struct ibv_device_attr";
        DeviceAttrEx = "struct ibv_device_attr_ex"; RssCaps = "struct ibv_rss_caps"; GidEntry = "struct ibv_gid_entry";
        IbvTd = "struct ibv_td"; TdInitAttr = "struct ibv_td_init_attr"; ParentDomainInitAttr = "struct ibv_parent_domain_init_attr";
        AhAttr = "struct ibv_ah_attr"; Grh = "struct ibv_grh"; SrqAttr = "struct ibv_srq_attr";
        SrqInitAttr = "struct ibv_srq_init_attr"; SrqInitAttrEx = "struct ibv_srq_init_attr_ex";
        CqInitAttrEx = "struct ibv_cq_init_attr_ex"; ValuesEx = "struct ibv_values_ex"; Ece = "struct ibv_ece";
        MwBind = "struct ibv_mw_bind"; MwBindInfo = "struct ibv_mw_bind_info"; DataBuf = "struct ibv_data_buf";
        Gid = "union ibv_gid"; MutexRoom = "pthread_mutex_t"; ConditionRoom = "pthread_cond_t";
    };
    all.extend(offsets_of_objects());
    all.extend(offsets_of_values());
    all
}

fn offsets_of_objects() -> Vec<Pair> {
    offsets! {
        IbvDevice = "struct ibv_device": node_type, transport_type, name, dev_name, dev_path, ibdev_path;
        ContextOps = "struct ibv_context_ops": alloc_mw, bind_mw, dealloc_mw, poll_cq, req_notify_cq, post_srq_recv, post_send, post_recv;
        IbvContext = "struct ibv_context": device, ops, cmd_fd, async_fd, num_comp_vectors, mutex, abi_compat;
        VerbsContext = "struct verbs_context": query_port, advise_mr, alloc_null_mr, alloc_parent_domain, dealloc_td, alloc_td, modify_cq, query_rt_values, create_cq_ex, query_device_ex, open_qp,
            create_qp_ex, get_srq_num, create_srq_ex, open_xrcd, close_xrcd, sz, context;
        IbvMr = "struct ibv_mr": pd, addr, length, handle, lkey, rkey;
        IbvMw = "struct ibv_mw": pd, rkey, handle, kind = "type";
        IbvCompChannel = "struct ibv_comp_channel": fd, refcnt;
        IbvSrq = "struct ibv_srq": srq_context, pd, handle, mutex, cond, events_completed;
        IbvCq = "struct ibv_cq": channel, cq_context, handle, cqe, mutex, cond, comp_events_completed, async_events_completed;
        IbvCqEx = "struct ibv_cq_ex": comp_mask, status, wr_id, start_poll, next_poll, end_poll, read_opcode, read_vendor_err,
            read_byte_len, read_imm_data, read_qp_num, read_src_qp, read_wc_flags, read_slid, read_sl, read_dlid_path_bits,
            read_completion_ts, read_cvlan, read_flow_tag, read_tm_info, read_completion_wallclock_ns;
        IbvQp = "struct ibv_qp": qp_context, pd, send_cq, recv_cq, srq, handle, qp_num, state, qp_type, mutex, cond, events_completed;
        IbvQpEx = "struct ibv_qp_ex": base = "qp_base", comp_mask, wr_id, wr_flags, wr_atomic_cmp_swp, wr_atomic_fetch_add, wr_bind_mw,
            wr_local_inv, wr_rdma_read, wr_rdma_write, wr_rdma_write_imm, wr_send, wr_send_imm, wr_send_inv, wr_send_tso,
            wr_set_ud_addr, wr_set_xrc_srqn, wr_set_inline_data, wr_set_inline_data_list, wr_set_sge, wr_set_sge_list,
            wr_start, wr_complete, wr_abort, wr_atomic_write;
    }
}

fn offsets_of_values() -> Vec<Pair> {
    offsets! {
        QpInitAttr = "struct ibv_qp_init_attr": send_cq, recv_cq, srq, cap, qp_type, sq_sig_all;
        QpInitAttrEx = "struct ibv_qp_init_attr_ex": comp_mask, pd, xrcd, create_flags, max_tso_header, rwq_ind_tbl,
            rx_hash_function = "rx_hash_conf", source_qpn, send_ops_flags;
        QpAttr = "struct ibv_qp_attr": cur_qp_state, path_mtu, path_mig_state, qkey, rq_psn, sq_psn, dest_qp_num, qp_access_flags, cap,
            ah_attr, alt_ah_attr, pkey_index, alt_pkey_index, en_sqd_async_notify, sq_draining, max_rd_atomic,
            max_dest_rd_atomic, min_rnr_timer, port_num, timeout, retry_cnt, rnr_retry, alt_port_num, alt_timeout, rate_limit;
        SendWr = "struct ibv_send_wr": next, sg_list, num_sge, opcode, send_flags, imm_data, wr, xrc_remote_srqn = "qp_type",
            bind_mw;
        RecvWr = "struct ibv_recv_wr": next, sg_list, num_sge;
        Wc = "struct ibv_wc": status, opcode, vendor_err, byte_len, imm_data, qp_num, src_qp, wc_flags, pkey_index, slid, sl, dlid_path_bits;
        AsyncEvent = "struct ibv_async_event": event_type;
        DeviceAttr = "struct ibv_device_attr": node_guid, max_mr_size, vendor_id, max_qp, device_cap_flags, max_sge, max_cqe, max_mr, max_pd,
            max_qp_rd_atom, max_res_rd_atom, max_qp_init_rd_atom, atomic_cap, max_mw, max_mcast_grp, max_ah, max_srq, max_srq_wr,
            max_srq_sge, max_pkeys, local_ca_ack_delay, phys_port_cnt;
        DeviceAttrEx = "struct ibv_device_attr_ex": comp_mask, odp_general_caps = "odp_caps", completion_timestamp_mask, hca_core_clock,
            device_cap_flags_ex, tso_caps, rss_caps, max_wq_type_rq, packet_pacing_caps, raw_packet_caps, tm_caps, cq_mod_caps,
            max_dm_size, pci_atomic_caps, xrc_odp_caps, phys_port_cnt_ex;
        PortAttr = "struct ibv_port_attr": max_mtu, active_mtu, gid_tbl_len, port_cap_flags, max_msg_sz, pkey_tbl_len, lid, lmc, subnet_timeout,
            active_width, active_speed, phys_state, link_layer, flags, port_cap_flags2;
        GidEntry = "struct ibv_gid_entry": gid_index, port_num, gid_type, ndev_ifindex;
        AhAttr = "struct ibv_ah_attr": grh, dlid, sl, src_path_bits, static_rate, is_global, port_num;
        Grh = "struct ibv_grh": paylen, next_hdr, hop_limit, sgid, dgid;
        SrqInitAttrEx = "struct ibv_srq_init_attr_ex": attr, comp_mask, srq_type, pd, xrcd, cq, tm_cap;
        CqInitAttrEx = "struct ibv_cq_init_attr_ex": cq_context, channel, comp_vector, wc_flags, comp_mask, flags, parent_domain;
        ParentDomainInitAttr = "struct ibv_parent_domain_init_attr": td, comp_mask, alloc, free, pd_context;
        MwBind = "struct ibv_mw_bind": send_flags, bind_info;
        MwBindInfo = "struct ibv_mw_bind_info": addr, length, mw_access_flags;
    }
}

/// The same numbers in a program of C, whose compiler refuses it if one is another.
fn program(pairs: &[Pair]) -> String {
    let mut text = "#include <stddef.h>\n#include <infiniband/verbs.h>\n".to_owned();
    for Pair { c, own } in pairs {
        let _ = writeln!(text, "_Static_assert({c} == {own}, \"{c}\");");
    }
    // Both are larger here, since versions after 44 have added something at the end.
    let larger = [
        ("struct ibv_qp_ex", size_of::<IbvQpEx>()),
        ("struct ibv_port_attr", size_of::<PortAttr>()),
    ];
    for (c, own) in larger {
        let _ = writeln!(text, "_Static_assert(sizeof({c}) <= {own}, \"{c}\");");
    }
    text
}

#[test]
fn layouts_are_those_of_the_headers() {
    if !Path::new("/usr/include/infiniband/verbs.h").exists() {
        println!(
            "skipped: there are no headers of libibverbs (Debian: apt-get install libibverbs-dev)"
        );
        return;
    }
    let pairs = pairs();
    assert!(
        pairs.len() > 200,
        "only {} numbers are compared",
        pairs.len()
    );
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = folder.join("layout.c");
    std::fs::write(&source, program(&pairs)).expect("the folder can be written");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-std=gnu11", "-c", "-o"])
        .arg(folder.join("layout.o"))
        .arg(&source);
    let output = compiler.output().expect("cc can be started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
}
