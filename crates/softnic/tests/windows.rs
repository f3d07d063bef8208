//! Memory windows, keys that are invalidated, regions that change.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;

use common::{End, Way, connected, end, target, whole};
use fairlane_softnic::{
    AsyncEvent, Binding, Done, Error, Modify, Operation, QpNumber, Region, Rights, SendRequest,
    Sge, State, Status, Target, Window, WindowType,
};

/// A queue pair of `a` for use, one of `b` for binding, and a region of `b`.
struct Scene {
    a: End,
    b: End,
    pair: QpNumber,
    other: QpNumber,
    region: Region,
}

fn scene() -> Scene {
    let (a, b) = (end(), end());
    let (pair, other) = connected(&a, &b, Way::default());
    let rights = Rights::LOCAL_WRITE | Rights::BIND;
    let region = b.device.allocate(b.domain, 4096, rights).unwrap();
    Scene {
        a,
        b,
        pair,
        other,
        region,
    }
}

impl Scene {
    fn window(&self, kind: WindowType) -> Window {
        self.b.device.allocate_window(self.b.domain, kind).unwrap()
    }

    /// 100 bytes from 1000 on, for everything.
    fn binding(&self, key: u32) -> Binding {
        Binding {
            key,
            region: self.region.local_key,
            address: self.region.address + 1000,
            length: 100,
            rights: Rights::REMOTE_READ | Rights::REMOTE_WRITE | Rights::REMOTE_ATOMIC,
            zero_based: false,
        }
    }

    fn ask(&self, operation: Operation) -> Status {
        self.b
            .post(self.other, &SendRequest::new(5, operation, Vec::new()));
        let completion = self.b.wait();
        let done = match operation {
            Operation::Bind(_) => Done::Bind,
            _ => Done::Invalidate,
        };
        assert_eq!((completion.id, completion.done), (5, done));
        completion.status
    }

    fn bind(&self, to: Binding) -> u32 {
        assert_eq!(self.ask(Operation::Bind(to)), Status::Success);
        to.key
    }

    /// How a WRITE of eight bytes by a queue pair of `a` ends.
    fn write(&self, pair: QpNumber, key: u32, address: u64) -> Status {
        let mut write = SendRequest::write(1, Vec::new(), Target { address, key });
        write.inline = Some(vec![7; 8]);
        self.a.post(pair, &write);
        self.a.wait().status
    }

    /// Another connection between the two.
    fn again(&self) -> (QpNumber, QpNumber) {
        connected(&self.a, &self.b, Way::default())
    }
}

#[test]
fn a_window_of_type_1_opens_a_part_and_moves() {
    let s = scene();
    let window = s.window(WindowType::One);
    let place = s.region.address + 1000;
    let first = s.bind(s.binding(Window::next_key(window.key)));
    assert_eq!(s.write(s.pair, first, place), Status::Success);
    assert_eq!(s.write(s.pair, first, place + 92), Status::Success);
    // Every queue pair of the domain may use it.
    let (second, _) = s.again();
    assert_eq!(s.write(second, first, place + 93), Status::RemoteAccess);
    let (second, _) = s.again();
    assert_eq!(s.write(second, first, place), Status::Success);
    assert!(matches!(
        s.b.device.deregister(&s.region),
        Err(Error::Busy(_))
    ));
    let mut moved = s.binding(Window::next_key(first));
    (moved.address, moved.zero_based) = (s.region.address, true);
    let moved = s.bind(moved);
    assert_eq!(s.write(second, moved, 92), Status::Success);
    assert_eq!(s.write(second, first, place), Status::RemoteAccess);
    let mut none = s.binding(Window::next_key(moved));
    none.length = 0;
    let none = s.bind(none);
    assert_eq!(s.write(s.pair, none, 0), Status::RemoteAccess);
    let bytes = s.b.bytes(&s.region);
    let written: Vec<usize> = (0..4096).filter(|&at| bytes[at] == 7).collect();
    let expected = (92..100).chain(1000..1008).chain(1092..1100);
    assert_eq!(written, expected.collect::<Vec<_>>());
    s.b.device.deregister(&s.region).unwrap();
    s.b.device.free_window(none).unwrap();
    assert!(s.b.device.free_window(none).is_err());
}

#[test]
fn the_rights_of_a_window_hold() {
    let s = scene();
    let mut reading = s.binding(Window::next_key(s.window(WindowType::Two).key));
    reading.rights = Rights::REMOTE_READ;
    let key = s.bind(reading);
    let own = s.a.memory(100);
    let place = Target {
        address: s.region.address + 1000,
        key,
    };
    s.a.post(s.pair, &SendRequest::read(1, vec![whole(&own)], place));
    assert_eq!(s.a.wait().status, Status::Success);
    assert_eq!(s.write(s.pair, key, place.address), Status::RemoteAccess);
}

