//! What a device is opened with.

mod words;

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

use fairlane_congestion::scope::Scope;
use fairlane_congestion::{Algorithm, Params, dasr};
use fairlane_units::{Bytes, Duration, Rate, TenantId};
use fairlane_wire::Bth;

use crate::error::Error;
use crate::icrc::IcrcMode;
use crate::tenants::Tenant;

/// Shortest time between two CNPs of a queue pair (DCQCN, SIGCOMM 2015, section 3.1).
const CNP_INTERVAL: Duration = Duration::from_us(50);
/// Every how many packets of a message an acknowledgement is asked for: that of a batch at the largest path MTU.
const ACK_INTERVAL: u32 = 16;

/// What a device is opened with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its address, that of a local interface.
    pub address: IpAddr,
    /// The process among those of the address: the upper 8 bits of numbers of queue pairs.
    pub process: u8,
    /// The congestion control of queue pairs: those that need the telemetry of switches in a [lab](Self::lab) alone.
    pub congestion: Params,
    /// Shortest time between two CNPs of a queue pair; `None` has acknowledgements return marks instead.
    pub cnp_interval: Option<Duration>,
    /// Every how many packets of a message an acknowledgement is asked for; its last one asks for one, too.
    pub ack_interval: u32,
    /// Which queue pairs share congestion control. Only under scope `tenant` do [`tenants`](Self::tenants) take turns.
    pub scope: Scope,
    /// Whether and how receivers divide their links among senders that know Fairlane's headers; under scope `tenant` they do.
    pub dasr: dasr::Params,
    /// Tenants by partition key; queue pairs of all other keys are one more tenant, of weight 1.
    pub tenants: Vec<Tenant>,
    /// The rate of the device's link: that at which queue pairs begin, and all of them send together.
    pub line_rate: Rate,
    /// The round-trip time without queues, as the congestion control sees it.
    pub base_rtt: Duration,
    /// How much may leave ahead of its paced time: the time of a burst.
    pub burst: Duration,
    /// Bytes that may be under way unacknowledged, of all queue pairs together; `None` for a fourth of the
    /// receive buffer that the operating system grants, which is what the other end has, too.
    pub window: Option<Bytes>,
    /// The socket's receive buffer that is asked for.
    pub receive_buffer: Bytes,
    /// What is done about wrong ICRCs.
    pub icrc: IcrcMode,
    /// How many source ports the queue pairs share.
    pub source_ports: u16,
    /// Whether several packets may leave in one call (`UDP_SEGMENT`), if the system can.
    pub segmentation: bool,
    /// Whether several packets may arrive in one buffer (`UDP_GRO`), if the system can.
    pub coalescing: bool,
    /// Whether a thread works while nobody polls. Without, others can only read and write while this end polls.
    pub thread: bool,
    /// How others know it when they ask for its counters.
    pub name: String,
    /// Whether processes of the same user, and of root, may [ask](crate::stat) for its counters. It takes a thread.
    pub stat: bool,
    /// The partition key that comes first in the port's table, and which most programs have.
    pub partition: TenantId,
    /// Where a lab listens that carries packets, instead of sockets.
    pub lab: Option<PathBuf>,
    /// [Words](Self::set) that change what the lab says.
    pub beside_lab: String,
    /// The folder of [`sysfs`](crate::sysfs) that its counters are added to. It takes a thread.
    pub sysfs: Option<PathBuf>,
}

impl Settings {
    /// The port's table of partition keys: the usual one, then those of tenants.
    pub fn partitions(&self) -> Vec<TenantId> {
        let keys = self.tenants.iter().map(|tenant| tenant.partition);
        std::iter::once(self.partition).chain(keys).collect()
    }

    /// Takes over what a lab says, and what stands beside that.
    pub(crate) fn hear(&mut self, lab: &str) -> Result<(), Error> {
        let own = std::mem::take(&mut self.beside_lab);
        let said = self.set(lab).and_then(|()| self.set(&own));
        let path = self.lab.clone().unwrap_or_default();
        said.map_err(|wrong| Error::Attach(path, io::Error::other(wrong.message)))
    }

    /// The usual values, with DCQCN if it is in the list of algorithms.
    pub fn new(address: IpAddr) -> Self {
        let algorithm: Option<Algorithm> = "dcqcn".parse().ok();
        Self {
            address,
            process: 0,
            congestion: algorithm.map_or_else(Params::uncontrolled, Params::new),
            cnp_interval: Some(CNP_INTERVAL),
            ack_interval: ACK_INTERVAL,
            scope: Scope::Qp,
            dasr: dasr::Params::default(),
            tenants: Vec::new(),
            line_rate: Rate::from_gbps(100),
            base_rtt: Duration::from_us(20),
            burst: Duration::from_us(16),
            window: None,
            receive_buffer: Bytes::new(4 << 20),
            icrc: IcrcMode::Solve,
            source_ports: 16,
            segmentation: true,
            coalescing: true,
            thread: true,
            name: "fairlane0".to_owned(),
            stat: true,
            partition: Bth::DEFAULT_PARTITION,
            lab: None,
            beside_lab: String::new(),
            sysfs: None,
        }
    }
}
