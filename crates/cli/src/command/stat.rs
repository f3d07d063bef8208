//! `fairlane stat`.

use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;

use crate::args::{Stat, StatFormat};
use crate::failure::Failure;
use crate::print;

mod ask;
mod device;
mod prometheus;
mod records;
mod text;

use ask::Trouble;
use device::Device;

/// What all devices that answer have counted at a time.
#[derive(Debug, Serialize)]
struct Sample {
    /// By the wall's clock, in seconds of Unix.
    time: f64,
    #[serde(skip)]
    taken: Instant,
    devices: Vec<Device>,
}

/// Shows counters of devices, once or again and again.
///
/// # Errors
/// If the system doesn't list sockets, standard output can't be written, or a format can't be repeated.
pub(crate) fn stat(arguments: &Stat) -> Result<ExitCode, Failure> {
    if arguments.interval.is_some() && arguments.format == StatFormat::Prometheus {
        let message = "--interval: a text of Prometheus is of one time";
        return Err(Failure::new(message).hint("use --format text, json or csv, or leave it out"));
    }
    let (first, complete) = sample(arguments)?;
    if first.devices.is_empty() {
        return Ok(ExitCode::from(1));
    }
    show(arguments, &first, None)?;
    if let Some(interval) = arguments.interval {
        repeat(arguments, interval, first)?;
    }
    Ok(ExitCode::from(u8::from(!complete)))
}

/// Shows them again until no device is left.
fn repeat(arguments: &Stat, interval: Duration, first: Sample) -> Result<(), Failure> {
    let (mut before, mut due) = (first, Instant::now());
    loop {
        due = Instant::now().max(due + interval);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let replies = ask::all(arguments.address, arguments.qp)?;
        let sample = Sample::new(replies.into_iter().filter_map(Result::ok).collect());
        if sample.devices.is_empty() {
            print::say("no device is left");
            return Ok(());
        }
        show(arguments, &sample, Some(&before))?;
        before = sample;
    }
}

/// What devices say, and whether all of this user have said something. What is missing is said on standard error.
fn sample(arguments: &Stat) -> Result<(Sample, bool), Failure> {
    let mut complete = true;
    let mut devices = Vec::new();
    let replies = ask::all(arguments.address, arguments.qp)?;
    let found = !replies.is_empty();
    for reply in replies {
        match reply {
            Ok(device) => devices.push(device),
            Err(Trouble::Gone) => {}
            Err(Trouble::Foreign(name, user)) => {
                let whose =
                    format!("{name}: a device of user {user}, who alone may ask it, and root");
                print::say(whose);
            }
            Err(Trouble::Silent(name, why)) => {
                complete = false;
                print::say(format_args!("{name}: {why}"));
            }
        }
    }
    if devices.is_empty() {
        let place = arguments
            .address
            .map_or_else(String::new, |own| format!(" at {own}"));
        let answers = if found { "answers" } else { "is running" };
        print::say(format_args!(
            "no device{place} {answers} in this network namespace\n\
             hint: `fairlane exec -- PROGRAM` starts a program that has one"
        ));
    }
    Ok((Sample::new(devices), complete))
}

impl Sample {
    fn new(devices: Vec<Device>) -> Self {
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self {
            time: time.unwrap_or_default().as_secs_f64(),
            taken: Instant::now(),
            devices,
        }
    }

    /// The device as it was here, and seconds since, in those of a later sample.
    fn same(&self, device: &Device, later: &Self) -> Option<(&Device, f64)> {
        let same = |own: &&Device| (&own.address, own.pid) == (&device.address, device.pid);
        let seconds = later.taken.duration_since(self.taken).as_secs_f64();
        let own = self.devices.iter().find(same)?;
        (seconds > 0.0).then_some((own, seconds))
    }
}

fn show(arguments: &Stat, sample: &Sample, before: Option<&Sample>) -> Result<(), Failure> {
    let again = before.is_some();
    match arguments.format {
        StatFormat::Text => {
            let blank = if again { "\n" } else { "" };
            let text = text::text(sample, before, arguments.all);
            print::text(&format!("{blank}{text}"))
        }
        StatFormat::Json if arguments.interval.is_some() => print::text(&records::line(sample)?),
        StatFormat::Json => print::json(sample),
        StatFormat::Csv => print::text(&records::csv(sample, !again)?),
        StatFormat::Prometheus => print::text(&prometheus::text(&sample.devices)),
    }
}
