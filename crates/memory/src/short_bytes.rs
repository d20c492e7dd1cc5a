//! Copies of short keys and values, for which a call would take longer than the copy.

use std::ptr;

/// Most bytes that are appended without a call.
const SHORT_MAX: usize = 32;

/// Appends bytes.
#[inline(always)]
pub fn append(bytes: &[u8], out: &mut Vec<u8>) {
    append_with(bytes, out, |_| {});
}

/// Appends bytes. Calls `grow` first if there is no room for them.
#[inline(always)]
pub fn append_with(bytes: &[u8], out: &mut Vec<u8>, grow: impl FnOnce(&mut Vec<u8>)) {
    if !has_room(out, bytes.len()) {
        grow(out);
        return append_by_call(bytes, out);
    }
    if bytes.len() > SHORT_MAX {
        return append_by_call(bytes, out);
    }
    // Copies of constant length, which overlap.
    if append_ends::<16>(bytes, out) || append_ends::<8>(bytes, out) || append_ends::<1>(bytes, out) {
        return;
    }
    append_by_call(bytes, out);
}

#[inline(never)]
fn append_by_call(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(bytes);
}

#[inline(always)]
fn has_room(out: &Vec<u8>, bytes: usize) -> bool {
    out.capacity() - out.len() >= bytes
}

/// Appends from `LENGTH` to twice as many bytes, for which there is room, and returns true. Returns false for
/// other lengths.
#[inline(always)]
fn append_ends<const LENGTH: usize>(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    let (Some(first), Some(last)) = (bytes.first_chunk::<LENGTH>(), bytes.last_chunk::<LENGTH>()) else {
        return false;
    };
    let end = out.len() + bytes.len();
    if bytes.len() > 2 * LENGTH || !has_room(out, bytes.len()) {
        return false;
    }
    // SAFETY: the vector has room up to `end`, and the bytes before `end` are at least `LENGTH`. Both copies
    // together initialise all bytes up to `end`, because there are at most twice as many as one copies.
    unsafe {
        let start = out.as_mut_ptr();
        ptr::copy_nonoverlapping(first.as_ptr(), start.add(out.len()), LENGTH);
        ptr::copy_nonoverlapping(last.as_ptr(), start.add(end - LENGTH), LENGTH);
        out.set_len(end);
    }
    true
}

/// Copies bytes to a slice of the same length.
///
/// # Panics
/// If the lengths differ.
#[inline(always)]
pub fn copy(bytes: &[u8], out: &mut [u8]) {
    assert_eq!(bytes.len(), out.len(), "a copy has the same length");
    match bytes.len() {
        8..=15 => copy_ends_of_8(bytes, out),
        16..=SHORT_MAX => copy_ends_of_16(bytes, out),
        _ => out.copy_from_slice(bytes),
    }
}

/// Copies the first and the last eight bytes, as numbers: the compiler makes one call of copies of bytes in
/// several branches.
#[inline(always)]
fn copy_ends_of_8(bytes: &[u8], out: &mut [u8]) {
    let (mut first, mut last, at) = ([0; 8], [0; 8], bytes.len() - 8);
    first.copy_from_slice(&bytes[..8]);
    last.copy_from_slice(&bytes[at..]);
    let (first, last) = (u64::from_ne_bytes(first), u64::from_ne_bytes(last));
    out[..8].copy_from_slice(&first.to_ne_bytes());
    out[at..].copy_from_slice(&last.to_ne_bytes());
}

/// Like `copy_ends_of_8`, with sixteen bytes.
#[inline(always)]
fn copy_ends_of_16(bytes: &[u8], out: &mut [u8]) {
    let (mut first, mut last, at) = ([0; 16], [0; 16], bytes.len() - 16);
    first.copy_from_slice(&bytes[..16]);
    last.copy_from_slice(&bytes[at..]);
    let (first, last) = (u128::from_ne_bytes(first), u128::from_ne_bytes(last));
    out[..16].copy_from_slice(&first.to_ne_bytes());
    out[at..].copy_from_slice(&last.to_ne_bytes());
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_all_lengths_are_copied() {
        let bytes: Vec<u8> = (1..=100).collect();
        for length in 0..=bytes.len() {
            let mut out = vec![0; length];
            copy(&bytes[..length], &mut out);
            assert_eq!(out, bytes[..length]);
        }
    }

    #[test]
    #[should_panic(expected = "a copy has the same length")]
    fn bytes_are_not_copied_to_fewer() {
        copy(&[1; 16], &mut [0; 15]);
    }

    #[test]
    fn bytes_of_all_lengths_are_appended() {
        let bytes: Vec<u8> = (1..=100).collect();
        for length in 0..=bytes.len() {
            for capacity in [0, 1, 40, 300] {
                let mut out = Vec::with_capacity(capacity);
                out.push(0);
                append(&bytes[..length], &mut out);
                append(&bytes[..length], &mut out);
                assert_eq!(out, [&[0], &bytes[..length], &bytes[..length]].concat());
            }
        }
    }
}
