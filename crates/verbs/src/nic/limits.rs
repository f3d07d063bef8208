//! How many and how large.

use std::ffi::c_int;

use fairlane_softnic::Limits;

use crate::abi::DeviceAttr;

/// The limits of the device.
pub(crate) const ALL: Limits = Limits::ALL;

/// What `ibv_query_device` says of them; the rest is for others to fill in.
pub(crate) const fn device() -> DeviceAttr {
    const PAIRS: c_int = ALL.queue_pairs as c_int;
    DeviceAttr {
        fw_ver: [0; 64],
        node_guid: 0,
        sys_image_guid: 0,
        max_mr_size: 0,
        page_size_cap: 0,
        vendor_id: 0,
        vendor_part_id: 0,
        hw_ver: 0,
        max_qp: PAIRS,
        max_qp_wr: ALL.requests as c_int,
        device_cap_flags: CAPABILITIES,
        max_sge: ALL.pieces as c_int,
        max_sge_rd: ALL.pieces as c_int,
        max_cq: ALL.completion_queues as c_int,
        max_cqe: ALL.completions as c_int,
        max_mr: ALL.regions as c_int,
        max_pd: ALL.domains as c_int,
        max_qp_rd_atom: ALL.reads as c_int,
        max_ee_rd_atom: 0,
        max_res_rd_atom: ALL.reads as c_int * PAIRS,
        max_qp_init_rd_atom: ALL.reads as c_int,
        max_ee_init_rd_atom: 0,
        // IBV_ATOMIC_HCA, as mlx5 and Soft-RoCE have: programs ask for it by name, though atomics of processors fit with those
        // of the device, too (IBV_ATOMIC_GLOB).
        atomic_cap: 1,
        max_ee: 0,
        max_rdd: 0,
        max_mw: ALL.regions as c_int,
        max_raw_ipv6_qp: 0,
        max_raw_ethy_qp: 0,
        max_mcast_grp: 0,
        max_mcast_qp_attach: 0,
        max_total_mcast_qp_attach: 0,
        max_ah: c_int::MAX,
        max_fmr: 0,
        max_map_per_fmr: 0,
        max_srq: ALL.shared_queues as c_int,
        max_srq_wr: ALL.receives as c_int,
        max_srq_sge: ALL.pieces as c_int,
        max_pkeys: ALL.partitions,
        local_ca_ack_delay: 15,
        phys_port_cnt: 1,
    }
}

/// `enum ibv_device_cap_flags`: completion queues and shared queues change their size, memory windows of types 1 and 2B,
/// keys can be invalidated, RNR NAKs, events of the port.
const CAPABILITIES: u32 = 1 << 10 | 1 << 12 | 1 << 13 | 1 << 17 | 1 << 21 | 1 << 24;

/// `enum ibv_mtu` of a number of bytes.
pub(crate) const fn mtu_to_number(bytes: u16) -> c_int {
    match bytes {
        0..512 => 1,
        512..1024 => 2,
        1024..2048 => 3,
        2048..4096 => 4,
        4096.. => 5,
    }
}

/// Bytes of an `enum ibv_mtu`.
pub(crate) const fn mtu_from_number(number: c_int) -> Option<u16> {
    match number {
        1..=5 => Some(128 << number),
        _ => None,
    }
}
