//! The operators are physics: checked against exact tables and 128-bit arithmetic.

use fairlane_units::{Bytes, Decimal, Duration, Psn, Rate, Time};
use proptest::prelude::*;

#[test]
fn common_link_speeds_are_exact() {
    let table = [
        (10, 800),
        (25, 320),
        (40, 200),
        (50, 160),
        (100, 80),
        (200, 40),
        (400, 20),
        (800, 10),
    ];
    for (gbps, ps) in table {
        let rate = Rate::from_gbps(gbps);
        assert_eq!(rate.exact_ps_per_byte(), Some(ps));
        assert_eq!(Bytes::new(1).serialization(rate), Duration::from_ps(ps));
        assert_eq!(
            Bytes::new(9000).serialization(rate),
            Duration::from_ps(9000 * ps)
        );
    }
    assert_eq!(Rate::from_gbps(56).exact_ps_per_byte(), None);
}

#[test]
fn text_is_exact_and_canonical() {
    for (text, ps) in [
        ("1us", 1_000_000),
        ("0.001ms", 1_000_000),
        ("83.84ns", 83_840),
        ("7 ps", 7),
    ] {
        assert_eq!(text.parse::<Duration>(), Ok(Duration::from_ps(ps)));
    }
    assert_eq!(Duration::from_ps(67_108_864_000).to_string(), "67.108864ms");
    assert_eq!(Rate::from_mbps(2500).to_string(), "2.5Gbps");
    assert_eq!(Bytes::new(32 << 20).to_string(), "32MiB");
    assert_eq!(Bytes::new(153_000).to_string(), "153kB");
    for text in [
        "256kB", "512kB", "128MB", "64KiB", "125MiB", "1000GB", "1500B", "1GB", "8GiB",
    ] {
        let size: Bytes = text.parse().expect(text);
        assert_eq!(size.to_string(), text);
    }
    assert_eq!(Duration::ZERO.to_string(), "0ps");
}

#[test]
fn numbers_are_read_in_every_spelling() {
    for (text, ps) in [
        ("5e-05s", 50_000_000),
        ("+5us", 5_000_000),
        (".5us", 500_000),
        ("5.us", 5_000_000),
        ("1_000 ns", 1_000_000),
        ("1.25E+3ns", 1_250_000),
        ("12500e-1ns", 1_250_000),
        ("0.000000000001e0 s", 1),
        ("0e99s", 0),
        ("2 \u{b5}s", 2_000_000),
        ("2\u{3bc}s", 2_000_000),
    ] {
        assert_eq!(text.parse(), Ok(Duration::from_ps(ps)), "{text}");
    }
    for (text, bytes) in [
        ("1e6", 1_000_000),
        ("+64KiB", 65_536),
        ("1_500", 1500),
        ("1.5e3 B", 1500),
    ] {
        assert_eq!(text.parse(), Ok(Bytes::new(bytes)), "{text}");
    }
    for (text, bps) in [
        ("0.8Tbps", 800_000_000_000),
        ("8e-1 Tb/s", 800_000_000_000),
        ("900GB/s", 7_200_000_000_000),
        ("1Gibps", 1 << 30),
        ("1KiBps", 8192),
    ] {
        assert_eq!(text.parse(), Ok(Rate::from_bps(bps)), "{text}");
    }
}

#[test]
fn decimals_are_rounded_where_that_is_wanted() {
    let rounded = |text| Decimal::read(text).and_then(|number| number.rounded(1000));
    assert_eq!(rounded("0.30000000000000004"), Some(300));
    assert_eq!(rounded("0.0005"), Some(1));
    assert_eq!(rounded("0.00049999999"), Some(0));
    assert_eq!(rounded("1.0014999"), Some(1001));
    assert_eq!(rounded("18446744073709551.6155"), None);
    assert_eq!(rounded("18446744073709551.6149"), Some(u64::MAX));
    assert_eq!(rounded("1e-400"), Some(0));
    assert_eq!(rounded("-1"), None);
    for text in [
        "", "-", ".", "e5", "1e", "1__0", "_1", "nan", "inf", "0x10", "1 0",
    ] {
        assert_eq!(Decimal::read(text), None, "{text}");
    }
    assert_eq!(Decimal::read("1_0.5e1").map(Decimal::as_f64), Some(105.0));
    assert_eq!(Decimal::read("-.5").map(Decimal::as_f64), Some(-0.5));
    assert_eq!(Decimal::read("1e2").and_then(Decimal::whole), Some(100));
    assert_eq!(Decimal::read("1.5").and_then(Decimal::whole), None);
}

