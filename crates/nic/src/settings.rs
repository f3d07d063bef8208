//! What all NICs of a fabric have in common.

use alloc::vec::Vec;

use fairlane_congestion::scope::{self, Scope};
use fairlane_congestion::{Algorithm, ClassScheduler, PacingRounding, Params, WindowMode, dasr};
use fairlane_transport::Config;
use fairlane_units::{Bytes, Duration};
use fairlane_wire::Opcode;

/// How much a queue pair sends before others of its port are served, as far as pacer and window let it: one packet, unless a
/// driver sends several together for less than one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantum {
    /// Packets, 1 or more.
    pub packets: u32,
    /// How long the port waits for the next one of them. Whoever is paced at more than that lets others go.
    pub gap: Duration,
}

impl Quantum {
    /// A packet.
    pub const PACKET: Self = Self {
        packets: 1,
        gap: Duration::ZERO,
    };
}

/// Which pauses hold acknowledgements back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AckPause {
    /// None.
    #[default]
    Never,
    /// Pauses of the class that the acknowledgements travel in.
    OwnClass,
    /// Pauses of class 3, whatever class the acknowledgements travel in; CNPs wait for nobody.
    Class3,
}

/// Who fires the timers of controllers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timers {
    /// The NIC, lazily: a timer that only changes a rate is fired when the rate is looked at.
    #[default]
    Lazy,
    /// The driver, by [`Nic::on_timer`](crate::Nic::on_timer): one whose order of simultaneous events is
    /// not to be changed.
    Driven,
}

/// When finished queue pairs leave the round robin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Leaving {
    /// At once.
    #[default]
    AtOnce,
    /// When the search for the next one comes across them, as in HPCC's simulator.
    WhenPassed,
}

/// Bytes of packets on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Headers that every data packet has, measurements for the congestion control included.
    pub header: u16,
    /// Extension headers by opcode.
    pub extension: [u16; 256],
    /// One less than what payload is padded to a multiple of; a power of two less one.
    pub padding: u16,
    /// An acknowledgement.
    pub ack: u16,
    /// A CNP.
    pub cnp: u16,
    /// What a link carries with every packet and nobody counts as part of it: preamble 8 B, inter-packet gap 12 B.
    pub gap: u16,
}

impl Sizes {
    /// What a packet of so many bytes takes of a link.
    pub(crate) fn on_link(&self, wire: u16) -> Bytes {
        Bytes::new(u64::from(wire) + u64::from(self.gap))
    }

    /// Sizes of RoCEv2 over IPv4 and Ethernet, without measurements: BTH 12 B, UDP 8 B, IPv4 20 B, Ethernet 14 B,
    /// ICRC 4 B, FCS 4 B.
    pub fn rocev2() -> Self {
        let mut extension = [0; 256];
        for opcode in Opcode::ALL {
            extension[usize::from(opcode.code())] = opcode.extension().length() as u16;
        }
        Self {
            header: 62,
            extension,
            padding: 3,
            ack: 66,
            cnp: 78,
            gap: 20,
        }
    }

    /// A packet with payload, or a request without.
    #[inline]
    pub const fn data(&self, opcode: Opcode, payload: u16) -> u16 {
        let padded = (payload + self.padding) & !self.padding;
        self.header + self.extension[opcode.code() as usize] + padded
    }

    /// A reply.
    #[inline]
    pub const fn reply(&self, opcode: Opcode) -> u16 {
        match opcode {
            Opcode::RcAtomicAcknowledge => self.ack + 8,
            _ => self.ack,
        }
    }
}

/// The congestion control of queue pairs that [begin](crate::Start::control) with another than that of [`Settings`].
#[derive(Clone, Debug)]
pub struct Control {
    /// As [`Settings::params`].
    pub params: Params,
    /// As [`Settings::window`].
    pub window: WindowMode,
    /// As [`Settings::cnp_interval`].
    pub cnp_interval: Option<Duration>,
    /// As [`Settings::read_feedback`].
    pub read_feedback: bool,
    /// As [`Settings::sizes`].
    pub sizes: Sizes,
}

