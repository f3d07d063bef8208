//! The rate of a port as verbs and a kernel's files have it: lanes, and the signalling of each.

use core::fmt;

use fairlane_units::Rate;

/// Lanes of a port and the signalling of each (IBTA volume 1, PortInfo: LinkWidthActive, LinkSpeedActive and its extensions).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSpeed {
    /// How many lanes: 1, 2 or 4.
    pub lanes: u8,
    /// The signalling, as `active_speed_ex` of `ibv_port_attr` has it.
    pub signalling: u32,
    name: &'static str,
    rate: Rate,
}

const fn speed(mbps: u64, lanes: u8, signalling: u32, name: &'static str) -> PortSpeed {
    PortSpeed {
        lanes,
        signalling,
        name,
        rate: Rate::from_mbps(mbps),
    }
}

/// By rate, as Linux has those of Ethernet links (`ib_get_width_and_speed` in `drivers/infiniband/core/verbs.c`), and XDR.
const ALL: [PortSpeed; 10] = [
    speed(2_500, 1, 1, "SDR"),
    speed(10_000, 1, 8, "FDR10"),
    speed(20_000, 4, 2, "DDR"),
    speed(25_000, 1, 32, "EDR"),
    speed(40_000, 4, 8, "FDR10"),
    speed(50_000, 2, 32, "EDR"),
    speed(100_000, 4, 32, "EDR"),
    speed(200_000, 4, 64, "HDR"),
    speed(400_000, 4, 128, "NDR"),
    speed(800_000, 4, 256, "XDR"),
];

impl PortSpeed {
    /// The slowest one that carries this rate, or the fastest.
    pub fn of(rate: Rate) -> Self {
        let found = ALL.iter().find(|speed| speed.rate >= rate);
        *found.unwrap_or(&ALL[ALL.len() - 1])
    }

    /// The lanes, as `active_width` of `ibv_port_attr` has them.
    pub const fn width(&self) -> u8 {
        match self.lanes {
            1 => 1,
            2 => 16,
            _ => 2,
        }
    }
}

/// As in the file `rate` of a port: `100 Gb/sec (4X EDR)`.
impl fmt::Display for PortSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.rate.as_bps() / 100_000_000;
        let half = if tenths.is_multiple_of(10) { "" } else { ".5" };
        let Self { lanes, name, .. } = self;
        write!(f, "{}{half} Gb/sec ({lanes}X {name})", tenths / 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_the_form_of_the_kernel() {
        for (mbps, text) in [
            (1, "2.5 Gb/sec (1X SDR)"),
            (2_500, "2.5 Gb/sec (1X SDR)"),
            (10_000, "10 Gb/sec (1X FDR10)"),
            (25_000, "25 Gb/sec (1X EDR)"),
            (56_000, "100 Gb/sec (4X EDR)"),
            (100_000, "100 Gb/sec (4X EDR)"),
            (900_000, "800 Gb/sec (4X XDR)"),
        ] {
            assert_eq!(PortSpeed::of(Rate::from_mbps(mbps)).to_string(), text);
        }
    }
}
