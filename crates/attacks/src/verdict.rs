//! Whether an attack pays, and what it does to others: a row of the verdict table.

use fairlane_fabric::metrics::least_for;
use fairlane_scenario::Error;
use fairlane_units::{MessageId, Rate};
use serde::Serialize;

use crate::jobs::goodput;
use crate::measure::{Contention, Measurement, Tail};

/// Fewer victims' messages than this say little about their tail.
const ENOUGH: usize = 10_000;
/// An attack is secured against if it gains no more than this, victims' 99th percentile grows by no more, and their
/// goodput falls by no more.
const BAR: f64 = 1.1;

/// Runs of one attack under one scope, controller and seed.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// With the attack.
    pub attack: &'a Measurement,
    /// Which honest messages it has cut; empty if it is traffic of its own.
    pub cut: &'a [MessageId],
    /// The run in which the same hosts send honestly.
    pub honest: &'a Measurement,
    /// Messages to random destinations at the attack's goodput, for attacks that rotate destinations.
    pub paced: Option<&'a Measurement>,
    /// Why there is no paced run, if one was wanted.
    pub unpaced: Option<&'a Error>,
    /// The scenario without any attack.
    pub plain: &'a Measurement,
    /// The scenario without any attack, under scope `qp`.
    pub plain_qp: &'a Measurement,
}

impl Trial<'_> {
    /// The attacker's goodput over its honest goodput. Of an attack that cuts messages: [`goodput`] of those
    /// messages, whether they finish or not. Of traffic of its own: payload placed in its time, and nothing if
    /// that is below a bandwidth-delay product in both runs.
    pub fn gain(&self) -> Option<f64> {
        if self.cut.is_empty() {
            if [self.attack, self.honest]
                .iter()
                .all(|it| it.placed < it.bdp)
            {
                return None;
            }
            let honest = self.honest.goodput.as_f64();
            return (honest > 0.0).then(|| self.attack.goodput.as_f64() / honest);
        }
        let of = |it: &Measurement| goodput(self.cut.iter().filter_map(|job| it.jobs.get(job)));
        let honest = of(self.honest).filter(|honest| *honest > 0.0)?;
        Some(of(self.attack)? / honest)
    }

    /// Payload of all without attack over that under scope `qp`.
    fn honest_goodput_ratio(&self) -> Option<f64> {
        let all = |it: &Measurement| it.goodput.as_f64() + it.victims_goodput.as_f64();
        let qp = all(self.plain_qp);
        (qp > 0.0).then(|| all(self.plain) / qp)
    }

    /// The runs of which victims are compared.
    fn compared(&self) -> impl Iterator<Item = &Measurement> {
        [self.attack, self.honest].into_iter().chain(self.paced)
    }

    /// How many of the messages that the attack has cut don't finish under it or honestly.
    pub fn unfinished_jobs(&self) -> usize {
        let finishes = |it: &Measurement, job| it.jobs.get(&job).is_some_and(|job| job.finished);
        let both = |job: &&MessageId| finishes(self.attack, **job) && finishes(self.honest, **job);
        self.cut.len() - self.cut.iter().filter(both).count()
    }
}

/// A figure over several seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: Option<f64>,
    /// Half the width of the 95 % confidence interval (Student's t); nothing for one seed.
    pub half_width: Option<f64>,
    /// How many seeds have a figure.
    pub count: usize,
}

impl Estimate {
    /// The estimate over the seeds that have a figure.
    #[expect(clippy::cast_precision_loss, reason = "a few seeds")]
    pub fn of(figures: impl IntoIterator<Item = Option<f64>>) -> Self {
        let figures: Vec<f64> = figures.into_iter().flatten().collect();
        if figures.is_empty() {
            return Self::default();
        }
        let seeds = figures.len() as f64;
        let mean = figures.iter().sum::<f64>() / seeds;
        let squares: f64 = figures.iter().map(|one| (one - mean) * (one - mean)).sum();
        let half_width = (figures.len() > 1)
            .then(|| student(figures.len() - 1) * (squares / (seeds - 1.0) / seeds).sqrt());
        Self {
            mean: Some(mean),
            half_width,
            count: figures.len(),
        }
    }
}

