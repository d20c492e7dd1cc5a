//! Things that have a name: on the command line, in tables and in JSON they are written alike.

/// A table of things and their names.
pub type Named<T> = [(T, &'static str)];

/// The name of a thing; empty if it is not in the table.
pub fn name_of<T: PartialEq>(table: &Named<T>, thing: &T) -> &'static str {
    table.iter().find(|(known, _)| known == thing).map_or("", |(_, name)| name)
}

/// The thing of a name.
pub fn named<T: Copy>(table: &Named<T>, name: &str) -> Option<T> {
    table.iter().find(|(_, known)| *known == name).map(|(thing, _)| *thing)
}

/// All names, one after the other.
pub fn names<T>(table: &Named<T>) -> String {
    table.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
}

/// Lets JSON write a type by its name, so as `Display` prints and `FromStr` reads it. The type says
/// `#[serde(try_from = "String", into = "String")]`.
#[macro_export]
macro_rules! written_by_name {
    ($type:ty) => {
        impl TryFrom<String> for $type {
            type Error = $crate::Failure;

            fn try_from(name: String) -> Result<$type, Self::Error> {
                name.parse()
            }
        }

        impl From<$type> for String {
            fn from(named: $type) -> String {
                named.to_string()
            }
        }
    };
}
