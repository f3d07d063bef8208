//! Tables in memory, as Arrow has them: one record batch each, so that readers needn't join chunks.
//!
//! Words are string views, which is how dataframe libraries keep text themselves.

#![expect(
    clippy::redundant_closure,
    reason = "the function alone isn't general enough in the lifetime of rows"
)]

use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, PrimitiveBuilder, StringViewBuilder,
};
use arrow_array::types::{UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, ArrowPrimitiveType, RecordBatch, StringViewArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use fairlane_fabric::Results;
use fairlane_fabric::metrics::{self, Spread, Tenancy};
use serde_json::Value as Json;

use crate::column::{Column, Kind, Table, Value};
use crate::error::Error;
use crate::write::{capture, collectives, flows, links, ports, trace};

/// One row for each message, in order of completion; the columns of `flows.parquet`.
///
/// # Errors
/// Never for results of a run: columns are of one length by construction.
pub fn messages(results: &Results) -> Result<RecordBatch, Error> {
    flows::with_table(&results.messages, batch)
}

/// The time series of every port, interval by interval; the columns of `ports.parquet`.
///
/// # Errors
/// As [`messages`].
pub fn ports(results: &Results) -> Result<RecordBatch, Error> {
    ports::with_table(results, |table| batch(table))
}

/// The time series of the ports that `output.ports` names; the columns of `chosen.parquet`.
///
/// # Errors
/// As [`messages`].
pub fn chosen(results: &Results) -> Result<RecordBatch, Error> {
    ports::with_chosen(results, |table| batch(table))
}

/// One row for each direction of each link.
///
/// # Errors
/// As [`messages`].
pub fn links(results: &Results) -> Result<RecordBatch, Error> {
    links::with_table(results, |table| batch(table))
}

/// Pause frames in order of arrival; the columns of `pauses.csv`.
///
/// # Errors
/// As [`messages`].
pub fn pauses(results: &Results) -> Result<RecordBatch, Error> {
    trace::with_pauses(results, |table| batch(table))
}

/// Rates of messages as they changed, if `output.rate_interval` asks for them.
///
/// # Errors
/// As [`messages`].
pub fn rates(results: &Results) -> Result<RecordBatch, Error> {
    trace::with_rates(&results.rates, batch)
}

/// Packets at traced nodes, if `output.trace_nodes` names any.
///
/// # Errors
/// As [`messages`].
pub fn packets(results: &Results) -> Result<RecordBatch, Error> {
    trace::with_packets(&results.trace, batch)
}

/// Packets at captured ports, if `capture` names any.
///
/// # Errors
/// As [`messages`].
pub fn capture(results: &Results) -> Result<RecordBatch, Error> {
    capture::with_table(results, |table| batch(table))
}

/// What links deliver to hosts over time, headers and acknowledgements included.
///
/// # Errors
/// As [`messages`].
pub fn throughput(results: &Results) -> Result<RecordBatch, Error> {
    let series = metrics::throughput(results);
    let times = (0..series.values.len()).map(|at| {
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        Some(series.start_ns + series.interval_ns * f64::from(at))
    });
    let fields = vec![
        Field::new("time_ns", DataType::Float64, false),
        Field::new("throughput_gbps", DataType::Float64, false),
    ];
    let values = reals(series.values.iter().copied().map(Some));
    join(fields, vec![reals(times), values])
}

/// A figure of a run: run, seed, metric, value.
pub type Figure = (String, u64, String, f64);

/// Figures of several runs, a row for each.
///
/// # Errors
/// As [`messages`].
pub fn tidy(figures: &[Figure]) -> Result<RecordBatch, Error> {
    let text = |pick: fn(&Figure) -> &str| -> ArrayRef {
        Arc::new(
            figures
                .iter()
                .map(pick)
                .map(Some)
                .collect::<StringViewArray>(),
        )
    };
    let fields = vec![
        Field::new("run", DataType::Utf8View, false),
        Field::new("seed", DataType::UInt64, false),
        Field::new("metric", DataType::Utf8View, false),
        Field::new("value", DataType::Float64, false),
    ];
    let arrays = vec![
        text(|it| &it.0),
        integers(figures.iter().map(|it| it.1)),
        text(|it| &it.2),
        reals(figures.iter().map(|it| Some(it.3))),
    ];
    join(fields, arrays)
}

/// A table as a record batch, filled row by row.
fn batch<R>(table: &Table<'_, R>) -> Result<RecordBatch, Error> {
    let sink = |column: &Column<R>| Sink::new(column.kind, table.rows);
    let mut sinks: Vec<Sink> = table.columns.iter().map(sink).collect();
    for number in 0..table.rows {
        let row = (table.row)(number);
        for (column, sink) in table.columns.iter().zip(&mut sinks) {
            sink.push((column.value)(&row));
        }
    }
    let fields = table.columns.iter().map(|column| {
        let optional = matches!(column.kind, Kind::OptionalInteger(_) | Kind::OptionalReal);
        Field::new(column.name, data_type(column.kind), optional)
    });
    let fields: Vec<Field> = fields.collect();
    let arrays = sinks.into_iter().map(Sink::finish).collect();
    join(fields, arrays)
}

fn join(fields: Vec<Field>, arrays: Vec<ArrayRef>) -> Result<RecordBatch, Error> {
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map_err(|error| Error::new(format!("table: {error}")))
}

const fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::Integer(8) | Kind::OptionalInteger(8) => DataType::UInt8,
        Kind::Integer(16) | Kind::OptionalInteger(16) => DataType::UInt16,
        Kind::Integer(32) | Kind::OptionalInteger(32) => DataType::UInt32,
        Kind::Integer(_) | Kind::OptionalInteger(_) => DataType::UInt64,
        Kind::Real | Kind::OptionalReal => DataType::Float64,
        Kind::Word => DataType::Utf8View,
        Kind::Flag => DataType::Boolean,
    }
}

