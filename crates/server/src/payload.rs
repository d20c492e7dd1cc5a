//! The payload of `DUMP`: a string in the format of Redis files, with a footer.
//!
//! ```text
//! | type, 1 | string | version, 2 | CRC-64 of all before, 8 |
//! ```
//! Numbers of the footer are little-endian. A string begins with its length, big-endian, in 1, 2, 5 or 9
//! bytes, which the highest two bits of the first byte select. If both bits are set, the first byte announces
//! a little-endian number of 1, 2 or 4 bytes, or a compressed string.

use crc::{CRC_64_REDIS, Crc, Table};
use honeycomb_protocol::resp::{format_decimal, parse_decimal};

use crate::envelope::DATA_BYTES_MAX;
use crate::failure::Failure;
use crate::lzf;

/// The type of a string.
const STRING: u8 = 0;
/// The highest type of a value.
const TYPE_MAX: u8 = 25;
/// The version of written payloads. Redis 5.0 and later accept it, and the format of strings has not changed
/// since.
const VERSION_WRITTEN: u16 = 9;
/// The newest accepted version, that of Redis 8.
const VERSION_MAX: u16 = 12;
const FOOTER_BYTES: usize = 10;

/// Values of the first two bits of a length.
const IN_6_BITS: u8 = 0;
const IN_14_BITS: u8 = 1;
const IN_WORD: u8 = 2;
/// First bytes of lengths of four bytes, and of eight.
const IN_32_BITS: u8 = 0x80;
const IN_64_BITS: u8 = 0x81;
/// First bytes of integers and compressed strings.
const INTEGER_8: u8 = 0xc0;
const INTEGER_16: u8 = 0xc1;
const INTEGER_32: u8 = 0xc2;
const COMPRESSED: u8 = 0xc3;

static CRC: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_REDIS);

/// Returns the payload of a value.
pub(crate) fn write(data: &[u8]) -> Vec<u8> {
    let mut payload = Vec::with_capacity(data.len() + 16);
    payload.push(STRING);
    let number = parse_decimal(data).and_then(|number| i32::try_from(number).ok());
    match number {
        Some(number) => write_integer(number, &mut payload),
        None => {
            write_length(data.len(), &mut payload);
            payload.extend_from_slice(data);
        }
    }
    payload.extend_from_slice(&VERSION_WRITTEN.to_le_bytes());
    payload.extend_from_slice(&CRC.checksum(&payload).to_le_bytes());
    payload
}

fn write_integer(number: i32, payload: &mut Vec<u8>) {
    if let Ok(number) = i8::try_from(number) {
        payload.push(INTEGER_8);
        payload.extend_from_slice(&number.to_le_bytes());
    } else if let Ok(number) = i16::try_from(number) {
        payload.push(INTEGER_16);
        payload.extend_from_slice(&number.to_le_bytes());
    } else {
        payload.push(INTEGER_32);
        payload.extend_from_slice(&number.to_le_bytes());
    }
}

fn write_length(length: usize, payload: &mut Vec<u8>) {
    match length {
        0..0x40 => payload.push(length as u8),
        0x40..0x4000 => payload.extend_from_slice(&(IN_14_BITS_FIRST | length as u16).to_be_bytes()),
        // Values are shorter than four gigabytes.
        _ => {
            payload.push(IN_32_BITS);
            payload.extend_from_slice(&(length as u32).to_be_bytes());
        }
    }
}

/// The first bits of a length of 14 bits, in two bytes.
const IN_14_BITS_FIRST: u16 = 0x4000;

/// Returns the length of the value of a payload with a compressed string, or 0 for any other payload.
pub(crate) fn expanded_bytes(payload: &[u8]) -> usize {
    let Some((&[STRING, COMPRESSED], mut rest)) = payload.split_first_chunk() else { return 0 };
    let lengths = read_length(&mut rest).zip(read_length(&mut rest));
    lengths.map_or(0, |(_, length)| usize::try_from(length).unwrap_or(usize::MAX))
}

/// Returns the value of a payload.
pub(crate) fn read(payload: &[u8]) -> Result<Vec<u8>, Failure> {
    let body = check_footer(payload).ok_or(Failure::Payload)?;
    match body.split_first() {
        Some((&STRING, string)) => read_string(string)?.ok_or(Failure::DataFormat),
        Some((1..=TYPE_MAX, _)) => Err(Failure::other("Bad data format: only strings can be restored")),
        _ => Err(Failure::DataFormat),
    }
}

