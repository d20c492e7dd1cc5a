//! Names of values, which are the same on the command line, in tables and in JSON.

/// A table of values and their names.
pub type Named<T> = [(T, &'static str)];

/// Returns the name of a value, or an empty string if the table does not contain it.
pub fn name_of<T: PartialEq>(table: &Named<T>, value: &T) -> &'static str {
    table.iter().find(|(known, _)| known == value).map_or("", |(_, name)| name)
}

/// Returns the value with a name.
pub fn named<T: Copy>(table: &Named<T>, name: &str) -> Option<T> {
    table.iter().find(|(_, known)| *known == name).map(|(value, _)| *value)
}

/// Returns all names, separated by commas.
pub fn names<T>(table: &Named<T>) -> String {
    table.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
}

/// Implements the conversions with which serde represents a type by its name, through `Display` and
/// `FromStr`. The type needs `#[serde(try_from = "String", into = "String")]`.
#[macro_export]
macro_rules! serde_by_name {
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
