//! What devices say of themselves.

use std::ffi::{c_int, c_uint};
use std::net::IpAddr;

use fairlane_softnic::{Interface, PortSpeed};

use crate::abi::{DeviceAttr, DeviceAttrEx, Gid, GidEntry, OrMinus, PortAttr, RssCaps};
use crate::args::{Handle, In, Out};
use crate::context::Context;
use crate::gid;
use crate::guard::{Errno, callback, entry};
use crate::nic::limits;

/// `ibv_port_attr` before version 2 of its size: what the exported function of old programs fills.
const OLD_PORT: usize = std::mem::offset_of!(PortAttr, flags);
/// The unit of `ibv_query_port_speed`.
const SPEED_UNIT: u64 = 100_000_000;
/// The bit of a P_Key that says full membership.
const FULL_MEMBER: u16 = 0x8000;

impl Context {
    fn interface(&self) -> &Interface {
        &self.own.device.own.choice.interface
    }

    pub(crate) fn address(&self) -> IpAddr {
        self.own.device.own.choice.address
    }

    /// Refuses ports that aren't there.
    pub(crate) fn check_port(&self, port: u32) -> Result<(), Errno> {
        (port == 1).then_some(()).ok_or(Errno::INVALID)
    }

    fn gid(&self, port: u32, slot: u32) -> Result<Gid, Errno> {
        self.check_port(port)?;
        (slot < gid::SLOTS).then_some(()).ok_or(Errno::INVALID)?;
        Ok(self.own.nic.gids().at(slot).unwrap_or_default())
    }

    /// The entry of a slot that is taken.
    fn entry(&self, slot: u32) -> Option<GidEntry> {
        Some(GidEntry {
            gid: self.own.nic.gids().at(slot)?,
            gid_index: slot,
            port_num: 1,
            gid_type: gid::ROCE_V2,
            ndev_ifindex: self.interface().number,
        })
    }

    fn attributes(&self) -> DeviceAttr {
        let mut version = [0; 64];
        let text = concat!("fairlane ", env!("CARGO_PKG_VERSION"));
        version[..text.len()].copy_from_slice(text.as_bytes());
        let guid = gid::guid(self.address());
        DeviceAttr {
            fw_ver: version,
            node_guid: guid,
            sys_image_guid: guid,
            max_mr_size: u64::MAX,
            page_size_cap: 0xffff_f000,
            // As nobody has been given one.
            vendor_id: 0xff_ffff,
            phys_port_cnt: 1,
            ..limits::device()
        }
    }

    fn port(&self) -> PortAttr {
        let device = &self.own.nic.device;
        // As the kernel says of Ethernet: IBV_PORT_ACTIVE with a link up, or IBV_PORT_DOWN and disabled.
        let (state, phys_state) = if device.is_up() { (4, 5) } else { (1, 3) };
        let speed = PortSpeed::of(device.line_rate());
        PortAttr {
            state,
            max_mtu: limits::mtu_to_number(4096),
            active_mtu: limits::mtu_to_number(device.largest_mtu().unwrap_or(256)),
            gid_tbl_len: gid::SLOTS as c_int,
            // IBV_PORT_CM_SUP, IBV_PORT_IP_BASED_GIDS
            port_cap_flags: 1 << 16 | 1 << 26,
            max_msg_sz: limits::ALL.message,
            pkey_tbl_len: self.own.nic.partitions.len() as u16,
            max_vl_num: 1,
            active_width: speed.width(),
            // What doesn't fit is told as NDR, as by the kernel.
            active_speed: u8::try_from(speed.signalling).unwrap_or(128),
            phys_state,
            // IBV_LINK_LAYER_ETHERNET
            link_layer: 2,
            // IBV_QPF_GRH_REQUIRED
            flags: 1,
            active_speed_ex: speed.signalling,
            ..PortAttr::default()
        }
    }
}

callback! {
    fn query_port(context: Handle<Context>, port: u8, attributes: Out<PortAttr>, room: usize) -> c_int {
        let context = context.get()?;
        context.check_port(port.into())?;
        attributes.set_part(&context.port(), room)?;
        Ok(0)
    }

    fn query_device_ex(context: Handle<Context>, input: In<u32>, attributes: Out<DeviceAttrEx>, room: usize) -> c_int {
        if input.get().is_ok_and(|mask| *mask != 0) || room < size_of::<DeviceAttr>() {
            return Err(Errno::INVALID);
        }
        let orig_attr = context.get()?.attributes();
        let all = DeviceAttrEx {
            orig_attr,
            comp_mask: 0,
            odp_general_caps: 0,
            odp_transport_caps: [0; 3],
            completion_timestamp_mask: 0,
            hca_core_clock: 0,
            device_cap_flags_ex: orig_attr.device_cap_flags.into(),
            tso_caps: [0; 2],
            rss_caps: RssCaps::default(),
            max_wq_type_rq: 0,
            packet_pacing_caps: [0; 3],
            raw_packet_caps: 0,
            tm_caps: [0; 5],
            cq_mod_caps: [0; 2],
            max_dm_size: 0,
            pci_atomic_caps: [0; 3],
            xrc_odp_caps: 0,
            phys_port_cnt_ex: 1,
        };
        attributes.set_part(&all, room)?;
        Ok(0)
    }
}

