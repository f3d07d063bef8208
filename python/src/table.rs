//! Tables by the Arrow PyCapsule interface: whoever takes one shares its memory.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, Float64Array, RecordBatch, RecordBatchIterator,
    RecordBatchOptions, StringViewArray, StructArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use fairlane_experiments::sweep::{Data, Frame};
use numpy::{Element, IntoPyArray};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};

/// A table in memory, in columns as Arrow lays them out.
#[pyclass(frozen, module = "fairlane")]
pub(crate) struct Table {
    batch: RecordBatch,
}

impl Table {
    pub(crate) fn new(batch: RecordBatch) -> Self {
        Self { batch }
    }

    /// A table of a sweep or an experiment.
    pub(crate) fn of_frame(frame: Frame) -> PyResult<Self> {
        let rows = frame.rows();
        let mut fields = Vec::new();
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for column in frame.columns {
            let (array, nullable): (ArrayRef, bool) = match column.data {
                Data::Text(cells) => (Arc::new(StringViewArray::from(cells)), false),
                Data::Count(cells) => (Arc::new(UInt64Array::from(cells)), false),
                Data::Number(cells) => (Arc::new(Float64Array::from(cells)), true),
            };
            let kind = array.data_type().clone();
            fields.push(Field::new(column.name, kind, nullable));
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options);
        batch.map(Self::new).map_err(internal)
    }

    fn column(&self, name: &str) -> PyResult<&ArrayRef> {
        self.batch.column_by_name(name).ok_or_else(|| {
            let known = self.columns().join(", ");
            PyKeyError::new_err(format!("no column {name:?}; there are {known}"))
        })
    }
}

fn internal(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

#[pymethods]
impl Table {
    /// The names of the columns, each with its unit at the end where there is one.
    #[getter]
    fn columns(&self) -> Vec<String> {
        let schema = self.batch.schema();
        schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        format!(
            "Table({} rows: {})",
            self.batch.num_rows(),
            self.columns().join(", ")
        )
    }

    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        let array = self.column(name)?;
        match array.data_type() {
            DataType::UInt8 => whole::<UInt8Type>(py, array),
            DataType::UInt16 => whole::<UInt16Type>(py, array),
            DataType::UInt32 => whole::<UInt32Type>(py, array),
            DataType::UInt64 => whole::<UInt64Type>(py, array),
            DataType::Float64 => {
                let numbers = array.as_primitive::<Float64Type>().iter();
                let numbers: Vec<f64> = numbers.map(|it| it.unwrap_or(f64::NAN)).collect();
                Ok(numbers.into_pyarray(py).into_any().unbind())
            }
            DataType::Boolean => {
                let flags: Vec<bool> = array
                    .as_boolean()
                    .iter()
                    .map(|it| it == Some(true))
                    .collect();
                Ok(flags.into_pyarray(py).into_any().unbind())
            }
            _ => {
                let words: Vec<Option<&str>> = array.as_string_view().iter().collect();
                Ok(words.into_pyobject(py)?.unbind())
            }
        }
    }

    /// A data frame of pandas. Whole numbers of columns that have gaps are floats there.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pandas = py.import("pandas");
        let pandas = pandas.map_err(|_| crate::error::missing("pandas", "Table.to_pandas"))?;
        let columns = PyDict::new(py);
        for name in self.columns() {
            columns.set_item(&name, self.__getitem__(py, &name)?)?;
        }
        pandas.call_method1("DataFrame", (columns,))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref()).map_err(internal)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = requested_schema;
        let whole = StructArray::from(self.batch.clone());
        let (array, schema) = to_ffi(&whole.into_data()).map_err(internal)?;
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        let array = PyCapsule::new_with_value(py, array, c"arrow_array")?;
        PyTuple::new(py, [schema, array])
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// A column of whole numbers; as floats with NaN for what is missing, if anything is.
#[expect(
    clippy::cast_precision_loss,
    reason = "picoseconds below 2^53 are two and a half hours"
)]
fn whole<T: ArrowPrimitiveType<Native: Element + Into<u64>>>(
    py: Python<'_>,
    array: &ArrayRef,
) -> PyResult<Py<PyAny>> {
    let numbers = array.as_primitive::<T>();
    if numbers.null_count() == 0 {
        return Ok(numbers
            .values()
            .to_vec()
            .into_pyarray(py)
            .into_any()
            .unbind());
    }
    let float = |number: Option<T::Native>| {
        number.map_or(f64::NAN, |number| {
            let number: u64 = number.into();
            number as f64
        })
    };
    let floats: Vec<f64> = numbers.iter().map(float).collect();
    Ok(floats.into_pyarray(py).into_any().unbind())
}
