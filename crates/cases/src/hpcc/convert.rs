//! From configuration keys to a scenario. Missing keys mean what that simulator's code says.

use fairlane_congestion::{Algorithm, WindowMode, dcqcn, dctcp, hpcc, timely};
use fairlane_scenario::{
    AckPause, BaseRtt, Congestion, Ecn, EcnThreshold, Error, Faults, LinkFault, Nic, Profile,
    Scenario,
};
use fairlane_units::{Bytes, Duration, Rate};

use super::config::Config;

/// Everything but topology, messages and traced nodes.
pub(super) fn scenario(config: &Config<'_>, notes: &mut Vec<String>) -> Result<Scenario, Error> {
    let mut scenario = Scenario::defaults(Profile::HpccNs3);
    common(config, &mut scenario, notes)?;
    scenario.stop = config.stop(Some("3.01"), notes)?;
    Ok(scenario)
}

/// What HPCC's simulator and those that descend from it say in the same keys.
pub(crate) fn common(
    config: &Config<'_>,
    scenario: &mut Scenario,
    notes: &mut Vec<String>,
) -> Result<(), Error> {
    scenario.congestion = congestion(config, notes)?;
    scenario.packet.mtu = Bytes::new(config.number("PACKET_PAYLOAD_SIZE", 1000, "bytes")?);
    let mebibytes: u32 = config.number("BUFFER_SIZE", 16, "MiB, a whole number")?;
    scenario.switch.buffer = Bytes::new(u64::from(mebibytes) << 20);
    scenario.switch.ecn = ecn(config)?;
    let high = config.flag("ACK_HIGH_PRIO", false)?;
    scenario.nic = Nic {
        ack_pause: if high {
            AckPause::Never
        } else {
            AckPause::Class3
        },
        ..Nic::default()
    };
    scenario.faults = faults(config)?;
    refuse_other_transports(config)?;
    note_inert(config, scenario.congestion.algorithm, notes);
    Ok(())
}

fn congestion(config: &Config<'_>, notes: &mut Vec<String>) -> Result<Congestion, Error> {
    let algorithm = algorithm(config)?;
    let has_window = config.flag("HAS_WIN", true)?;
    let scaled = config.flag("VAR_WIN", false)?;
    let global = config.flag("GLOBAL_T", true)?;
    let window = match (has_window, scaled) {
        (false, _) => WindowMode::None,
        (true, false) => WindowMode::Fixed,
        (true, true) => WindowMode::Scaled,
    };
    if algorithm == Algorithm::Hpcc && !has_window {
        let hint = "HPCC divides by its window: write HAS_WIN 1";
        return Err(config.error("HAS_WIN", "is 0, expected 1 with CC_MODE 3", hint));
    }
    let mut congestion = Congestion {
        algorithm,
        window: Some(window),
        base_rtt: if global {
            BaseRtt::Global
        } else {
            BaseRtt::Pair
        },
        paced: config.flag("RATE_BOUND", true)?,
        ..Congestion::default()
    };
    match algorithm {
        Algorithm::Hpcc => congestion.hpcc = hpcc_parameters(config)?,
        Algorithm::Timely => congestion.timely = timely_parameters(config)?,
        Algorithm::Dctcp => congestion.dctcp = dctcp_parameters(config, notes)?,
        _ => congestion.dcqcn = dcqcn_parameters(config, notes)?,
    }
    Ok(congestion)
}

/// The algorithms that are imported, by their CC_MODE.
const MODES: [(u32, Algorithm); 4] = [
    (1, Algorithm::Dcqcn),
    (3, Algorithm::Hpcc),
    (7, Algorithm::Timely),
    (8, Algorithm::Dctcp),
];

fn algorithm(config: &Config<'_>) -> Result<Algorithm, Error> {
    let stated = config.number("CC_MODE", 1, "a number")?;
    if let Some((_, algorithm)) = MODES.iter().find(|(mode, _)| *mode == stated) {
        return Ok(*algorithm);
    }
    let name = if stated == 10 { ", HPCC-PINT" } else { "" };
    let message = format!("is {stated}{name}, expected 1, 3, 7 or 8");
    let hint = "1 (DCQCN), 3 (HPCC), 7 (TIMELY) and 8 (DCTCP) are imported";
    Err(config.error("CC_MODE", message, hint))
}