/// The 97.5 % quantile of Student's t.
fn student(degrees: usize) -> f64 {
    const QUANTILES: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    QUANTILES
        .get(degrees.saturating_sub(1))
        .copied()
        .unwrap_or(1.96)
}

/// Whether an attack is kept off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The attack neither gains nor harms by more than a tenth.
    Secure,
    /// The attack gains or harms by more than a tenth.
    Insecure,
    /// The seeds don't tell.
    Unknown,
}

impl Verdict {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Secure => "secure",
            Self::Insecure => "insecure",
            Self::Unknown => "unknown",
        }
    }

    /// Whether it is secure; nothing where that isn't known.
    pub const fn is_secure(self) -> Option<bool> {
        match self {
            Self::Secure => Some(true),
            Self::Insecure => Some(false),
            Self::Unknown => None,
        }
    }

    /// The verdict on a figure whose 95 % confidence interval lies on one side of what `is_beyond`. A seed without a figure could
    /// be the one that fails. One seed has no interval, and counts for what it is.
    fn of(figure: Estimate, seeds: usize, is_beyond: impl Fn(f64) -> bool) -> Self {
        let Some(mean) = figure.mean else {
            return Self::Unknown;
        };
        let half = figure.half_width.unwrap_or(0.0);
        match [mean - half, mean + half].map(is_beyond) {
            [true, true] => Self::Insecure,
            [false, false] if figure.count == seeds => Self::Secure,
            _ => Self::Unknown,
        }
    }

    /// The verdict on two figures, both of which must be secure.
    const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Insecure, _) | (_, Self::Insecure) => Self::Insecure,
            (Self::Secure, Self::Secure) => Self::Secure,
            _ => Self::Unknown,
        }
    }
}

