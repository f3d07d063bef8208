//! What sockets alone do: datagrams of a packet's length, put together on both sides.
#![allow(unsafe_code, reason = "options that the standard library doesn't have")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::place::Place;
use super::{Outcome, Speed, measure};

const SEGMENT: libc::c_int = 4112;
const CALL: usize = 15 * SEGMENT as usize;
/// What may be under way, as a device has it.
const WINDOW: u64 = 1 << 20;

fn set(
    socket: &UdpSocket,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> Outcome<()> {
    let size = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the value lives on the stack and has that size.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error().into()),
    }
}

/// Seconds of processor time of this process, with all threads that it has had.
pub(crate) fn processor() -> Outcome<f64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the time lives on the stack.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    match done {
        0 => Ok(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9),
        _ => Err(std::io::Error::last_os_error().into()),
    }
}

/// Sends `total` bytes from one thread to another by TCP, in calls of `size` bytes.
pub(crate) fn tcp(place: &Place, total: u64, size: usize) -> Outcome<Speed> {
    let listener = place.within(1, |address| Ok(TcpListener::bind((address, 0))?))?;
    let mut sender = place.within(0, |_| Ok(TcpStream::connect(listener.local_addr()?)?))?;
    let (mut receiver, _) = listener.accept()?;
    measure(total as f64, || {
        std::thread::scope(|scope| {
            let take = scope.spawn(move || -> Result<u64, std::io::Error> {
                let (mut buffer, mut taken) = (vec![0; size], 0);
                loop {
                    match receiver.read(&mut buffer)? {
                        0 => return Ok(taken),
                        length => taken += length as u64,
                    }
                }
            });
            let bytes = vec![7; size];
            for _ in 0..total / size as u64 {
                sender.write_all(&bytes)?;
            }
            drop(sender);
            let taken = take.join().map_err(|_| "the receiver has panicked")??;
            match taken == total / size as u64 * size as u64 {
                true => Outcome::Ok(()),
                false => Err("bytes are missing".into()),
            }
        })
    })
}

/// Sends `total` bytes from one thread to another, which says by shared memory what has come.
pub(crate) fn udp(place: &Place, total: u64) -> Outcome<Speed> {
    let receiver = place.within(1, |address| Ok(UdpSocket::bind((address, 4791))?))?;
    let sender = place.within(0, |address| Ok(UdpSocket::bind((address, 0))?))?;
    let to = receiver.local_addr()?;
    set(&receiver, libc::SOL_UDP, libc::UDP_GRO, 1)?;
    set(&receiver, libc::SOL_SOCKET, libc::SO_RCVBUF, 4 << 20)?;
    set(&sender, libc::SOL_UDP, libc::UDP_SEGMENT, SEGMENT)?;
    receiver.set_read_timeout(Some(Duration::from_millis(50)))?;
    let (arrived, done) = (AtomicU64::new(0), AtomicBool::new(false));
    measure(total as f64, || {
        std::thread::scope(|scope| {
            let take = scope.spawn(|| {
                let mut buffer = vec![0; 1 << 16];
                while !done.load(Ordering::Acquire) {
                    if let Ok(length) = receiver.recv(&mut buffer) {
                        arrived.fetch_add(length as u64, Ordering::AcqRel);
                    }
                }
            });
            let bytes = vec![7; CALL];
            let mut sent = 0;
            while sent < total {
                if sent - arrived.load(Ordering::Acquire).min(sent) < WINDOW {
                    sender.send_to(&bytes, to)?;
                    sent += CALL as u64;
                } else {
                    std::thread::yield_now();
                }
            }
            done.store(true, Ordering::Release);
            take.join().map_err(|_| "the receiver has panicked")?;
            Outcome::Ok(())
        })
    })
}
