//! Counts the heads of a node that are at or below a given head: the inner loop of every search.
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
        match x86::level() {
            x86::Level::Avx512 => x86::avx512(heads, head),
            x86::Level::Avx2 => x86::avx2(heads, head),
            x86::Level::Plain => plain(heads, head),
        }
    }
    #[cfg(target_arch = "aarch64")]
    return neon::neon(heads, head);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    plain(heads, head)
}

/// Heads of a group, which [`Vectors::rank_in_group`] compares at once.
pub const GROUP: usize = 16;
/// Bytes of a group.
pub const GROUP_BYTES: usize = GROUP * HEAD_BYTES;

/// The instructions with which searches compare the heads of a group.
pub trait Vectors: Copy {
    /// Returns the number of heads of a group before the first one that is greater than `head`. Only the
    /// first `present` heads count, which may be more than the group has.
    fn rank_in_group(self, group: &[u8; GROUP_BYTES], present: usize, head: u64) -> usize;

    /// As [`Vectors::rank_in_group`], for two adjacent groups.
    #[inline(always)]
    fn rank_in_two_groups(self, groups: &[u8; 2 * GROUP_BYTES], present: usize, head: u64) -> usize {
        let (groups, _) = groups.as_chunks();
        match self.rank_in_group(&groups[0], present, head) {
            GROUP => GROUP + self.rank_in_group(&groups[1], present - GROUP, head),
            rank => rank,
        }
    }

    /// Returns the number of elements of a group before the first one that has the head of a key and a
    /// greater next head. `columns` and `key` have heads and next heads. Only the first `present` elements
    /// count.
    fn rank_of_next_head(self, columns: [&[u8; GROUP_BYTES]; 2], present: usize, key: [u64; 2]) -> usize;

    /// Returns the number of heads of a group but the first that are not greater than `head`.
    fn rank_after_first(self, group: &[u8; GROUP_BYTES], head: u64) -> usize;
}

/// Code that compares heads, compiled for each kind of instructions.
pub trait Vectorized {
    /// The result of the code.
    type Output;

    /// Runs the code with these instructions. It must be inlined, so that the instructions are.
    fn run(self, vectors: impl Vectors) -> Self::Output;
}

/// Runs code with the best instructions of this machine. The code itself is compiled with them, so it does
/// not choose and call them at each comparison.
#[inline]
pub fn vectorized<C: Vectorized>(code: C) -> C::Output {
    #[cfg(target_arch = "x86_64")]
    return x86::vectorized(code);
    #[cfg(not(target_arch = "x86_64"))]
    code.run(Portable)
}

/// Whether [`vectorized`] runs code with AVX.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn has_vectors() -> bool {
    x86::level() != x86::Level::Plain
}

/// The best instructions of this machine, chosen at each comparison.
#[derive(Debug, Clone, Copy)]
pub struct Detected;

impl Vectors for Detected {
    #[inline]
    fn rank_in_group(self, group: &[u8; GROUP_BYTES], present: usize, head: u64) -> usize {
        struct Rank<'g>(&'g [u8; GROUP_BYTES], usize, u64);
        impl Vectorized for Rank<'_> {
            type Output = usize;
            #[inline(always)]
            fn run(self, vectors: impl Vectors) -> usize {
                vectors.rank_in_group(self.0, self.1, self.2)
            }
        }
        vectorized(Rank(group, present, head))
    }

    #[inline]
    fn rank_in_two_groups(self, groups: &[u8; 2 * GROUP_BYTES], present: usize, head: u64) -> usize {
        struct Rank<'g>(&'g [u8; 2 * GROUP_BYTES], usize, u64);
        impl Vectorized for Rank<'_> {
            type Output = usize;
            #[inline(always)]
            fn run(self, vectors: impl Vectors) -> usize {
                vectors.rank_in_two_groups(self.0, self.1, self.2)
            }
        }
        vectorized(Rank(groups, present, head))
    }

    #[inline]
    fn rank_of_next_head(self, columns: [&[u8; GROUP_BYTES]; 2], present: usize, key: [u64; 2]) -> usize {
        struct Rank<'g>([&'g [u8; GROUP_BYTES]; 2], usize, [u64; 2]);
        impl Vectorized for Rank<'_> {
            type Output = usize;
            #[inline(always)]
            fn run(self, vectors: impl Vectors) -> usize {
                vectors.rank_of_next_head(self.0, self.1, self.2)
            }
        }
        vectorized(Rank(columns, present, key))
    }

    #[inline]
    fn rank_after_first(self, group: &[u8; GROUP_BYTES], head: u64) -> usize {
        struct Rank<'g>(&'g [u8; GROUP_BYTES], u64);
        impl Vectorized for Rank<'_> {
            type Output = usize;
            #[inline(always)]
            fn run(self, vectors: impl Vectors) -> usize {
                vectors.rank_after_first(self.0, self.1)
            }
        }
        vectorized(Rank(group, head))
    }
}

/// Instructions that every machine has.
#[derive(Debug, Clone, Copy)]
pub struct Portable;

impl Vectors for Portable {
    #[inline]
    fn rank_in_group(self, group: &[u8; GROUP_BYTES], present: usize, head: u64) -> usize {
        let (heads, _) = group[..HEAD_BYTES * present.min(GROUP)].as_chunks();
        heads.iter().take_while(|bytes| u64::from_le_bytes(**bytes) <= head).count()
    }

    #[inline]
    fn rank_of_next_head(self, columns: [&[u8; GROUP_BYTES]; 2], present: usize, key: [u64; 2]) -> usize {
        let [heads, next_heads] = columns.map(|column| column[..HEAD_BYTES * present].as_chunks().0);
        let mut both = heads.iter().zip(next_heads);
        both.position(|(head, next)| {
            u64::from_le_bytes(*head) == key[0] && u64::from_le_bytes(*next) > key[1]
        })
        .unwrap_or(present)
    }

    #[inline]
    fn rank_after_first(self, group: &[u8; GROUP_BYTES], head: u64) -> usize {
        plain(&group[HEAD_BYTES..], head)
    }
}

/// Calls `check` with each kind of instructions that this machine has, and its name.
pub fn for_each_kind(check: &mut impl ForEachKind) {
    check.check("portable", Portable);
    #[cfg(target_arch = "x86_64")]
    x86::for_each_kind(check);
}

/// A check of all kinds of instructions.
pub trait ForEachKind {
    /// Checks one kind.
    fn check(&mut self, name: &str, vectors: impl Vectors);
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
