//! An interface that goes down and comes up, in a network namespace of the test's own.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;

use std::process::Command;
use std::time::{Duration, Instant};

use common::{End, LONG, target};
use fairlane_softnic::{AsyncEvent, Connection, Interface, SendRequest, Sending, Status};

/// Whether this thread, and those that it makes from now on, have a network of their own with a loopback interface.
fn alone() -> bool {
    // SAFETY: it has no pointers, and only concerns the calling thread.
    #[expect(unsafe_code, reason = "the standard library has no namespaces")]
    let separated = unsafe { libc::unshare(libc::CLONE_NEWNET) } == 0;
    separated && set("up")
}

fn set(state: &str) -> bool {
    let done = Command::new("ip")
        .args(["link", "set", "lo", state])
        .status();
    done.is_ok_and(|status| status.success())
}

fn next(end: &End) -> AsyncEvent {
    let start = Instant::now();
    loop {
        if let Some(event) = end.device.take_async_event() {
            return event;
        }
        assert!(start.elapsed() < LONG);
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn an_interface_that_goes_and_comes_is_told_of() {
    if !alone() {
        eprintln!("skipped: a network namespace takes a privilege (CAP_SYS_ADMIN) and ip");
        return;
    }
    let end = common::end();
    let pair = end.pair();
    let connection = Connection::new(end.device.address(), pair);
    end.connect(pair, &connection, &Sending::default());
    let to = end.memory(8);
    let write = |id| end.post(pair, &SendRequest::write(id, Vec::new(), target(&to)));
    write(1);
    assert_eq!(end.wait().status, Status::Success);
    assert!(set("down"));
    assert!(!Interface::of(end.device.address()).is_some_and(|own| own.is_up));
    write(2);
    assert_eq!(next(&end), AsyncEvent::PortError);
    assert!(set("up"));
    assert_eq!(next(&end), AsyncEvent::PortActive);
    // What was lost is sent again.
    assert_eq!(end.wait().status, Status::Success);
    assert_eq!(end.device.take_async_event(), None);
}
