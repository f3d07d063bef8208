//! The native part of the package `fairlane`: conversions between Python and crates, no computation.

mod allocator;
mod batch;
mod drum;
mod error;
mod experiment;
mod fabric;
mod run;
mod saved;
mod source;
mod sweep;
mod table;
mod wait;

use fairlane_results::tables::Figure;
use pyo3::prelude::*;

/// The JSON Schema of a scenario.
#[pyfunction]
fn schema() -> String {
    fairlane_scenario::schema().to_string()
}

/// Figures of runs as a table.
#[pyfunction]
fn tidy(rows: Vec<Figure>) -> PyResult<table::Table> {
    let made = fairlane_results::tables::tidy(&rows);
    made.map(table::Table::new).map_err(error::results)
}

/// Native parts of the package `fairlane`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<drum::Solution>()?;
    module.add_class::<allocator::Allocator>()?;
    module.add_class::<allocator::Key>()?;
    module.add("ProblemError", module.py().get_type::<drum::ProblemError>())?;
    module.add_function(wrap_pyfunction!(drum::solve, module)?)?;
    module.add_function(wrap_pyfunction!(batch::solve_document, module)?)?;
    module.add_function(wrap_pyfunction!(batch::solve_documents, module)?)?;
    module.add_function(wrap_pyfunction!(batch::schedule, module)?)?;
    module.add_function(wrap_pyfunction!(batch::random, module)?)?;
    module.add_class::<run::Run>()?;
    module.add_class::<sweep::Sweep>()?;
    module.add_function(wrap_pyfunction!(sweep::measure, module)?)?;
    module.add_function(wrap_pyfunction!(experiment::attack, module)?)?;
    module.add_function(wrap_pyfunction!(experiment::reproduce, module)?)?;
    module.add_function(wrap_pyfunction!(experiment::experiments, module)?)?;
    module.add_function(wrap_pyfunction!(source::toml_text, module)?)?;
    module.add_function(wrap_pyfunction!(source::toml_scenario, module)?)?;
    module.add_function(wrap_pyfunction!(source::check, module)?)?;
    module.add_function(wrap_pyfunction!(source::settings, module)?)?;
    module.add_class::<table::Table>()?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_class::<saved::Saved>()?;
    module.add_function(wrap_pyfunction!(saved::saved, module)?)?;
    module.add_function(wrap_pyfunction!(fabric::topology, module)?)?;
    module.add_function(wrap_pyfunction!(fabric::paths, module)?)?;
    module.add_function(wrap_pyfunction!(tidy, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    Ok(())
}
