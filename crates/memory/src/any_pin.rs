//! The pin of an operation: its own, or that of an operation that it is a part of.
//!
//! A thread that holds a pin and waits for another one can wait for ever, because the number of pins is
//! limited and all of them may be held by such threads. So the parts of an operation share one pin.

use std::ops::Deref;

use crate::epochs::Pin;

/// A pin that this operation has begun, or that its caller holds.
#[derive(Debug)]
#[must_use = "a pin of its own ends when it is dropped"]
pub enum AnyPin<'m> {
    /// The pin ends when it is dropped.
    Own(Pin<'m>),
    /// The pin of the caller.
    Borrowed(&'m Pin<'m>),
}

impl<'m> Deref for AnyPin<'m> {
    type Target = Pin<'m>;

    #[inline(always)]
    fn deref(&self) -> &Pin<'m> {
        match self {
            Self::Own(pin) => pin,
            Self::Borrowed(pin) => pin,
        }
    }
}
