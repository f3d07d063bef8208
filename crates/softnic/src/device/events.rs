//! Channels, and asynchronous events.

use std::os::fd::RawFd;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Device;
use crate::completion::CompletionQueue;
use crate::error::Error;
use crate::event::{Arm, AsyncEvent, Channel};
use crate::signal;

impl Device {
    /// A new completion channel.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub fn create_channel(&self) -> Result<Channel, Error> {
        self.with(|inner| inner.engine.channels.create())
    }

    /// Forgets a completion channel, and closes its descriptor.
    ///
    /// # Errors
    /// If it isn't known or completion queues tell it.
    pub fn destroy_channel(&self, channel: Channel) -> Result<(), Error> {
        self.with(|inner| inner.engine.channels.destroy(channel))
    }

    /// The descriptor of a channel: readable while events wait in it. Only the device may read from it.
    ///
    /// # Errors
    /// If it isn't known.
    pub fn descriptor(&self, channel: Channel) -> Result<RawFd, Error> {
        self.with(|inner| Ok(inner.engine.channels.get(channel)?.descriptor()))
    }

    /// Lets a completion queue tell a channel, or none.
    ///
    /// # Errors
    /// If one of them isn't known.
    pub fn set_channel(
        &self,
        queue: CompletionQueue,
        channel: Option<Channel>,
    ) -> Result<(), Error> {
        self.with(|inner| inner.engine.set_channel(queue, channel))
    }

    /// Lets a completion queue tell its channel of the next completion that comes, once, or of some that a poll leaves or has
    /// left. Others that are there already aren't told of: poll again after this. Who has asked for any isn't told of less by asking for solicited ones.
    ///
    /// # Errors
    /// If it isn't known or has no channel.
    pub fn arm(&self, queue: CompletionQueue, arm: Arm) -> Result<(), Error> {
        self.with(|inner| inner.engine.arm(queue, arm))?;
        self.leave_to_thread();
        Ok(())
    }

    /// Takes the oldest event of a channel: the queue that tells.
    ///
    /// # Errors
    /// If it isn't known.
    pub fn take_event(&self, channel: Channel) -> Result<Option<CompletionQueue>, Error> {
        self.with(|inner| Ok(inner.engine.channels.get(channel)?.take()))
    }

    /// Takes the oldest event of a channel, after waiting for one: at most for `most`, or without end.
    ///
    /// # Errors
    /// If it isn't known.
    pub fn wait_event(
        &self,
        channel: Channel,
        most: Option<Duration>,
    ) -> Result<Option<CompletionQueue>, Error> {
        self.check_process()?;
        let start = Instant::now();
        self.leave_to_thread();
        loop {
            if let Some(queue) = self.take_event(channel)? {
                return Ok(Some(queue));
            }
            let left = most.map(|most| most.saturating_sub(start.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            if self.thread.is_none() {
                self.with(|inner| Ok(inner.progress(&self.shared.clock)))?;
                continue;
            }
            signal::wait([self.descriptor(channel)?], left);
        }
    }

    /// The descriptor of asynchronous events: readable while some wait. Only the device may read from it.
    pub const fn async_descriptor(&self) -> RawFd {
        self.async_descriptor
    }

    /// Takes the oldest asynchronous event.
    pub fn take_async_event(&self) -> Option<AsyncEvent> {
        let taken = self.with(|inner| Ok(inner.engine.events.take()));
        taken.ok().flatten()
    }

    /// Lets the thread work at once, as the application is going to sleep.
    pub(super) fn leave_to_thread(&self) {
        if self.shared.polled.swap(0, Ordering::Relaxed) > 0 {
            self.shared.waker.raise();
        }
    }
}
