//! Counts the heads of a shortcut block that are at or below a given head: the inner loop of every search.
//!
//! Heads are ascending 64-bit numbers, little-endian in memory. Vector instructions compare up to eight at a
//! time. A block has at most a few tens of heads, so the code compares all of them: no comparison depends on
//! the result of another one.

#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod x86;

/// An implementation of [`count_not_greater`].
pub type Variant = fn(&[u8], u64) -> usize;

const HEAD_BYTES: usize = size_of::<u64>();

/// Counts the heads that are less than or equal to `head`, with the fastest variant of this machine. `heads`
/// contains eight bytes for each head, in ascending order. An incomplete head at the end is ignored.
#[must_use]
#[inline]
pub fn count_not_greater(heads: &[u8], head: u64) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        if x86::has_avx512() {
            return x86::avx512(heads, head);
        }
        if x86::has_avx2() {
            return x86::avx2(heads, head);
        }
        plain(heads, head)
    }
    #[cfg(target_arch = "aarch64")]
    return neon::neon(heads, head);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    plain(heads, head)
}

/// Counts the heads that are less than `head`, in the same way.
#[must_use]
#[inline]
pub fn count_less(heads: &[u8], head: u64) -> usize {
    head.checked_sub(1).map_or(0, |less| count_not_greater(heads, less))
}

/// Returns all variants that this machine supports, with their names. The portable one comes first.
#[must_use]
pub fn variants() -> Vec<(&'static str, Variant)> {
    let mut variants: Vec<(&'static str, Variant)> = vec![("plain", plain)];
    #[cfg(target_arch = "x86_64")]
    {
        if x86::has_avx2() {
            variants.push(("avx2", x86::avx2));
        }
        if x86::has_avx512() {
            variants.push(("avx512", x86::avx512));
        }
    }
    #[cfg(target_arch = "aarch64")]
    variants.push(("neon", neon::neon));
    variants
}

#[inline]
fn plain(heads: &[u8], head: u64) -> usize {
    heads.as_chunks::<HEAD_BYTES>().0.iter().filter(|bytes| u64::from_le_bytes(**bytes) <= head).count()
}
