//! What is measured of messages that are divided among paths.

use fairlane_fabric::{MultipathRecord, Results};

/// Processor time in microseconds of all libraries, if there are any.
pub(crate) fn processor_time(results: &Results) -> Option<f64> {
    let record = results.multipath.as_ref()?;
    let MultipathRecord {
        post,
        poll,
        split,
        reassemble,
        ..
    } = record;
    let parts = [post, poll, split, reassemble];
    Some(parts.map(|part| part.as_secs_f64() * 1e6).iter().sum())
}

/// Mean over paths that carried chunks, in bytes, of the largest chunk that was allowed at the end.
pub(crate) fn chunk_limit(results: &Results) -> Option<f64> {
    let paths = &results.multipath.as_ref()?.paths;
    let used = paths.iter().filter(|path| path.chunks > 0);
    let limits: Vec<f64> = used
        .filter_map(|path| Some(path.chunk_limit?.as_f64()))
        .collect();
    let mean = limits.iter().sum::<f64>() / limits.len() as f64;
    Some(mean).filter(|mean| mean.is_finite())
}
