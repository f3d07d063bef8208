//! How far a run has come, on standard error: a bar on a terminal, a line a minute elsewhere.

use std::fmt::Display;
use std::io::{IsTerminal, stderr};
use std::time::{Duration as Wall, Instant};

use fairlane_experiments::sweep::Told;
use fairlane_units::Time;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::backend::Progress;
use crate::print;
use fairlane_results::table;

/// Time between two updates of the bar.
const BAR_INTERVAL: Wall = Wall::from_millis(100);
/// Time between two lines.
const LINE_INTERVAL: Wall = Wall::from_secs(60);
/// Steps of the bar.
const STEPS: u64 = 1000;

/// Tells when it is time for something, of times since the beginning.
struct Every {
    interval: Wall,
    last: Wall,
}

impl Every {
    const fn new(interval: Wall) -> Self {
        Self {
            interval,
            last: Wall::ZERO,
        }
    }

    /// The time since the last time, if an interval has gone by.
    fn due(&mut self, elapsed: Wall) -> Option<Wall> {
        let since = elapsed.saturating_sub(self.last);
        (since >= self.interval).then(|| {
            self.last = elapsed;
            since
        })
    }
}

/// How fast a run goes.
pub(crate) struct Pace {
    begun: Instant,
    every: Every,
    /// Transmissions when it was last looked at.
    transmissions: u64,
    /// Simulated time when progress was first reported.
    origin: Option<Time>,
}

impl Pace {
    /// Begins to measure; there is something to say once an interval.
    pub(crate) fn begin(interval: Wall) -> Self {
        Self {
            begun: Instant::now(),
            every: Every::new(interval),
            transmissions: 0,
            origin: None,
        }
    }

    /// Takes note of where and when the run begins, if it does.
    pub(crate) fn note(&mut self, progress: &Progress<'_>) {
        if self.origin.is_none() {
            (self.origin, self.begun) = (Some(progress.now), Instant::now());
        }
    }

    /// How much of the run lies behind, and progress in words, unless the last look was less than an interval ago.
    pub(crate) fn look(&mut self, progress: &Progress<'_>) -> Option<(f64, String)> {
        let origin = *self.origin.get_or_insert(progress.now);
        let since = self.every.due(self.begun.elapsed())?;
        let fraction = fraction(origin, progress);
        let words = self.words(progress, fraction, since);
        self.transmissions = progress.transmissions;
        Some((fraction, words))
    }

    fn words(&self, progress: &Progress<'_>, fraction: f64, since: Wall) -> String {
        let sent = progress.transmissions.saturating_sub(self.transmissions);
        let rate = fairlane_results::meter::per_second(sent, since.as_secs_f64()).unwrap_or(0.0);
        let left = left(self.begun, fraction);
        let simulated = progress
            .now
            .saturating_since(self.origin.unwrap_or(progress.now));
        format!(
            "{left} left, {} simulated, {} transmissions/s, {}/{} messages",
            table::seconds(simulated.as_secs_f64()),
            table::magnitude(rate),
            progress.messages_done,
            progress.messages,
        )
    }
}

/// How long it takes yet, if it goes on as it has since it began.
fn left(begun: Instant, fraction: f64) -> String {
    let elapsed = begun.elapsed().as_secs_f64();
    match fraction > 0.0 {
        true => table::wall(elapsed * (1.0 - fraction) / fraction),
        false => "?".into(),
    }
}

/// Shows progress, until dropped.
pub(crate) struct Reporter {
    shape: Shape,
    pace: Pace,
}

/// What standard error gets; a bar goes away when dropped.
enum Shape {
    Bar(ProgressBar),
    Lines,
    Quiet,
}

impl Shape {
    /// What standard error gets: nothing at all if `quiet`.
    fn of(quiet: bool, is_terminal: bool) -> Self {
        match (quiet, is_terminal) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Bar(bar()),
            (false, false) => Self::Lines,
        }
    }

    /// Time between two looks.
    const fn interval(&self) -> Wall {
        match self {
            Self::Bar(_) => BAR_INTERVAL,
            Self::Lines => LINE_INTERVAL,
            Self::Quiet => Wall::MAX,
        }
    }

    /// Shows how much is done: on a bar in these words, else as a line.
    fn show(&self, fraction: f64, words: &str, line: impl Display) {
        match self {
            Self::Bar(bar) => {
                bar.set_message(words.to_owned());
                bar.set_position(steps(fraction));
            }
            Self::Lines => print::say(line),
            Self::Quiet => {}
        }
    }
}

