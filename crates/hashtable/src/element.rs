//! The types of the elements of values, and their arithmetic.

/// The type of an element. Values contain elements little-endian, without padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// An unsigned integer of one byte.
    U8,
    /// An unsigned integer of two bytes.
    U16,
    /// An unsigned integer of four bytes.
    U32,
    /// An unsigned integer of eight bytes.
    U64,
    /// A signed integer of one byte.
    I8,
    /// A signed integer of two bytes.
    I16,
    /// A signed integer of four bytes.
    I32,
    /// A signed integer of eight bytes.
    I64,
    /// A floating-point number of four bytes.
    F32,
    /// A floating-point number of eight bytes.
    F64,
}

impl Element {
    /// All types, in the order of their codes.
    pub const ALL: [Self; 10] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::F32,
        Self::F64,
    ];

    /// Bytes of an element.
    #[must_use]
    #[inline]
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }
}

/// The arithmetic that built-in functions need.
pub(crate) trait Number: Copy + PartialOrd {
    const BYTES: usize;
    fn read(bytes: &[u8]) -> Self;
    fn write(self, bytes: &mut [u8]);
    /// Wraps around, for integers.
    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    /// Saturates, for integers.
    fn add_saturating(self, other: Self) -> Self;
    fn subtract_saturating(self, other: Self) -> Self;
    /// `None` on overflow, for integers.
    fn add_checked(self, other: Self) -> Option<Self>;
    fn subtract_checked(self, other: Self) -> Option<Self>;
    fn minimum(self, other: Self) -> Self;
    fn maximum(self, other: Self) -> Self;
    /// Bitwise, for floating-point numbers on their representation.
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
}

macro_rules! bytes {
    () => {
        const BYTES: usize = size_of::<Self>();

        #[inline]
        fn read(bytes: &[u8]) -> Self {
            // The lengths of values and operands are checked, so there are enough bytes.
            bytes.first_chunk().map_or(Self::default(), |bytes| Self::from_le_bytes(*bytes))
        }

        #[inline]
        fn write(self, bytes: &mut [u8]) {
            bytes.copy_from_slice(&self.to_le_bytes());
        }
    };
}

macro_rules! method {
    ($($name:ident = $expression:expr;)*) => {
        $(#[inline]
        fn $name(self, other: Self) -> Self {
            let apply: fn(Self, Self) -> Self = $expression;
            apply(self, other)
        })*
    };
}

macro_rules! integer {
    ($($type:ty)*) => {
        $(impl Number for $type {
            bytes!();
            method! {
                add = Self::wrapping_add;
                subtract = Self::wrapping_sub;
                multiply = Self::wrapping_mul;
                add_saturating = Self::saturating_add;
                subtract_saturating = Self::saturating_sub;
                minimum = Ord::min;
                maximum = Ord::max;
                and = |a, b| a & b;
                or = |a, b| a | b;
                xor = |a, b| a ^ b;
            }

            #[inline]
            fn add_checked(self, other: Self) -> Option<Self> {
                self.checked_add(other)
            }

            #[inline]
            fn subtract_checked(self, other: Self) -> Option<Self> {
                self.checked_sub(other)
            }
        })*
    };
}

macro_rules! float {
    ($($type:ty)*) => {
        $(impl Number for $type {
            bytes!();
            method! {
                add = |a, b| a + b;
                subtract = |a, b| a - b;
                multiply = |a, b| a * b;
                add_saturating = |a, b| a + b;
                subtract_saturating = |a, b| a - b;
                minimum = Self::min;
                maximum = Self::max;
                and = |a, b| Self::from_bits(a.to_bits() & b.to_bits());
                or = |a, b| Self::from_bits(a.to_bits() | b.to_bits());
                xor = |a, b| Self::from_bits(a.to_bits() ^ b.to_bits());
            }

            #[inline]
            fn add_checked(self, other: Self) -> Option<Self> {
                Some(self + other)
            }

            #[inline]
            fn subtract_checked(self, other: Self) -> Option<Self> {
                Some(self - other)
            }
        })*
    };
}

integer! { u8 u16 u32 u64 i8 i16 i32 i64 }
float! { f32 f64 }
