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
        let has_written = matches!(self, Self::Inserted | Self::Updated | Self::Deleted | Self::Original);
        let has_not =
            matches!(self, Self::Found | Self::Absent | Self::Exists | Self::Mismatch | Self::NotElements);
        has_written || has_not
    }
}

statuses! {
    /// The value or the pairs follow.
    Found = layout::STATUS_FOUND,
    /// The key does not exist.
    Absent = layout::STATUS_ABSENT,
    /// A field has an invalid value, or the request is truncated. A truncated request consumes all bytes
    /// that follow it.
    Malformed = layout::STATUS_MALFORMED,
    /// The opcode is unknown, or the accelerator executes no functions over ranges, or no operations on
    /// unordered tables.
    UnknownOpcode = layout::STATUS_UNKNOWN_OPCODE,
    /// A key is too long, or the key of a get or of an operation on an unordered table is empty.
    KeyLength = layout::STATUS_KEY_LENGTH,
    /// The table has no root, or there is no unordered table of this number.
    UnknownTable = layout::STATUS_UNKNOWN_TABLE,
    /// The request names a version that is not pinned.
    VersionNotPinned = layout::STATUS_VERSION_NOT_PINNED,
    /// A device could not read an address, or read bytes that are not a node. Earlier completions of the
    /// request are void.
    Fault = layout::STATUS_FAULT,
    /// Earlier completions have used up the room, and the request has changed nothing. The reader may repeat
    /// it. Earlier completions of the request are void.
    NoRoom = layout::STATUS_NO_ROOM,
    /// No function has the number, it is of another kind, or its operands have another length.
    InvalidFunction = layout::STATUS_INVALID_FUNCTION,
    /// The key was absent and has the value now.
    Inserted = layout::STATUS_INSERTED,
    /// The value is replaced.
    Updated = layout::STATUS_UPDATED,
    /// The pair is removed.
    Deleted = layout::STATUS_DELETED,
    /// The key of an insert exists.
    Exists = layout::STATUS_EXISTS,
    /// The current value, which differs from the expected one, follows.
    Mismatch = layout::STATUS_MISMATCH,
    /// A function has changed the value. The original one follows.
    Original = layout::STATUS_ORIGINAL,
    /// The value does not consist of elements of the function: of one for a scalar, or of as many as the
    /// vector has.
    NotElements = layout::STATUS_NOT_ELEMENTS,
    /// A value of the request is too long for one.
    ValueLength = layout::STATUS_VALUE_LENGTH,
    /// There is no memory for the new value. Nothing has changed.
    OutOfMemory = layout::STATUS_OUT_OF_MEMORY,
}
