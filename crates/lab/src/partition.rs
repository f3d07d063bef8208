//! Partition keys of tenants.

use fairlane_scenario::Tenant;
use fairlane_units::TenantId;

/// The bit of a partition key that says that its members are full ones (IBTA 10.9.1).
const FULL: u32 = 0x8000;

/// The partition key of a tenant: that of everybody if there is one.
pub(crate) fn of(tenants: &[Tenant], tenant: TenantId) -> TenantId {
    match tenants.len() {
        0 | 1 => TenantId::new(u32::from(u16::MAX)),
        _ => TenantId::new(FULL | (tenant.get() + 1)),
    }
}
