//! What may be posted, and how large the ends of a queue pair are.

use fairlane_transport::{
    Config, Operation, PostError, Remote, Requester, Responder, Service, WorkRequest,
};
use fairlane_units::{Bytes, QpNumber};

/// Packets of 100 bytes.
fn config() -> Config {
    with(Service::ReliableConnection)
}

fn with(service: Service) -> Config {
    Config {
        service,
        mtu: Bytes::new(100),
        ..Config::default()
    }
}

const fn target() -> Remote {
    Remote {
        address: 0x1000,
        key: 7,
    }
}

const fn request(id: u64, operation: Operation, length: u64) -> WorkRequest {
    WorkRequest::new(id, operation, Bytes::new(length))
}

const fn fetch_add(id: u64, add: u64) -> WorkRequest {
    let remote = target();
    request(id, Operation::FetchAdd { remote, add }, 8)
}

fn datagram() -> Operation {
    Operation::Datagram {
        destination: QpNumber::new(9),
        queue_key: 0,
        immediate: Some(5),
    }
}

#[test]
fn both_ends_of_a_queue_pair_are_small() {
    let sizes = [size_of::<Requester>(), size_of::<Responder>()];
    assert!(sizes.iter().sum::<usize>() < 400, "{sizes:?}");
}

#[test]
fn requests_that_cant_be_are_refused() {
    let odd = Remote {
        address: 0x1001,
        ..target()
    };
    let (remote, add) = (odd, 1);
    let unreliable = with(Service::UnreliableConnection);
    let datagrams = with(Service::UnreliableDatagram);
    let no_reads = Config {
        max_reads: 0,
        ..config()
    };
    let cases = [
        (config(), request(1, datagram(), 1), PostError::Operation),
        (
            config(),
            request(1, Operation::Send, (1 << 31) + 1),
            PostError::Length,
        ),
        (
            config(),
            request(1, Operation::FetchAdd { remote, add }, 8),
            PostError::Alignment,
        ),
        (
            config(),
            WorkRequest {
                length: Bytes::new(4),
                ..fetch_add(1, 1)
            },
            PostError::Length,
        ),
        (no_reads, fetch_add(1, 1), PostError::Operation),
        (unreliable.clone(), fetch_add(1, 1), PostError::Operation),
        (
            unreliable.clone(),
            request(1, Operation::Read(target()), 1),
            PostError::Operation,
        ),
        (
            unreliable,
            request(1, Operation::SendInvalidate(1), 1),
            PostError::Operation,
        ),
        (
            datagrams.clone(),
            request(1, Operation::Send, 1),
            PostError::Operation,
        ),
        (datagrams, request(1, datagram(), 101), PostError::Length),
    ];
    for (config, request, error) in cases {
        assert_eq!(request.check(&config), Err(error), "{request:?}");
    }
}
