//! Counting the heads of a shortcut block that are smaller than a given one: the inner loop of every search.
//!
//! Heads are ascending 64-bit numbers, little-endian in memory. With vectors eight are compared at a time;
//! there are at most a few tens, so all of them are compared and no comparison decides where the next one is.

#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod x86;

/// How many heads are less than a given one, and how many are less or equal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Heads that are less.
    pub less: usize,
    /// Heads that are less or equal.
    pub less_or_equal: usize,
}

/// One way to count.
pub type Variant = fn(&[u8], u64) -> Count;

const HEAD_BYTES: usize = size_of::<u64>();

/// Counts with the fastest variant that this machine has. `heads` holds eight bytes a head, ascending; bytes
/// at the end that are no whole head are left out.
#[must_use]
#[inline]
pub fn count(heads: &[u8], head: u64) -> Count {
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

/// All variants that this machine has, by name; the plain one comes first.
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
fn plain(heads: &[u8], head: u64) -> Count {
    let mut count = Count::default();
    for bytes in heads.as_chunks::<HEAD_BYTES>().0 {
        let other = u64::from_le_bytes(*bytes);
        count.less += usize::from(other < head);
        count.less_or_equal += usize::from(other <= head);
    }
    count
}