/// A row of the verdict table. Ratios are means over seeds; `_ci` is half the width of the 95 % confidence
/// interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The kind of attack.
    pub attack: &'static str,
    /// The scope.
    pub scope: &'static str,
    /// The congestion control.
    pub controller: &'static str,
    /// How much faster the attacker is than honestly.
    pub gain: Option<f64>,
    /// 99th percentile of the victims' slowdown over that in the honest run.
    pub victims_p99_ratio: Option<f64>,
    /// 99.9th percentile of the victims' slowdown over that in the honest run.
    pub victims_p999_ratio: Option<f64>,
    /// 99.9th percentile of the slowdown of short messages without attack, over that under scope `qp`.
    pub short_flow_penalty: Option<f64>,
    /// Whether the attack neither gains nor harms by more than a tenth; nothing where that isn't known.
    pub secure: Option<bool>,
    /// The value of `secure` in a word.
    pub verdict: Verdict,
    /// What victims are compared with for `verdict`: `honest` or `paced`.
    pub decided_by: &'static str,
    /// Which of their figures is compared: `p99`, or `goodput` where a seed has too few messages for it.
    pub harm: &'static str,
    /// Seeds.
    pub seeds: usize,
    /// Victims' messages that the percentiles are of, in all seeds together.
    pub victim_messages: usize,
    /// Confidence of `gain`.
    pub gain_ci: Option<f64>,
    /// How many seeds have a `gain`.
    pub gain_n: usize,
    /// Honest messages that the attack has cut, in all seeds together.
    pub jobs: usize,
    /// How many of them don't finish under the attack or honestly.
    pub jobs_unfinished: usize,
    /// Median of the victims' slowdown over that in the honest run.
    pub victims_p50_ratio: Option<f64>,
    /// Victims' goodput in the time of contention over that in the honest run.
    pub victims_goodput_ratio: Option<f64>,
    /// Confidence of `victims_goodput_ratio`.
    pub victims_goodput_ratio_ci: Option<f64>,
    /// How many seeds have a `victims_goodput_ratio`.
    pub victims_goodput_ratio_n: usize,
    /// Victims' goodput in the time of contention over that in the paced run.
    pub victims_goodput_vs_paced: Option<f64>,
    /// Confidence of `victims_goodput_vs_paced`.
    pub victims_goodput_vs_paced_ci: Option<f64>,
    /// How many seeds have a `victims_goodput_vs_paced`.
    pub victims_goodput_vs_paced_n: usize,
    /// Confidence of `victims_p99_ratio`.
    pub victims_p99_ratio_ci: Option<f64>,
    /// How many seeds have a `victims_p99_ratio`.
    pub victims_p99_ratio_n: usize,
    /// Confidence of `victims_p999_ratio`.
    pub victims_p999_ratio_ci: Option<f64>,
    /// How many seeds have a `victims_p999_ratio`.
    pub victims_p999_ratio_n: usize,
    /// Confidence of `short_flow_penalty`.
    pub short_flow_penalty_ci: Option<f64>,
    /// How many seeds have a `short_flow_penalty`.
    pub short_flow_penalty_n: usize,
    /// As `short_flow_penalty`, of the 99th percentile.
    pub short_flow_penalty_p99: Option<f64>,
    /// Payload of all tenants without attack, over that under scope `qp`.
    pub honest_goodput_ratio: Option<f64>,
    /// Median of the victims' slowdown over that beside an honest tenant that sends as much to random
    /// destinations.
    pub victims_p50_vs_paced: Option<f64>,
    /// 99th percentile of the victims' slowdown over that in the paced run.
    pub victims_p99_vs_paced: Option<f64>,
    /// Confidence of `victims_p99_vs_paced`.
    pub victims_p99_vs_paced_ci: Option<f64>,
    /// How many seeds have a `victims_p99_vs_paced`.
    pub victims_p99_vs_paced_n: usize,
    /// 99.9th percentile of the victims' slowdown over that in the paced run.
    pub victims_p999_vs_paced: Option<f64>,
    /// How many seeds have a `victims_p999_vs_paced`.
    pub victims_p999_vs_paced_n: usize,
    /// The victims' 99th percentile under attack, mean over seeds.
    pub victims_p99: Option<f64>,
    /// What each side gets while both have something to send.
    #[serde(flatten)]
    pub rates: Rates,
    /// The attacker's part of what all get under attack over its part by weight, mean over seeds.
    pub weight_share: Option<f64>,
    /// Pause frames under attack, mean over seeds.
    pub pauses: Option<f64>,
    /// Packets lost under attack.
    pub drops: Option<f64>,
    /// Pause frames without attack.
    pub plain_pauses: Option<f64>,
    /// Packets lost without attack.
    pub plain_drops: Option<f64>,
    /// What a reader should know of these figures.
    pub notes: Vec<String>,
}

/// What each side gets in the time of [contention](Contention), means over seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rates {
    /// Microseconds in which attacker and victims both have something to send, under attack.
    pub contention_us: Option<f64>,
    /// Microseconds in which attacker and victims both have something to send, in the honest run.
    pub honest_contention_us: Option<f64>,
    /// The attacker's goodput under attack in Gb/s.
    pub goodput_gbps: Option<f64>,
    /// Its honest goodput.
    pub honest_gbps: Option<f64>,
    /// The goodput of the honest tenant that sends to random destinations.
    pub paced_gbps: Option<f64>,
    /// All victims' goodput under attack.
    pub victims_gbps: Option<f64>,
    /// All victims' goodput in the honest run.
    pub victims_honest_gbps: Option<f64>,
}

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The kind of attack.
    pub attack: &'static str,
    /// The scope.
    pub scope: &'static str,
    /// The congestion control.
    pub controller: &'static str,
    /// Whether it lives from changing destinations, so that victims are compared with those of the paced run.
    pub rotates: bool,
}

