//! Programs of a lab: started when they may, watched, stopped on purpose, ended.

use std::fs::{self, File};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration as Wall, Instant};

use fairlane_lab::{Place, places};
use fairlane_scenario::{Lab, LabAction, LabFault, LabProgram};
use fairlane_units::Time;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::listening::listens;
use crate::failure::Failure;

/// How long a program that others wait for may run without listening, before they don't wait any longer.
const SETTLES: Wall = Wall::from_secs(1);
/// How often it is looked whether one listens.
const LOOK: Wall = Wall::from_millis(100);
/// How long programs have to end when the lab does.
const GRACE: Wall = Wall::from_secs(2);

/// All programs of a lab.
pub(super) struct Programs {
    all: Vec<Program>,
    /// What is yet to happen to them, latest first.
    faults: Vec<LabFault>,
    begun: Instant,
    looked: Instant,
    socket: PathBuf,
    outputs: PathBuf,
}

struct Program {
    stated: LabProgram,
    place: Place,
    state: State,
}

enum State {
    Waits,
    Runs {
        child: Child,
        since: Instant,
        /// Whether others need not wait for it any longer.
        is_ready: bool,
        /// Whether it was killed on purpose.
        is_killed: bool,
    },
    Ended {
        status: ExitStatus,
        is_killed: bool,
    },
}

impl Programs {
    /// Programs that attach at a socket, and whose outputs go into a folder.
    ///
    /// # Errors
    /// If they have no addresses, or there can be no such folder.
    pub(super) fn new(lab: &Lab, socket: &Path, outputs: &Path) -> Result<Self, Failure> {
        let places = places(lab)?;
        if !places.is_empty() {
            fs::create_dir_all(outputs).map_err(|error| Failure::at(outputs, error))?;
        }
        let mut faults = lab.fault.clone();
        faults.sort_by_key(|fault| std::cmp::Reverse(fault.at));
        let all = lab
            .program
            .iter()
            .zip(places)
            .map(|(stated, place)| Program {
                stated: stated.clone(),
                place,
                state: State::Waits,
            });
        let now = Instant::now();
        Ok(Self {
            all: all.collect(),
            faults,
            begun: now,
            looked: now,
            socket: socket.to_owned(),
            outputs: outputs.to_owned(),
        })
    }

    /// How many there are.
    pub(super) const fn count(&self) -> usize {
        self.all.len()
    }

    /// Does what is due at a time of the fabric; whether some haven't ended, or there are none.
    ///
    /// # Errors
    /// If one can't be started.
    pub(super) fn step(&mut self, now: Time) -> Result<bool, Failure> {
        let looks = self.looked.elapsed() >= LOOK;
        if looks {
            self.looked = Instant::now();
        }
        for program in &mut self.all {
            program.look(looks);
        }
        while let Some(fault) = self.faults.pop_if(|fault| Time::ZERO + fault.at <= now) {
            let mut all = self.all.iter_mut();
            if let Some(program) = all.find(|program| program.stated.name == fault.program) {
                program.suffer(fault.action);
            }
        }
        for at in 0..self.all.len() {
            if matches!(self.all[at].state, State::Waits) && self.may_start(at) {
                self.start(at)?;
            }
        }
        let is_over = |program: &Program| {
            program.stated.background || matches!(program.state, State::Ended { .. })
        };
        Ok(self.all.is_empty() || !self.all.iter().all(is_over))
    }

    fn may_start(&self, at: usize) -> bool {
        let stated = &self.all[at].stated;
        match (&stated.after, stated.delay()) {
            (None, _) => true,
            (Some(_), Some(delay)) => self.begun.elapsed().as_secs_f64() >= delay.as_secs_f64(),
            (Some(name), None) => self.all.iter().any(|other| {
                let is_ready = match other.state {
                    State::Waits => false,
                    State::Runs { is_ready, .. } => is_ready,
                    State::Ended { .. } => true,
                };
                other.stated.name == *name && is_ready
            }),
        }
    }

