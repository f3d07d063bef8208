//! The keys of a configuration.

use fairlane_congestion::Algorithm::{self, Dcqcn, Dctcp, Hpcc, Timely};

/// How many values follow a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arity {
    One,
    Three,
    /// A count `n`, then n pairs.
    Pairs,
}

/// What becomes of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// The key decides something in every case.
    Honoured,
    /// Only these algorithms read it.
    By(&'static [Algorithm]),
    /// The key changes nothing, for this reason.
    Inert(&'static str),
}

/// One key.
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) arity: Arity,
    pub(super) used: Use,
}

const fn one(name: &'static str, used: Use) -> Key {
    Key {
        name,
        arity: Arity::One,
        used,
    }
}

const fn pairs(name: &'static str) -> Key {
    Key {
        name,
        arity: Arity::Pairs,
        used: Use::Honoured,
    }
}

const OUTPUT: Use = Use::Inert("Fairlane names its own output files");
const MONITOR: Use = Use::Inert("ports are sampled at output.sample_interval");
const PINT: Use = Use::Inert("only another CC_MODE reads it");

/// Every key of HPCC's simulator.
pub(super) const KEYS: &[Key] = &[
    one("ENABLE_QCN", Use::Honoured),
    one(
        "USE_DYNAMIC_PFC_THRESHOLD",
        Use::Inert("pause thresholds are always dynamic"),
    ),
    one(
        "PAUSE_TIME",
        Use::Inert("pauses last until they are revoked"),
    ),
    one("PACKET_PAYLOAD_SIZE", Use::Honoured),
    one("TOPOLOGY_FILE", Use::Honoured),
    one("FLOW_FILE", Use::Honoured),
    one("TRACE_FILE", Use::Honoured),
    one("TRACE_OUTPUT_FILE", OUTPUT),
    one("FCT_OUTPUT_FILE", OUTPUT),
    one("PFC_OUTPUT_FILE", OUTPUT),
    one("SIMULATOR_STOP_TIME", Use::Honoured),
    one("CC_MODE", Use::Honoured),
    one("ALPHA_RESUME_INTERVAL", Use::By(&[Dcqcn])),
    one("RATE_DECREASE_INTERVAL", Use::By(&[Dcqcn])),
    one("CLAMP_TARGET_RATE", Use::By(&[Dcqcn])),
    one("RP_TIMER", Use::By(&[Dcqcn])),
    one("EWMA_GAIN", Use::By(&[Dcqcn, Dctcp])),
    one("FAST_RECOVERY_TIMES", Use::By(&[Dcqcn])),
    one("RATE_AI", Use::By(&[Dcqcn, Hpcc, Timely])),
    one("RATE_HAI", Use::By(&[Dcqcn, Timely])),
    one("MIN_RATE", Use::Honoured),
    one("DCTCP_RATE_AI", Use::By(&[Dctcp])),
    one("ERROR_RATE_PER_LINK", Use::Honoured),
    one(
        "L2_CHUNK_SIZE",
        Use::Inert("every packet is acknowledged, and NAKs go back to the packet"),
    ),
    one("L2_ACK_INTERVAL", Use::Honoured),
    one("L2_BACK_TO_ZERO", Use::Honoured),
    one("HAS_WIN", Use::Honoured),
    one("GLOBAL_T", Use::Honoured),
    one("VAR_WIN", Use::Honoured),
    one("FAST_REACT", Use::By(&[Hpcc])),
    one("U_TARGET", Use::By(&[Hpcc])),
    one("MI_THRESH", Use::By(&[Hpcc])),
    one("INT_MULTI", Use::By(&[Hpcc])),
    one("MULTI_RATE", Use::By(&[Hpcc])),
    one("SAMPLE_FEEDBACK", Use::By(&[Hpcc])),
    one("PINT_LOG_BASE", PINT),
    one("PINT_PROB", PINT),
    one("RATE_BOUND", Use::Honoured),
    one("ACK_HIGH_PRIO", Use::Honoured),
    Key {
        name: "LINK_DOWN",
        arity: Arity::Three,
        used: Use::Honoured,
    },
    one("ENABLE_TRACE", Use::Honoured),
    pairs("KMAX_MAP"),
    pairs("KMIN_MAP"),
    pairs("PMAX_MAP"),
    one("BUFFER_SIZE", Use::Honoured),
    one("QLEN_MON_FILE", MONITOR),
    one("QLEN_MON_START", MONITOR),
    one("QLEN_MON_END", MONITOR),
    // Those of ASTRA-sim and SimAI, whose network simulators descend from HPCC's.
    one("QLEN_MON_INTERVAL", MONITOR),
    one("BW_MON_FILE", MONITOR),
    one("BW_MON_INTERVAL", MONITOR),
    one("RATE_MON_FILE", MONITOR),
    one("CNP_MON_FILE", MONITOR),
    one("QP_MON_INTERVAL", MONITOR),
    one("MON_START", MONITOR),
    one("MON_END", MONITOR),
    one("NIC_TOTAL_PAUSE_TIME", Use::Honoured),
];

