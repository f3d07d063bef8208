//! The native part of the package `fairlane`: conversions between numpy and crates, no computation.

mod drum;

use pyo3::prelude::*;

/// Native parts of the package `fairlane`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<drum::Solution>()?;
    module.add("ProblemError", module.py().get_type::<drum::ProblemError>())?;
    module.add_function(wrap_pyfunction!(drum::solve, module)?)?;
    Ok(())
}
