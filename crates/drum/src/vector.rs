//! Loops in the widest instructions that the processor has.

/// Runs `work` compiled for 256-bit vectors where the processor has them. Its loops must be
/// inlined into it. The result has the same bits either way: products and sums are never fused.
#[inline(always)]
pub(crate) fn widest<T>(work: impl FnOnce() -> T) -> T {
    #[cfg(target_arch = "x86_64")]
    if let Some(wide) = pulp::x86::V3::try_new() {
        return wide.vectorize(work);
    }
    work()
}
