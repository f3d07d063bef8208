//! The inputs of a problem as JSON has them.

mod egress;

use std::fmt;

use schemars::JsonSchema;
use serde::de::{self, Deserializer, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// The fairness exponent alpha: a number from 0 on, or `"max-min"` for its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Alpha {
    /// Utilities `w x^(1 - alpha) / (1 - alpha)`; `w log x` at 1.
    Number(f64),
    /// Weighted max-min.
    MaxMin,
}

/// How [`Alpha::MaxMin`] is written.
const MAX_MIN: &str = "max-min";

impl Serialize for Alpha {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(alpha) => serializer.serialize_f64(*alpha),
            Self::MaxMin => serializer.serialize_str(MAX_MIN),
        }
    }
}

impl<'de> Deserialize<'de> for Alpha {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AlphaVisitor)
    }
}

struct AlphaVisitor;

impl Visitor<'_> for AlphaVisitor {
    type Value = Alpha;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number or \"{MAX_MIN}\"")
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Alpha, E> {
        Ok(Alpha::Number(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Alpha, E> {
        Ok(Alpha::Number(value as f64))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Alpha, E> {
        Ok(Alpha::Number(value as f64))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Alpha, E> {
        match value {
            MAX_MIN => Ok(Alpha::MaxMin),
            other => Err(E::invalid_value(Unexpected::Str(other), &self)),
        }
    }
}

/// What [`Alpha`] looks like to a schema.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum AlphaSchema {
    Number(#[schemars(range(min = 0.0))] f64),
    Word(AlphaWord),
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
enum AlphaWord {
    #[serde(rename = "max-min")]
    MaxMin,
}

/// How applications are selected, and by which method.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Every application takes part.
    Fixed,
    /// The `k` largest throughput utilities count; latency counts for all, and all send.
    TopkUtility,
    /// At most `k` applications send; each of the others is worth its outage value.
    ActiveSet,
    /// Long-run rates of all applications, at most `k` of them active at a time.
    Timeshare,
    /// The paper's problem with its logarithmic constraints: a stationary point, no claim of more.
    Paper,
    /// As `fixed`, by the paper's two-block ADMM with its errors corrected.
    Admm,
    /// The baseline that the paper compares with: dual decomposition of the egress row alone.
    DualDecomposition,
}

impl Mode {
    /// Whether it is a method for comparison, which claims no optimum.
    pub const fn compares(self) -> bool {
        matches!(self, Self::Paper | Self::Admm | Self::DualDecomposition)
    }

    /// The name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::TopkUtility => "topk_utility",
            Self::ActiveSet => "active_set",
            Self::Timeshare => "timeshare",
            Self::Paper => "paper",
            Self::Admm => "admm",
            Self::DualDecomposition => "dual_decomposition",
        }
    }
}

/// How completions depend on work requests.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dependency {
    /// As many completions are polled as there are: `z = a x`.
    #[default]
    Equality,
    /// Polls are attempts, some in vain: `z >= a x`.
    AtLeast,
}

/// What the coefficients of a row count.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// Use for each work request.
    #[default]
    Wqe,
    /// Use for each completion.
    Cqe,
}

/// Another row of a host, beside egress and polling.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostRow {
    /// What it is called in answers and errors.
    pub name: String,
    /// Whether `coefficients` count work requests or completions. Default `wqe`.
    #[serde(default)]
    pub per: Per,
    /// Use of the row by each application for one WQE or CQE, not negative.
    pub coefficients: Vec<f64>,
    /// How much of it there is a second; left out if `segments` say what it costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<f64>,
    /// Convex piecewise-linear price instead of a capacity: `[start, slope]` ascending, from 0 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments: Option<Vec<(f64, f64)>>,
}

/// Declares the inputs of a kind of problem; what all kinds have stands between its own first and other keys.
macro_rules! inputs {
    ($(#[$about:meta])* $name:ident { $($first:tt)* } { $($rest:tt)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Deserialize, PartialEq, Serialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($first)*
            /// Fairness exponent: 0 is the greatest throughput, 1 proportional fairness, `"max-min"` the limit. In networks 0, what
            /// is above 32, and `"max-min"` for up to 6000 rows and 400000 flows.
            #[schemars(with = "AlphaSchema")]
            pub alpha: Alpha,
            /// How much latency counts against throughput, not negative. Default 0.
            #[serde(default)]
            pub beta: f64,
            /// Weights of throughput, not negative. Either `weight` or `share` is there.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub weight: Option<Vec<f64>>,
            /// Shares of rate instead of weights: `weight = share^alpha`, so that they mean the same for every
            /// alpha; under `"max-min"` they are the weights.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub share: Option<Vec<f64>>,
            /// Weights of latency, not negative. Default 1 each.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub latency_weight: Option<Vec<f64>>,
            /// Completions for each work request (CQE/WQE), positive. Default 1 each.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub a: Option<Vec<f64>>,
            $($rest)*
        }
    };
}

