"""Parameters of a scenario.

Made by ``tools/generate_scenario.py`` from the schema that ``fairlane schema`` prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Literal, Optional

from fairlane._section import Section
from fairlane.scenario._units import Duration, Rate


@dataclass
class TenantParameters(Section):
    """Parameters of scope `tenant`; `docs/isolation.md` has the rules.

    Attributes:
        turns: Whether tenants take turns at a NIC's uplink, by weight. Default: true.
        shares: Whether receivers divide their downlinks among tenants by weight, then among
            a tenant's senders by demand. Sets `congestion.dasr.mode` to `"demand-aware"` unless
            another is stated; controllers then get no feedback of that link. Needs
            `transport.service = "rc"`. Default: true.
        unsolicited: Bytes that a tenant may send to a receiver unasked, in bandwidth-delay
            products: those in flight before the receiver has sent a share, and what a pair
            saves for messages that are no larger. Replaces `congestion.dasr.first_burst`;
            `return_burst` is then at least 1, `draining` at most 1 less a tenth of this, but no
            less than 0.5. Range: 0 to 16. Default: 0.5.
        pairs: Pairs that a host remembers, divided evenly among its tenants; new ones
            replace those idle longest. Range: 1 to 1048576. Default: 4096.
    """

    turns: Optional[bool] = None
    shares: Optional[bool] = None
    unsolicited: Optional[float] = None
    pairs: Optional[int] = None

#: Whether receivers divide their links, and by which rule.
DasrMode = Literal[
    "off",
    "window",
    "count",
    "weighted",
    "demand-aware",
    "measured",
    "shortest-first",
]


@dataclass
class DasrParameters(Section):
    """What receivers and senders of a fabric have in common. `docs/dasr.md` has what each was
    measured to do and where defaults come from.

    Attributes:
        mode: Whether receivers divide their links, and by which rule. Default: "off".
        eta: Part of its link that a receiver divides. Range: 0.1 to 1. Default: 1.0.
        draining: The same while a queue may stand in front of it: for some time after a
            sender joined, and while more senders share the link than packets fit into a round
            trip. Range: 0.1 to 1; at most eta. Default: 0.98.
        window: A sender's bytes in flight, as a multiple of share x base round trip; at
            least a packet. Range: 1 to 1024. Default: 1.5.
        first_burst: Its bytes in flight before it has a share, in bandwidth-delay products;
            at least a packet. Range: 0 to 16. Default: 0.5.
        return_burst: The same once nothing is in flight, while its share is remembered; at
            least `first_burst`. Range: 0 to 16. Default: 0.5.
        tolerance: Relative change of demand below which shares stay. Range: 0 to 0.05.
            Default: 0.01.
        headroom: Relative addition to a measured demand; more than this above its declared
            demand shows that a sender doesn't tell the truth. Range: 0.01 to 16. Default: 0.25.
        rows: Senders that a receiver tracks, divided evenly among tenants; others get the
            least share. Range: 1 to 32768. Default: 4096.
    """

    mode: Optional[DasrMode] = None
    eta: Optional[float] = None
    draining: Optional[float] = None
    window: Optional[float] = None
    first_burst: Optional[float] = None
    return_burst: Optional[float] = None
    tolerance: Optional[float] = None
    headroom: Optional[float] = None
    rows: Optional[int] = None


@dataclass
class FixedParameters(Section):
    """Parameters of the constant rate.

    Attributes:
        rate: The rate; left out, the line rate of the port.
    """

    rate: Optional[Rate] = None


@dataclass
class DcqcnParameters(Section):
    """Parameters of DCQCN. The defaults are those of HPCC's artefact at 100 Gb/s.

    Attributes:
        gain: g: weight of the newest observation in alpha. Range: 0 to 1. Default:
            0.00390625.
        alpha_interval: Period of the update of alpha. Range: above 0. Default: "1us".
        decrease_interval: Period of the check for a rate decrease. Range: above 0. Default:
            "4us".
        increase_interval: Period of rate increase since the last decrease. Range: above 0.
            Default: "300us".
        fast_recovery_stages: F: increase periods in fast recovery before the target rises.
            Default: 1.
        additive_increase: Step of the target in additive increase. Range: at most 8Tbps.
            Default: "20Mbps".
        hyper_increase: Step of the target in hyper increase. Range: at most 8Tbps. Default:
            "200Mbps".
        min_rate: Lowest rate. Range: 1Mbps to the slowest host link; left out, at most a
            tenth of that. Default: "1Gbps".
        clamp_target_rate: Whether every decrease lowers the target to the current rate.
            Default: false.
    """

    gain: Optional[float] = None
    alpha_interval: Optional[Duration] = None
    decrease_interval: Optional[Duration] = None
    increase_interval: Optional[Duration] = None
    fast_recovery_stages: Optional[int] = None
    additive_increase: Optional[Rate] = None
    hyper_increase: Optional[Rate] = None
    min_rate: Optional[Rate] = None
    clamp_target_rate: Optional[bool] = None


@dataclass
class DctcpParameters(Section):
    """Parameters of DCTCP. The gain is the paper's, the increase that of HPCC's artefact at
    100 Gb/s.

    Attributes:
        gain: g: weight of the newest share of marks in alpha. Source: DCTCP (SIGCOMM 2010).
            Range: 0 to 1. Default: 0.0625.
        additive_increase: Step of the rate, once per round trip. Source: HPCC's artefact at
            100 Gb/s. Range: at most 8Tbps. Default: "615Mbps".
        min_rate: Lowest rate. Range: 1Mbps to the slowest host link; left out, at most a
            tenth of that. Default: "1Gbps".
    """

    gain: Optional[float] = None
    additive_increase: Optional[Rate] = None
    min_rate: Optional[Rate] = None


@dataclass
class TimelyParameters(Section):
    """Parameters of TIMELY. The defaults are those of HPCC's artefact at 100 Gb/s, which has
    gains and thresholds from the paper.

    Attributes:
        gain: Weight of the newest difference of round-trip times. Range: 0 to 1. Default:
            0.875.
        decrease_gain: beta: strength of a decrease. Range: 0 to 1. Default: 0.8.
        low_threshold: Below this round-trip time the rate always rises. Default: "50us".
        high_threshold: Above this round-trip time the rate always falls. Range: above 0; at
            least low_threshold. Default: "500us".
        min_rtt: Round-trip time that the gradient is relative to. Range: above 0. Default:
            "20us".
        additive_increase: Step of an increase. Range: at most 8Tbps. Default: "100Mbps".
        hyper_increase: Step after `hyper_after` increases in a row. Range: at most 8Tbps.
            Default: "500Mbps".
        hyper_after: N: increases in a row before the step grows. Default: 5.
        min_rate: Lowest rate. Range: 1Mbps to the slowest host link; left out, at most a
            tenth of that. Default: "1Gbps".
    """

    gain: Optional[float] = None
    decrease_gain: Optional[float] = None
    low_threshold: Optional[Duration] = None
    high_threshold: Optional[Duration] = None
    min_rtt: Optional[Duration] = None
    additive_increase: Optional[Rate] = None
    hyper_increase: Optional[Rate] = None
    hyper_after: Optional[int] = None
    min_rate: Optional[Rate] = None


@dataclass
class SwiftParameters(Section):
    """Parameters of Swift. The paper names them and gives few figures: where it is silent, the
    defaults are those of htsim's model of Swift, which its authors tuned to the paper's
    curves.

    Attributes:
        base_target: Target delay of the fabric before scaling, round-trip time included.
            Range: above 0. Default: "20us".
        hop_target: Addition to the target per switch on the path. Source: about a seventh
            of the base target. Default: "3us".
        flow_range: Most that flow scaling adds to the target. Default: "100us".
        flow_min_window: Window at which flow scaling adds the most. Range: 0.001 to
            1000000. Default: 0.1.
        flow_max_window: Window from which flow scaling adds nothing. Range: 0.001 to
            1000000; more than flow_min_window. Default: 100.0.
        endpoint_target: Target delay of the two hosts, which take no time in the simulated
            fabric. Source: that of the fabric. Range: above 0. Default: "20us".
        additive_increase: Packets added to the window per round trip. Range: 0 to 1000.
            Default: 1.0.
        decrease_gain: beta: strength of a decrease. Range: 0 to 1. Default: 0.8.
        max_decrease: Most that one decrease takes, as a share of the window. Range: 0 to 1.
            Default: 0.5.
        min_window: Smallest window; below 1 packets are paced. Source: the paper's
            thousandth (section 3.4) would outlast ACK timeouts. Range: 0.000001 to 1. Default:
            0.01.
        reset_after: Timeouts in a row after which the window falls to the smallest. Range:
            at least 1. Default: 5.
    """

    base_target: Optional[Duration] = None
    hop_target: Optional[Duration] = None
    flow_range: Optional[Duration] = None
    flow_min_window: Optional[float] = None
    flow_max_window: Optional[float] = None
    endpoint_target: Optional[Duration] = None
    additive_increase: Optional[float] = None
    decrease_gain: Optional[float] = None
    max_decrease: Optional[float] = None
    min_window: Optional[float] = None
    reset_after: Optional[int] = None


@dataclass
class NsccParameters(Section):
    """Parameters of NSCC. The defaults are the specification's (section 3.6.13.3) for switches
    that don't trim.

    Attributes:
        target_delay: `target_qdelay`: target queueing delay in base round-trip times.
            Range: 0.001 to 1000. Default: 1.0.
        max_window: `MaxWnd`: largest and initial window in bandwidth-delay products. Range:
            0.01 to 1000. Default: 1.5.
        proportional_increase: alpha: packets per round trip without delay and marks, per 12
            us of target. Range: 0 to 1000. Default: 4.0.
        fair_increase: `fi`: packets per round trip above the target without marks. Range: 0
            to 1000. Default: 5.0.
        additive_increase: `eta`: packets per `adjust_period` in any case. Range: 0 to 1000.
            Default: 0.15.
        fast_increase: `fi_scale`: bytes per byte that arrives after a whole window without
            delay. Range: 0 to 1000. Default: 0.25.
        no_delay: Delays below this count as none. Source: the simulator of the
            specification's authors; the specification says "about 0". Default: "1us".
        decrease_gain: gamma: strength of a decrease. Range: 0 to 1. Default: 0.8.
        max_decrease: 1 - `max_md_jump`: most that one decrease takes, as a share of the
            window. Range: 0 to 1. Default: 0.5.
        adjust_packets: `adjust_bytes_threshold`: packets after which increases are added to
            the window. Range: 1 to 1048576. Default: 8.
        adjust_period: `adjust_period_threshold`: time after which they are added in any
            case, in base round-trip times. Range: 0 to 1000. Default: 1.0.
        quick_adapt: Not `disable_quick_adapt`: whether the window may fall at once to the
            bytes that arrived. Default: true.
        quick_adapt_delay: `qa_threshold`: delay that triggers it, in targets. The
            specification derives it from the queue length at which switches drop, 5 bandwidth-
            delay products. Range: 0 to 1000000. Default: 4.0.
        quick_adapt_gate: `qa_gate`: it also needs that less than the largest window /
            2^this arrived. Range: 0 to 63. Default: 3.
    """

    target_delay: Optional[float] = None
    max_window: Optional[float] = None
    proportional_increase: Optional[float] = None
    fair_increase: Optional[float] = None
    additive_increase: Optional[float] = None
    fast_increase: Optional[float] = None
    no_delay: Optional[Duration] = None
    decrease_gain: Optional[float] = None
    max_decrease: Optional[float] = None
    adjust_packets: Optional[int] = None
    adjust_period: Optional[float] = None
    quick_adapt: Optional[bool] = None
    quick_adapt_delay: Optional[float] = None
    quick_adapt_gate: Optional[int] = None


@dataclass
class HpccParameters(Section):
    """Parameters of HPCC. The defaults are the paper's (section 5.1) at 100 Gb/s.

    Attributes:
        target_utilization: eta: target utilisation. Range: above 0, at most 1. Default:
            0.95.
        max_stage: Rounds of additive increase before a multiplicative adjustment; 0: always
            adjust. Default: 5.
        additive_increase: W_AI as a rate: additive increase per adjustment. Range: at most
            8Tbps. Default: "50Mbps".
        min_rate: Lowest rate. Range: 1Mbps to the slowest host link; left out, at most a
            tenth of that. Default: "1Gbps".
        fast_react: Whether every acknowledgement adjusts the rate, not only one per round
            trip. Default: true.
        telemetry_multiplier: Multiplier of the units of the telemetry header (`hpcc-ns3`
            only). Range: 1 to 65536. Default: 1.
    """

    target_utilization: Optional[float] = None
    max_stage: Optional[int] = None
    additive_increase: Optional[Rate] = None
    min_rate: Optional[Rate] = None
    fast_react: Optional[bool] = None
    telemetry_multiplier: Optional[int] = None


@dataclass
class PowertcpParameters(Section):
    """Parameters of PowerTCP.

    Attributes:
        gain: gamma: weight of the newest window. Source: PowerTCP (NSDI 2022). Range: above
            0, at most 1. Default: 0.9.
        expected_flows: N: the additive increase is a bandwidth-delay product / N, so n
            senders leave a queue of n / N of it. Source: the paper has no figure; 100 keeps the
            queue of an incast of 16 below a fifth. Range: 1 to 16777216. Default: 100.
        min_rate: Lowest rate. Source: HPCC's artefact. Range: 1Mbps to the slowest host
            link; left out, at most a tenth of that. Default: "100Mbps".
    """

    gain: Optional[float] = None
    expected_flows: Optional[int] = None
    min_rate: Optional[Rate] = None


@dataclass
class CctEntry(Section):
    """An entry of the congestion control table: a delay of `multiplier / 2^shift` transmission
    times.

    Attributes:
        multiplier: Numerator, at most 16383: the delay is the packet's transmission time x
            `multiplier` / 2^`shift`.
        shift: Exponent of the denominator, at most 3.
    """

    multiplier: int
    shift: int


@dataclass
class InfinibandParameters(Section):
    """Parameters of the channel adapter.

    Attributes:
        ccti_increase: Added to the table index by a BECN. Source: Mellanox's congestion
            control manager. Range: 1 to 255. Default: 1.
        ccti_limit: Largest index. Range: 1 to 16383. Default: 127.
        ccti_min: Smallest index. Range: 0 to 255; at most ccti_limit. Default: 0.
        ccti_timer: Period after which the index falls by one; a multiple of 1.024 us in
            hardware. Range: above 0. Default: "4.096us".
        table: Delays after a packet by index; the last holds for all larger indices. Left
            out, entry i has `multiplier` i and `shift` 2. Range: multipliers up to 16383 and
            shifts up to 3.
    """

    ccti_increase: Optional[int] = None
    ccti_limit: Optional[int] = None
    ccti_min: Optional[int] = None
    ccti_timer: Optional[Duration] = None
    table: Optional[List[CctEntry]] = None
