//! Copies of short keys and values, for which a call would take longer than the copy.

/// Appends bytes.
#[inline(always)]
pub(crate) fn append(bytes: &[u8], out: &mut Vec<u8>) {
    match (bytes, bytes.first_chunk::<16>(), bytes.last_chunk::<16>()) {
        (&[byte], ..) => out.push(byte),
        // Two copies, which overlap.
        (_, Some(first), Some(last)) if bytes.len() <= 32 => {
            let end = out.len() + bytes.len();
            out.extend_from_slice(first);
            out.truncate(end - last.len());
            out.extend_from_slice(last);
        }
        _ => out.extend_from_slice(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_all_lengths_are_appended() {
        let bytes: Vec<u8> = (1..=100).collect();
        for length in 0..=bytes.len() {
            let mut out = vec![0];
            append(&bytes[..length], &mut out);
            append(&bytes[..length], &mut out);
            assert_eq!(out, [&[0], &bytes[..length], &bytes[..length]].concat());
        }
    }
}
