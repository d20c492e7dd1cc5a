//! The parts of values that functions over ranges see.

use honeycomb_hashtable::ValueColumn;

/// Chooses the part of each value that functions see, for programs whose values have a header.
pub trait ValueView: Send + Sync {
    /// Returns the part of a value; `None` omits the pair.
    fn part<'v>(&self, value: &'v [u8]) -> Option<&'v [u8]>;

    /// Returns the parts of all values of a column, if none is omitted and each begins at the same offset.
    /// After `None`, [`ValueView::part`] receives the values one by one.
    fn parts<'v>(&self, _values: ValueColumn<'v>) -> Option<ValueColumn<'v>> {
        None
    }
}