/// Returns the part before the footer if the footer is valid.
fn check_footer(payload: &[u8]) -> Option<&[u8]> {
    let (body, footer) = payload.split_at_checked(payload.len().checked_sub(FOOTER_BYTES)?)?;
    let (version, crc) = footer.split_first_chunk::<2>()?;
    let is_right = u16::from_le_bytes(*version) <= VERSION_MAX
        && crc == CRC.checksum(&payload[..body.len() + version.len()]).to_le_bytes();
    is_right.then_some(body)
}

/// Decodes a complete string. Returns `None` if the bytes are malformed.
fn read_string(bytes: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
    let Some((first, mut rest)) = bytes.split_first() else { return Ok(None) };
    let integer =
        |bytes: &[u8], length| (bytes.len() == length).then(|| format_decimal(little_endian(bytes)));
    match *first {
        INTEGER_8 => Ok(integer(rest, 1)),
        INTEGER_16 => Ok(integer(rest, 2)),
        INTEGER_32 => Ok(integer(rest, 4)),
        COMPRESSED => {
            let lengths = read_length(&mut rest).zip(read_length(&mut rest));
            let Some((compressed, length)) = lengths else { return Ok(None) };
            if length > DATA_BYTES_MAX as u64 {
                return Err(Failure::TooLong);
            }
            Ok((rest.len() as u64 == compressed)
                .then_some(rest)
                .and_then(|rest| lzf::expand(rest, length as usize)))
        }
        _ => {
            rest = bytes;
            let Some(length) = read_length(&mut rest) else { return Ok(None) };
            Ok((rest.len() as u64 == length).then(|| rest.to_vec()))
        }
    }
}

/// Decodes a signed number of at most 4 bytes.
fn little_endian(bytes: &[u8]) -> i64 {
    let unsigned = bytes.iter().rev().fold(0_i64, |number, byte| number << 8 | i64::from(*byte));
    let unused = 64 - 8 * bytes.len();
    unsigned << unused >> unused
}