const MONITORED: Use = Use::Inert("Fairlane samples every port at output.sample_interval");
const REORDERING: Use = Use::Inert("only LB_MODE 9 reads it");

/// Keys that only ConWeave's simulator has, a descendant of HPCC's.
pub(super) const CONWEAVE: &[Key] = &[
    one("FLOW_INPUT_FILE", OUTPUT),
    one("CNP_OUTPUT_FILE", OUTPUT),
    one("VOQ_MON_FILE", MONITORED),
    one("VOQ_MON_DETAIL_FILE", MONITORED),
    one("UPLINK_MON_FILE", MONITORED),
    one("CONN_MON_FILE", MONITORED),
    one("EST_ERROR_MON_FILE", MONITORED),
    one("SW_MONITORING_INTERVAL", MONITORED),
    one(
        "FLOWGEN_START_TIME",
        Use::Inert("messages are those of the flow file"),
    ),
    one(
        "FLOWGEN_STOP_TIME",
        Use::Inert("messages are those of the flow file"),
    ),
    one("LB_MODE", Use::Honoured),
    one("ENABLE_PFC", Use::Honoured),
    one("ENABLE_IRN", Use::Honoured),
    one("LOAD", Use::Inert("messages are those of the flow file")),
    one(
        "RANDOM_SEED",
        Use::Inert("the scenario's seed stands for it"),
    ),
    one("CONWEAVE_TX_EXPIRY_TIME", REORDERING),
    one("CONWEAVE_REPLY_TIMEOUT_EXTRA", REORDERING),
    one("CONWEAVE_PATH_PAUSE_TIME", REORDERING),
    one("CONWEAVE_EXTRA_VOQ_FLUSH_TIME", REORDERING),
    one("CONWEAVE_DEFAULT_VOQ_WAITING_TIME", REORDERING),
];

/// The configuration key that decides the scenario key at `path`.
pub(crate) fn source_of(path: &str) -> Option<&'static str> {
    const SOURCES: &[(&str, &str)] = &[
        ("stop", "SIMULATOR_STOP_TIME"),
        ("packet.mtu", "PACKET_PAYLOAD_SIZE"),
        ("switch.buffer", "BUFFER_SIZE"),
        ("switch.ecn", "KMAX_MAP"),
        ("congestion.window", "HAS_WIN"),
        ("congestion.dcqcn.gain", "EWMA_GAIN"),
        ("congestion.dcqcn.alpha_interval", "ALPHA_RESUME_INTERVAL"),
        (
            "congestion.dcqcn.decrease_interval",
            "RATE_DECREASE_INTERVAL",
        ),
        ("congestion.dcqcn.increase_interval", "RP_TIMER"),
        ("congestion.dcqcn.additive_increase", "RATE_AI"),
        ("congestion.dcqcn.hyper_increase", "RATE_HAI"),
        ("congestion.dcqcn.min_rate", "MIN_RATE"),
        ("congestion.hpcc.additive_increase", "RATE_AI"),
        ("congestion.hpcc.min_rate", "MIN_RATE"),
        ("congestion.hpcc.target_utilization", "U_TARGET"),
        ("congestion.hpcc.telemetry_multiplier", "INT_MULTI"),
        ("congestion.timely.additive_increase", "RATE_AI"),
        ("congestion.timely.hyper_increase", "RATE_HAI"),
        ("congestion.timely.min_rate", "MIN_RATE"),
        ("congestion.dctcp.gain", "EWMA_GAIN"),
        ("congestion.dctcp.additive_increase", "DCTCP_RATE_AI"),
        ("congestion.dctcp.min_rate", "MIN_RATE"),
        ("switch.pfc.enabled", "ENABLE_PFC"),
        ("switch.forwarding", "LB_MODE"),
        ("faults.link", "LINK_DOWN"),
        ("faults.loss_rate", "ERROR_RATE_PER_LINK"),
    ];
    SOURCES
        .iter()
        .find(|(prefix, _)| path.starts_with(prefix))
        .map(|(_, key)| *key)
}
