//! The outcome of an operation in a datagram.

use honeycomb_protocol::{batch, ocsm};
use honeycomb_store::Error;

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
}

impl Outcome {
    const ALL: [Self; 8] = [
        Self::Done,
        Self::Absent,
        Self::Exists,
        Self::Differs,
        Self::KeyLength,
        Self::NotAllowed,
        Self::OutOfMemory,
        Self::Failed,
    ];

    /// Returns the code that the window of a session stores for repeated requests.
    pub(super) fn code(self) -> u8 {
        self as u8
    }

    pub(super) fn of_code(code: u8) -> Self {
        Self::ALL.get(usize::from(code)).copied().unwrap_or(Self::Failed)
    }

    pub(super) fn item(self) -> batch::Item<'static> {
        match self {
            Self::Done => batch::Item::Done { more: false },
            Self::Absent => batch::Item::Absent,
            Self::Exists => batch::Item::Exists,
            Self::Differs => batch::Item::Differs,
            Self::KeyLength => batch::Item::KeyLength,
            Self::OutOfMemory => batch::Item::OutOfMemory,
            Self::NotAllowed | Self::Failed => batch::Item::Failed,
        }
    }

    pub(super) fn status(self) -> ocsm::Status {
        match self {
            Self::Done => ocsm::Status::Done,
            Self::Absent => ocsm::Status::Absent,
            Self::Exists => ocsm::Status::Exists,
            Self::NotAllowed | Self::KeyLength => ocsm::Status::NotAllowed,
            Self::OutOfMemory => ocsm::Status::OutOfMemory,
            Self::Differs | Self::Failed => ocsm::Status::Failed,
        }
    }
}

impl From<Error> for Outcome {
    fn from(error: Error) -> Self {
        match error {
            Error::OutOfMemory { .. } => Self::OutOfMemory,
            Error::KeyLength { .. } => Self::KeyLength,
            _ => Self::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_decode_to_their_outcomes() {
        for outcome in Outcome::ALL {
            assert_eq!(Outcome::of_code(outcome.code()), outcome);
        }
        assert_eq!(Outcome::of_code(8), Outcome::Failed);
    }
}