#[test]
fn a_window_of_type_2_is_of_one_queue_pair_and_is_invalidated_by_either_end() {
    let s = scene();
    let window = s.window(WindowType::Two);
    let place = s.region.address + 1000;
    let first = s.bind(s.binding(Window::next_key(window.key)));
    assert_eq!(s.write(s.pair, first, place), Status::Success);
    let (stranger, _) = s.again();
    assert_eq!(s.write(stranger, first, place), Status::RemoteAccess);
    // By the other end.
    s.b.receive(s.other, 9, &s.b.memory(0));
    let invalidate = Operation::SendInvalidate(first);
    s.a.post(s.pair, &SendRequest::new(2, invalidate, Vec::new()));
    assert_eq!(s.a.wait().status, Status::Success);
    assert_eq!(s.b.wait().invalidated, Some(first));
    // By this end.
    let second = s.bind(s.binding(Window::next_key(first)));
    assert_eq!(s.write(s.pair, second, place), Status::Success);
    assert_eq!(s.ask(Operation::Invalidate(second)), Status::Success);
    s.b.device.deregister(&s.region).unwrap();
    assert_eq!(s.write(s.pair, second, place), Status::RemoteAccess);
}

#[test]
fn a_stranger_cannot_invalidate_a_window_nor_can_anybody_one_of_type_1() {
    let s = scene();
    let window = s.window(WindowType::Two);
    let first = s.bind(s.binding(Window::next_key(window.key)));
    let one = s.bind(s.binding(Window::next_key(s.window(WindowType::One).key)));
    for (key, (stranger, other)) in [(first, s.again()), (one, s.again())] {
        s.b.receive(other, 9, &s.b.memory(0));
        let invalidate = Operation::SendInvalidate(key);
        s.a.post(stranger, &SendRequest::new(2, invalidate, Vec::new()));
        assert_eq!(s.a.wait().status, Status::RemoteAccess);
        s.b.wait();
    }
    let place = s.region.address + 1000;
    assert_eq!(s.write(s.pair, first, place), Status::Success);
    assert_eq!(s.write(s.pair, one, place), Status::Success);
    assert_eq!(s.ask(Operation::Invalidate(one)), Status::WindowBind);
}

/// What makes a binding one that isn't allowed.
type Change<'a> = &'a dyn Fn(&Scene, &mut Binding);

#[test]
fn bindings_that_are_not_allowed_fail_the_queue_pair_and_change_nothing() {
    let other_domain = |s: &Scene| {
        let domain = s.b.device.allocate_domain().unwrap();
        s.b.device
            .allocate(domain, 4096, Rights::ALL)
            .unwrap()
            .local_key
    };
    let with = |s: &Scene, to: &mut Binding, rights| {
        let region = s.b.device.allocate(s.b.domain, 4096, rights).unwrap();
        (to.region, to.address) = (region.local_key, region.address);
    };
    let changes: [Change<'_>; 8] = [
        &|_, to| to.key ^= 1 << 20,
        &|s, to| to.key = s.region.remote_key,
        &|_, to| to.region ^= 1,
        &|_, to| to.length = 0,
        &|_, to| to.length = 4096,
        &|s, to| to.region = other_domain(s),
        &|s, to| with(s, to, Rights::LOCAL_WRITE),
        &|s, to| with(s, to, Rights::BIND),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let s = scene();
        let window = s.window(WindowType::Two);
        let mut to = s.binding(Window::next_key(window.key));
        change(&s, &mut to);
        assert_eq!(
            s.ask(Operation::Bind(to)),
            Status::WindowBind,
            "change {number}"
        );
        assert_eq!(s.b.device.state(s.other).unwrap(), State::Error);
        s.b.device.deregister(&s.region).unwrap();
        s.b.device.free_window(window.key).unwrap();
    }
    // The same key again, and one of type 2 that is bound.
    let s = scene();
    let window = s.window(WindowType::Two);
    assert_eq!(
        s.ask(Operation::Bind(s.binding(window.key))),
        Status::WindowBind
    );
    let s = scene();
    let key = s.bind(s.binding(Window::next_key(s.window(WindowType::Two).key)));
    let again = s.binding(Window::next_key(key));
    assert_eq!(s.ask(Operation::Bind(again)), Status::WindowBind);
}

