//! Attacks that can't be: refused with place and hint.

use crate::common::{dumbbell, flows, refused, star};

/// Place and message of the refusal of an attack on a small dumbbell.
fn refusal(attack: &str) -> (String, String) {
    let traffic = flows("red", &[(0, 2, 500_000)]) + &flows("blue", &[(1, 3, 9)]);
    let text = format!("attack = {{ {attack} }}\n{}{traffic}", dumbbell(4));
    let error = refused(&text, &[]);
    (error.place, error.message)
}

#[test]
fn keys_and_values_that_no_attack_has() {
    for attack in [
        "kind = \"parralel\"",
        "kind = \"parallel\", gap = \"1us\"",
        "kind = \"parallel\", speed = 3",
        "kind = \"parallel\", piece = 0",
        "kind = \"parallel\", piece = \"1MB\", qps = 4",
        "kind = \"parallel\", qps = 0",
        "kind = \"shuffled-overlay\", rings = 0",
        "kind = \"shuffled-overlay\", rings = 5",
        "kind = \"churn\", bdps = 61",
        "kind = \"churn\", bdps = 2, piece = \"80kB\"",
        "kind = \"churn\", sources = \"1\"",
        "kind = \"churn\", destinations = \"99\"",
        "kind = \"pulse\", period = \"0us\"",
        "kind = \"paced\"",
        "kind = \"pfc-storm\", host = 1",
        "kind = \"cache-flood\"",
        "kind = \"parallel\", tenant = \"green\"",
    ] {
        // The line of the attack, or the key that is missing from it.
        let (place, _) = refusal(attack);
        let known = place.starts_with("test.toml:1:") || place.starts_with("attack.");
        assert!(known, "{attack}: {place}");
    }
}

#[test]
fn unknown_kinds_are_answered_with_the_list() {
    let (_, message) = refusal("kind = \"parralel\"");
    assert!(
        message.contains("parallel") && message.contains("nic-hog"),
        "{message}"
    );
}

#[test]
fn thresholds_above_every_message() {
    let (place, message) = refusal("kind = \"staggered\"");
    assert_eq!(place, "attack.above");
    assert!(message.contains("500kB"), "{message}");
    let (place, _) = refusal("kind = \"parallel\", tenant = \"blue\", above = 100");
    assert_eq!(place, "attack.above");
}

#[test]
fn tenants_that_can_t_attack() {
    let text = format!("attack = {{ kind = \"parallel\" }}\n{}", star(4, 2));
    assert_eq!(refused(&text, &[]).place, "attack.tenant");
    // One host has nobody to send to.
    let one = format!(
        "attack = {{ kind = \"churn\", duration = \"1ms\" }}\n{}",
        star(4, 1)
    );
    assert!(refused(&one, &[]).message.contains("one host"));
    // Two hosts have one ring.
    let ring = "attack = { kind = \"shuffled-overlay\", duration = \"1ms\" }";
    let error = refused(&format!("{ring}\n{}", star(4, 2)), &[]);
    assert_eq!(error.place, "attack.tenant");
    let rings = "attack = { kind = \"shuffled-overlay\", rings = 4, duration = \"1ms\" }";
    let error = refused(&format!("{rings}\n{}", star(8, 4)), &[]);
    assert_eq!(error.place, "attack.rings");
    assert!(error.message.contains("2 rings"), "{}", error.message);
}

#[test]
fn attacks_without_an_end_or_with_too_many_messages() {
    let churn = format!("attack = {{ kind = \"churn\" }}\n{}", star(8, 4));
    assert_eq!(refused(&churn, &[]).place, "attack.duration");
    let tiny = format!(
        "attack = {{ kind = \"rotating-incast\", piece = 1, duration = \"1s\" }}\n{}",
        star(8, 4)
    );
    assert_eq!(refused(&tiny, &[]).place, "attack.duration");
    let traffic = flows("red", &[(0, 2, 4_000_000_000)]);
    let pieces = format!(
        "attack = {{ kind = \"parallel\", piece = 1 }}\n{}{traffic}",
        dumbbell(2)
    );
    assert_eq!(refused(&pieces, &[]).place, "attack.piece");
}

#[test]
fn messages_are_counted_before_they_are_made() {
    for (keys, place) in [
        (
            "kind = \"paced\", rate = \"8000Gbps\", piece = 1",
            "attack.rate",
        ),
        ("kind = \"pulse\", period = \"1ps\"", "attack.period"),
        (
            "kind = \"pulse\", period = \"4ps\", honest = true",
            "attack.period",
        ),
        (
            "kind = \"shuffled-overlay\", piece = 200, rings = 4",
            "attack.rings",
        ),
        (
            "kind = \"rotating-incast\", piece = 1, outstanding = 64",
            "attack.duration",
        ),
    ] {
        let text = format!("attack = {{ {keys}, duration = \"20ms\" }}\n{}", star(8, 6));
        let error = refused(&text, &[]);
        assert_eq!(error.place, place, "{keys}: {error}");
    }
}

#[test]
fn times_that_leave_none_for_the_attack() {
    let late = "kind = \"churn\", start = \"2ms\", duration = \"1ms\"";
    let text = format!("attack = {{ {late} }}\n{}", star(8, 4));
    let error = refused(&text, &["stop=\"1ms\""]);
    assert_eq!(error.place, "attack.start");
    assert!(error.message.contains("2ms") && error.message.contains("1ms"));
    let storm = |keys: &str| {
        let lasts = if keys.contains("duration") {
            ""
        } else {
            ", duration = \"1ms\""
        };
        let storm = format!("kind = \"pfc-storm\", {keys}{lasts}");
        let error = refused(&format!("attack = {{ {storm} }}\n{}", star(8, 4)), &[]);
        assert_eq!(error.place, "attack.period", "{error}");
    };
    storm("pause = \"50us\", period = \"50us\"");
    storm("period = \"50us\"");
    // Faster than frames pass, and more than a run can hold.
    storm("pause = \"1ns\", period = \"2ns\"");
    storm("pause = \"1ns\", period = \"20ns\", start = \"1us\", duration = \"10s\"");
}

#[test]
fn gaps_that_put_pieces_off_for_ever() {
    let (place, message) =
        refusal("kind = \"staggered\", above = \"100kB\", piece = \"1kB\", gap = \"100000s\"");
    assert_eq!(place, "attack.gap");
    assert!(message.contains("start"), "{message}");
}

#[test]
fn storms_without_pauses() {
    let text = format!(
        "attack = {{ kind = \"pfc-storm\", duration = \"1ms\" }}\n{}",
        star(8, 4)
    );
    let error = refused(&text, &["switch.pfc.enabled=false"]);
    assert!(error.message.contains("switch.pfc.enabled"), "{error}");
}

#[test]
fn floods_of_hosts_that_all_ask() {
    let text = format!(
        "attack = {{ kind = \"cache-flood\", duration = \"1ms\" }}\n{}[nic.costs]\n",
        star(4, 4).replace(", { name = \"blue\", hosts = \"3-3\" }", "")
    );
    assert_eq!(refused(&text, &[]).place, "attack.sources");
}