entry! {
    fn ibv_query_device(context: Handle<Context>, attributes: Out<DeviceAttr>) -> c_int {
        attributes.set(context.get()?.attributes())?;
        Ok(0)
    }

    /// For programs that know nothing of the larger structure.
    fn ibv_query_port(context: Handle<Context>, port: u8, attributes: Out<PortAttr>) -> c_int {
        let context = context.get()?;
        context.check_port(port.into())?;
        attributes.set_part(&context.port(), OLD_PORT)?;
        Ok(0)
    }

    fn ibv_query_port_speed(context: Handle<Context>, port: u32, speed: Out<u64>) -> c_int {
        let context = context.get()?;
        context.check_port(port)?;
        let rate = context.own.nic.device.line_rate();
        speed.set(rate.as_bps().div_ceil(SPEED_UNIT))?;
        Ok(0)
    }

    fn ibv_query_gid(context: Handle<Context>, port: u8, slot: c_int, gid: Out<Gid>) -> OrMinus<c_int> {
        let slot = u32::try_from(slot).map_err(|_| Errno::INVALID)?;
        gid.set(context.get()?.gid(port.into(), slot)?)?;
        Ok(OrMinus(0))
    }

    /// `ENODATA` if the slot is free.
    fn _ibv_query_gid_ex(
        context: Handle<Context>,
        port: u32,
        slot: u32,
        entry: Out<GidEntry>,
        flags: u32,
        room: usize,
    ) -> c_int {
        let context = context.get()?;
        context.gid(port, slot)?;
        if flags != 0 || room < size_of::<GidEntry>() {
            return Err(Errno::INVALID);
        }
        let known = context.entry(slot).ok_or(Errno(libc::ENODATA))?;
        entry.set_part(&known, room)?;
        Ok(0)
    }

    fn _ibv_query_gid_table(
        context: Handle<Context>,
        entries: Out<GidEntry>,
        most: usize,
        flags: u32,
        room: usize,
    ) -> OrMinus<isize> {
        let context = context.get()?;
        let known: Vec<GidEntry> = (0..gid::SLOTS).filter_map(|slot| context.entry(slot)).collect();
        if flags != 0 || room < size_of::<GidEntry>() || most < known.len() {
            return Err(Errno::INVALID);
        }
        for (at, entry) in known.iter().enumerate() {
            Out(entries.0.wrapping_byte_add(at * room)).set_part(entry, room)?;
        }
        Ok(OrMinus(known.len() as isize))
    }

    /// 0 for the table of InfiniBand and RoCE version 1, 1 for version 2.
    fn ibv_query_gid_type(context: Handle<Context>, port: u8, slot: c_uint, kind: Out<c_int>) -> OrMinus<c_int> {
        context.get()?.gid(port.into(), slot)?;
        kind.set(1)?;
        Ok(OrMinus(0))
    }

    fn ibv_query_pkey(context: Handle<Context>, port: u8, slot: c_int, key: Out<u16>) -> OrMinus<c_int> {
        context.get()?.check_port(port.into())?;
        let keys = &context.get()?.own.nic.partitions;
        let found = usize::try_from(slot).ok().and_then(|slot| keys.get(slot));
        // __be16.
        key.set((found.ok_or(Errno::INVALID)?.get() as u16).to_be())?;
        Ok(OrMinus(0))
    }

    /// Keys are equal whatever their membership.
    fn ibv_get_pkey_index(context: Handle<Context>, port: u8, key: u16) -> OrMinus<c_int> {
        context.get()?.check_port(port.into())?;
        let wanted = u32::from(u16::from_be(key) | FULL_MEMBER);
        let keys = &context.get()?.own.nic.partitions;
        let slot = keys.iter().position(|key| key.get() | u32::from(FULL_MEMBER) == wanted);
        slot.map(|slot| OrMinus(slot as c_int)).ok_or(Errno(libc::ENOENT))
    }
}