/// What all NICs of a fabric have in common.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Transport parameters of all queue pairs.
    pub transport: Config,
    /// The congestion control.
    pub params: Params,
    /// Which traffic shares a controller.
    pub scope: Scope,
    /// Whether, under scope `qp`, the subflows of a [group](crate::Opening::group) take one share together.
    pub coupled: bool,
    /// Parameters of scope `tenant`.
    pub tenant: scope::Config,
    /// Whether and how receivers apportion their links; nobody does over services without replies. With it goes
    /// [`read_feedback`](Self::read_feedback).
    pub dasr: dasr::Params,
    /// Whether ECN marks and telemetry are computed per tenant.
    pub per_tenant_feedback: bool,
    /// The limit on bytes in flight beside the controller's own.
    pub window: WindowMode,
    /// How times of packets are rounded.
    pub rounding: PacingRounding,
    /// Whether the rate paces packets; without, only the window limits.
    pub paced: bool,
    /// Shortest time between two CNPs of a queue pair, if marks come back as CNPs; else acknowledgements
    /// carry them.
    pub cnp_interval: Option<Duration>,
    /// Whether packets of READ responses are answered with feedback.
    pub read_feedback: bool,
    /// Bytes of packets.
    pub sizes: Sizes,
    /// Size of a full packet on the wire.
    pub full: Bytes,
    /// Which pauses hold acknowledgements back.
    pub ack_pause: AckPause,
    /// Whether acknowledgements travel in class 0, control.
    pub ack_control_class: bool,
    /// Who fires the timers of controllers.
    pub timers: Timers,
    /// When finished queue pairs leave the round robin.
    pub leaving: Leaving,
    /// How much a queue pair sends before others are served.
    pub quantum: Quantum,
    /// Further congestion controls, counted from 1, for queue pairs that ask for one; none under scopes that share controllers.
    pub controls: Vec<Control>,
    /// How traffic classes share a port; without, its queue pairs take turns whatever their classes are. Scopes that share
    /// controllers have an order of their own, without classes.
    pub classes: Option<ClassScheduler>,
}

impl Settings {
    /// An algorithm as published, per queue pair, over RoCEv2 packets with IPv4 headers.
    pub fn new(algorithm: Algorithm) -> Self {
        let needs = algorithm.needs();
        let transport = Config::default();
        let sizes = Sizes::rocev2();
        let full = sizes.data(Opcode::RcWriteOnly, transport.mtu.get() as u16);
        Self {
            transport,
            params: Params::new(algorithm),
            scope: Scope::Qp,
            coupled: false,
            tenant: scope::Config::default(),
            dasr: dasr::Params::default(),
            per_tenant_feedback: false,
            window: algorithm.window(),
            rounding: PacingRounding::Picosecond,
            paced: true,
            cnp_interval: needs.hears_cnps.then_some(Duration::from_us(50)),
            read_feedback: true,
            sizes,
            full: Bytes::new(u64::from(full)),
            ack_pause: AckPause::Never,
            ack_control_class: false,
            timers: Timers::Lazy,
            leaving: Leaving::AtOnce,
            quantum: Quantum::PACKET,
            controls: Vec::new(),
            classes: None,
        }
    }

    /// Bytes of packets of queue pairs under a control.
    #[inline]
    pub(crate) fn sizes_of(&self, control: u8) -> &Sizes {
        self.other(control)
            .map_or(&self.sizes, |other| &other.sizes)
    }

    /// [`cnp_interval`](Self::cnp_interval) of queue pairs under a control.
    #[inline]
    pub(crate) fn cnp_interval_of(&self, control: u8) -> Option<Duration> {
        let other = self.other(control);
        other.map_or(self.cnp_interval, |other| other.cnp_interval)
    }

    /// [`read_feedback`](Self::read_feedback) of queue pairs under a control.
    #[inline]
    pub(crate) fn read_feedback_of(&self, control: u8) -> bool {
        let other = self.other(control);
        other.map_or(self.read_feedback, |other| other.read_feedback)
    }

    /// The algorithm of queue pairs under a control, and its window.
    pub(crate) fn algorithm_of(&self, control: u8) -> (&Params, WindowMode) {
        let own = (&self.params, self.window);
        self.other(control)
            .map_or(own, |other| (&other.params, other.window))
    }

    /// A control that isn't that of all.
    #[inline]
    fn other(&self, control: u8) -> Option<&Control> {
        self.controls.get(usize::from(control).wrapping_sub(1))
    }

    /// Whether subflows take one share; under scopes that share controllers they do anyway.
    pub(crate) fn couples(&self) -> bool {
        self.coupled && self.scope == Scope::Qp
    }

    /// Whether queue pairs share controllers, so that an enforcer has them.
    pub(crate) fn shares_controllers(&self) -> bool {
        self.scope.is_shared()
    }

    /// What enforcers have in common; of a scope that shares controllers.
    pub(crate) fn enforced(&self) -> scope::Setting {
        scope::Setting {
            scope: self.scope,
            config: self.tenant.clone(),
            params: self.params.clone(),
            window: self.window,
            rounding: self.rounding,
            paced: self.paced,
            per_tenant_feedback: self.per_tenant_feedback,
        }
    }
}
