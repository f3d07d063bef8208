//! A distribution of sizes: what is accepted can be sampled everywhere.
#![no_main]

use fairlane_scenario::SizeDistribution;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for file in ["sizes.txt", "sizes.toml"] {
        let Ok(sizes) = SizeDistribution::parse(text, file) else {
            continue;
        };
        let samples: Vec<u64> = (0..=16)
            .map(|i| sizes.sample(f64::from(i) / 16.0).get())
            .collect();
        assert!(samples[0] >= 1 && samples.is_sorted(), "{samples:?}");
        assert!(sizes.mean().is_finite());
    }
});