/// The verdict on an attack, from one trial for each seed.
pub fn verdict(subject: Subject, trials: &[Trial<'_>]) -> Row {
    let figures = Figures::new(trials);
    let gain = figures.over(|trial| trial.gain());
    let victim_messages = figures.victim_messages();
    let (p99, p999) = (figures.victims(Tail::p99), figures.victims(Tail::p999));
    let (paced_p99, paced_p999) = (figures.paced(Tail::p99), figures.paced(Tail::p999));
    let penalty_p999 = figures.penalty(Tail::p999);
    let goodput = figures.victims_goodput(|trial| Some(trial.honest));
    let paced_goodput = figures.victims_goodput(|trial| trial.paced);
    let decision = Decision {
        seeds: trials.len(),
        gain,
        tail: if subject.rotates { paced_p99 } else { p99 },
        goodput: if subject.rotates {
            paced_goodput
        } else {
            goodput
        },
    };
    let verdict = decision.verdict();
    Row {
        attack: subject.attack,
        scope: subject.scope,
        controller: subject.controller,
        gain: gain.mean,
        victims_p99_ratio: p99.mean,
        victims_p999_ratio: p999.mean,
        short_flow_penalty: penalty_p999.mean,
        secure: verdict.is_secure(),
        verdict,
        decided_by: if subject.rotates { "paced" } else { "honest" },
        harm: decision.harm(),
        seeds: trials.len(),
        victim_messages,
        gain_ci: gain.half_width,
        gain_n: gain.count,
        jobs: figures.count(|trial| trial.cut.len()),
        jobs_unfinished: figures.count(|trial| trial.unfinished_jobs()),
        victims_p50_ratio: figures.victims(Tail::p50).mean,
        victims_goodput_ratio: goodput.mean,
        victims_goodput_ratio_ci: goodput.half_width,
        victims_goodput_ratio_n: goodput.count,
        victims_goodput_vs_paced: paced_goodput.mean,
        victims_goodput_vs_paced_ci: paced_goodput.half_width,
        victims_goodput_vs_paced_n: paced_goodput.count,
        victims_p99_ratio_ci: p99.half_width,
        victims_p99_ratio_n: p99.count,
        victims_p999_ratio_ci: p999.half_width,
        victims_p999_ratio_n: p999.count,
        short_flow_penalty_ci: penalty_p999.half_width,
        short_flow_penalty_n: penalty_p999.count,
        short_flow_penalty_p99: figures.penalty(Tail::p99).mean,
        honest_goodput_ratio: figures.over(|trial| trial.honest_goodput_ratio()).mean,
        victims_p50_vs_paced: figures.paced(Tail::p50).mean,
        victims_p99_vs_paced: paced_p99.mean,
        victims_p99_vs_paced_ci: paced_p99.half_width,
        victims_p99_vs_paced_n: paced_p99.count,
        victims_p999_vs_paced: paced_p999.mean,
        victims_p999_vs_paced_n: paced_p999.count,
        victims_p99: figures.victims_p99(),
        rates: figures.rates(),
        weight_share: figures.over(|trial| trial.attack.weight_share).mean,
        pauses: figures.number(|trial| trial.attack.pauses),
        drops: figures.number(|trial| trial.attack.drops),
        plain_pauses: figures.number(|trial| trial.plain.pauses),
        plain_drops: figures.number(|trial| trial.plain.drops),
        notes: notes(trials, victim_messages, decision, p999),
    }
}

/// The figures that decide.
#[derive(Clone, Copy, Debug)]
struct Decision {
    seeds: usize,
    gain: Estimate,
    /// Victims' 99th percentile over that of the run that they are compared with.
    tail: Estimate,
    /// Their goodput over that of the same run.
    goodput: Estimate,
}

impl Decision {
    /// Which of the victims' figures is compared.
    fn harm(&self) -> &'static str {
        if self.by_tail() { "p99" } else { "goodput" }
    }

    fn gains(&self) -> Verdict {
        Verdict::of(self.gain, self.seeds, |gain| gain > BAR)
    }

    /// By the 99th percentile if every seed has one, since how much victims with short messages get depends on what they
    /// offer in the time of contention. Otherwise it can still tell that they are harmed.
    fn harms(&self) -> Verdict {
        if self.by_tail() {
            return self.tail();
        }
        Verdict::of(self.goodput, self.seeds, |ratio| ratio < 1.0 / BAR)
    }

    fn tail(&self) -> Verdict {
        Verdict::of(self.tail, self.seeds, |ratio| ratio > BAR)
    }

    /// Whether the 99th percentile is compared.
    fn by_tail(&self) -> bool {
        self.tail.count == self.seeds || self.tail() == Verdict::Insecure
    }

    fn verdict(&self) -> Verdict {
        self.gains().and(self.harms())
    }
}

