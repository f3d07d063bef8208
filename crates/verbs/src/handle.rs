//! Address handles: where datagrams go.

use std::ffi::c_int;
use std::net::IpAddr;

use crate::abi::{AhAttr, Gid, GlobalRoute, Grh, IbvAh, Wc};
use crate::args::{Handle, In, Out};
use crate::context::Context;
use crate::domain::Pd;
use crate::gid;
use crate::guard::{Errno, entry};
use crate::nic::Nic;
use crate::object::{Object, With, give, take};

/// An address handle.
pub(crate) type Ah = With<IbvAh, AhInner>;

#[derive(Debug)]
pub(crate) struct AhInner {
    pub(crate) address: IpAddr,
}

/// `IBV_WC_GRH`
const WITH_HEADER: u32 = 1;

/// The address that attributes lead to from a device's own: on Ethernet there is always a global route, by a GID of the table.
pub(crate) fn destination(nic: &Nic, attributes: &AhAttr) -> Result<IpAddr, Errno> {
    let route = &attributes.grh;
    let known = attributes.is_global != 0 && attributes.port_num == 1;
    let known = known && nic.gids().at(route.sgid_index.into()).is_some();
    let address = gid::address(&route.dgid);
    let fits = known && address.is_ipv4() == nic.device.address().is_ipv4();
    fits.then_some(address).ok_or(Errno::INVALID)
}

fn create(pd: Handle<Pd>, attributes: &AhAttr) -> Result<*const IbvAh, Errno> {
    let pd = pd.get()?;
    let public = IbvAh {
        context: pd.public.context,
        pd: pd.public(),
        handle: 0,
    };
    let own = AhInner {
        address: destination(&pd.own.nic, attributes)?,
    };
    Ok(give(Box::new(With { public, own })))
}

/// Who sent a datagram: of IPv4 the header is the last 20 bytes of the room for a GRH (A17.4.5.1).
fn sender(own: IpAddr, header: &Grh) -> Gid {
    match own {
        IpAddr::V4(_) => {
            let [_, _, _, _, _, _, _, _, a, b, c, d, ..] = header.dgid.raw;
            gid::of([a, b, c, d].into())
        }
        IpAddr::V6(_) => header.sgid,
    }
}

/// The way back to who sent a datagram.
fn back(context: &Context, port: u8, completion: &Wc, header: In<Grh>) -> Result<AhAttr, Errno> {
    context.check_port(port.into())?;
    if completion.wc_flags & WITH_HEADER == 0 {
        return Err(Errno::INVALID);
    }
    let own = context.address();
    Ok(AhAttr {
        grh: GlobalRoute {
            dgid: sender(own, header.get()?),
            flow_label: 0,
            sgid_index: context.own.nic.gids().slot(),
            hop_limit: u8::MAX,
            traffic_class: 0,
        },
        dlid: completion.slid,
        // That of a completion says which header there is.
        sl: 0,
        src_path_bits: completion.dlid_path_bits,
        static_rate: 0,
        is_global: 1,
        port_num: port,
    })
}

entry! {
    fn ibv_create_ah(pd: Handle<Pd>, attributes: In<AhAttr>) -> *const IbvAh {
        create(pd, attributes.get()?)
    }

    fn ibv_init_ah_from_wc(
        context: Handle<Context>,
        port: u8,
        completion: In<Wc>,
        header: In<Grh>,
        attributes: Out<AhAttr>,
    ) -> c_int {
        attributes.set(back(context.get()?, port, completion.get()?, header)?)?;
        Ok(0)
    }

    fn ibv_create_ah_from_wc(
        pd: Handle<Pd>,
        completion: In<Wc>,
        header: In<Grh>,
        port: u8,
    ) -> *const IbvAh {
        let context = Handle::<Context>(pd.get()?.public.context).get()?;
        let attributes = back(context, port, completion.get()?, header)?;
        create(pd, &attributes)
    }

    fn ibv_destroy_ah(ah: Handle<Ah>) -> c_int {
        drop(take(ah)?);
        Ok(0)
    }
}
