//! Tenants of a device.

use fairlane_congestion::scope::Weight;
use fairlane_nic::Tenants;
use fairlane_units::{Rate, TenantId};

use crate::error::Error;

/// The bits of a partition key that name the partition.
const PARTITION: u32 = 0x7fff;
/// The bit of a full member; limited ones don't talk to each other (IBTA 10.9.1).
const FULL: u32 = 0x8000;
/// The weight of all queue pairs together whose partition keys aren't listed.
const UNLISTED: f64 = 1.0;

/// A tenant: all queue pairs with a partition key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tenant {
    /// Its [partition key](crate::QueuePairOptions::partition), 1 to 0xffff; the upper bit, of full membership, makes no difference.
    pub partition: TenantId,
    /// Its part of a link relative to those of others, above zero.
    pub weight: f64,
    /// What it gets of every link in any case.
    pub guarantee: Option<Rate>,
}

impl Tenant {
    /// A tenant without a guarantee.
    pub const fn new(partition: TenantId, weight: f64) -> Self {
        Self {
            partition,
            weight,
            guarantee: None,
        }
    }
}

/// Whether a packet's partition key suits that of a queue pair (IBTA 10.9.3).
pub(crate) const fn keys_match(own: TenantId, other: TenantId) -> bool {
    let (own, other) = (own.get(), other.get());
    let names = own & PARTITION != 0 && own & PARTITION == other & PARTITION;
    names && (own | other) & FULL != 0
}

/// Which tenant a partition key belongs to, as the NIC counts them: 0 for all that aren't listed.
#[derive(Debug)]
pub(crate) struct Partitions {
    listed: Vec<u32>,
}

impl Partitions {
    /// # Errors
    /// If a tenant of the list isn't one, or one is there twice.
    pub(crate) fn new(tenants: &[Tenant]) -> Result<Self, Error> {
        let mut listed = Vec::with_capacity(tenants.len());
        for tenant in tenants {
            let key = tenant.partition.get();
            if key & PARTITION == 0 || key > 0xffff {
                let expected = "a partition key other than 0x8000, of 1 to 0xffff";
                return Err(Error::Invalid("partition key of a tenant", expected));
            }
            if !(tenant.weight.is_finite() && tenant.weight > 0.0) {
                return Err(Error::Invalid("weight of a tenant", "a number above zero"));
            }
            if listed.contains(&(key & PARTITION)) {
                let expected = "each partition once, whatever the membership";
                return Err(Error::Invalid("tenants", expected));
            }
            listed.push(key & PARTITION);
        }
        Ok(Self { listed })
    }

    /// The tenant of a partition key.
    pub(crate) fn tenant(&self, key: TenantId) -> TenantId {
        let wanted = key.get() & PARTITION;
        let place = self.listed.iter().position(|&key| key == wanted);
        TenantId::new(place.map_or(0, |place| place as u32 + 1))
    }
}

/// What the NIC knows of tenants; all of them may send from here.
pub(crate) fn entitlements(tenants: &[Tenant]) -> Tenants {
    let unlisted = Tenant::new(TenantId::new(0), UNLISTED);
    let all = std::iter::once(&unlisted).chain(tenants);
    let weights = (0..).zip(all).map(|(number, tenant)| Weight {
        tenant: TenantId::new(number),
        weight: tenant.weight,
        guarantee: tenant.guarantee,
    });
    let all: Vec<_> = weights.collect();
    Tenants {
        here: all.clone(),
        all,
    }
}
