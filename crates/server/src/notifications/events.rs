//! Events of keys: their classes and names, which are those of Redis.

use crate::arguments::is;

/// A choice of classes of events and of channels, as `notify-keyspace-events` has it. Default: nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Notify(u16);

/// The letters of the parameter. `A` is short for those of the classes.
const LETTERS: [(char, Notify); 6] = [
    ('g', Notify::GENERIC),
    ('$', Notify::STRING),
    ('x', Notify::EXPIRED),
    ('e', Notify::EVICTED),
    ('K', Notify::KEYSPACE),
    ('E', Notify::KEYEVENT),
];

/// Classes of types that the server does not have. `A` contains them, so clients may name them.
const OTHER_TYPES: &str = "lshztd";

/// A change of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) class: Notify,
    pub(crate) name: &'static str,
    pub(crate) database: usize,
    pub(crate) key: Vec<u8>,
}

/// The events of a command: when it puts a pair, and when it deletes one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventNames {
    put: (Notify, &'static str),
    delete: &'static str,
}

impl Notify {
    pub(crate) const GENERIC: Self = Self(1);
    pub(crate) const STRING: Self = Self(2);
    pub(crate) const EXPIRED: Self = Self(4);
    pub(crate) const EVICTED: Self = Self(8);
    /// The channels that are named after keys.
    pub(crate) const KEYSPACE: Self = Self(16);
    /// The channels that are named after events.
    pub(crate) const KEYEVENT: Self = Self(32);
    const CLASSES: Self = Self(15);

    /// Parses letters; `None` if one of them is not allowed.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let letter = |letter: char| match LETTERS.iter().find(|(one, _)| *one == letter) {
            Some((_, notify)) => Some(*notify),
            None if letter == 'A' => Some(Self::CLASSES),
            None => OTHER_TYPES.contains(letter).then_some(Self(0)),
        };
        text.chars().try_fold(Self(0), |all, one| Some(Self(all.0 | letter(one)?.0)))
    }

    /// Returns the letters in the order in which Redis shows them.
    #[must_use]
    pub fn show(self) -> String {
        let all = self.has(Self::CLASSES);
        let is_shown = |one: Self| self.has(one) && !(all && Self::CLASSES.has(one));
        let letters = LETTERS.iter().filter(|(_, one)| is_shown(*one)).map(|(letter, _)| *letter);
        all.then_some('A').into_iter().chain(letters).collect()
    }

    /// Returns whether it contains all of `other`.
    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl Event {
    /// Returns the event of a pair that has expired.
    pub(crate) fn expired(database: usize, key: &[u8]) -> Self {
        Self { class: Notify::EXPIRED, name: "expired", database, key: key.to_vec() }
    }
}

impl EventNames {
    /// Returns the events of a command.
    pub(crate) fn of(command: &[u8]) -> Self {
        let is_one_of = |names: &[&str]| names.iter().any(|name| is(command, name));
        let string = |name| Self { put: (Notify::STRING, name), delete: "del" };
        let generic = |put, delete| Self { put: (Notify::GENERIC, put), delete };
        match () {
            () if is_one_of(&["append"]) => string("append"),
            () if is_one_of(&["setrange"]) => string("setrange"),
            () if is_one_of(&["incr", "decr", "incrby", "decrby"]) => string("incrby"),
            () if is_one_of(&["incrbyfloat"]) => string("incrbyfloat"),
            () if is_one_of(&["setbit", "bitfield"]) => string("setbit"),
            () if is_one_of(&["expire", "pexpire", "expireat", "pexpireat", "getex"]) => {
                generic("expire", "del")
            }
            () if is_one_of(&["persist"]) => generic("persist", "del"),
            () if is_one_of(&["copy"]) => generic("copy_to", "del"),
            () if is_one_of(&["restore"]) => generic("restore", "del"),
            () if is_one_of(&["rename", "renamenx"]) => generic("rename_to", "rename_from"),
            () if is_one_of(&["move"]) => generic("move_to", "move_from"),
            () => string("set"),
        }
    }

    /// Returns the events of a put, which sets a deadline or none.
    pub(crate) fn put(self, database: usize, key: &[u8], has_deadline: bool) -> impl Iterator<Item = Event> {
        let (class, name) = self.put;
        let name = if name == "expire" && !has_deadline { "persist" } else { name };
        let also = (self.has_set() && has_deadline).then_some((Notify::GENERIC, "expire"));
        let event = move |(class, name)| Event { class, name, database, key: key.to_vec() };
        std::iter::once((class, name)).chain(also).map(event)
    }

    /// Returns whether a put has the event `set`.
    pub(crate) fn has_set(self) -> bool {
        self.put.1 == "set"
    }

    /// Returns the event of the deletion of a pair.
    pub(crate) fn delete(self, database: usize, key: &[u8]) -> Event {
        Event { class: Notify::GENERIC, name: self.delete, database, key: key.to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_parsed_and_shown_as_redis_does() {
        for (text, shown) in
            [("", ""), ("KEA", "AKE"), ("Ex", "xE"), ("xeg$K", "AK"), ("K$lshztd", "$K"), ("AKE", "AKE")]
        {
            assert_eq!(Notify::parse(text).map(Notify::show).as_deref(), Some(shown), "{text}");
        }
        for text in ["m", "Kn", "k", "K E"] {
            assert_eq!(Notify::parse(text), None, "{text}");
        }
    }
}
