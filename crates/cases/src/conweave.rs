//! Imports cases of ConWeave's ns-3 simulator: a configuration with its topology and flow files.
//!
//! ConWeave's simulator descends from HPCC's. Hosts, DCQCN and marking are the same, and the keys for them are read by
//! [`hpcc`](crate::hpcc); switches, load balancing and the flow file aren't. A case becomes a scenario of profile `exact` with
//! ConWeave's packet sizes, since its switches are nobody's profile here; what the two models don't have in common is noted. As
//! in `hpcc`, every key is honoured, noted as without effect, or refused by name.

use std::path::Path;

use fairlane_hpcc_files::{Times, flows as messages};
use fairlane_scenario::{
    AckPause, Error, Flow, Forwarding, Inputs, Profile, Scenario, TopologyText, Transport,
    files::{plain_or_gzipped, read_text},
    validate,
};

use crate::hpcc::{Config, Dialect, common};
use crate::imported::{Case, Imported, Traffic, name_files, stem};

/// Imports the case of the configuration at `config`.
///
/// # Errors
/// A key that is unknown or can't be honoured, a malformed file, anything that [`fairlane_scenario::load`]
/// would refuse: with file and line where there is one.
pub fn import(config: &Path) -> Result<Imported, Error> {
    let path = plain_or_gzipped(config).unwrap_or_else(|| config.into());
    let text = read_text(&path)?;
    let name = path.display().to_string();
    let settings = Config::parse(&text, &name, Dialect::ConWeave)?;
    let mut notes = Vec::new();
    let mut scenario = scenario(&settings, &mut notes)?;
    let case = Case {
        config: &settings,
        folder: path.parent().unwrap_or_else(|| Path::new("")),
    };
    let topology = case.topology(&mut notes)?;
    let flows = case.flows(&mut notes)?;
    let name = topology.path.display().to_string();
    let fabric = TopologyText::parse(&topology.text, &name, Times::Exact)?;
    let read = messages::parse_conweave(&flows.text, &flows.path.display().to_string())?;
    let (topology_text, flows_text) = (fabric.to_text(), messages::to_text(&read));
    let inputs = Inputs {
        topology: Some(fabric),
        flows: vec![Some(read.into_iter().map(Flow::from).collect())],
        sizes: vec![None],
        traces: vec![None],
        ports: None,
        files: vec![topology, flows],
    };
    name_files(&mut scenario, Traffic::Flows, "topology.txt", "flows.txt");
    scenario.name = stem(config);
    scenario.resolve();
    validate(&scenario, &inputs).map_err(|error| case.place(error))?;
    notes.extend(MODEL.map(str::to_owned));
    Ok(Imported {
        origin: "ConWeave's ns-3 simulator",
        scenario,
        topology: topology_text,
        traffic: Traffic::Flows,
        flows: flows_text,
        notes,
    })
}

/// What the two models don't have in common, whatever the configuration says.
const MODEL: [&str; 4] = [
    "time is exact: that simulator truncates times to nanoseconds, so its links are up to 1 % faster at 100 Gb/s",
    "ECMP hashes other ports with another function, so that other messages meet on a link",
    "pauses: a sixteenth of the free shared buffer as there, but without its service pools and egress limits, and with this simulator's reserves",
    "a packet out of order is answered with a NAK: there the NAK also asks the sender to slow down",
];

/// Everything but topology and messages.
fn scenario(config: &Config<'_>, notes: &mut Vec<String>) -> Result<Scenario, Error> {
    let mut scenario = Scenario {
        packet: Scenario::defaults(Profile::HpccNs3).packet,
        transport: Transport {
            ack_timeout: None,
            ..Transport::default()
        },
        ..Scenario::default()
    };
    common(config, &mut scenario, notes)?;
    // Its switches send acknowledgements ahead of data unless told otherwise, where HPCC's don't: with them in the
    // queue of data, medians of `mp-conweave` are up to a quarter above that simulator's.
    let ahead = config.flag("ACK_HIGH_PRIO", true)?;
    scenario.transport.ack_control_class = ahead;
    if ahead {
        scenario.nic.ack_pause = AckPause::Never;
    }
    scenario.switch.forwarding = forwarding(config)?;
    scenario.switch.pfc.enabled = config.flag("ENABLE_PFC", true)?;
    // Its ingress threshold: a sixteenth of the free shared buffer.
    scenario.switch.pfc.threshold_shift = 4;
    // That simulator runs until its last message, unless it is told when to stop.
    scenario.stop = config.stop(None, notes)?;
    if config.flag("ENABLE_IRN", false)? {
        let message = "is 1, expected 0: IRN's window isn't there";
        let hint = "write ENABLE_IRN 0, and transport.recovery = \"selective-repeat\" in the scenario for its acknowledgements";
        return Err(config.error("ENABLE_IRN", message, hint));
    }
    Ok(scenario)
}

fn forwarding(config: &Config<'_>) -> Result<Forwarding, Error> {
    let mode = config.number("LB_MODE", 0u32, "a number")?;
    let name = match mode {
        0 => return Ok(Forwarding::Ecmp),
        6 => return Ok(Forwarding::Flowlet),
        2 => " (DRILL)",
        3 => " (CONGA)",
        9 => " (ConWeave)",
        _ => "",
    };
    let message = format!("is {mode}{name}, expected 0 (ECMP) or 6 (LetFlow)");
    let hint =
        "write LB_MODE 0, and choose a policy that Fairlane has in the scenario: switch.forwarding";
    Err(config.error("LB_MODE", message, hint))
}
