//! Messages of connection management from the network, and an application that answers: what is accepted is written and read again,
//! and a manager keeps its bounds.
//!
//! Each step is a byte that says what happens and a few more; messages are whole or the changed parts of one.
#![no_main]

use std::net::{IpAddr, Ipv4Addr};

use fairlane_cm::{
    ConnectionId, EventKind, MAD_LENGTH, Manager, Message, Peer, Reason, Rep, Req, ServiceId,
    Settings, SidrRep, SidrReq, SidrStatus,
};
use fairlane_units::{QpNumber, Time};
use libfuzzer_sys::fuzz_target;

const MOST: usize = 16;
const SERVICE: ServiceId = ServiceId(0x0106_1c06);

fuzz_target!(|input: &[u8]| {
    let mut manager = Manager::new(Settings {
        connections: MOST,
        ..Settings::new(7)
    });
    manager.listen(SERVICE, 8).expect("it is free");
    let (mut now, mut known, mut rest) = (Time::from_ns(0), Vec::new(), input);
    while let Some((&[what, which], behind)) = rest.split_first_chunk() {
        rest = behind;
        let id = known
            .get(usize::from(which) % known.len().max(1))
            .copied()
            .unwrap_or(ConnectionId(1));
        match what % 12 {
            0..=5 => {
                let length = behind.len().min(usize::from(which));
                let (body, behind) = behind.split_at(length);
                rest = behind;
                hear(&mut manager, what, body, now);
            }
            other => call(&mut manager, other, id, now),
        }
        now = step(&mut manager, which, now);
        while let Some(event) = manager.poll_event() {
            answer(&mut manager, event.connection, &event.kind, now);
            known.push(event.connection);
        }
        while let Some(transmit) = manager.poll_transmit() {
            assert!(Message::parse(&transmit.mad).is_ok() || transmit.mad[3] == 0x81);
        }
        assert!(manager.connections() <= MOST);
    }
});

/// A MAD of the right header whose attribute is `what`'s and whose body begins with these bytes.
fn hear(manager: &mut Manager, what: u8, body: &[u8], now: Time) {
    let mut mad = [0; MAD_LENGTH];
    mad[..4].copy_from_slice(&[1, 7, 2, 3]);
    mad[17] = 0x10 + what / 12 % 12;
    let room = &mut mad[24..];
    let length = body.len().min(room.len());
    room[..length].copy_from_slice(&body[..length]);
    // A REQ that is for the service, now and then.
    if what & 1 == 0 && mad[17] == 0x10 {
        mad[32..40].copy_from_slice(&SERVICE.0.to_be_bytes());
    }
    if let Ok((transaction, message)) = Message::parse(&mad) {
        let again = message
            .emit(transaction)
            .expect("what is read can be written");
        assert_eq!(Message::parse(&again), Ok((transaction, message)));
    }
    let _ = manager.on_mad(peer(what), &mad, now);
    // Cut off or of any header.
    assert!(manager.on_mad(peer(what), body, now).is_err() || body.len() == MAD_LENGTH);
}

fn call(manager: &mut Manager, what: u8, id: ConnectionId, now: Time) {
    let _ = match what {
        6 => manager
            .connect(
                peer(1),
                Req {
                    queue_pair: QpNumber::new(id.0 & 0xffff),
                    ..Req::to(SERVICE)
                },
                now,
            )
            .map(drop),
        7 => manager.confirm(id, [0; 224]),
        8 => manager.disconnect(id, [0; 220], now),
        9 => manager.reject(id, Reason::CONSUMER, [0; 148], now),
        10 => {
            let question = SidrReq {
                request_id: 0,
                partition_key: 0xffff,
                service_id: SERVICE,
                private_data: [0; 216],
            };
            manager.ask(peer(1), question, now).map(drop)
        }
        _ => {
            manager.destroy(id, now);
            Ok(())
        }
    };
}

/// Applications accept and answer what comes.
fn answer(manager: &mut Manager, id: ConnectionId, kind: &EventKind, now: Time) {
    match kind {
        EventKind::Requested(_, req) if id.0 % 4 != 0 => {
            manager.accept(id, Rep::to(req), now).expect("a request");
        }
        EventKind::Asked(_, question) => {
            let answer = SidrRep {
                request_id: 0,
                status: SidrStatus::VALID,
                queue_pair: QpNumber::new(3),
                service_id: question.service_id,
                queue_key: 5,
                private_data: [0; 136],
            };
            manager.answer(id, answer, now).expect("a question");
        }
        _ => {}
    }
}

/// Now and then time passes, up to the next timer.
fn step(manager: &mut Manager, which: u8, now: Time) -> Time {
    let deadline = manager.deadline().filter(|_| which & 3 == 3);
    let now = deadline.map_or(now, |at| at.max(now));
    manager.on_timeout(now);
    assert!(manager.deadline().is_none_or(|at| at > now));
    now
}

fn peer(last: u8) -> Peer {
    Peer::at(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last & 1)))
}
