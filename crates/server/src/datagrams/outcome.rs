//! The outcome of an operation in a datagram.

use honeycomb_protocol::{batch, ocsm};
use honeycomb_store::Error;

use crate::embedder::Panicked;

/// The outcome of a write, or of a read that returns no pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    Absent,
    Exists,
    Differs,
    KeyLength,
    NotAllowed,
    OutOfMemory,
    Failed,
    TooLarge,
    NotApplicable,
    /// The packet has too many functions over ranges.
    NoRoom,
    /// An update of a scalar with a function is done. This was the scalar.
    Original(Scalar),
}

/// A value of up to eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scalar {
    bytes: [u8; SCALAR_BYTES_MAX],
    length: u8,
}

const SCALAR_BYTES_MAX: usize = 8;

impl Scalar {
    /// Returns `None` for longer values.
    pub(super) fn new(value: &[u8]) -> Option<Self> {
        let mut bytes = [0; SCALAR_BYTES_MAX];
        bytes.get_mut(..value.len())?.copy_from_slice(value);
        Some(Self { bytes, length: value.len() as u8 })
    }

    pub(super) fn value(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl Outcome {
    const PLAIN: [Self; 11] = [
        Self::Done,
        Self::Absent,
        Self::Exists,
        Self::Differs,
        Self::KeyLength,
        Self::NotAllowed,
        Self::OutOfMemory,
        Self::Failed,
        Self::TooLarge,
        Self::NotApplicable,
        Self::NoRoom,
    ];
    /// Codes from this one on are that of an original scalar plus its length.
    const ORIGINAL: u8 = Self::PLAIN.len() as u8;

    /// Returns whether a write has taken effect.
    pub(super) fn is_done(&self) -> bool {
        matches!(self, Self::Done | Self::Original(_))
    }

    /// Appends the code that the window of a session stores for repeated requests: one byte, and an original
    /// scalar.
    pub(super) fn encode(self, out: &mut Vec<u8>) {
        if let Self::Original(scalar) = self {
            out.push(Self::ORIGINAL + scalar.length);
            out.extend_from_slice(scalar.value());
        } else {
            out.extend(Self::PLAIN.iter().position(|plain| *plain == self).map(|code| code as u8));
        }
    }

    /// Decodes the first outcome, and removes it from the codes. `None` if there is none.
    pub(super) fn decode(codes: &mut &[u8]) -> Option<Self> {
        let (&code, rest) = codes.split_first()?;
        *codes = rest;
        if let Some(plain) = Self::PLAIN.get(usize::from(code)) {
            return Some(*plain);
        }
        let (scalar, rest) = rest.split_at_checked(usize::from(code - Self::ORIGINAL))?;
        *codes = rest;
        Scalar::new(scalar).map(Self::Original)
    }

    /// The item of a reply; that of an original scalar contains the scalar.
    pub(super) fn item(&self) -> batch::Item<'_> {
        match self {
            Self::Done => batch::Item::Done { more: false },
            Self::Absent => batch::Item::Absent,
            Self::Exists => batch::Item::Exists,
            Self::Differs => batch::Item::Differs,
            Self::KeyLength => batch::Item::KeyLength,
            Self::OutOfMemory => batch::Item::OutOfMemory,
            Self::NotAllowed | Self::Failed => batch::Item::Failed,
            Self::TooLarge => batch::Item::TooLarge,
            Self::NotApplicable => batch::Item::NotApplicable,
            Self::NoRoom => batch::Item::NoRoom,
            Self::Original(scalar) => batch::Item::Found(scalar.value()),
        }
    }

    pub(super) fn status(self) -> ocsm::Status {
        match self {
            Self::Done => ocsm::Status::Done,
            Self::Absent => ocsm::Status::Absent,
            Self::Exists => ocsm::Status::Exists,
            Self::NotAllowed | Self::KeyLength => ocsm::Status::NotAllowed,
            Self::OutOfMemory => ocsm::Status::OutOfMemory,
            // Storage messages have no functions.
            Self::Differs
            | Self::Failed
            | Self::TooLarge
            | Self::NotApplicable
            | Self::NoRoom
            | Self::Original(_) => ocsm::Status::Failed,
        }
    }
}

impl From<Panicked> for Outcome {
    fn from(_: Panicked) -> Self {
        Self::Failed
    }
}

impl From<Error> for Outcome {
    fn from(error: Error) -> Self {
        match error {
            Error::OutOfMemory { .. } => Self::OutOfMemory,
            Error::KeyLength { .. } => Self::KeyLength,
            Error::Function(_) => Self::NotApplicable,
            _ => Self::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_decode_to_their_outcomes() {
        let scalars = [&b""[..], b"a", b"abcd", b"abcdefgh"];
        let originals = scalars.map(|scalar| Outcome::Original(Scalar::new(scalar).unwrap()));
        let outcomes = [&Outcome::PLAIN[..], &originals].concat();
        let mut codes = Vec::new();
        outcomes.iter().for_each(|outcome| outcome.encode(&mut codes));
        assert_eq!(codes.len(), outcomes.len() + 13);
        let mut rest = &codes[..];
        let decoded: Vec<_> = std::iter::from_fn(|| Outcome::decode(&mut rest)).collect();
        assert_eq!(decoded, outcomes);
        assert_eq!(Scalar::new(b"123456789"), None);
    }
}
