//! The rounding, ordering and formulas of a fabric.

use crate::words::words;

words! {
    /// The rounding, ordering and formulas of the simulated fabric.
    Profile = Exact {
        /// Exact picoseconds; simultaneous events in the order of the components that they wake.
        Exact "exact",
        /// Those of HPCC's ns-3 simulator: whole nanoseconds, events in order of insertion.
        HpccNs3 "hpcc-ns3",
    }
}
