//! Event channels, and the events that programs take from them.

use std::ffi::c_int;

use crate::guard::{Errno, entry};
use crate::id::Id;
use crate::inbox::{Inbox, wait};
use crate::layout::{Channel, CmEvent, CmId, ConnParam, Param, UdParam};
use crate::object::{Event, Ptr, tell};
use crate::world::{self, World, acknowledged};

/// A new channel.
pub(crate) fn create() -> Result<Ptr<Channel>, Errno> {
    let inbox = Inbox::new()?;
    let channel = Ptr::give(Channel { fd: inbox.fd() });
    world::lock().channels.insert(channel.key(), inbox);
    Ok(channel)
}

/// Forgets a channel and what hasn't been taken from it.
pub(crate) fn destroy(channel: Ptr<Channel>) {
    if world::lock().channels.remove(&channel.key()).is_some() {
        channel.take();
    }
}

/// The next event of a channel, waited for unless its descriptor doesn't block.
pub(crate) fn next(channel: Ptr<Channel>) -> Result<Ptr<Event>, Errno> {
    loop {
        let fd = {
            let mut world = world::lock();
            let inbox = world.channels.get_mut(&channel.key());
            let inbox = inbox.ok_or(Errno::INVALID)?;
            let fd = inbox.fd();
            if let Some(event) = inbox.pop() {
                let of = event.event().of;
                if let Some(id) = world.ids.get_mut(&of) {
                    id.unacknowledged += 1;
                }
                return Ok(event);
            }
            fd
        };
        // Others may take what comes.
        wait(fd)?;
    }
}

/// Acknowledges an event.
pub(crate) fn acknowledge(event: Ptr<Event>) {
    let mut world = world::lock();
    if let Some(id) = world.ids.get_mut(&event.event().of) {
        id.unacknowledged = id.unacknowledged.saturating_sub(1);
    }
    event.take();
    acknowledged();
}

/// An event of an id; one of connections, without private data.
pub(crate) fn event(id: &Id, event: c_int, status: c_int) -> Event {
    let conn = ConnParam {
        private_data: std::ptr::null(),
        private_data_len: 0,
        responder_resources: 0,
        initiator_depth: 0,
        flow_control: 0,
        retry_count: 0,
        rnr_retry_count: 0,
        srq: 0,
        qp_num: 0,
    };
    // What isn't said is zero, of datagrams too.
    let mut param = Param {
        ud: UdParam {
            private_data: std::ptr::null(),
            private_data_len: 0,
            ah_attr: fairlane_verbs_abi::AhAttr::default(),
            qp_num: 0,
            qkey: 0,
        },
    };
    if !id.is_datagram() {
        param.conn = conn;
    }
    Event {
        seen: CmEvent {
            id: id.pointer.0,
            listen_id: std::ptr::null_mut(),
            event,
            status,
            param,
        },
        said: [0; 256],
        of: id.pointer.key(),
    }
}

/// Gives an event to C, with what the peer says.
pub(crate) fn give(mut event: Event, said: &[u8], is_datagram: bool) -> Ptr<Event> {
    let length = said.len().min(255);
    event.said[..length].copy_from_slice(&said[..length]);
    let given = Ptr::give(event);
    if length == 0 {
        return given;
    }
    let event = given.event();
    let at = event.said.as_ptr();
    let param = &mut event.seen.param;
    // Both kinds begin with it.
    if is_datagram {
        (param.ud.private_data, param.ud.private_data_len) = (at, length as u8);
    } else {
        (param.conn.private_data, param.conn.private_data_len) = (at, length as u8);
    }
    given
}

/// Moves an id to another channel; the one before, and whether that was its own.
fn migrate(
    id: *mut CmId,
    channel: Ptr<Channel>,
    waits: bool,
) -> Result<(Ptr<Channel>, bool), Errno> {
    let mut world = world::lock();
    if !world.channels.contains_key(&channel.key()) {
        return Err(Errno::INVALID);
    }
    let moved = world.id(id)?;
    let before = (moved.channel, moved.waits);
    (moved.channel, moved.waits) = (channel, waits);
    moved.pointer.seen().channel = channel.0;
    move_events(&mut world, id.addr(), before.0);
    Ok(before)
}

/// Moves what an id hasn't been told of from the channel that it had to the one that it has.
pub(crate) fn move_events(world: &mut World, id: usize, before: Ptr<Channel>) {
    let inbox = world.channels.get_mut(&before.key());
    let events = inbox.map(|inbox| inbox.take_of(id)).unwrap_or_default();
    events.into_iter().for_each(|event| world.queue(id, event));
}

entry! {
    fn rdma_create_event_channel() -> *mut Channel {
        Ok(create()?.0)
    }

    fn rdma_destroy_event_channel(channel: *mut Channel) {
        destroy(Ptr(channel));
        Ok(())
    }

    fn rdma_get_cm_event(channel: *mut Channel, event: *mut *mut CmEvent) -> c_int {
        if channel.is_null() || event.is_null() {
            return Err(Errno::INVALID);
        }
        let next = next(Ptr(channel))?;
        tell(event, &raw mut next.event().seen)?;
        Ok(0)
    }

    fn rdma_ack_cm_event(event: *mut CmEvent) -> c_int {
        acknowledge(Ptr::of_program(event)?);
        Ok(0)
    }

    /// Moves an id, and what it hasn't been told of, to another channel; without one, calls wait themselves from now on.
    fn rdma_migrate_id(id: *mut CmId, channel: *mut Channel) -> c_int {
        let own = if channel.is_null() { Some(create()?) } else { None };
        let moved = migrate(id, own.unwrap_or(Ptr(channel)), own.is_some());
        let (before, was_own) = moved.inspect_err(|_| own.into_iter().for_each(destroy))?;
        if was_own {
            destroy(before);
        }
        Ok(0)
    }
}
