//! Who the hosts send for.

use fairlane_units::{Rate, TenantId};

use crate::section::{element, number};
use crate::types::{Congestion, CongestionOverride, HostSet, Scenario, Workload};

element! {
    /// Who a workload belongs to: tenants share the fabric by weight. A tenant's number is its place in the
    /// scenario.
    Tenant {
        /// Name, unique; 1 to 40 letters, digits, `-`, `_` and `.`.
        name: String,
        /// Relative share of a contended link.
        weight [1e-6, 1e6]: f64 = "number::<1, f64>",
        /// Hosts that its workloads may use.
        hosts: HostSet = "HostSet::default",
        /// Rate that each of its hosts may send whatever other tenants do; left out, none.
        guarantee: Option<Rate>,
        /// Congestion control of its workloads; left out, that of the fabric. Needs `congestion.scope` `"qp"` or `"none"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        congestion: Option<Box<CongestionOverride>> => table,
    }
}

impl Default for Tenant {
    /// The one tenant of a scenario that names none.
    fn default() -> Self {
        Self {
            name: "default".into(),
            weight: 1.0,
            hosts: HostSet::default(),
            guarantee: None,
            congestion: None,
        }
    }
}

impl Scenario {
    /// The tenants by number: those of the scenario, or the one that stands for none.
    pub fn tenants(&self) -> Vec<Tenant> {
        in_force(&self.tenant)
    }

    /// The congestion control that a workload has instead of that of the fabric: its own, or its tenant's.
    pub fn own_congestion<'a>(&'a self, workload: &'a Workload) -> Option<&'a CongestionOverride> {
        let of_tenant = || {
            let number = tenant_of(&self.tenant, workload)?;
            self.tenant.get(number.index())?.congestion.as_deref()
        };
        workload.congestion().or_else(of_tenant)
    }

    /// What the congestion controls of workloads have, each once, in the order of workloads: `"DCQCN, Swift"`.
    pub fn of_controls(&self, what: impl Fn(&Congestion) -> String) -> String {
        let mut found: Vec<String> = Vec::new();
        for workload in &self.workload {
            let own = self.own_congestion(workload);
            let one = match own.map(|own| self.congestion.with(own)) {
                Some(own) => what(&own),
                None => what(&self.congestion),
            };
            if !found.contains(&one) {
                found.push(one);
            }
        }
        if found.is_empty() {
            found.push(what(&self.congestion));
        }
        found.join(", ")
    }

    /// Gives every workload its tenant, and the tenant's hosts instead of all.
    pub(crate) fn assign_tenants(&mut self) {
        let Some(first) = self.tenant.first().map(|tenant| tenant.name.clone()) else {
            return;
        };
        for workload in &mut self.workload {
            let (name, hosts) = workload.owner_mut();
            let name = name.get_or_insert_with(|| first.clone());
            let found = self.tenant.iter().find(|tenant| tenant.name == *name);
            if let (Some(tenant), Some(set)) = (found, hosts)
                && set.is_all()
            {
                *set = tenant.hosts.clone();
            }
        }
    }
}

/// The number of the tenant that `workload` belongs to; `None` if none of `tenants` has its name.
pub fn tenant_of(tenants: &[Tenant], workload: &Workload) -> Option<TenantId> {
    called(tenants, workload.tenant())
}

/// The number of the tenant with this name, or of the first.
pub(crate) fn called(tenants: &[Tenant], name: Option<&str>) -> Option<TenantId> {
    let mut numbered = (0..).zip(in_force(tenants));
    let found = numbered.find(|(_, tenant)| name.is_none_or(|name| tenant.name == name));
    found.map(|(number, _)| TenantId::new(number))
}

fn in_force(tenants: &[Tenant]) -> Vec<Tenant> {
    if tenants.is_empty() {
        return vec![Tenant::default()];
    }
    tenants.to_vec()
}
