//! Queue pairs: their states and attributes.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use fairlane_softnic::{
    Adjustment, Connection, Modify, Psn, QpNumber, Sending, Service, State, TenantId,
};

use crate::abi::{QpAttr, QpInitAttr};
use crate::args::{Handle, In, Out};
use crate::guard::{Errno, entry};
use crate::handle::destination;
use crate::memory::{flags, rights};
use crate::nic::limits;
use crate::pair::Qp;

mod masks;
mod times;

use masks::bit;

/// `enum ibv_qp_state`
const fn number(state: State) -> c_int {
    match state {
        State::Reset => 0,
        State::Init => 1,
        State::ReadyToReceive => 2,
        State::ReadyToSend => 3,
        State::SendQueueDrain => 4,
        State::SendQueueError => 5,
        State::Error => 6,
    }
}

const fn state(number: c_int) -> Option<State> {
    Some(match number {
        0 => State::Reset,
        1 => State::Init,
        2 => State::ReadyToReceive,
        3 => State::ReadyToSend,
        4 => State::SendQueueDrain,
        5 => State::SendQueueError,
        6 => State::Error,
        _ => return None,
    })
}

impl Qp {
    fn state(&self) -> Result<State, Errno> {
        let state = self.own.nic.device.state(self.own.number)?;
        self.public
            .base
            .state
            .store(number(state), Ordering::Relaxed);
        Ok(state)
    }

    fn change(&self, asked: &QpAttr, mask: u32) -> Result<(), Errno> {
        let from = self.state()?;
        let to = match mask & bit::STATE {
            0 => from,
            _ => state(asked.qp_state).ok_or(Errno::INVALID)?,
        };
        masks::check(self.own.service, from, to, mask)?;
        let mut attributes = self.own.attributes();
        take_over(&mut attributes, asked, mask)?;
        let adjustment = adjustment(&attributes, mask, &self.own.nic.partitions)?;
        let step = self.step(&attributes, (from, to), mask)?;
        // The tenant is that of the key with which packets are taken.
        let partition = Adjustment {
            partition: adjustment.partition,
            ..Adjustment::default()
        };
        let device = &self.own.nic.device;
        device.adjust(self.own.number, &partition)?;
        if let Some(step) = step {
            device.modify(self.own.number, &step)?;
        }
        device.adjust(self.own.number, &adjustment)?;
        if to == State::Reset {
            self.forget_completions()?;
            attributes = QpAttr::default();
        }
        self.own.set_attributes(attributes);
        self.state().map(|_| ())
    }

    /// The change of state that the device is told.
    fn step(
        &self,
        to_be: &QpAttr,
        (from, to): (State, State),
        mask: u32,
    ) -> Result<Option<Modify>, Errno> {
        Ok(Some(match to {
            State::Reset => Modify::Reset,
            State::Error => Modify::Error,
            State::Init => Modify::Init(rights(to_be.qp_access_flags)?),
            _ if from == to => return Ok(None),
            State::ReadyToReceive => Modify::ReadyToReceive(self.connection(to_be)?),
            State::ReadyToSend => Modify::ReadyToSend(sending(to_be)),
            State::SendQueueDrain => {
                let tell = mask & bit::EN_SQD_ASYNC_NOTIFY != 0 && to_be.en_sqd_async_notify != 0;
                Modify::SendQueueDrain { tell }
            }
            State::SendQueueError => return Err(Errno::INVALID),
        }))
    }

    fn connection(&self, to_be: &QpAttr) -> Result<Connection, Errno> {
        let address = match self.own.service {
            Service::UnreliableDatagram => self.own.nic.device.address(),
            _ => destination(&self.own.nic, &to_be.ah_attr)?,
        };
        let mut connection = Connection::new(address, QpNumber::new(to_be.dest_qp_num));
        connection.mtu = match self.own.service {
            // Datagrams are as long as the port carries.
            Service::UnreliableDatagram => self.own.nic.device.largest_mtu().unwrap_or(256),
            _ => limits::mtu_from_number(to_be.path_mtu).ok_or(Errno::INVALID)?,
        };
        connection.first = Psn::new(to_be.rq_psn & 0xff_ffff);
        connection.most_reads = to_be.max_dest_rd_atomic;
        connection.rnr_timer = times::rnr(to_be.min_rnr_timer);
        Ok(connection)
    }
}

