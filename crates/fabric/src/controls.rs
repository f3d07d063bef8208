//! Congestion controls of tenants and workloads, beside that of the fabric: what is different under each.

use fairlane_network::routing::Graph;
use fairlane_nic::Control;
use fairlane_scenario::{Congestion, Error, Scenario};
use fairlane_units::NodeId;

use crate::baseline::Baseline;
use crate::rules::Rules;
use crate::spec::ConnectionSpec;

/// Congestion controls by number: 0 is that of the fabric, the others are here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Controls {
    others: Vec<Other>,
    /// By workload, and by tenant for messages of no workload.
    of_workload: Vec<u8>,
    of_tenant: Vec<u8>,
}

/// A congestion control.
#[derive(Clone, Debug)]
struct Other {
    congestion: Congestion,
    /// The rules of a fabric on which it is the only congestion control: packets have other sizes.
    rules: Rules,
    /// Round trips of its packets, once they are known.
    baseline: Option<Baseline>,
}

impl Controls {
    /// The controls of a scenario. What each needs of switches and links is added to `all`, the rules of the fabric.
    pub(crate) fn new(scenario: &Scenario, all: &mut Rules) -> Result<Self, Error> {
        let mut controls = Self::default();
        for (index, workload) in scenario.workload.iter().enumerate() {
            let own = scenario.own_congestion(workload);
            let congestion = own.map(|own| scenario.congestion.with(own));
            let number = controls.number(scenario, congestion).ok_or_else(|| {
                let place = format!("workload[{index}].congestion");
                let message = "is one of more than 255 different ones";
                Error::new(place, message, "let workloads have the same one")
            })?;
            controls.of_workload.push(number);
        }
        for tenant in &scenario.tenant {
            let own = tenant.congestion.as_deref();
            let congestion = own.map(|own| scenario.congestion.with(own));
            let number = controls.number(scenario, congestion);
            controls.of_tenant.push(number.unwrap_or(0));
        }
        for other in &mut controls.others {
            other.rules.lossy = all.lossy;
            all.provide(&other.rules);
        }
        Ok(controls)
    }

    /// The number of a control, which is added if it is new; `None` if there are too many.
    fn number(&mut self, scenario: &Scenario, congestion: Option<Congestion>) -> Option<u8> {
        let Some(congestion) = congestion else {
            return Some(0);
        };
        let mut known = self.others.iter();
        let at = match known.position(|other| other.congestion == congestion) {
            Some(at) => at,
            None => {
                self.others.push(Other {
                    rules: Rules::under(scenario, &congestion),
                    congestion,
                    baseline: None,
                });
                self.others.len() - 1
            }
        };
        u8::try_from(at + 1).ok()
    }

    /// Has each follow the rules of the fabric for transport, and finds its round trips.
    pub(crate) fn settle(&mut self, graph: &Graph, hosts: &[NodeId], all: &Rules) {
        for other in &mut self.others {
            other.rules.transport = all.transport.clone();
            other.baseline = Some(Baseline::new(graph, hosts, &other.rules));
        }
    }

    /// The number of the control of a connection.
    pub(crate) fn of(&self, spec: &ConnectionSpec) -> u8 {
        let own = self.of_workload.get(spec.workload as usize);
        let own = own.or_else(|| self.of_tenant.get(spec.tenant.index()));
        own.copied().unwrap_or(0)
    }

    /// The rules under the control with this number; none are different from those of the fabric.
    pub(crate) fn rules(&self, number: u8) -> Option<&Rules> {
        self.other(number).map(|other| &other.rules)
    }

    /// The round trips under the control with this number; none are different from those of the fabric.
    pub(crate) fn baseline(&self, number: u8) -> Option<&Baseline> {
        self.other(number).and_then(|other| other.baseline.as_ref())
    }

    fn other(&self, number: u8) -> Option<&Other> {
        self.others.get(usize::from(number).checked_sub(1)?)
    }

    /// What NICs know of them.
    pub(crate) fn for_nics(&self) -> Vec<Control> {
        self.others
            .iter()
            .map(|other| other.rules.control())
            .collect()
    }
}