#[test]
fn bad_text_is_refused_with_the_reason() {
    for (text, reason) in [
        ("1", "no unit"),
        ("us", "no number"),
        ("1parsec", "unknown unit"),
        ("1.2.3us", "two decimal points"),
        ("0.5ps", "finer than"),
        ("99999999999999999999s", "too large"),
        ("", "no number"),
        ("1e5", "no unit"),
        ("1_us", "unknown unit"),
        ("1e-13s", "finer than"),
        ("1e8s", "too large"),
        ("-1us", "negative"),
    ] {
        let error = text.parse::<Duration>().expect_err(text).to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
    assert!("100Gbs".parse::<Rate>().is_err());
}

proptest! {
    #[test]
    fn serialization_rounds_up(bytes in 0u64..1 << 40, bps in 1u64..2_000_000_000_000) {
        let exact = u128::from(bytes) * 8_000_000_000_000;
        let time = u128::from(Bytes::new(bytes).serialization(Rate::from_bps(bps)).as_ps());
        prop_assume!(exact.div_ceil(u128::from(bps)) <= u128::from(u64::MAX));
        prop_assert!(time * u128::from(bps) >= exact);
        prop_assert!(time == 0 || (time - 1) * u128::from(bps) < exact);
    }

    #[test]
    fn rate_over_undoes_serialization(bytes in 1u64..1 << 40, bps in 1_000_000u64..1_000_000_000_000) {
        let bytes = Bytes::new(bytes);
        let span = bytes.serialization(Rate::from_bps(bps));
        let back = bytes.rate_over(span);
        // The span was rounded up, the rate down.
        prop_assert!(back.as_bps() <= bps);
        prop_assert!(bytes.serialization(back) >= span);
        prop_assert_eq!(bytes.rate_over(Duration::ZERO).as_bps(), u64::MAX);
    }

    #[test]
    fn bytes_in_undoes_serialization(bytes in 0u64..1 << 30, bps in 1_000_000u64..1_000_000_000_000) {
        let rate = Rate::from_bps(bps);
        let back = rate.bytes_in(Bytes::new(bytes).serialization(rate));
        prop_assert_eq!(back.get(), bytes);
    }

    #[test]
    fn nanoseconds_as_a_float_are_exact_where_they_are_whole(ns in 0u64..1 << 43) {
        prop_assert_eq!(Duration::from_ns(ns).as_ns_f64(), ns as f64);
    }

    #[test]
    fn times_and_spans_agree(start in 0u64..1 << 62, span in 0u64..1 << 62) {
        let (start, span) = (Time::from_ps(start), Duration::from_ps(span));
        prop_assert_eq!((start + span) - start, span);
        prop_assert_eq!((start + span) - span, start);
        prop_assert_eq!(start.saturating_since(start + span), Duration::ZERO);
    }

    #[test]
    fn text_round_trips(value in any::<u64>()) {
        let span = Duration::from_ps(value);
        prop_assert_eq!(span.to_string().parse::<Duration>(), Ok(span));
        let rate = Rate::from_bps(value);
        prop_assert_eq!(rate.to_string().parse::<Rate>(), Ok(rate));
        let size = Bytes::new(value);
        prop_assert_eq!(size.to_string().parse::<Bytes>(), Ok(size));
    }

    #[test]
    fn what_programs_print_of_a_double_is_that_double(value in any::<f64>()) {
        prop_assume!(value.is_finite());
        for text in [format!("{value}"), format!("{value:e}")] {
            prop_assert_eq!(Decimal::read(&text).map(Decimal::as_f64), Some(value));
        }
    }

    #[test]
    fn decimals_agree_with_integers(whole in 0u64..1 << 40, ps in 0u64..1_000_000_000_000, e in -9i32..9) {
        // whole.ps seconds, with the point moved by an exponent that moves it back.
        let digits = format!("{whole:020}{ps:012}");
        let at = usize::try_from(20 + e).expect("positive");
        let text = format!("{}.{}e{}", &digits[..at], &digits[at..], -e);
        let exact = u128::from(whole) * 1_000_000_000_000 + u128::from(ps);
        let read = Decimal::read(&text).and_then(|number| number.rounded(1_000_000_000_000));
        prop_assert_eq!(read, u64::try_from(exact).ok());
    }

    #[test]
    fn any_text_parses_or_explains(text in "\\PC{0,12}") {
        if let Err(error) = text.parse::<Duration>() {
            prop_assert!(error.to_string().contains("expected"));
        }
        let _ = text.parse::<Rate>();
        let _ = text.parse::<Bytes>();
    }

    #[test]
    fn psn_wraps_on_a_circle(start in 0u32..1 << 24, count in 0u32..1 << 23) {
        let first = Psn::new(start);
        let later = first.advance(count);
        prop_assert_eq!(later.distance(first), i32::try_from(count).expect("below 2^23"));
        prop_assert_eq!(first.is_before(later), count != 0);
        prop_assert!(later.get() < 1 << 24);
    }
}
