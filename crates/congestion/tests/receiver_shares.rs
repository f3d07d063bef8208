//! How a receiver divides its link among tenants and their sources.

use fairlane_congestion::scope::{Config, ReceiverShares, Weight};
use fairlane_units::{Bytes, Duration, HostId, Rate, TenantId, Time};

const LINE: Rate = Rate::from_gbps(100);
const PACKET: Bytes = Bytes::new(1000);

fn red() -> TenantId {
    TenantId::new(0)
}

fn blue() -> TenantId {
    TenantId::new(1)
}

fn us(at: u64) -> Time {
    Time::ZERO + Duration::from_us(at)
}

fn weight(tenant: TenantId, weight: f64) -> Weight {
    Weight {
        tenant,
        weight,
        guarantee: None,
    }
}

/// What each source sends once all follow the levels of a receiver that they could overwhelm, in bits
/// per second, over intervals after the first.
fn settle(shares: &mut ReceiverShares, sources: &[TenantId]) -> Vec<f64> {
    let (mut now, mut sum, rounds) = (Time::ZERO, vec![0.0; sources.len()], 300);
    for round in 0..rounds {
        let wish = |tenant: &TenantId| shares.level(*tenant).unwrap_or(LINE).as_f64();
        let wishes: Vec<f64> = sources.iter().map(wish).collect();
        // More than the link carries doesn't arrive.
        let fits = (LINE.as_f64() / wishes.iter().sum::<f64>()).min(1.0);
        for (at, rate) in wishes.iter().enumerate() {
            let bytes = Bytes::new((rate * fits * 10e-6 / 8.0) as u64);
            shares.on_data(now, sources[at], HostId::new(at as u32), (bytes, false));
            if round >= rounds / 2 {
                sum[at] += rate * fits / f64::from(rounds / 2);
            }
        }
        now += Duration::from_us(10);
    }
    sum
}

#[test]
fn a_busy_receiver_divides_by_weight_whoever_sends_from_more_hosts() {
    let green = TenantId::new(2);
    let tenants = [weight(red(), 1.0), weight(blue(), 2.0), weight(green, 4.0)];
    let mut shares = ReceiverShares::new(&Config::default(), 1.0, LINE, &tenants);
    let sources = [red(), red(), red(), red(), blue(), green];
    let rates = settle(&mut shares, &sources);
    let total: f64 = rates.iter().sum();
    let part = |rate: f64| rate / total * 7.0;
    assert!(
        (part(rates[..4].iter().sum()) - 1.0).abs() < 0.05,
        "{rates:?}"
    );
    assert!((part(rates[4]) - 2.0).abs() < 0.1, "{rates:?}");
    assert!((part(rates[5]) - 4.0).abs() < 0.2, "{rates:?}");
    assert!(total > 0.94 * LINE.as_f64(), "{rates:?}");
}

#[test]
fn a_receiver_that_is_not_busy_limits_nobody() {
    let tenants = [weight(red(), 1.0), weight(blue(), 1.0)];
    let mut shares = ReceiverShares::new(&Config::default(), 1.0, LINE, &tenants);
    let mut now = Time::ZERO;
    while now < us(100) {
        assert_eq!(
            shares.on_data(now, red(), HostId::new(0), (PACKET, false)),
            None
        );
        now += PACKET.serialization(Rate::from_gbps(80));
    }
}

#[test]
fn a_source_that_is_alone_has_all_of_the_link() {
    let tenants = [weight(red(), 1.0), weight(blue(), 1.0)];
    let mut shares = ReceiverShares::new(&Config::default(), 1.0, LINE, &tenants);
    let mut now = Time::ZERO;
    for packet in 0..60_000u64 {
        // Blue leaves after 2 ms; what it may come back to is kept for it for another.
        let from_blue = now < us(2000) && packet.is_multiple_of(2);
        let (tenant, host) = if from_blue { (blue(), 1) } else { (red(), 0) };
        let level = shares.on_data(now, tenant, HostId::new(host), (PACKET, false));
        let is_limited = (us(100)..us(2900)).contains(&now);
        let is_free = now > us(3100);
        assert!(!(is_limited && level.is_none()), "{now} {level:?}");
        assert!(!(is_free && level.is_some()), "{now} {level:?}");
        now += PACKET.serialization(LINE);
    }
}

#[test]
fn sources_that_send_rarely_are_not_forgotten() {
    let tenants = [weight(red(), 1.0), weight(blue(), 1.0)];
    let mut shares = ReceiverShares::new(&Config::default(), 1.0, LINE, &tenants);
    let (mut now, mut most) = (Time::ZERO, 0.0_f64);
    // 128 sources of red's and two of blue's send alike: each comes every 10.4 us.
    for at in 0..20_000 {
        let host = at % 130;
        let tenant = if host < 128 { red() } else { blue() };
        let level = shares.on_data(now, tenant, HostId::new(host), (PACKET, false));
        if let Some(level) = level.filter(|_| tenant == red()) {
            most = most.max(level.as_f64() * 128.0);
        }
        now += PACKET.serialization(LINE);
    }
    assert!((80e9..LINE.as_f64()).contains(&most), "{most}");
}

#[test]
fn guarantees_that_are_not_used_are_left_to_others() {
    let tenants = [
        Weight {
            guarantee: Some(LINE),
            ..weight(red(), 1.0)
        },
        weight(blue(), 1.0),
    ];
    let mut shares = ReceiverShares::new(&Config::default(), 1.0, LINE, &tenants);
    let mut now = Time::ZERO;
    for at in 0..3000u64 {
        // Red sends 3 packets of 10.
        let tenant = TenantId::new(u32::from(at % 10 > 2));
        shares.on_data(now, tenant, HostId::new(tenant.get()), (PACKET, false));
        now += PACKET.serialization(LINE);
    }
    let level = shares.level(blue()).map(Rate::as_f64);
    assert!(level.is_some_and(|rate| rate > 45e9), "{level:?}");
}

#[test]
fn guarantees_come_before_weights() {
    let tenants = [
        Weight {
            tenant: red(),
            weight: 1.0,
            guarantee: Some(Rate::from_gbps(60)),
        },
        weight(blue(), 9.0),
    ];
    let mut shares = ReceiverShares::new(&Config::default(), 1.0, LINE, &tenants);
    let mut now = Time::ZERO;
    for at in 0..2000u64 {
        let tenant = TenantId::new(u32::from(at % 2 == 0));
        shares.on_data(now, tenant, HostId::new(tenant.get()), (PACKET, false));
        now += PACKET.serialization(LINE);
    }
    // Red uses 50: its guarantee covers 60 of what it may want, and a tenth of the rest is its part.
    let level = shares.level(blue()).map(Rate::as_f64);
    assert!(
        level.is_some_and(|rate| (33e9..=40e9).contains(&rate)),
        "{level:?}"
    );
}