/// What changes besides.
fn adjustment(to_be: &QpAttr, mask: u32, keys: &[TenantId]) -> Result<Adjustment, Errno> {
    let with = |bit: u32| mask & bit != 0;
    let key = keys.get(usize::from(to_be.pkey_index));
    let key = key.ok_or(Errno::INVALID)?;
    Ok(Adjustment {
        rights: with(bit::ACCESS_FLAGS)
            .then(|| rights(to_be.qp_access_flags))
            .transpose()?,
        queue_key: with(bit::QKEY).then_some(to_be.qkey),
        partition: with(bit::PKEY_INDEX).then_some(*key),
        rnr_timer: with(bit::MIN_RNR_TIMER).then(|| times::rnr(to_be.min_rnr_timer)),
    })
}

fn sending(to_be: &QpAttr) -> Sending {
    /// `rnr_retry`: again and again.
    const FOREVER: u8 = 7;
    Sending {
        first: Psn::new(to_be.sq_psn & 0xff_ffff),
        timeout: times::timeout(to_be.timeout),
        retries: to_be.retry_cnt.into(),
        rnr_retries: (to_be.rnr_retry < FOREVER).then_some(to_be.rnr_retry.into()),
        most_reads: to_be.max_rd_atomic,
    }
}

/// Takes over attributes that the mask names, if they are possible.
fn take_over(own: &mut QpAttr, asked: &QpAttr, mask: u32) -> Result<(), Errno> {
    macro_rules! take_over {
        ($($bit:ident $field:ident;)*) => {$(
            if mask & bit::$bit != 0 {
                own.$field = asked.$field;
            }
        )*};
    }
    take_over! {
        ACCESS_FLAGS qp_access_flags;
        PKEY_INDEX pkey_index;
        PORT port_num;
        QKEY qkey;
        AV ah_attr;
        PATH_MTU path_mtu;
        TIMEOUT timeout;
        RETRY_CNT retry_cnt;
        RNR_RETRY rnr_retry;
        RQ_PSN rq_psn;
        MAX_QP_RD_ATOMIC max_rd_atomic;
        MIN_RNR_TIMER min_rnr_timer;
        SQ_PSN sq_psn;
        MAX_DEST_RD_ATOMIC max_dest_rd_atomic;
        DEST_QPN dest_qp_num;
        EN_SQD_ASYNC_NOTIFY en_sqd_async_notify;
    }
    let possible = own.port_num == 1 || mask & bit::PORT == 0;
    let possible = possible
        && own.max_rd_atomic <= limits::ALL.reads
        && own.max_dest_rd_atomic <= limits::ALL.reads
        && own.timeout < 32
        && own.retry_cnt < 8
        && own.rnr_retry < 8
        && own.min_rnr_timer < 32
        && own.dest_qp_num <= 0xff_ffff;
    possible.then_some(()).ok_or(Errno::INVALID)
}

entry! {
    fn ibv_modify_qp(pair: Handle<Qp>, attributes: In<QpAttr>, mask: c_int) -> c_int {
        pair.get()?.change(attributes.get()?, mask as u32)?;
        Ok(0)
    }

    fn ibv_query_qp(pair: Handle<Qp>, attributes: Out<QpAttr>, _mask: c_int, made: Out<QpInitAttr>) -> c_int {
        let pair = pair.get()?;
        let state = number(pair.state()?);
        let base = &pair.public.base;
        let (told, queried) = (pair.own.attributes(), pair.own.nic.device.query(pair.own.number)?);
        attributes.set(QpAttr {
            qp_state: state,
            cur_qp_state: state,
            cap: pair.own.cap,
            qp_access_flags: flags(queried.rights),
            rq_psn: queried.expects.get(),
            sq_psn: queried.sends.get(),
            sq_draining: queried.draining.into(),
            ..told
        })?;
        made.set(QpInitAttr {
            qp_context: base.qp_context,
            send_cq: base.send_cq,
            recv_cq: base.recv_cq,
            srq: base.srq,
            cap: pair.own.cap,
            qp_type: base.qp_type,
            sq_sig_all: pair.own.signal_all.into(),
        })?;
        Ok(0)
    }
}
