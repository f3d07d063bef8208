//! Figures from the results of a run: pure functions that change nothing and clamp nothing.
//!
//! [`check`] states what must hold of every result; a caller treats each sentence as an error.

mod check;
mod extremes;
mod multipath;
mod series;
mod slowdown;
mod statistics;
mod summary;
mod tenants;

pub use check::{check, is_lossless};
pub use extremes::{HotPort, SlowMessage, hottest, slowest};
pub use multipath::{CpuSummary, MultipathSummary, PathSummary};
pub use series::{
    TimeSeries, interval_utilisation, marks, paused, pauses, queue_cdf, sample_utilisation,
    throughput, utilisation,
};
pub use slowdown::{SlowdownBin, slowdown_bins, standalone_bins};
pub use statistics::{CdfPoint, Spread, TAIL_MIN, cdf, completion_cdf, fairness, jain, percentile};
pub use summary::{ApplicationSummary, Summary, WorkloadSummary, goodput_gbps};
pub use tenants::{LinkShare, Tenancy, TenantSummary, tenant_slowdown_bins, tenant_throughput};
