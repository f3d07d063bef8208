//! Distributions of sizes.

use fairlane_scenario::{SizeDistribution, SizePoint};
use fairlane_units::Bytes;
use proptest::prelude::*;

use crate::common::reference;

fn built_in(name: &str) -> SizeDistribution {
    SizeDistribution::built_in(name).unwrap()
}

#[test]
fn means_of_the_built_in_distributions() {
    let close = |name: &str, mean: f64| {
        let found = built_in(name).mean();
        assert!((found - mean).abs() < 1e-6 * mean, "{name}: {found}");
    };
    close("hadoop", 120_420.75);
    close("storage", 40_869.8);
    close("websearch", 1_711_250.0);
}

#[test]
fn every_built_in_distribution_cites_its_publication() {
    for name in ["websearch", "hadoop", "storage", "rpc"] {
        let path = format!("{}/sizes/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let file: toml::Table = text.parse().unwrap();
        assert_eq!(file["name"].as_str(), Some(name));
        let publication = file["publication"].as_str().unwrap();
        assert!(publication.contains("ACM SIGCOMM 20"), "{publication}");
        assert!(!file["note"].as_str().unwrap().is_empty());
        let same = SizeDistribution::parse(&text, "sizes.toml").unwrap();
        assert_eq!(built_in(name), same);
    }
}

#[test]
fn samples_are_interpolated_and_truncated() {
    let hadoop = built_in("hadoop");
    assert_eq!(hadoop.sample(0.0), Bytes::new(1), "at least one byte");
    assert_eq!(hadoop.sample(0.005), Bytes::new(50));
    assert_eq!(hadoop.sample(0.5), Bytes::new(700));
    // Between 700 B at 50 % and 1000 B at 60 %.
    assert_eq!(hadoop.sample(0.55), Bytes::new(850));
    assert_eq!(hadoop.sample(0.985), Bytes::new(1_666_666));
    assert!(hadoop.sample(0.999_999_999) < Bytes::new(10_000_000));
}

#[test]
fn the_built_in_figures_are_the_published_ones() {
    let Some(folder) = reference() else { return };
    let names = [
        ("websearch", "WebSearch_distribution.txt"),
        ("hadoop", "FbHdp_distribution.txt"),
        ("storage", "AliStorage2019.txt"),
    ];
    let read = |file: &str| {
        let text = std::fs::read_to_string(folder.join("cdf").join(file)).unwrap();
        SizeDistribution::parse(&text, file).unwrap()
    };
    for (name, file) in names {
        assert_eq!(built_in(name), read(file), "{name}");
    }
    let (coarse, full) = (built_in("rpc"), read("GoogleRPC2008.txt"));
    assert!(coarse.points().len() <= 40);
    assert!(
        coarse
            .points()
            .iter()
            .all(|point| full.points().contains(point))
    );
    assert!(
        (coarse.mean() / full.mean() - 1.0).abs() < 0.04,
        "{}",
        coarse.mean() / full.mean()
    );
}

fn distributions() -> impl Strategy<Value = SizeDistribution> {
    let steps = prop::collection::vec((0u64..1 << 24, 1u32..1000), 1..20);
    (0u64..1000, steps).prop_map(|(first, steps)| {
        let total: u32 = steps.iter().map(|(_, weight)| weight).sum();
        let mut points = vec![SizePoint {
            size: Bytes::new(first + 1),
            percent: 0.0,
        }];
        let (mut size, mut weight) = (first + 1, 0);
        for (step, share) in steps {
            size += step;
            weight += share;
            let percent = f64::from(weight) / f64::from(total) * 100.0;
            points.push(SizePoint {
                size: Bytes::new(size),
                percent,
            });
        }
        SizeDistribution::new(points).unwrap()
    })
}

proptest! {
    #[test]
    fn samples_stay_within_and_ascend(sizes in distributions(), a in 0.0..1.0f64, b in 0.0..1.0f64) {
        let (low, high) = (sizes.sample(a.min(b)), sizes.sample(a.max(b)));
        prop_assert!(low <= high);
        prop_assert!(sizes.points()[0].size <= low);
        prop_assert!(high <= sizes.points()[sizes.points().len() - 1].size);
    }

    #[test]
    fn the_mean_is_that_of_samples(sizes in distributions()) {
        let count = 20_000;
        let sum: f64 = (0..count)
            .map(|i| sizes.sample((f64::from(i) + 0.5) / f64::from(count)).as_f64())
            .sum();
        // Truncation takes at most a byte, the grid less than a percent.
        prop_assert!((sum / f64::from(count) - sizes.mean()).abs() <= 1.0 + sizes.mean() * 0.01);
    }
}
