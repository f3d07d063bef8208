//! Programs of others run on the software NIC as they are: tools of rdma-core, perftest, the suite of pyverbs.
//!
//! They come with packages (Debian: ibverbs-utils, rdmacm-utils, perftest, rdma-core, python3-pyverbs), which `.ci/run` installs; without them
//! the tests say that they are skipped. Libraries are built as users build them, by `make verbs`.

#![expect(clippy::print_stdout, reason = "tests say why they are skipped")]

mod arguments;
mod connections;
mod example;
mod exec;
mod faults;
mod fields;
mod gone;
mod hardware;
mod lab;
mod lab_chaos;
mod lab_scenarios;
mod oracle;
mod pair;
mod perftest;
mod programs;
mod settings;
mod setup;
mod stat;
mod suite;
mod symbols;
mod sysfs;
mod tools;
mod veth;