inputs! {
    /// Inputs of the kinds `host_fixed`, `host_pwl`, `host_topk` and `host_timeshare`.
    HostInputs {
        /// Number of applications; checked against the columns if it is there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub m: Option<usize>,
        /// What applications are called in tables and messages. Default: their numbers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub names: Option<Vec<String>>,
    } {
        /// Message bytes for each work request (B/WQE), not negative. Required, here or as a column beside the document.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(required)]
        pub bytes_per_wqe: Option<Vec<f64>>,
        /// Processor time of one poll (CPU-s/CQE), not negative. Required, here or as a column beside the document.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(required)]
        pub poll_cost: Option<Vec<f64>>,
        /// Egress capacity (B/s), or text with its unit, such as `"100Gbps"`; `null` for none. Not in `host_pwl`, which has
        /// `segments`.
        #[serde(
            rename = "Q",
            default,
            deserialize_with = "egress::capacity",
            skip_serializing_if = "Option::is_none"
        )]
        #[schemars(with = "Option<egress::Form>")]
        pub egress: Option<Option<f64>>,
        /// Budget for polling (CPU-s/s); `null` for none.
        #[serde(
            rename = "C",
            default,
            deserialize_with = "some",
            skip_serializing_if = "Option::is_none"
        )]
        #[schemars(with = "Option<f64>")]
        pub poll: Option<Option<f64>>,
        /// Least rates (WQE/s). Default 0 each.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub x_min: Option<Vec<f64>>,
        /// Greatest rates (WQE/s); `null` where there is none. Default none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub x_max: Option<Vec<Option<f64>>>,
        /// Convex piecewise-linear price of egress, kind `host_pwl`: `[start, slope]`, starts (B/s) and
        /// slopes (utility for 1 B/s) ascending, the first start 0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub segments: Option<Vec<(f64, f64)>>,
        /// Queue pairs that may be active at a time; a whole number except in mode `timeshare`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub k: Option<f64>,
        /// How applications are selected. Default: what the kind says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub mode: Option<Mode>,
        /// Rates of applications while they are active (WQE/s), mode `timeshare`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub peak_rate: Option<Vec<f64>>,
        /// What applications are worth that don't send, mode `active_set`. Default 0 each, where alpha is
        /// below 1 and beta is 0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub outage: Option<Vec<f64>>,
        /// How completions depend on work requests. Default `equality`.
        #[serde(default, skip_serializing_if = "is_default")]
        pub dependency: Dependency,
        /// Rows beside egress and polling. Default none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub rows: Vec<HostRow>,
    }
}

/// What a row of a network stands for.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// What a host sends.
    Egress,
    /// What arrives at a host.
    Ingress,
    /// What a host polls: its own completions and those of arrivals.
    Poll,
    /// What crosses a link between switches.
    Core,
}

/// A row of a network.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkRow {
    /// Its number, counted from 0; checked if it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<usize>,
    /// What it stands for.
    pub kind: RowKind,
    /// Its host; for `core` the number of its link, which may be left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<usize>,
    /// How much of it there is a second, positive.
    pub capacity: f64,
    /// `[flow, coefficient]` for each flow that uses it; flow `f = host * m + application`.
    pub entries: Vec<(usize, f64)>,
}

inputs! {
    /// Inputs of kind `coupled`: flow `f = host * m + application`.
    CoupledInputs {
        /// Number of hosts.
        pub n: usize,
        /// Number of applications on each host.
        pub m: usize,
    } {
        /// Least rates (WQE/s). Default 0 each.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub x_min: Option<Vec<f64>>,
        /// Greatest rates (WQE/s); `null` where there is none. Default none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub x_max: Option<Vec<Option<f64>>>,
        /// Applications of each host that are selected, with `mode`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub k: Option<f64>,
        /// How applications are selected: `topk_utility` or `active_set`. Default: all take part.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub mode: Option<Mode>,
        /// What each application is worth that doesn't send, mode `active_set`: one number for all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub outage: Option<f64>,
        /// What the flows share.
        pub rows: Vec<NetworkRow>,
    }
}

/// A problem with its name: what a file or a line of a stream holds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Document {
    /// What the problem is called; its answer is called the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The problem.
    #[serde(flatten)]
    pub problem: Inputs,
}

/// The kinds of problems.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", content = "inputs", rename_all = "snake_case")]
pub enum Inputs {
    /// One host, every application selected.
    HostFixed(HostInputs),
    /// One host whose egress has a price (`segments`) instead of a capacity.
    HostPwl(HostInputs),
    /// One host, `k` applications selected by `mode`.
    HostTopk(HostInputs),
    /// One host, long-run rates with at most `k` applications active at a time.
    HostTimeshare(HostInputs),
    /// A network of hosts.
    Coupled(CoupledInputs),
}

impl Inputs {
    /// The names of all kinds.
    pub const KINDS: [&str; 5] = [
        "host_fixed",
        "host_pwl",
        "host_topk",
        "host_timeshare",
        "coupled",
    ];

    /// The name of the kind.
    pub const fn kind(&self) -> &'static str {
        let index = match self {
            Self::HostFixed(_) => 0,
            Self::HostPwl(_) => 1,
            Self::HostTopk(_) => 2,
            Self::HostTimeshare(_) => 3,
            Self::Coupled(_) => 4,
        };
        Self::KINDS[index]
    }
}

/// Tells `null` from a key that isn't there.
fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<f64>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
