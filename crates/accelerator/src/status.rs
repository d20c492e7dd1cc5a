//! What came of a request.

use honeycomb_layout as layout;

macro_rules! statuses {
    ($($(#[$about:meta])* $name:ident = $value:expr,)*) => {
        /// What came of a request.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Status {
            $($(#[$about])* $name = $value as u8,)*
        }

        impl Status {
            /// The status of that number, if there is one.
            #[must_use]
            pub fn new(number: u8) -> Option<Self> {
                $(if number == $value as u8 {
                    return Some(Self::$name);
                })*
                None
            }
        }
    };
}

statuses! {
    /// The value or the pairs follow.
    Found = layout::STATUS_FOUND,
    /// A get found no such key.
    Absent = layout::STATUS_ABSENT,
    /// A field has a value that is not allowed, or the request is cut off; then what follows it is lost.
    Malformed = layout::STATUS_MALFORMED,
    /// There is no such operation.
    UnknownOpcode = layout::STATUS_UNKNOWN_OPCODE,
    /// A key is too long, or the key of a get is empty.
    KeyLength = layout::STATUS_KEY_LENGTH,
    /// The table has no root.
    UnknownTable = layout::STATUS_UNKNOWN_TABLE,
    /// The read version is not held for any reader.
    VersionNotHeld = layout::STATUS_VERSION_NOT_HELD,
    /// A device could not read what it came to, or that is no node. What was continued is void.
    Fault = layout::STATUS_FAULT,
    /// Those before have used up the room for completions: it may be asked again. What was continued is void.
    NoRoom = layout::STATUS_NO_ROOM,
}