    fn start(&mut self, at: usize) -> Result<(), Failure> {
        let Program { stated, place, .. } = &self.all[at];
        let own = std::env::current_exe().map_err(|error| Failure::new(error.to_string()))?;
        let address = |name: &str| {
            let named = self.all.iter().find(|other| other.stated.name == name)?;
            named.place.address().map(|address| address.to_string())
        };
        let command = stated.command_with(address);
        let command = command.map_err(|name| Failure::new(format!("no program is {name}")))?;
        let output = |kind: &str| {
            let path = self.outputs.join(format!("{}.{kind}", stated.name));
            File::create(&path).map_err(|error| Failure::at(&path, error))
        };
        let host = format!("{}:{}", place.host, place.program);
        let spawned = Command::new(own)
            .args(["exec", "--host", &host, "--lab"])
            .arg(&self.socket)
            .arg("--")
            .args(command)
            .envs(&stated.env)
            .stdin(Stdio::null())
            .stdout(output("out")?)
            .stderr(output("err")?)
            // A Ctrl-C in the terminal is for the lab, which ends them.
            .process_group(0)
            .spawn();
        let name = &stated.name;
        let child = spawned.map_err(|error| Failure::new(format!("program {name}: {error}")))?;
        self.all[at].state = State::Runs {
            child,
            since: Instant::now(),
            is_ready: false,
            is_killed: false,
        };
        Ok(())
    }

    /// Ends those that still run: first they are asked to.
    pub(super) fn end(&mut self) {
        for signal in [Signal::SIGTERM, Signal::SIGKILL] {
            let begun = Instant::now();
            let mut left = false;
            for program in &mut self.all {
                if let State::Runs { is_killed, .. } = &mut program.state {
                    *is_killed = true;
                    left = true;
                    program.signal(signal);
                    // One that stands still hears nothing.
                    program.signal(Signal::SIGCONT);
                }
            }
            while left && begun.elapsed() < GRACE {
                self.all.iter_mut().for_each(|program| program.look(false));
                let runs = |program: &Program| matches!(program.state, State::Runs { .. });
                left = self.all.iter().any(runs);
                std::thread::sleep(Wall::from_millis(10));
            }
        }
    }

    /// Which have failed, and how.
    pub(super) fn failures(&self) -> Vec<String> {
        let failed = self.all.iter().filter_map(|program| {
            let State::Ended {
                status,
                is_killed: false,
            } = program.state
            else {
                return None;
            };
            let how = match (status.code(), status.signal()) {
                (Some(0), _) => return None,
                (Some(code), _) => format!("exit status {code}"),
                (None, signal) => format!("signal {}", signal.unwrap_or(0)),
            };
            let name = &program.stated.name;
            Some(format!(
                "program {name} failed: {how}; programs/{name}.err may say why"
            ))
        });
        failed.collect()
    }
}

impl Program {
    /// Looks whether it has ended, and whether others need not wait for it.
    fn look(&mut self, looks: bool) {
        let State::Runs {
            child,
            since,
            is_ready,
            is_killed,
        } = &mut self.state
        else {
            return;
        };
        if let Ok(Some(status)) = child.try_wait() {
            self.state = State::Ended {
                status,
                is_killed: *is_killed,
            };
            return;
        }
        if !*is_ready && looks {
            *is_ready = since.elapsed() >= SETTLES || listens(child.id());
        }
    }

    /// Something happens to it on purpose.
    fn suffer(&mut self, action: LabAction) {
        if let (LabAction::Kill, State::Runs { is_killed, .. }) = (action, &mut self.state) {
            *is_killed = true;
        }
        self.signal(match action {
            LabAction::Kill => Signal::SIGKILL,
            LabAction::Stop => Signal::SIGSTOP,
            LabAction::Continue => Signal::SIGCONT,
        });
    }

    /// Sends a signal to it and the processes that it has started.
    fn signal(&self, signal: Signal) {
        if let State::Runs { child, .. } = &self.state {
            // It may have ended in this moment.
            let _ = killpg(Pid::from_raw(child.id().cast_signed()), signal);
        }
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        self.end();
    }
}
