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
use arrow_array::{ArrayRef, ArrowPrimitiveType, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use fairlane_fabric::Results;
use fairlane_fabric::metrics::{self, Tenancy};
use serde_json::Value as Json;

use crate::column::{Column, Kind, Table, Value, columns};
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
    let row = |at: usize| {
        let number = u32::try_from(at).unwrap_or(u32::MAX);
        let time = series.start_ns + series.interval_ns * f64::from(number);
        (time, series.values[at])
    };
    let columns: [Column<(f64, f64)>; 2] =
        columns![time_ns: f64 = |row| row.0, throughput_gbps: f64 = |row| row.1];
    batch(&Table {
        columns: &columns,
        rows: series.values.len(),
        row: &row,
    })
}

/// A figure of a run: run, seed, metric, value.
pub type Figure = (String, u64, String, f64);

/// Figures of several runs, a row for each.
///
/// # Errors
/// As [`messages`].
pub fn tidy(figures: &[Figure]) -> Result<RecordBatch, Error> {
    of_rows(
        figures,
        &columns![
            run: &str = |row| row.0.as_str(),
            seed: u64 = |row| row.1,
            metric: &str = |row| row.2.as_str(),
            value: f64 = |row| row.3,
        ],
    )
}

/// Rows that are there as a record batch.
fn of_rows<'a, R>(rows: &'a [R], columns: &[Column<&'a R>]) -> Result<RecordBatch, Error> {
    batch(&Table {
        columns,
        rows: rows.len(),
        row: &|number| &rows[number],
    })
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
        Field::new(
            column.name,
            data_type(column.kind),
            column.kind.is_optional(),
        )
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
        Kind::Word | Kind::OptionalWord => DataType::Utf8View,
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
    let mut rows = Vec::new();
    let tree = serde_json::to_value(&results.signals)
        .map_err(|error| Error::new(format!("signals: {error}")))?;
    for (name, value) in tree.as_object().into_iter().flatten() {
        if name == "tenants" {
            for (tenant, signals) in value.as_object().into_iter().flatten() {
                for (name, value) in signals.as_object().into_iter().flatten() {
                    add_signals(&mut rows, Some(tenant), name, value);
                }
            }
        } else {
            add_signals(&mut rows, None, name, value);
        }
    }
    of_rows(
        &rows,
        &columns![
            signal: &str = |row| row.signal.as_str(),
            tenant: Option<&str> = |row| row.tenant,
            count: u64 = |row| row.count,
            why_zero: Option<&str> = |row| row.why,
        ],
    )
}

struct SignalRow<'a> {
    signal: String,
    tenant: Option<&'a str>,
    count: u64,
    why: Option<&'a str>,
}

fn add_signals<'a>(
    rows: &mut Vec<SignalRow<'a>>,
    tenant: Option<&'a str>,
    name: &str,
    value: &'a Json,
) {
    let why = value.get("why_zero").and_then(Json::as_str);
    if let Some(count) = value.as_u64().or_else(|| value.get("count")?.as_u64()) {
        let signal = name.to_owned();
        rows.push(SignalRow {
            signal,
            tenant,
            count,
            why,
        });
        return;
    }
    for (part, value) in value.as_object().into_iter().flatten() {
        add_signals(rows, tenant, &format!("{name}.{part}"), value);
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
    of_rows(
        &tenants,
        &columns![
            tenant: &str = |it| it.name.as_str(),
            weight: f64 = |it| it.weight,
            messages: u64 = |it| it.messages as u64,
            completed: u64 = |it| it.completed as u64,
            bytes: u64 = |it| it.bytes,
            completed_bytes: u64 = |it| it.completed_bytes,
            placed_bytes: u64 = |it| it.placed_bytes,
            throughput_gbps: f64 = |it| it.throughput_gbps,
            slowdown_mean: Option<f64> = |it| it.slowdown.as_ref().map(|it| it.mean),
            small_slowdown_mean: Option<f64> = |it| it.small_slowdown.as_ref().map(|it| it.mean),
            completion_mean_ns: Option<f64> = |it| it.completion_ns.as_ref().map(|it| it.mean),
            slowdown_p50: Option<f64> = |it| it.slowdown.as_ref().and_then(|it| it.p50),
            small_slowdown_p50: Option<f64> = |it| it.small_slowdown.as_ref().and_then(|it| it.p50),
            completion_p50_ns: Option<f64> = |it| it.completion_ns.as_ref().and_then(|it| it.p50),
            slowdown_p99: Option<f64> = |it| it.slowdown.as_ref().and_then(|it| it.p99),
            small_slowdown_p99: Option<f64> = |it| it.small_slowdown.as_ref().and_then(|it| it.p99),
            completion_p99_ns: Option<f64> = |it| it.completion_ns.as_ref().and_then(|it| it.p99),
        ],
    )
}
