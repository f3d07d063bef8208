//! Layouts of librdmacm (version 44; later ones are the same).

use std::ffi::{c_char, c_int, c_void};
use std::mem::size_of;

use fairlane_verbs_abi::{AhAttr, Gid, IbvCompChannel, IbvContext, IbvCq, IbvPd, IbvQp, IbvSrq};

/// `struct rdma_event_channel`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) fd: c_int,
}

/// `struct sockaddr_storage`: an address family in the machine's order, and what belongs to it.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct SockAddr {
    pub(crate) family: u16,
    pub(crate) rest: [u8; 126],
}

impl Default for SockAddr {
    fn default() -> Self {
        let (family, rest) = (0, [0; 126]);
        Self { family, rest }
    }
}

/// `struct ibv_sa_path_rec`. Numbers of more than a byte are in network order, as far as they are on the wire.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct PathRecord {
    pub(crate) dgid: Gid,
    pub(crate) sgid: Gid,
    pub(crate) dlid: u16,
    pub(crate) slid: u16,
    pub(crate) raw_traffic: c_int,
    pub(crate) flow_label: u32,
    pub(crate) hop_limit: u8,
    pub(crate) traffic_class: u8,
    pub(crate) reversible: c_int,
    pub(crate) numb_path: u8,
    pub(crate) pkey: u16,
    pub(crate) sl: u8,
    pub(crate) mtu_selector: u8,
    pub(crate) mtu: u8,
    pub(crate) rate_selector: u8,
    pub(crate) rate: u8,
    pub(crate) packet_life_time_selector: u8,
    pub(crate) packet_life_time: u8,
    pub(crate) preference: u8,
}

/// `struct rdma_route`, with its `struct rdma_addr`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) source: SockAddr,
    pub(crate) destination: SockAddr,
    pub(crate) sgid: Gid,
    pub(crate) dgid: Gid,
    pub(crate) pkey: u16,
    pub(crate) path_rec: *mut PathRecord,
    pub(crate) num_paths: c_int,
}

/// `struct rdma_cm_id`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct CmId {
    pub(crate) verbs: *const IbvContext,
    pub(crate) channel: *mut Channel,
    pub(crate) context: *mut c_void,
    pub(crate) qp: *const IbvQp,
    pub(crate) route: Route,
    pub(crate) ps: c_int,
    pub(crate) port_num: u8,
    pub(crate) event: *mut CmEvent,
    pub(crate) send_cq_channel: *const IbvCompChannel,
    pub(crate) send_cq: *const IbvCq,
    pub(crate) recv_cq_channel: *const IbvCompChannel,
    pub(crate) recv_cq: *const IbvCq,
    pub(crate) srq: *const IbvSrq,
    pub(crate) pd: *const IbvPd,
    pub(crate) qp_type: c_int,
}

/// `struct rdma_conn_param`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnParam {
    pub(crate) private_data: *const u8,
    pub(crate) private_data_len: u8,
    pub(crate) responder_resources: u8,
    pub(crate) initiator_depth: u8,
    pub(crate) flow_control: u8,
    pub(crate) retry_count: u8,
    pub(crate) rnr_retry_count: u8,
    pub(crate) srq: u8,
    pub(crate) qp_num: u32,
}

/// `struct rdma_ud_param`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct UdParam {
    pub(crate) private_data: *const u8,
    pub(crate) private_data_len: u8,
    pub(crate) ah_attr: AhAttr,
    pub(crate) qp_num: u32,
    pub(crate) qkey: u32,
}

/// What an event says, by the kind of its service.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union Param {
    pub(crate) conn: ConnParam,
    pub(crate) ud: UdParam,
}

/// `struct rdma_cm_event`.
#[repr(C)]
pub(crate) struct CmEvent {
    pub(crate) id: *mut CmId,
    pub(crate) listen_id: *mut CmId,
    pub(crate) event: c_int,
    pub(crate) status: c_int,
    pub(crate) param: Param,
}

/// `struct rdma_addrinfo`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct AddrInfo {
    pub(crate) flags: c_int,
    pub(crate) family: c_int,
    pub(crate) qp_type: c_int,
    pub(crate) port_space: c_int,
    pub(crate) src_len: u32,
    pub(crate) dst_len: u32,
    pub(crate) src_addr: *mut SockAddr,
    pub(crate) dst_addr: *mut SockAddr,
    pub(crate) src_canonname: *mut c_char,
    pub(crate) dst_canonname: *mut c_char,
    pub(crate) route_len: usize,
    pub(crate) route: *mut c_void,
    pub(crate) connect_len: usize,
    pub(crate) connect: *mut c_void,
    pub(crate) next: *mut Self,
}

const _: () = {
    assert!(size_of::<SockAddr>() == 128 && size_of::<Route>() == 312);
    assert!(size_of::<CmId>() == 416 && size_of::<CmEvent>() == 80);
    assert!(size_of::<ConnParam>() == 24 && size_of::<UdParam>() == 56);
    assert!(size_of::<AddrInfo>() == 96 && size_of::<PathRecord>() == 64);
};

/// `enum rdma_cm_event_type`.
pub(crate) mod event {
    use std::ffi::c_int;

    pub(crate) const ADDR_RESOLVED: c_int = 0;
    pub(crate) const ROUTE_RESOLVED: c_int = 2;
    pub(crate) const CONNECT_REQUEST: c_int = 4;
    pub(crate) const CONNECT_RESPONSE: c_int = 5;
    pub(crate) const CONNECT_ERROR: c_int = 6;
    pub(crate) const UNREACHABLE: c_int = 7;
    pub(crate) const REJECTED: c_int = 8;
    pub(crate) const ESTABLISHED: c_int = 9;
    pub(crate) const DISCONNECTED: c_int = 10;
    pub(crate) const TIMEWAIT_EXIT: c_int = 15;
}

/// `RDMA_UDP_QKEY`: of queue pairs for datagrams that are made here.
pub(crate) const DATAGRAM_KEY: u32 = 0x0123_4567;