impl Drop for Shape {
    fn drop(&mut self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

impl Reporter {
    /// Begins to measure; shows nothing at all if `quiet`.
    pub(crate) fn begin(quiet: bool) -> Self {
        let shape = Shape::of(quiet, stderr().is_terminal());
        Self {
            pace: Pace::begin(shape.interval()),
            shape,
        }
    }

    /// Takes note of progress and shows it if it is time to.
    pub(crate) fn update(&mut self, progress: &Progress<'_>) {
        if let Some((fraction, words)) = self.pace.look(progress) {
            let line = format_args!("{:>3.0} %  {words}", fraction * 100.0);
            self.shape.show(fraction, &words, line);
        }
    }
}

/// Shows how many runs of a sweep have ended, until dropped.
pub(crate) struct Runs {
    shape: Shape,
    begun: Instant,
    lines: Every,
    /// Whether there has been a line.
    said: bool,
}

impl Runs {
    /// Begins to measure; shows nothing at all if `quiet`.
    pub(crate) fn begin(quiet: bool) -> Self {
        let shape = Shape::of(quiet, stderr().is_terminal());
        if let Shape::Bar(bar) = &shape {
            bar.enable_steady_tick(BAR_INTERVAL);
        }
        Self {
            shape,
            begun: Instant::now(),
            lines: Every::new(LINE_INTERVAL),
            said: false,
        }
    }

    /// Takes note of the end of a run; `name` is the run's.
    pub(crate) fn update(&mut self, told: &Told, name: Option<String>) {
        let (ended, runs) = (told.ended, told.runs);
        let fraction = told.done as f64 / (told.work as f64).max(1.0);
        let left = left(self.begun, fraction);
        let last = name.map_or_else(String::new, |name| format!(", {name}"));
        let words = format!("{ended} of {runs} runs, {left} left{last}");
        let is_due = self.lines.due(self.begun.elapsed()).is_some();
        if is_due || !self.said || ended == runs || matches!(self.shape, Shape::Bar(_)) {
            self.shape.show(fraction, &words, &words);
            self.said = true;
        }
    }
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:16} {percent:>3} %  {wide_msg}");
    let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
    match style {
        Ok(style) => bar.with_style(style.progress_chars("█▉▊▋▌▍▎▏ ")),
        Err(_) => bar,
    }
}

/// The part of the run that lies behind: of the arrivals or of the payload, whichever is behind.
fn fraction(origin: Time, progress: &Progress<'_>) -> f64 {
    let part = |past: f64, whole: f64| match whole > 0.0 {
        true => (past / whole).min(1.0),
        false => 1.0,
    };
    let since = |time: Time| time.saturating_since(origin).as_secs_f64();
    let arrivals = part(since(progress.now), since(progress.last_start));
    arrivals.min(part(progress.placed.as_f64(), progress.total.as_f64()))
}

fn steps(fraction: f64) -> u64 {
    (fraction * STEPS as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When there is something to say in ten minutes, asked ten times a second.
    fn said(shape: &Shape) -> Vec<u64> {
        let mut every = Every::new(shape.interval());
        let asked = (0..6000).map(|tenth| Wall::from_millis(100 * tenth));
        let due = asked.filter(|&elapsed| every.due(elapsed).is_some());
        due.map(|elapsed| elapsed.as_secs()).collect()
    }

    #[test]
    fn what_is_no_terminal_gets_a_line_a_minute() {
        let lines: Vec<u64> = (1..10).map(|minute| minute * 60).collect();
        assert_eq!(said(&Shape::of(false, false)), lines);
        assert_eq!(said(&Shape::of(true, false)), [0u64; 0]);
        assert_eq!(said(&Shape::of(true, true)), [0u64; 0]);
        assert_eq!(said(&Shape::of(false, true)).len(), 5999);
    }

    #[test]
    fn a_late_look_says_how_long_it_was() {
        let mut every = Every::new(Wall::from_secs(60));
        assert_eq!(every.due(Wall::from_secs(59)), None);
        assert_eq!(every.due(Wall::from_secs(150)), Some(Wall::from_secs(150)));
        assert_eq!(every.due(Wall::from_secs(200)), None);
        assert_eq!(every.due(Wall::from_secs(210)), Some(Wall::from_secs(60)));
    }
}