/// A column that is being filled.
enum Sink {
    Byte(PrimitiveBuilder<UInt8Type>),
    Short(PrimitiveBuilder<UInt16Type>),
    Int(PrimitiveBuilder<UInt32Type>),
    Long(PrimitiveBuilder<UInt64Type>),
    Real(Float64Builder),
    Word(StringViewBuilder),
    Flag(BooleanBuilder),
}

impl Sink {
    fn new(kind: Kind, rows: usize) -> Self {
        match data_type(kind) {
            DataType::UInt8 => Self::Byte(PrimitiveBuilder::with_capacity(rows)),
            DataType::UInt16 => Self::Short(PrimitiveBuilder::with_capacity(rows)),
            DataType::UInt32 => Self::Int(PrimitiveBuilder::with_capacity(rows)),
            DataType::UInt64 => Self::Long(PrimitiveBuilder::with_capacity(rows)),
            DataType::Float64 => Self::Real(Float64Builder::with_capacity(rows)),
            DataType::Boolean => Self::Flag(BooleanBuilder::with_capacity(rows)),
            // Words repeat: those too long to stand in the view are kept once.
            _ => Self::Word(StringViewBuilder::with_capacity(rows).with_deduplicate_strings()),
        }
    }

    fn push(&mut self, value: Value<'_>) {
        match self {
            Self::Byte(builder) => push(builder, value),
            Self::Short(builder) => push(builder, value),
            Self::Int(builder) => push(builder, value),
            Self::Long(builder) => push(builder, value),
            Self::Real(builder) => builder.append_option(match value {
                Value::Real(number) => Some(number),
                _ => None,
            }),
            Self::Word(builder) => builder.append_option(match value {
                Value::Word(word) => Some(word),
                _ => None,
            }),
            Self::Flag(builder) => builder.append_option(match value {
                Value::Flag(flag) => Some(flag),
                _ => None,
            }),
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Byte(mut builder) => Arc::new(builder.finish()),
            Self::Short(mut builder) => Arc::new(builder.finish()),
            Self::Int(mut builder) => Arc::new(builder.finish()),
            Self::Long(mut builder) => Arc::new(builder.finish()),
            Self::Real(mut builder) => Arc::new(builder.finish()),
            Self::Word(mut builder) => ArrayBuilder::finish(&mut builder),
            Self::Flag(mut builder) => Arc::new(builder.finish()),
        }
    }
}

fn push<T: ArrowPrimitiveType<Native: TryFrom<u64>>>(
    builder: &mut PrimitiveBuilder<T>,
    value: Value<'_>,
) {
    builder.append_option(match value {
        Value::Integer(number) => T::Native::try_from(number).ok(),
        _ => None,
    });
}