/// Decodes the length at the front and removes it.
fn read_length(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first()?;
    let low = u64::from(first & 0x3f);
    let (length, rest) = match first >> 6 {
        IN_6_BITS => (low, rest),
        IN_14_BITS => rest.split_first().map(|(second, rest)| (low << 8 | u64::from(*second), rest))?,
        IN_WORD if *first == IN_32_BITS => {
            rest.split_first_chunk().map(|(length, rest)| (u64::from(u32::from_be_bytes(*length)), rest))?
        }
        IN_WORD if *first == IN_64_BITS => {
            rest.split_first_chunk().map(|(length, rest)| (u64::from_be_bytes(*length), rest))?
        }
        _ => return None,
    };
    *bytes = rest;
    Some(length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a payload with a valid footer.
    fn sealed(body: &[u8], version: u16) -> Vec<u8> {
        let mut payload = [body, &version.to_le_bytes()].concat();
        payload.extend_from_slice(&CRC.checksum(&payload).to_le_bytes());
        payload
    }

    /// Payloads of these values from Redis 7.0.
    #[test]
    fn payloads_of_redis_are_read() {
        let repeated = [&b"ab".repeat(40)[..], b"tail"].concat();
        let payloads: [(&[u8], &[u8]); 8] = [
            (b"bar", b"\x00\x03\x62\x61\x72\x0a\x00\xe6\xbe\x49\x60\xee\x66\xfd\x17"),
            (b"", b"\x00\x00\x0a\x00\x5d\x9b\x5c\x40\x0f\x7f\xa2\xda"),
            (b"12", b"\x00\xc0\x0c\x0a\x00\x3c\x2a\xf8\x51\x5c\x04\xbc\xd5"),
            (b"-129", b"\x00\xc1\x7f\xff\x0a\x00\x17\x60\x82\x28\x54\x80\x84\x80"),
            (b"100000", b"\x00\xc2\xa0\x86\x01\x00\x0a\x00\xf1\x24\x03\x50\x6f\x2f\xa6\x74"),
            (b"12345678901", b"\x00\x0b12345678901\x0a\x00\x30\x4e\x52\xd7\x27\x17\x65\x10"),
            (
                &[b'x'; 300],
                b"\x00\xc3\x0c\x41\x2c\x01\x78\x78\xe0\xff\x00\xe0\x17\x00\x01\x78\x78\x0a\x00\
                  \xf0\x33\x19\x5a\x8b\x66\x0d\x84",
            ),
            (
                &repeated,
                b"\x00\xc3\x0c\x40\x54\x02\x61\x62\x61\xe0\x44\x01\x03tail\x0a\x00\
                  \xef\x99\xa9\x33\x6d\xac\x7a\x8e",
            ),
        ];
        for (value, payload) in payloads {
            assert_eq!(read(payload).as_deref(), Ok(value), "{}", payload.escape_ascii());
        }
    }

    #[test]
    fn written_payloads_are_read() {
        let long = vec![b'x'; 20_000];
        for value in
            [&b""[..], b"0", b"-1", b"127", b"128", b"-129", b"40000", b"-2147483648", b"2147483648", b"007"]
        {
            assert_eq!(read(&write(value)).as_deref(), Ok(value), "{}", value.escape_ascii());
        }
        for length in [63, 64, 16383, 16384, 20_000] {
            assert_eq!(read(&write(&long[..length])).as_deref(), Ok(&long[..length]));
        }
        assert_eq!(write(b"-129")[..4], [STRING, INTEGER_16, 0x7f, 0xff]);
        assert_eq!(write(b"2147483648")[..2], [STRING, 10]);
    }

    #[test]
    fn every_encoding_of_a_string() {
        let cases: [(&[u8], &[u8]); 7] = [
            (b"\x00\x03abc", b"abc"),
            (b"\x00\x40\x03abc", b"abc"),
            (b"\x00\x80\x00\x00\x00\x03abc", b"abc"),
            (b"\x00\x81\x00\x00\x00\x00\x00\x00\x00\x03abc", b"abc"),
            (b"\x00\xc0\xff", b"-1"),
            (b"\x00\xc2\x00\x00\x00\x80", b"-2147483648"),
            // Two bytes, and a back-reference of eight.
            (b"\x00\xc3\x05\x0a\x01ab\xc0\x01", b"ababababab"),
        ];
        for (body, value) in cases {
            assert_eq!(read(&sealed(body, 12)).as_deref(), Ok(value), "{}", body.escape_ascii());
        }
    }

    #[test]
    fn malformed_payloads_are_rejected() {
        let whole = write(b"value");
        for length in 0..whole.len() {
            assert_eq!(read(&whole[..length]), Err(Failure::Payload));
        }
        for place in 0..whole.len() {
            let mut changed = whole.clone();
            changed[place] ^= 0x20;
            assert_eq!(read(&changed), Err(Failure::Payload));
        }
        assert_eq!(read(&sealed(b"\x00\x03abc", VERSION_MAX + 1)), Err(Failure::Payload));
        let malformed: [&[u8]; 8] =
            [b"", b"\x00", b"\x00\x04abc", b"\x00\x02abc", b"\x00\x82", b"\x00\xc4", b"\x00\xc0", b"\xff"];
        for body in malformed {
            assert_eq!(read(&sealed(body, 9)), Err(Failure::DataFormat), "{}", body.escape_ascii());
        }
        assert_eq!(
            read(&sealed(b"\x00\xc3\x01\x81\x00\x00\x00\xff\xff\xff\xff\xff\x00", 9)),
            Err(Failure::TooLong)
        );
        assert!(matches!(read(&sealed(b"\x01\x00", 9)), Err(Failure::Other(_))));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_string_or_an_error(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            for kind in [None, Some(COMPRESSED)] {
                let body: Vec<u8> = [STRING].into_iter().chain(kind).chain(body.iter().copied()).collect();
                if let Ok(value) = read(&sealed(&body, 9)) {
                    prop_assert_eq!(read(&write(&value)), Ok(value));
                }
            }
        }

        #[test]
        fn any_value_is_read_as_it_was_written(value: Vec<u8>) {
            prop_assert_eq!(read(&write(&value)), Ok(value));
        }
    }
}
