//! The status of a completion.

use honeycomb_layout as layout;

macro_rules! statuses {
    ($($(#[$about:meta])* $name:ident = $value:expr,)*) => {
        /// The result of a request.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Status {
            $($(#[$about])* $name = $value as u8,)*
        }

        impl Status {
            /// Returns the status with this number; `None` if the number is unknown.
            #[must_use]
            #[inline]
            pub fn new(number: u8) -> Option<Self> {
                $(if number == $value as u8 {
                    return Some(Self::$name);
                })*
                None
            }
        }
    };
}

impl Status {
    /// Whether the request was executed.
    #[must_use]
    #[inline]
    pub fn is_executed(self) -> bool {
        matches!(self, Self::Found | Self::Absent)
    }
}

statuses! {
    /// The value or the pairs follow.
    Found = layout::STATUS_FOUND,
    /// The key of a get does not exist.
    Absent = layout::STATUS_ABSENT,
    /// A field has an invalid value, or the request is truncated. A truncated request consumes all bytes
    /// that follow it.
    Malformed = layout::STATUS_MALFORMED,
    /// The opcode is unknown, or the accelerator executes no functions over ranges.
    UnknownOpcode = layout::STATUS_UNKNOWN_OPCODE,
    /// A key is too long, or the key of a get is empty.
    KeyLength = layout::STATUS_KEY_LENGTH,
    /// The table has no root.
    UnknownTable = layout::STATUS_UNKNOWN_TABLE,
    /// The request names a version that is not pinned.
    VersionNotPinned = layout::STATUS_VERSION_NOT_PINNED,
    /// A device could not read an address, or read bytes that are not a node. Earlier completions of the
    /// request are void.
    Fault = layout::STATUS_FAULT,
    /// Earlier completions have used up the room. The reader may repeat the request. Earlier completions of
    /// the request are void.
    NoRoom = layout::STATUS_NO_ROOM,
    /// No function has the number of a term, it is of another kind, or its operands have another length.
    InvalidFunction = layout::STATUS_INVALID_FUNCTION,
}