/// What the network said: a row for each signal, and for each signal of each tenant if there are several.
///
/// Names inside others are joined by a dot, as in `drops.buffer-full`.
///
/// # Errors
/// As [`messages`].
pub fn signals(results: &Results) -> Result<RecordBatch, Error> {
    let mut rows = SignalRows::default();
    let tree = serde_json::to_value(&results.signals)
        .map_err(|error| Error::new(format!("signals: {error}")))?;
    for (name, value) in tree.as_object().into_iter().flatten() {
        if name == "tenants" {
            for (tenant, signals) in value.as_object().into_iter().flatten() {
                for (name, value) in signals.as_object().into_iter().flatten() {
                    rows.add(Some(tenant), name, value);
                }
            }
        } else {
            rows.add(None, name, value);
        }
    }
    let fields = vec![
        Field::new("signal", DataType::Utf8View, false),
        Field::new("tenant", DataType::Utf8View, true),
        Field::new("count", DataType::UInt64, false),
        Field::new("why_zero", DataType::Utf8View, true),
    ];
    let SignalRows {
        mut signal,
        mut tenant,
        mut count,
        mut why,
    } = rows;
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(signal.finish()),
        Arc::new(tenant.finish()),
        Arc::new(count.finish()),
        Arc::new(why.finish()),
    ];
    join(fields, arrays)
}

#[derive(Default)]
struct SignalRows {
    signal: StringViewBuilder,
    tenant: StringViewBuilder,
    count: PrimitiveBuilder<UInt64Type>,
    why: StringViewBuilder,
}

impl SignalRows {
    fn add(&mut self, tenant: Option<&str>, name: &str, value: &Json) {
        let Some(inside) = value.as_object() else {
            if let Some(count) = value.as_u64() {
                self.row(name, tenant, count, None);
            }
            return;
        };
        let why = inside.get("why_zero").and_then(Json::as_str);
        match inside.get("count").and_then(Json::as_u64) {
            Some(count) => self.row(name, tenant, count, why),
            None => {
                for (part, value) in inside {
                    self.add(tenant, &format!("{name}.{part}"), value);
                }
            }
        }
    }

    fn row(&mut self, name: &str, tenant: Option<&str>, count: u64, why: Option<&str>) {
        self.signal.append_value(name);
        self.tenant.append_option(tenant);
        self.count.append_value(count);
        self.why.append_option(why);
    }
}

/// A row for each collective of programs, and for each step of training; the columns of `collectives.csv`.
///
/// # Errors
/// As [`messages`].
pub fn collectives(results: &Results) -> Result<RecordBatch, Error> {
    collectives::with_table(&results.collectives, |table| batch(table))
}

/// A row for each tenant, by number; none if there is only one, which the summary describes.
///
/// # Errors
/// As [`messages`].
pub fn tenants(results: &Results) -> Result<RecordBatch, Error> {
    let tenancy = Tenancy::of(results);
    let tenants = tenancy.map_or_else(Vec::new, |tenancy| tenancy.tenants);
    let mut name = StringViewBuilder::with_capacity(tenants.len());
    for tenant in &tenants {
        name.append_value(&tenant.name);
    }
    let mut fields = vec![Field::new("tenant", DataType::Utf8View, false)];
    let mut arrays: Vec<ArrayRef> = vec![Arc::new(name.finish())];
    let mut add = |name: &str, array: ArrayRef, optional| {
        fields.push(Field::new(name, array.data_type().clone(), optional));
        arrays.push(array);
    };
    add(
        "weight",
        reals(tenants.iter().map(|it| Some(it.weight))),
        false,
    );
    add(
        "messages",
        integers(tenants.iter().map(|it| it.messages as u64)),
        false,
    );
    add(
        "completed",
        integers(tenants.iter().map(|it| it.completed as u64)),
        false,
    );
    add("bytes", integers(tenants.iter().map(|it| it.bytes)), false);
    add(
        "completed_bytes",
        integers(tenants.iter().map(|it| it.completed_bytes)),
        false,
    );
    add(
        "placed_bytes",
        integers(tenants.iter().map(|it| it.placed_bytes)),
        false,
    );
    add(
        "throughput_gbps",
        reals(tenants.iter().map(|it| Some(it.throughput_gbps))),
        false,
    );
    for (figure, pick) in PERCENTILES {
        let of = |spread: &Option<Spread>| spread.as_ref().map(pick);
        let slowdown = reals(tenants.iter().map(|it| of(&it.slowdown)));
        add(&format!("slowdown_{figure}"), slowdown, true);
        let small = reals(tenants.iter().map(|it| of(&it.small_slowdown)));
        add(&format!("small_slowdown_{figure}"), small, true);
        let time = reals(tenants.iter().map(|it| of(&it.completion_ns)));
        add(&format!("completion_{figure}_ns"), time, true);
    }
    join(fields, arrays)
}

/// A figure of a spread.
type Pick = fn(&Spread) -> f64;

/// Which figures of a spread have columns.
const PERCENTILES: [(&str, Pick); 3] = [
    ("mean", |it| it.mean),
    ("p50", |it| it.p50),
    ("p99", |it| it.p99),
];

fn reals(values: impl Iterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(values.collect::<arrow_array::Float64Array>())
}

fn integers(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}