#[test]
fn bindings_complete_in_order_and_are_flushed() {
    let s = scene();
    let window = s.window(WindowType::Two);
    let (from, to) = (s.b.memory(1 << 20), s.a.memory(1 << 20));
    let large = |id| SendRequest::write(id, vec![whole(&from)], target(&to));
    let key = Window::next_key(window.key);
    s.b.post(s.other, &large(1));
    s.b.post(
        s.other,
        &SendRequest::new(2, Operation::Bind(s.binding(key)), Vec::new()),
    );
    s.b.post(s.other, &large(3));
    s.b.post(
        s.other,
        &SendRequest::new(4, Operation::Invalidate(key), Vec::new()),
    );
    s.b.post(s.other, &large(5));
    for id in 1..=5 {
        let completion = s.b.wait();
        assert_eq!((completion.id, completion.status), (id, Status::Success));
    }
    s.b.device.modify(s.other, &Modify::Error).unwrap();
    let bind = Operation::Bind(s.binding(Window::next_key(key)));
    s.b.post(s.other, &SendRequest::new(6, bind, Vec::new()));
    assert_eq!(s.b.wait().status, Status::Flushed);
    assert_eq!(s.b.device.take_async_event(), None::<AsyncEvent>);
}

#[test]
fn a_queue_pair_that_goes_unbinds_its_windows_of_type_2() {
    let s = scene();
    let two = s.bind(s.binding(Window::next_key(s.window(WindowType::Two).key)));
    assert!(s.b.device.deregister(&s.region).is_err());
    s.b.device.destroy_queue_pair(s.other).unwrap();
    s.b.device.deregister(&s.region).unwrap();
    s.b.device.free_window(two).unwrap();
}

#[test]
fn a_window_is_no_local_memory() {
    let s = scene();
    let key = s.bind(s.binding(Window::next_key(s.window(WindowType::One).key)));
    let to = s.a.memory(8);
    let piece = Sge {
        address: s.region.address + 1000,
        length: 8,
        key,
    };
    s.b.post(s.other, &SendRequest::write(1, vec![piece], target(&to)));
    assert_eq!(s.b.wait().status, Status::LocalProtection);
}

#[test]
fn a_region_gets_other_rights_and_another_domain() {
    let s = scene();
    let all = Rights::LOCAL_WRITE | Rights::REMOTE_WRITE;
    let device = &s.b.device;
    device.reregister(&s.region, None, Some(all)).unwrap();
    assert_eq!(
        s.write(s.pair, s.region.remote_key, s.region.address),
        Status::Success
    );
    assert!(
        device
            .reregister(&s.region, None, Some(Rights::REMOTE_WRITE))
            .is_err()
    );
    device
        .reregister(&s.region, Some(device.allocate_domain().unwrap()), None)
        .unwrap();
    let refused = s.write(s.pair, s.region.remote_key, s.region.address);
    assert_eq!(refused, Status::RemoteAccess);
}

#[test]
#[expect(unsafe_code, reason = "memory of the application is known by address")]
fn memory_is_named_as_it_was_registered_and_must_be_mapped() {
    let s = scene();
    let mut words = vec![0_u64; 8];
    let start = words.as_mut_ptr().cast::<u8>();
    let rights = Rights::LOCAL_WRITE | Rights::REMOTE_ATOMIC;
    let device = &s.b.device;
    // SAFETY: the words live until the device is dropped, and nothing else touches them before.
    let [right, odd] = [0, 1].map(|odd| unsafe {
        let place = (start.add(odd), 56);
        device.register(s.b.domain, place, 0x1000, rights).unwrap()
    });
    let result = s.a.memory(8);
    let add = |region: &Region| {
        let operation = Operation::FetchAdd(target(region), 5);
        s.a.post(
            s.pair,
            &SendRequest::new(1, operation, vec![whole(&result)]),
        );
        s.a.wait().status
    };
    assert_eq!((right.address, add(&right)), (0x1000, Status::Success));
    // Its name is a multiple of eight, its place isn't.
    assert_eq!(add(&odd), Status::RemoteAccess);
    device.deregister(&right).unwrap();
    device.deregister(&odd).unwrap();
    assert_eq!(words[0], 5);
    let nothing = std::ptr::without_provenance_mut::<u8>(0x1000);
    // SAFETY: it is refused.
    let refused = unsafe { device.register(s.b.domain, (nothing, 8), 0, rights) };
    assert!(matches!(refused, Err(Error::Invalid(..))));
}

#[test]
fn the_other_end_cannot_invalidate_a_region_that_windows_are_bound_to() {
    let mut s = scene();
    s.region = s.b.memory(4096);
    let key = s.bind(s.binding(Window::next_key(s.window(WindowType::Two).key)));
    let ask = |pair, other| {
        s.b.receive(other, 9, &s.b.memory(0));
        let invalidate = Operation::SendInvalidate(s.region.remote_key);
        s.a.post(pair, &SendRequest::new(2, invalidate, Vec::new()));
        let ended = (s.a.wait().status, s.b.wait().id);
        (ended.0, ended.1 == 9)
    };
    let (stranger, other) = s.again();
    assert_eq!(ask(stranger, other), (Status::RemoteAccess, true));
    let place = s.region.address + 1000;
    assert_eq!(s.write(s.pair, key, place), Status::Success);
    assert_eq!(s.ask(Operation::Invalidate(key)), Status::Success);
    assert_eq!(ask(s.pair, s.other), (Status::Success, true));
}
