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
            their senders by demand. Default: true.
        unsolicited: What a tenant may have in flight to a receiver before that has said its
            share, in bandwidth-delay products. Default: 1.0.
        pairs: Pairs that a host remembers, divided alike among its tenants; further ones
            replace those idle longest. Default: 4096.
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
    measured to do.

    Attributes:
        mode: Whether receivers divide, and by which rule. Default: "off".
        eta: The part of its link that a receiver divides. Default: 1.0.
        draining: The same, while a queue may stand in front of it: for some time after a
            sender joined, and while more senders share the link than packets fit into a round
            trip. Default: 0.98.
        window: What a sender may have in flight, in parts of what its share carries in a
            round trip without queues; one packet at least. Default: 1.5.
        first_burst: What a sender may have in flight before it has heard its share, in
            bandwidth-delay products; one packet at least. Default: 0.5.
        tolerance: A change of demand below this part of it changes no share. Default: 0.01.
        push_change: A sender that isn't heard is told of its share without being asked once
            it has changed by more than this part. Default: 0.05.
        push_after: A sender counts as not heard after so many round trips. Default: 0.5.
        silence: A sender that is silent for so many round trips has left, unless ...
            Default: 4.0.
        silent_packets: ... its share asks for longer: so many packet times are allowed.
            Default: 4.
        measured_over: Round trips over which a receiver measures what a sender sends that
            doesn't declare its demand. Default: 2.0.
        checked_over: The same, to check what others declare: more, since queues that come
            and go change rates for a round trip or two. Default: 16.0.
        headroom: What a sender is given beyond what is measured, as a part of that; the
            same excess over its declared demand shows that this is untrue. Default: 0.25.
        at_a_time: Senders of a tenant that [`Mode::ShortestFirst`] serves at a time.
            Default: 4.
        rows: Senders that a receiver knows, divided alike among the tenants that it knows.
            Default: 4096.
        remembered: Receivers that a sender remembers beside those it has queue pairs to.
            Default: 1024.
    """

    mode: Optional[DasrMode] = None
    eta: Optional[float] = None
    draining: Optional[float] = None
    window: Optional[float] = None
    first_burst: Optional[float] = None
    tolerance: Optional[float] = None
    push_change: Optional[float] = None
    push_after: Optional[float] = None
    silence: Optional[float] = None
    silent_packets: Optional[int] = None
    measured_over: Optional[float] = None
    checked_over: Optional[float] = None
    headroom: Optional[float] = None
    at_a_time: Optional[int] = None
    rows: Optional[int] = None
    remembered: Optional[int] = None


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
        gain: g: weight of the newest observation in alpha, in 0..=1. Default: 0.00390625.
        alpha_interval: Period of the update of alpha. Default: "1us".
        decrease_interval: Period of the check for a rate decrease. Default: "4us".
        increase_interval: Period of rate increase since the last decrease. Default:
            "300us".
        fast_recovery_stages: F: increase periods spent in fast recovery before the target
            rises. Default: 1.
        additive_increase: Step of the target in additive increase. Default: "20Mbps".
        hyper_increase: Step of the target in hyper increase. Default: "200Mbps".
        min_rate: The rate never falls below this. Default: "1Gbps".
        clamp_target_rate: Whether a decrease always lowers the target to the current rate.
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
        gain: g: weight of the newest share of marks in alpha, in 0..=1. Default: 0.0625.
        additive_increase: Step of the increase, once per round trip. Default: "615Mbps".
        min_rate: The rate never falls below this. Default: "1Gbps".
    """

    gain: Optional[float] = None
    additive_increase: Optional[Rate] = None
    min_rate: Optional[Rate] = None


