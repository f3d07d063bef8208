//! Completion channels.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use crate::abi::{IbvCompChannel, IbvCq, OrMinus};
use crate::args::{Handle, Out};
use crate::context::Context;
use crate::events::wait;
use crate::guard::entry;
use crate::nic::Nic;
use crate::object::{Object, With, give, take};
use crate::queue::Cq;

/// A completion channel.
pub(crate) type Channel = With<IbvCompChannel, ChannelInner>;

#[derive(Debug)]
pub(crate) struct ChannelInner {
    pub(crate) nic: Arc<Nic>,
    pub(crate) channel: fairlane_softnic::Channel,
}

entry! {
    fn ibv_create_comp_channel(context: Handle<Context>) -> *const IbvCompChannel {
        let context = context.get()?;
        let nic = context.own.nic.clone();
        let channel = nic.device.create_channel()?;
        let public = IbvCompChannel {
            context: context.public(),
            fd: nic.device.descriptor(channel)?,
            refcnt: 0,
        };
        Ok(give(Box::new(With { public, own: ChannelInner { nic, channel } })))
    }

    fn ibv_destroy_comp_channel(channel: Handle<Channel>) -> c_int {
        let own = &channel.get()?.own;
        own.nic.device.destroy_channel(own.channel)?;
        drop(take(channel)?);
        Ok(0)
    }

    fn ibv_get_cq_event(
        channel: Handle<Channel>,
        queue: Out<*const IbvCq>,
        tag: Out<*mut c_void>,
    ) -> OrMinus<c_int> {
        let channel = channel.get()?;
        let nic = &channel.own.nic;
        loop {
            let told = nic.device.take_event(channel.own.channel)?;
            // One that has gone meanwhile tells nothing.
            let known = told.and_then(|told| nic.queues.with(&told.index(), |known| {
                known.completions.add();
                (known.address, known.tag)
            }));
            if let Some((address, own)) = known {
                queue.set(std::ptr::with_exposed_provenance(address))?;
                tag.set(std::ptr::with_exposed_provenance_mut(own))?;
                return Ok(OrMinus(0));
            }
            if told.is_none() {
                wait(channel.public.fd)?;
            }
        }
    }

    fn ibv_ack_cq_events(queue: Handle<Cq>, count: c_uint) {
        queue.get()?.own.owed_completions.pay(count.into());
        Ok(())
    }
}
