//! The thread that hears of peers while the program does something else.

use std::sync::{Arc, Barrier};
use std::time::Duration;

use libc::{POLLIN, pollfd};

use crate::guard::Errno;
use crate::nearby::Neighbour;
use crate::port::Port;
use crate::world::{self, World};

/// Wakes the thread.
#[derive(Debug)]
pub(crate) struct Waker(i32);

impl Waker {
    pub(crate) fn wake(&self) {
        let one = 1_u64.to_ne_bytes();
        // SAFETY: the bytes are there; the descriptor is this library's own.
        unsafe { libc::write(self.0, one.as_ptr().cast(), one.len()) };
    }
}

/// Starts the thread.
pub(crate) fn start() -> Result<Waker, Errno> {
    // SAFETY: it takes numbers.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd < 0 {
        return Err(Errno::last());
    }
    let process = std::process::id();
    let thread = std::thread::Builder::new().name("rdmacm".to_owned());
    // It runs before this returns: libfabric replaces code of `munmap` while a program starts, and a thread that is given a heap
    // at that moment is in there.
    let runs = Arc::new(Barrier::new(2));
    let known = runs.clone();
    let thread = without_signals(|| {
        thread.spawn(move || {
            known.wait();
            // Its own process only: a fork has no such thread.
            while std::process::id() == process {
                // A panic is a bug, and no reason to hear no more.
                let _ = std::panic::catch_unwind(|| turn(fd));
            }
        })
    });
    thread.map_err(|_| {
        // SAFETY: it is the descriptor from above.
        unsafe { libc::close(fd) };
        Errno::NO_MEMORY
    })?;
    runs.wait();
    Ok(Waker(fd))
}

/// Does something while this thread takes no signals, as one that is started then never does: they are for the program's.
fn without_signals<T>(act: impl FnOnce() -> T) -> T {
    let (mut all, mut before) = (
        std::mem::MaybeUninit::uninit(),
        std::mem::MaybeUninit::uninit(),
    );
    // SAFETY: there is room for both masks, and each is written before it is read.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let done = act();
    // SAFETY: it is the mask from above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    done
}

/// Waits for something, and does it.
fn turn(waker: i32) {
    let (mut watched, timeout) = {
        let mut world = world::lock();
        (watched(&mut world, waker), timeout(&mut world))
    };
    let timeout = libc::timespec {
        tv_sec: timeout.as_secs() as libc::time_t,
        tv_nsec: timeout.subsec_nanos().into(),
    };
    let count = watched.len() as libc::nfds_t;
    // SAFETY: there are so many descriptors, and no mask of signals.
    unsafe {
        libc::ppoll(
            watched.as_mut_ptr(),
            count,
            &raw const timeout,
            std::ptr::null(),
        )
    };
    if watched[0].revents != 0 {
        let mut bytes = [0; 8];
        // SAFETY: there is room for the count.
        unsafe { libc::read(waker, bytes.as_mut_ptr().cast(), bytes.len()) };
    }
    let woken = |fd: i32| {
        watched
            .iter()
            .any(|own| own.fd == fd && own.revents & POLLIN != 0)
    };
    let has_said = |fd: i32| watched.iter().any(|own| own.fd == fd && own.revents != 0);
    let mut world = world::lock();
    for port in 0..world.ports.len() {
        if work(&mut world, port, woken) {
            Waker(waker).wake();
        }
    }
    // After what they have said themselves.
    world.miss(has_said);
}

fn watched(world: &mut World, waker: i32) -> Vec<pollfd> {
    let neighbours = world.neighbours.values().flat_map(Neighbour::descriptors);
    let neighbours: Vec<i32> = neighbours.collect();
    let running = world.ports.iter_mut().filter_map(Port::running);
    let managers = running.map(|(_, gsi)| gsi.fd());
    let all = std::iter::once(waker).chain(managers).chain(neighbours);
    let (events, revents) = (POLLIN, 0);
    all.map(|fd| pollfd {
        fd,
        events,
        revents,
    })
    .collect()
}

/// How long until the first timer, a minute without.
fn timeout(world: &mut World) -> Duration {
    let now = world.now();
    let held = world.waiting.deadline();
    let running = world.ports.iter_mut().filter_map(Port::running);
    let deadlines = running.filter_map(|(manager, _)| manager.deadline());
    let deadline = deadlines.chain(held).min();
    let wait = deadline.map(|at| Duration::from_nanos(at.saturating_since(now).as_ns() + 1));
    wait.unwrap_or(Duration::from_secs(60))
}

/// Does what is to be done at a port; returns whether there may be more.
fn work(world: &mut World, port: usize, woken: impl Fn(i32) -> bool) -> bool {
    let now = world.now();
    let World {
        ports,
        listeners,
        waiting,
        ..
    } = world;
    let Some((manager, gsi)) = ports[port].running() else {
        return false;
    };
    let woken = woken(gsi.fd());
    let more = gsi.take(woken, |peer, mad| {
        let listens = |service| listeners.contains_key(&(port, service));
        if !waiting.hold(port, peer, mad, listens, now) {
            // What can't be understood is for nobody.
            let _ = manager.on_mad(peer, mad, now);
        }
    });
    manager.on_timeout(now);
    let refused = waiting.expire(port, now);
    world.hear(port, refused);
    more
}
