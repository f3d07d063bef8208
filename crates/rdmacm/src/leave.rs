//! What is said when the process ends: that connections are over, which its system would say of connections of its own.
//!
//! A process that is killed says nothing; others in its network namespace [see it](crate::nearby).

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::world::{self, World};

/// How long the process stays for that, at most.
const MOST: Duration = Duration::from_millis(200);
/// How long whoever has the lock is left alone with it, which may be the thread that ends the process.
const PAUSE: Duration = Duration::from_micros(100);

/// The process that has something to say. Children that are forked off have the handler, too, and perhaps a lock that nobody
/// will let go.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Sees to it that the end of this process is said.
pub(crate) fn when_the_process_ends() {
    PROCESS.store(std::process::id(), Ordering::Relaxed);
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler may be called whenever the process ends. If there is no room for it, nothing is said.
        unsafe { libc::atexit(at_exit) };
    });
}

extern "C" fn at_exit() {
    if PROCESS.load(Ordering::Relaxed) != std::process::id() {
        return;
    }
    // A panic has said so, and the process ends anyway.
    let _ = std::panic::catch_unwind(|| {
        let until = Instant::now() + MOST;
        while Instant::now() < until {
            if let Some(mut world) = world::try_lock() {
                return world.leave(until);
            }
            std::thread::sleep(PAUSE);
        }
    });
}

impl World {
    /// Gives all connections up, and waits until that has been said.
    fn leave(&mut self, until: Instant) {
        let now = self.now();
        let connections = std::mem::take(&mut self.connections);
        for (port, connection) in connections.into_keys() {
            if let Some((manager, _)) = self.ports[port].running() {
                manager.destroy(connection, now);
            }
        }
        for port in &mut self.ports {
            if let Some((manager, gsi)) = port.running() {
                while let Some(transmit) = manager.poll_transmit() {
                    gsi.send(transmit);
                }
                gsi.finish(until);
            }
        }
    }
}
