//! What a device has, counted for tests.

use super::Engine;

/// Protection domains, regions and windows, completion queues, queue pairs, queues of receives, receives and requests.
pub(crate) fn live(engine: &Engine) -> [usize; 7] {
    let [domains, regions] = engine.keys.live();
    let receives = engine.receives.iter().map(|(_, queue)| queue.live()).sum();
    [
        domains,
        regions,
        engine.completions.iter().count(),
        engine.pairs.iter().count(),
        engine.receives.iter().count(),
        receives,
        engine.works.iter().count(),
    ]
}