@dataclass
class TimelyParameters(Section):
    """Parameters of TIMELY. The defaults are those of HPCC's artefact at 100 Gb/s, which has
    gains and thresholds from the paper.

    Attributes:
        gain: a: weight of the newest difference of round-trip times, in 0..=1. Default:
            0.875.
        decrease_gain: b: how hard a decrease is, in 0..=1. Default: 0.8.
        low_threshold: Below this round-trip time the rate always rises. Default: "50us".
        high_threshold: Above this round-trip time the rate always falls. Default: "500us".
        min_rtt: The round-trip time that the gradient is relative to. Default: "20us".
        additive_increase: Step of an increase. Default: "100Mbps".
        hyper_increase: Step of an increase after many in a row. Default: "500Mbps".
        hyper_after: N: increases in a row before the step grows. Default: 5.
        min_rate: The rate never falls below this. Default: "1Gbps".
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
        base_target: Target delay of the fabric before any scaling, round-trip time
            included. Default: "20us".
        hop_target: h: what each switch on the way adds to the target. Default: "3us".
        flow_range: The most that flow scaling adds to the target. Default: "100us".
        flow_min_window: Window in packets at which flow scaling adds the most. Default:
            0.1.
        flow_max_window: Window in packets from which on flow scaling adds nothing. Default:
            100.0.
        endpoint_target: Target delay of the two hosts. Default: "20us".
        additive_increase: ai: packets that the window grows by in a round trip. Default:
            1.0.
        decrease_gain: beta: how hard a decrease is, in 0..=1. Default: 0.8.
        max_decrease: The most that one decrease takes, as a share of the window. Default:
            0.5.
        min_window: The window never falls below this many packets. Default: 0.01.
        reset_after: Timeouts in a row after which the window falls to its least. Default:
            5.
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
        target_delay: `target_qdelay`: the delay in queues to aim at, in base round-trip
            times. Default: 1.0.
        max_window: `MaxWnd`: the largest window, and the first, in bandwidth-delay
            products. Default: 1.5.
        proportional_increase: alpha: packets that the window of the reference network grows
            by in a round trip without delay and marks, for each reference round trip of target.
            Default: 4.0.
        fair_increase: `fi`: the same above the target without marks. Default: 5.0.
        additive_increase: `eta`: what is added in any case once per `adjust_period`, in
            packets of the reference network. Default: 0.15.
        fast_increase: `fi_scale`: bytes that the window of the reference network grows by
            for each byte that arrives when a whole window has met no delay. Default: 0.25.
        no_delay: A delay below this is none. Default: "1us".
        decrease_gain: gamma: how hard a decrease is, in 0..=1. Default: 0.8.
        max_decrease: The most that one decrease takes, as a share of the window; 1 less
            `max_md_jump`. Default: 0.5.
        adjust_packets: `adjust_bytes_threshold`: packets after which what has been gathered
            is added to the window. Default: 8.
        adjust_period: `adjust_period_threshold`: the time after which it is in any case, in
            base round-trip times. Default: 1.0.
        quick_adapt: Whether the window may fall to what has arrived at once; the contrary
            of `disable_quick_adapt`. Default: true.
        quick_adapt_delay: `qa_threshold`: the delay that makes it do so, in targets.
            Default: 4.0.
        quick_adapt_gate: `qa_gate`: it does so if less than the largest window over 2 to
            the power of this has arrived. Default: 3.
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
        target_utilization: Eta: the utilisation to aim at, above 0 and at most 1. Default:
            0.95.
        max_stage: Rounds of additive increase before a multiplicative adjustment; 0 always
            adjusts. Default: 5.
        additive_increase: W_AI as a rate: the additive increase per adjustment. Default:
            "50Mbps".
        min_rate: The rate never falls below this. Default: "1Gbps".
        fast_react: Whether every acknowledgement adjusts the rate, not only one per round
            trip. Default: true.
        telemetry_multiplier: Multiplies the units of the 42-byte telemetry header (profile
            `hpcc-ns3` only). Default: 1.
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
        gain: gamma: weight of the newest window, above 0 and at most 1; 0.9 in the paper.
            Default: 0.9.
        expected_flows: N: the additive increase is a bandwidth-delay product over N, so
            that n senders leave a queue of n / N of it. The paper has no figure; 100 keeps the
            queue of an incast of 16 below a fifth. Default: 100.
        min_rate: The rate never falls below this; 100 Mb/s in the code of HPCC's artefact.
            Default: "100Mbps".
    """

    gain: Optional[float] = None
    expected_flows: Optional[int] = None
    min_rate: Optional[Rate] = None


@dataclass
class CctEntry(Section):
    """An entry of the congestion control table: a delay of `multiplier / 2^shift` transmission
    times.

    Attributes:
        multiplier: The numerator, at most 16383.
        shift: The exponent of the denominator, at most 3.
    """

    multiplier: int
    shift: int


@dataclass
class InfinibandParameters(Section):
    """Parameters of the channel adapter.

    Attributes:
        ccti_increase: Added to the index by a BECN; 8 bits. 1 as Mellanox's congestion
            control manager sets. Default: 1.
        ccti_limit: The largest index. Default: 127.
        ccti_min: The smallest index; 8 bits. Default: 0.
        ccti_timer: Period of the decrease of the index; a multiple of 1.024 us in hardware.
            Default: "4.096us".
        table: The congestion control table; left out, entry i delays by i / 4 transmission
            times.
    """

    ccti_increase: Optional[int] = None
    ccti_limit: Optional[int] = None
    ccti_min: Optional[int] = None
    ccti_timer: Optional[Duration] = None
    table: Optional[List[CctEntry]] = None
