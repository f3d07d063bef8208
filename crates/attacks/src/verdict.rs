//! Whether an attack pays, and what it does to others: a row of the verdict table.

use fairlane_fabric::metrics::Spread;
use serde::Serialize;

use crate::measure::Measurement;

/// An attack is secured against if it gains no more than this, and victims' 99th percentile grows by no more.
const BAR: f64 = 1.1;

/// Runs of one attack under one scope, controller and seed.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// With the attack.
    pub attack: &'a Measurement,
    /// Which honest messages it has cut; empty if it is traffic of its own.
    pub cut: &'a [u32],
    /// The same hosts honestly.
    pub honest: &'a Measurement,
    /// Messages to random destinations at the attack's goodput, for attacks that rotate destinations.
    pub paced: Option<&'a Measurement>,
    /// The scenario without any attack.
    pub plain: &'a Measurement,
    /// The same under scope `qp`.
    pub plain_qp: &'a Measurement,
}

impl Trial<'_> {
    /// How much faster the attacker is than honestly. Of an attack that cuts messages: mean completion time
    /// of those messages honestly over that under the attack, of those that finish in both runs. Of traffic
    /// of its own: goodput over honest goodput.
    pub fn gain(&self) -> Option<f64> {
        if self.cut.is_empty() {
            let honest = self.honest.goodput.as_f64();
            return (honest > 0.0).then(|| self.attack.goodput.as_f64() / honest);
        }
        let both = self.cut.iter().filter_map(|job| {
            let (honest, attack) = (self.honest.jobs.get(job)?, self.attack.jobs.get(job)?);
            Some((*honest, *attack))
        });
        let (honest, attack) = both.fold((0.0, 0.0), |sum, job| (sum.0 + job.0, sum.1 + job.1));
        (attack > 0.0).then(|| honest / attack)
    }
}

/// A figure over several seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: Option<f64>,
    /// Half the width of the 95 % confidence interval (Student's t); nothing for one seed.
    pub half_width: Option<f64>,
}

impl Estimate {
    /// Of the seeds for which there is a figure.
    #[expect(clippy::cast_precision_loss, reason = "a few seeds")]
    pub fn of(figures: impl IntoIterator<Item = Option<f64>>) -> Self {
        let figures: Vec<f64> = figures.into_iter().flatten().collect();
        if figures.is_empty() {
            return Self::default();
        }
        let count = figures.len() as f64;
        let mean = figures.iter().sum::<f64>() / count;
        let squares: f64 = figures.iter().map(|one| (one - mean) * (one - mean)).sum();
        let half_width = (figures.len() > 1)
            .then(|| student(figures.len() - 1) * (squares / (count - 1.0) / count).sqrt());
        Self {
            mean: Some(mean),
            half_width,
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
    /// The same of the 99.9th percentile.
    pub victims_p999_ratio: Option<f64>,
    /// 99.9th percentile of the slowdown of short messages without attack, over that under scope `qp`.
    pub short_flow_penalty: Option<f64>,
    /// Whether the attack neither gains nor harms by more than a tenth.
    pub secure: bool,
    /// What victims are compared with for `secure`: `honest` or `paced`.
    pub decided_by: &'static str,
    /// Seeds.
    pub seeds: usize,
    /// Victims' messages that the percentiles are of, in all seeds together.
    pub victim_messages: usize,
    /// Confidence of `gain`.
    pub gain_ci: Option<f64>,
    /// Median of the victims' slowdown over that in the honest run.
    pub victims_p50_ratio: Option<f64>,
    /// Confidence of `victims_p99_ratio`.
    pub victims_p99_ratio_ci: Option<f64>,
    /// Confidence of `victims_p999_ratio`.
    pub victims_p999_ratio_ci: Option<f64>,
    /// Confidence of `short_flow_penalty`.
    pub short_flow_penalty_ci: Option<f64>,
    /// As `short_flow_penalty`, of the 99th percentile.
    pub short_flow_penalty_p99: Option<f64>,
    /// Median of the victims' slowdown over that beside an honest tenant that sends as much to random
    /// destinations.
    pub victims_p50_vs_paced: Option<f64>,
    /// The same of the 99th percentile.
    pub victims_p99_vs_paced: Option<f64>,
    /// Confidence of `victims_p99_vs_paced`.
    pub victims_p99_vs_paced_ci: Option<f64>,
    /// The same of the 99.9th percentile.
    pub victims_p999_vs_paced: Option<f64>,
    /// The victims' 99th percentile under attack, mean over seeds.
    pub victims_p99: Option<f64>,
    /// The attacker's goodput under attack in Gb/s, mean over seeds.
    pub goodput_gbps: Option<f64>,
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
}

/// The verdict on an attack, from one trial for each seed.
pub fn verdict(subject: Subject, trials: &[Trial<'_>]) -> Row {
    let over = |figure: &dyn Fn(&Trial<'_>) -> Option<f64>| Estimate::of(trials.iter().map(figure));
    let victims = |pick: fn(&Spread) -> f64| {
        over(&|trial| ratio(&trial.attack.victims, &trial.honest.victims, pick))
    };
    let paced = |pick: fn(&Spread) -> f64| {
        over(&|trial| ratio(&trial.attack.victims, &trial.paced?.victims, pick))
    };
    let penalty = |pick: fn(&Spread) -> f64| {
        over(&|trial| ratio(&trial.plain.short, &trial.plain_qp.short, pick))
    };
    let gain = over(&|trial| trial.gain());
    let (p99, p999) = (victims(|it| it.p99), victims(|it| it.p999));
    let paced_p99 = paced(|it| it.p99);
    let penalty_p999 = penalty(|it| it.p999);
    let rotates = trials.iter().any(|trial| trial.paced.is_some());
    let (decided_by, harm) = match rotates {
        true => ("paced", paced_p99.mean),
        false => ("honest", p99.mean),
    };
    let within = |figure: Option<f64>| figure.is_some_and(|figure| figure <= BAR);
    Row {
        attack: subject.attack,
        scope: subject.scope,
        controller: subject.controller,
        gain: gain.mean,
        victims_p99_ratio: p99.mean,
        victims_p999_ratio: p999.mean,
        short_flow_penalty: penalty_p999.mean,
        secure: within(gain.mean) && within(harm),
        decided_by,
        seeds: trials.len(),
        victim_messages: trials
            .iter()
            .map(|trial| trial.attack.victim_messages)
            .sum(),
        gain_ci: gain.half_width,
        victims_p50_ratio: victims(|it| it.p50).mean,
        victims_p99_ratio_ci: p99.half_width,
        victims_p999_ratio_ci: p999.half_width,
        short_flow_penalty_ci: penalty_p999.half_width,
        short_flow_penalty_p99: penalty(|it| it.p99).mean,
        victims_p50_vs_paced: paced(|it| it.p50).mean,
        victims_p99_vs_paced: paced_p99.mean,
        victims_p99_vs_paced_ci: paced_p99.half_width,
        victims_p999_vs_paced: paced(|it| it.p999).mean,
        victims_p99: over(&|trial| Some(trial.attack.victims.as_ref()?.p99)).mean,
        goodput_gbps: over(&|trial| Some(trial.attack.goodput.as_f64() * 1e-9)).mean,
    }
}

fn ratio(one: &Option<Spread>, other: &Option<Spread>, pick: fn(&Spread) -> f64) -> Option<f64> {
    let (one, other) = (pick(one.as_ref()?), pick(other.as_ref()?));
    (other > 0.0).then(|| one / other)
}
