//! Applications with storage of their own.

use alloc::vec::Vec;

use crate::host::Applications;

/// One application of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Application {
    /// Weight `w` of its throughput; not negative.
    pub weight: f64,
    /// Weight `v` of its latency; not negative.
    pub latency_weight: f64,
    /// Completions for each work request, `a` (CQE/WQE): the inverse of the signalling interval.
    pub completions: f64,
    /// Bytes for each work request, `b` (B/WQE).
    pub bytes: f64,
    /// What one poll costs, `d` (CPU-s/CQE).
    pub poll_cost: f64,
    /// Least rate (WQE/s).
    pub minimum: f64,
    /// Greatest rate (WQE/s), infinity where there is none.
    pub maximum: f64,
}

impl Default for Application {
    /// Unit weights and costs, a completion for each work request, no bounds.
    fn default() -> Self {
        Self {
            weight: 1.0,
            latency_weight: 1.0,
            completions: 1.0,
            bytes: 1.0,
            poll_cost: 1.0,
            minimum: 0.0,
            maximum: f64::INFINITY,
        }
    }
}

macro_rules! columns {
    ($($column:ident),+) => {
        impl Application {
            /// A host's only application.
            pub(crate) fn view(&self) -> Applications<'_> {
                Applications { $($column: core::slice::from_ref(&self.$column)),+ }
            }
        }

        /// The applications of a host by column.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Table {
            $(#[doc = concat!("See [`Application::", stringify!($column), "`].")]
            pub $column: Vec<f64>,)+
        }

        impl Table {
            /// Number of applications.
            pub fn len(&self) -> usize {
                self.weight.len()
            }

            /// Whether there is no application.
            pub fn is_empty(&self) -> bool {
                self.weight.is_empty()
            }

            /// Appends an application.
            pub fn push(&mut self, application: Application) {
                $(self.$column.push(application.$column);)+
            }

            /// Replaces an application.
            ///
            /// # Panics
            /// If there is no application `index`.
            pub fn set(&mut self, index: usize, application: Application) {
                $(self.$column[index] = application.$column;)+
            }

            /// An application.
            ///
            /// # Panics
            /// If there is no application `index`.
            pub fn application(&self, index: usize) -> Application {
                Application { $($column: self.$column[index]),+ }
            }

            /// Takes an application out; the last one takes its place.
            ///
            /// # Panics
            /// If there is no application `index`.
            pub fn swap_remove(&mut self, index: usize) -> Application {
                Application { $($column: self.$column.swap_remove(index)),+ }
            }

            /// Takes all applications out and keeps the storage.
            pub fn clear(&mut self) {
                $(self.$column.clear();)+
            }

            /// The columns as a solver reads them.
            pub fn view(&self) -> Applications<'_> {
                Applications { $($column: &self.$column),+ }
            }
        }
    };
}

columns!(
    weight,
    latency_weight,
    completions,
    bytes,
    poll_cost,
    minimum,
    maximum
);
