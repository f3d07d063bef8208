//! `fairlane run --live`: the report of a run on a page while it goes on.

use std::time::{Duration, Instant};

use fairlane_fabric::Results;

use crate::backend::{self, Loaded, Progress};
use crate::failure::Failure;
use crate::print;
use crate::progress::Pace;
use fairlane_results::report;

mod serve;

use serve::Server;

/// Between two messages of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);
/// Between two reports at least.
const REPORT_INTERVAL: Duration = Duration::from_millis(500);
/// A report is made on the run's own thread, which loses at most a part of so many to it.
const REPORT_COST: u32 = 150;

/// Tells a page how a run goes on. Nobody is told anything, and nothing is copied, unless a page is open.
pub(crate) struct Live<'a> {
    loaded: &'a Loaded,
    /// The resolved scenario.
    scenario: String,
    server: Server,
    pace: Pace,
    /// Before then there is no other report.
    next_report: Instant,
}

impl<'a> Live<'a> {
    /// Begins to serve at a port of the loopback address, or at one that is free, and says where.
    ///
    /// # Errors
    /// If the port is in use or the system refuses a socket.
    pub(crate) fn begin(loaded: &'a Loaded, port: Option<u16>) -> Result<Self, Failure> {
        let page = report::live_page(&loaded.scenario.name);
        let server = Server::begin(page, port.unwrap_or(0))?;
        print::say(format_args!("live at http://{}", server.address()));
        Ok(Self {
            loaded,
            scenario: loaded.to_toml()?,
            server,
            pace: Pace::begin(PROGRESS_INTERVAL),
            next_report: Instant::now(),
        })
    }

    /// Takes note of progress and tells of it if it is time to.
    pub(crate) fn update(&mut self, progress: &Progress<'_>) {
        // Whoever looks later wants to know of the whole run.
        self.pace.note(progress);
        if !self.server.is_watched() {
            return;
        }
        if let Some((share, words)) = self.pace.look(progress) {
            let told = serde_json::json!({ "share": share, "words": words });
            self.server.tell_progress(told.to_string());
        }
        let begun = Instant::now();
        if begun < self.next_report {
            return;
        }
        let results = progress.results();
        self.server
            .tell_report(self.data(&results, report::running));
        let cost = begun.elapsed().saturating_mul(REPORT_COST);
        self.next_report = Instant::now() + cost.max(REPORT_INTERVAL);
    }

    /// Tells pages that are open of the run's end and stops to serve.
    pub(crate) fn end(self, results: &Results) {
        if self.server.is_watched() {
            self.server.tell_report(self.data(results, report::data));
        }
        self.server.end();
    }

    fn data(&self, results: &Results, ask: fn(&report::ReportInput<'_>) -> String) -> String {
        let figures = backend::figures(results);
        backend::page_data(self.loaded, &self.scenario, results, &figures, ask)
    }
}
