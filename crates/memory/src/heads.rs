//! Counting the heads of a shortcut block that are not greater than a given one: the inner loop of every
//! search.
//!
//! Heads are ascending 64-bit numbers, little-endian in memory. With vectors eight are compared at a time;
//! there are at most a few tens, so all of them are compared and no comparison decides where the next one is.

#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod x86;

/// One way to count.
pub type Variant = fn(&[u8], u64) -> usize;

const HEAD_BYTES: usize = size_of::<u64>();

/// How many heads are less or equal, counted with the fastest variant that this machine has. `heads` holds
/// eight bytes a head, ascending; bytes at the end that are no whole head are left out.
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

/// How many heads are less, counted in the same way.
#[must_use]
#[inline]
pub fn count_less(heads: &[u8], head: u64) -> usize {
    head.checked_sub(1).map_or(0, |less| count_not_greater(heads, less))
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
fn plain(heads: &[u8], head: u64) -> usize {
    heads.as_chunks::<HEAD_BYTES>().0.iter().filter(|bytes| u64::from_le_bytes(**bytes) <= head).count()
}