/// Figures of trials, each over all of them.
struct Figures<'a> {
    trials: &'a [Trial<'a>],
    /// Slowdowns of the victims' messages that are compared.
    of_victims: fn(&Measurement) -> Option<&Tail>,
}

impl<'a> Figures<'a> {
    fn new(trials: &'a [Trial<'a>]) -> Self {
        // Once for all runs: short messages of one and all messages of another say nothing about each other.
        let mut runs = trials.iter().flat_map(Trial::compared);
        let of_victims: fn(&Measurement) -> Option<&Tail> =
            match runs.all(|run| run.short_victims.is_some_and(|tail| tail.p99().is_some())) {
                true => |run| run.short_victims.as_ref(),
                false => |run| run.victims.as_ref(),
            };
        Self { trials, of_victims }
    }

    fn over(&self, figure: impl Fn(&Trial<'_>) -> Option<f64>) -> Estimate {
        Estimate::of(self.trials.iter().map(figure))
    }

    fn victim_messages(&self) -> usize {
        self.count(|trial| (self.of_victims)(trial.attack).map_or(0, |it| it.messages))
    }

    fn victims_p99(&self) -> Option<f64> {
        self.over(|trial| (self.of_victims)(trial.attack)?.p99())
            .mean
    }

    /// Slowdown of victims under attack over that in the honest run.
    fn victims(&self, pick: Pick) -> Estimate {
        let of = self.of_victims;
        self.over(|trial| ratio(of(trial.attack), of(trial.honest), pick))
    }

    /// Slowdown of victims under attack over that in the paced run.
    fn paced(&self, pick: Pick) -> Estimate {
        let of = self.of_victims;
        self.over(|trial| ratio(of(trial.attack), of(trial.paced?), pick))
    }

    /// Goodput of victims in the time of contention under attack, over that in another run.
    fn victims_goodput(&self, other: impl Fn(&Trial<'a>) -> Option<&'a Measurement>) -> Estimate {
        let of = |run: &Measurement| Some(run.contention?.victims.as_f64());
        Estimate::of(self.trials.iter().map(|trial| {
            let (attack, other) = (of(trial.attack)?, of(other(trial)?)?);
            (other > 0.0).then(|| attack / other)
        }))
    }

    /// Slowdown of short messages without attack over that under scope `qp`.
    fn penalty(&self, pick: Pick) -> Estimate {
        let short: fn(&Measurement) -> Option<&Tail> = |run| run.short.as_ref();
        self.over(|trial| ratio(short(trial.plain), short(trial.plain_qp), pick))
    }

    fn gbps(&self, pick: impl Fn(&Trial<'_>) -> Option<Rate>) -> Option<f64> {
        self.over(|trial| Some(pick(trial)?.as_f64() * 1e-9)).mean
    }

    fn rates(&self) -> Rates {
        Rates {
            contention_us: self.micros(|trial| trial.attack),
            honest_contention_us: self.micros(|trial| trial.honest),
            goodput_gbps: self.gbps(|trial| Some(trial.attack.contention?.attacker)),
            honest_gbps: self.gbps(|trial| Some(trial.honest.contention?.attacker)),
            paced_gbps: self.gbps(|trial| Some(trial.paced?.contention?.attacker)),
            victims_gbps: self.gbps(|trial| Some(trial.attack.contention?.victims)),
            victims_honest_gbps: self.gbps(|trial| Some(trial.honest.contention?.victims)),
        }
    }

    fn micros(&self, run: impl for<'t> Fn(&Trial<'t>) -> &'t Measurement) -> Option<f64> {
        let time = |contention: Contention| contention.time.as_secs_f64() * 1e6;
        self.over(|trial| run(trial).contention.map(time)).mean
    }

    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53")]
    fn number(&self, pick: impl Fn(&Trial<'_>) -> u64) -> Option<f64> {
        self.over(|trial| Some(pick(trial) as f64)).mean
    }

    fn count(&self, pick: impl Fn(&Trial<'_>) -> usize) -> usize {
        self.trials.iter().map(pick).sum()
    }
}

/// What a reader should know: which figures are missing and why, and how many messages the others are of.
fn notes(trials: &[Trial<'_>], victims: usize, decision: Decision, tail: Estimate) -> Vec<String> {
    let of = trials.len();
    let mut notes = Vec::new();
    let failed: Vec<&Error> = trials.iter().filter_map(|trial| trial.unpaced).collect();
    if let Some(Error { place, message, .. }) = failed.first() {
        let count = failed.len();
        notes.push(format!(
            "no paced run with {count} of {of} seeds: {place}: {message}"
        ));
    }
    notes.extend(open(decision));
    let missing = of - tail.count;
    if decision.tail.count < of {
        let missing = of - decision.tail.count;
        let least = least_for(0.99);
        let decides = match decision.by_tail() {
            true => "their p99 with the others decides",
            false => "their goodput decides",
        };
        notes.push(format!(
            "fewer than {least} messages of victims in a run with {missing} of {of} seeds: no p99, {decides}"
        ));
    } else if missing > 0 {
        let least = least_for(0.999);
        notes.push(format!(
            "fewer than {least} messages of victims in a run with {missing} of {of} seeds: no p99.9 of those, \
             and an uncertain p99"
        ));
    } else if victims < ENOUGH {
        notes.push(format!(
            "fewer than {ENOUGH} messages of victims: their tail is uncertain"
        ));
    }
    notes
}

/// Why a verdict is unknown.
fn open(decision: Decision) -> Vec<String> {
    let of = decision.seeds;
    let (victims, harm) = match decision.harm() {
        "p99" => ("victims' p99", decision.tail),
        _ => ("victims' goodput", decision.goodput),
    };
    let why = |(name, figure, verdict): (&str, Estimate, Verdict)| match verdict {
        Verdict::Unknown if figure.count < of => {
            let missing = of - figure.count;
            Some(format!(
                "unknown without {name} from every seed: {missing} of {of} have none"
            ))
        }
        Verdict::Unknown => Some(format!(
            "unknown: the interval of {name} reaches over the bar of {BAR}; more seeds may tell"
        )),
        Verdict::Secure | Verdict::Insecure => None,
    };
    match decision.verdict() {
        Verdict::Unknown => [
            ("gain", decision.gain, decision.gains()),
            (victims, harm, decision.harms()),
        ]
        .into_iter()
        .filter_map(why)
        .collect(),
        Verdict::Secure | Verdict::Insecure => Vec::new(),
    }
}

/// The notes of rows, each once with the rows that it is of.
pub fn notes_of(rows: &[Row]) -> Vec<String> {
    // Rows that are named before the others are counted.
    const NAMED: usize = 3;
    let mut notes: Vec<(&str, Vec<String>)> = Vec::new();
    for row in rows {
        for note in &row.notes {
            let name = format!("{} under {} and {}", row.attack, row.scope, row.controller);
            match notes.iter_mut().find(|(other, _)| other == note) {
                Some((_, names)) => names.push(name),
                None => notes.push((note, vec![name])),
            }
        }
    }
    let text = |(note, names): (&str, Vec<String>)| {
        let count = names.len();
        let named = names[..count.min(NAMED)].join(", ");
        match count.saturating_sub(NAMED) {
            _ if count == rows.len() && count > 1 => format!("all rows: {note}"),
            0 => format!("{named}: {note}"),
            more => format!("{named} and {more} more: {note}"),
        }
    };
    notes.into_iter().map(text).collect()
}

/// A figure of slowdowns, if there are enough for it.
type Pick = fn(&Tail) -> Option<f64>;

fn ratio(one: Option<&Tail>, other: Option<&Tail>, pick: Pick) -> Option<f64> {
    let (one, other) = (pick(one?)?, pick(other?)?);
    (other > 0.0).then(|| one / other)
}