fn dcqcn_parameters(config: &Config<'_>, notes: &mut Vec<String>) -> Result<dcqcn::Config, Error> {
    for key in ["RP_TIMER", "RATE_HAI"] {
        require(config, key)?;
    }
    Ok(dcqcn::Config {
        gain: gain(config, notes)?,
        alpha_interval: config.microseconds("ALPHA_RESUME_INTERVAL", 55)?,
        decrease_interval: config.microseconds("RATE_DECREASE_INTERVAL", 4)?,
        increase_interval: config.microseconds("RP_TIMER", 1)?,
        fast_recovery_stages: config.number("FAST_RECOVERY_TIMES", 5, "a whole number")?,
        additive_increase: additive_increase(config)?,
        hyper_increase: config.rate("RATE_HAI")?.unwrap_or_default(),
        min_rate: min_rate(config)?,
        clamp_target_rate: config.flag("CLAMP_TARGET_RATE", false)?,
    })
}

fn gain(config: &Config<'_>, notes: &mut Vec<String>) -> Result<f64, Error> {
    if !config.has("EWMA_GAIN") {
        notes.push("EWMA_GAIN is missing, which means 0: alpha never changes".into());
    }
    config.number("EWMA_GAIN", 0.0, "a number from 0 to 1")
}

/// Thresholds and gains aren't in the configuration: those of that simulator's code are the defaults.
fn timely_parameters(config: &Config<'_>) -> Result<timely::Config, Error> {
    require(config, "RATE_HAI")?;
    Ok(timely::Config {
        additive_increase: additive_increase(config)?,
        hyper_increase: config.rate("RATE_HAI")?.unwrap_or_default(),
        min_rate: min_rate(config)?,
        ..timely::Config::default()
    })
}

fn dctcp_parameters(config: &Config<'_>, notes: &mut Vec<String>) -> Result<dctcp::Config, Error> {
    let step = config.rate("DCTCP_RATE_AI")?;
    Ok(dctcp::Config {
        gain: gain(config, notes)?,
        additive_increase: step.unwrap_or(Rate::from_mbps(1000)),
        min_rate: min_rate(config)?,
    })
}

fn hpcc_parameters(config: &Config<'_>) -> Result<hpcc::Config, Error> {
    for (key, default) in [("MULTI_RATE", true), ("SAMPLE_FEEDBACK", false)] {
        if config.flag(key, default)? {
            let message = "is 1 (or missing, if that means 1), expected 0 with CC_MODE 3";
            return Err(config.error(key, message, &format!("write {key} 0")));
        }
    }
    Ok(hpcc::Config {
        target_utilization: config.number("U_TARGET", 0.95, "a number above 0, at most 1")?,
        max_stage: config.number("MI_THRESH", 5, "a whole number")?,
        additive_increase: additive_increase(config)?,
        min_rate: min_rate(config)?,
        fast_react: config.flag("FAST_REACT", true)?,
        telemetry_multiplier: config.number("INT_MULTI", 1, "a whole number")?,
    })
}

fn require(config: &Config<'_>, key: &str) -> Result<(), Error> {
    if config.has(key) {
        return Ok(());
    }
    Err(config.error(
        key,
        "is missing and has no default",
        &format!("add a line `{key} VALUE`"),
    ))
}

fn additive_increase(config: &Config<'_>) -> Result<Rate, Error> {
    require(config, "RATE_AI")?;
    Ok(config.rate("RATE_AI")?.unwrap_or_default())
}

fn min_rate(config: &Config<'_>) -> Result<Rate, Error> {
    Ok(config.rate("MIN_RATE")?.unwrap_or(Rate::from_mbps(100)))
}

/// Thresholds by rate, in units of 1000 bytes.
fn ecn(config: &Config<'_>) -> Result<Ecn, Error> {
    let enabled = config.flag("ENABLE_QCN", true)?;
    let kilobytes = "a whole number of 1000 bytes";
    let kmax = config.map::<u32>("KMAX_MAP", kilobytes)?;
    let kmin = config.map::<u32>("KMIN_MAP", kilobytes)?;
    let pmax = config.map::<f64>("PMAX_MAP", "a probability from 0 to 1")?;
    let mut ecn = Ecn {
        enabled,
        ..Ecn::default()
    };
    let (Some(kmax), Some(kmin), Some(pmax)) = (kmax, kmin, pmax) else {
        return no_thresholds(config, ecn);
    };
    for (key, same) in [
        ("KMIN_MAP", kmin.keys().eq(kmax.keys())),
        ("PMAX_MAP", pmax.keys().eq(kmax.keys())),
    ] {
        if !same {
            let message = "has other rates than KMAX_MAP, expected the same";
            return Err(config.error(key, message, "list the same rates in all three maps"));
        }
    }
    if enabled && kmax.is_empty() {
        return Err(config.error("KMAX_MAP", "is empty, expected every link rate", MARKING));
    }
    let bytes = |kilobytes: u32| Bytes::new(u64::from(kilobytes) * 1000);
    let rows = kmax.iter().zip(kmin.values().zip(pmax.values()));
    let row = |((rate, kmax), (kmin, pmax)): ((&Rate, &u32), (&u32, &f64))| EcnThreshold {
        rate: *rate,
        kmin: bytes(*kmin),
        kmax: bytes(*kmax),
        pmax: *pmax,
    };
    ecn.threshold = rows.map(row).collect();
    Ok(ecn)
}

