//! The tests of the crate as one program, which is linked once.

mod any_controller;
mod classes;
mod common;
mod curves;
mod dasr;
mod dasr_bounds;
mod delay_equations;
mod equations;
mod mark_equations;
mod nscc_equations;
mod parts;
mod power_equations;
mod savings;
mod scopes;
mod telemetry;
