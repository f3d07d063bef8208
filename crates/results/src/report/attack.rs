//! The timeline of an attack: throughput of attacker and victims, beside that of the honest run.

use fairlane_fabric::Results;
use fairlane_fabric::metrics::tenant_throughput;
use fairlane_units::{TenantId, Time};

use super::data::{AttackData, AttackLine};
use super::grouping::Grouping;

/// An attack that is drawn beside an honest run.
pub struct Timeline<'a> {
    /// Which attack under which scope.
    pub title: String,
    /// Who attacks; all others are victims.
    pub attacker: TenantId,
    /// When the attack begins and ends.
    pub window: (Time, Time),
    /// The honest run.
    pub honest: &'a Throughput,
}

/// Payload placed at receivers over time, in Gb/s.
pub struct Throughput {
    /// Start of the first interval in nanoseconds.
    start_ns: f64,
    /// Length of an interval in nanoseconds.
    step_ns: f64,
    /// By tenant, a value for each interval.
    tenants: Vec<Vec<f64>>,
}

impl Throughput {
    /// The throughput of each tenant in a run.
    pub fn of(results: &Results) -> Self {
        let numbers = (0..).map(TenantId::new).take(results.tenants.len());
        Self {
            start_ns: results.series.start.as_ps() as f64 / 1e3,
            step_ns: results.series.interval.as_ps() as f64 / 1e3,
            tenants: numbers
                .map(|number| tenant_throughput(results, number).values)
                .collect(),
        }
    }

    /// The sum over the tenants whose number is `wanted`, by interval.
    fn of_tenants(&self, wanted: impl Fn(usize) -> bool) -> Vec<f64> {
        let numbered = self.tenants.iter().enumerate();
        let theirs: Vec<_> = numbered.filter(|(number, _)| wanted(*number)).collect();
        let intervals = theirs.iter().map(|(_, values)| values.len()).max();
        let sum = |row: usize| {
            theirs
                .iter()
                .filter_map(|(_, values)| values.get(row))
                .sum()
        };
        (0..intervals.unwrap_or(0)).map(sum).collect()
    }

    /// Values at the middle of each group of another run's intervals.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index; the cast saturates"
    )]
    fn at(&self, values: &[f64], grouping: Grouping) -> Vec<Option<f64>> {
        let value = |group: usize| {
            let middle = grouping.start_ns + (group as f64 + 0.5) * grouping.step_ns;
            let row = (middle - self.start_ns) / self.step_ns;
            (row >= 0.0).then(|| values.get(row as usize).copied())?
        };
        (0..grouping.count).map(value).collect()
    }
}

/// What the page shows of an attack.
pub(super) fn attack_data(
    timeline: &Timeline<'_>,
    results: &Results,
    grouping: Grouping,
) -> AttackData {
    let attacker = timeline.attacker.index();
    let (run, honest) = (Throughput::of(results), timeline.honest);
    let line = |name: String, tenant, wanted: &dyn Fn(usize) -> bool| AttackLine {
        name,
        tenant,
        gbps: grouping.means(&run.of_tenants(wanted)),
        honest_gbps: honest.at(&honest.of_tenants(wanted), grouping),
    };
    let name = results
        .tenants
        .get(attacker)
        .map(|tenant| tenant.name.as_str());
    // With two tenants, attacker and victim have the numbers 0 and 1.
    let only_other = (results.tenants.len() == 2).then(|| 1 - timeline.attacker.get().min(1));
    let nanoseconds = |at: Time| at.as_ps() as f64 / 1e3;
    AttackData {
        title: timeline.title.clone(),
        window_ns: [
            nanoseconds(timeline.window.0),
            nanoseconds(timeline.window.1),
        ],
        lines: vec![
            line(
                format!("{} (attacker)", name.unwrap_or_default()),
                Some(timeline.attacker.get()),
                &|number| number == attacker,
            ),
            line("victims".into(), only_other, &|number| number != attacker),
        ],
    }
}
