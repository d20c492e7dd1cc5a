//! Things that could not be done: counted, and the first few named, so that nothing is left out silently.

use crate::units;
use serde::Serialize;

const NAMED_MAX: usize = 5;

/// A count of things, the first few named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Noted {
    /// How many there are.
    pub(crate) count: u64,
    /// The first few.
    pub(crate) named: Vec<String>,
}

impl Noted {
    /// Counts one more.
    pub(crate) fn note(&mut self, name: impl FnOnce() -> String) {
        self.count += 1;
        if self.named.len() < NAMED_MAX {
            self.named.push(name());
        }
    }

    /// The count and the names: `2: /a, /b`.
    pub(crate) fn text(&self) -> String {
        let more = self.count - self.named.len() as u64;
        let and_more = if more > 0 { format!(" and {} more", units::count(more)) } else { String::new() };
        match self.count {
            0 => "0".into(),
            count => format!("{}: {}{and_more}", units::count(count), self.named.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_named_and_all_are_counted() {
        let mut noted = Noted::default();
        assert_eq!(noted.text(), "0");
        noted.note(|| "a".into());
        assert_eq!(noted.text(), "1: a");
        (0..5).for_each(|name| noted.note(|| name.to_string()));
        assert_eq!(noted.text(), "6: a, 0, 1, 2, 3 and 1 more");
    }
}
