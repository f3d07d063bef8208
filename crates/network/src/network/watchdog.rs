//! The watchdog against pauses that don't end.

use fairlane_units::Time;

use crate::network::Network;
use crate::port::CLASSES;
use crate::waking::timer;
use crate::watchdog::Step;

impl Network {
    /// Hears of a pause frame that has reached `port`; whether the port ignores it.
    pub(crate) fn watchdog_hears(&mut self, number: u32, class: u8, pause: bool) -> bool {
        let watchdog = &mut self.watchdog;
        if let Some((_, asked)) = watchdog
            .ignoring
            .iter_mut()
            .find(|(port, _)| *port == number)
        {
            let bit = 1 << class;
            *asked = if pause { *asked | bit } else { *asked & !bit };
            return true;
        }
        let port = &self.ports[number as usize];
        if pause && port.on_switch && port.paused == 0 {
            self.watch_pause(number);
        }
        false
    }

    /// A pause of a port begins.
    fn watch_pause(&mut self, number: u32) {
        if let Some(limit) = self.watchdog.limit {
            self.await_watchdog(self.now().saturating_add(limit), number, Step::Look);
        }
    }

    fn await_watchdog(&mut self, at: Time, number: u32, step: Step) {
        self.watchdog.due.insert((at, number, step));
        self.schedule_control(at, timer::WATCHDOG);
    }

    /// Does what is due at ports that are watched.
    pub fn on_watchdog(&mut self) {
        let now = self.now();
        while let Some(&(at, number, step)) = self.watchdog.due.first() {
            if at > now {
                break;
            }
            self.watchdog.due.pop_first();
            self.recorder.set_order(number);
            match step {
                Step::Look => self.look(number),
                Step::Restore => self.restore(number),
            }
        }
        self.recorder.set_order(0);
    }

    /// Bites if the port has been paused ever since the pause that this look is for.
    fn look(&mut self, number: u32) {
        let (now, restore) = (self.now(), self.watchdog.restore);
        let port = &mut self.ports[number as usize];
        let since = self
            .watchdog
            .limit
            .map(|limit| port.paused_since.saturating_add(limit));
        if port.paused == 0 || since != Some(now) {
            return;
        }
        let asked = port.paused;
        for class in 0..CLASSES as u8 {
            port.set_paused(now, class, false);
        }
        self.watchdog.bites += 1;
        self.watchdog.ignoring.push((number, asked));
        self.await_watchdog(now.saturating_add(restore), number, Step::Restore);
        self.send_from_switch(number);
    }

    /// The port obeys pauses again, also those that came in the meantime and still hold.
    fn restore(&mut self, number: u32) {
        let now = self.now();
        let ignoring = &mut self.watchdog.ignoring;
        let Some(index) = ignoring.iter().position(|(port, _)| *port == number) else {
            return;
        };
        let (_, asked) = ignoring.swap_remove(index);
        for class in (0..CLASSES as u8).filter(|class| asked & 1 << class != 0) {
            self.ports[number as usize].set_paused(now, class, true);
        }
        if asked != 0 {
            self.watch_pause(number);
        }
    }
}