const MARKING: &str = "list every link rate, or switch marking off with ENABLE_QCN 0";

/// Without thresholds there can be no marking.
fn no_thresholds(config: &Config<'_>, ecn: Ecn) -> Result<Ecn, Error> {
    let missing = ["KMAX_MAP", "KMIN_MAP", "PMAX_MAP"]
        .into_iter()
        .find(|key| !config.has(key));
    match missing.filter(|_| ecn.enabled) {
        Some(key) => Err(config.error(key, "is missing, expected every link rate", MARKING)),
        None => Ok(ecn),
    }
}

fn faults(config: &Config<'_>) -> Result<Faults, Error> {
    let loss_rate = config.number("ERROR_RATE_PER_LINK", 0.0, "a probability from 0 to 1")?;
    let mut faults = Faults {
        loss_rate,
        ..Faults::default()
    };
    if let Some([time, a, b]) = config.values("LINK_DOWN") {
        let whole = |text: &str| {
            text.parse::<u32>()
                .map_err(|_| config.unreadable("LINK_DOWN", text, "microseconds and two nodes"))
        };
        let (time, a, b) = (whole(time)?, whole(a)?, whole(b)?);
        if time > 0 {
            // Traffic starts at 2 s in that simulator, and link failures count from there.
            let down = Duration::from_ms(2000) + Duration::from_us(u64::from(time));
            faults.link.push(LinkFault {
                between: [a, b],
                index: None,
                down,
                up: None,
            });
        }
    }
    Ok(faults)
}

/// Refuses go-back-to-chunk-start and sparse acknowledgements, which Fairlane doesn't have.
fn refuse_other_transports(config: &Config<'_>) -> Result<(), Error> {
    if config.number("L2_ACK_INTERVAL", 0u32, "a whole number")? != 1 {
        let message = "isn't 1 (missing means 0: no acknowledgements), expected 1";
        return Err(config.error("L2_ACK_INTERVAL", message, "write L2_ACK_INTERVAL 1"));
    }
    if config.flag("L2_BACK_TO_ZERO", false)? {
        let message = "is 1 (back to the start of the chunk), expected 0 (go-back-N)";
        return Err(config.error("L2_BACK_TO_ZERO", message, "write L2_BACK_TO_ZERO 0"));
    }
    config.number("L2_CHUNK_SIZE", 0u32, "a whole number")?;
    if config.number("NIC_TOTAL_PAUSE_TIME", 0u32, "microseconds")? != 0 {
        let message = "isn't 0, expected 0: NICs don't pause themselves";
        return Err(config.error(
            "NIC_TOTAL_PAUSE_TIME",
            message,
            "write NIC_TOTAL_PAUSE_TIME 0",
        ));
    }
    if config.number("PAUSE_TIME", 5u32, "microseconds")? == 0 {
        let message = "is 0, expected more: a pause of no time is a resume";
        return Err(config.error(
            "PAUSE_TIME",
            message,
            "write PAUSE_TIME 5; its value has no effect",
        ));
    }
    Ok(())
}

fn note_inert(config: &Config<'_>, algorithm: Algorithm, notes: &mut Vec<String>) {
    for (key, reason) in config.inert() {
        notes.push(format!("{key} has no effect: {reason}"));
    }
    let idle = config.idle_keys(algorithm);
    let mode = MODES.iter().find(|(_, known)| *known == algorithm);
    let mode = mode.map_or(1, |(mode, _)| *mode);
    if !idle.is_empty() {
        notes.push(format!(
            "without effect with CC_MODE {mode}: {}",
            idle.join(", ")
        ));
    }
}
