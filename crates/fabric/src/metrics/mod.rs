//! Figures from the results of a run: pure functions that change nothing and clamp nothing.
//!
//! [`check`] states what must hold of every result; a caller treats each sentence as an error.

mod check;
mod extremes;
mod goodput;
mod multipath;
mod series;
mod slowdown;
mod statistics;
mod summary;
mod tenants;

pub use check::{check, is_lossless};
pub use extremes::{HotPort, SlowMessage, hottest, slowest};
pub use goodput::{Goodput, placed_between};
pub use multipath::{CpuSummary, MultipathSummary, PathSummary};
pub use series::{
    TimeSeries, interval_utilisation, marks, paused, pauses, queue_cdf, sample_utilisation,
    throughput, utilisation,
};
pub use slowdown::{SlowdownBin, size_edges, slowdown_bins, standalone_bins};
pub use statistics::{
    CdfPoint, Spread, carried, cdf, completion_cdf, fairness, jain, least_for, percentile,
};
pub use summary::{ApplicationSummary, Summary, WorkloadSummary};
pub use tenants::{LinkShare, Tenancy, TenantSummary, tenant_slowdown_bins, tenant_throughput};
