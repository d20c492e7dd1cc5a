//! Things that have a name: on the command line, in tables and in JSON they are written alike.

/// Lets JSON write a type by its name, so as `Display` prints and `FromStr` reads it. The type says
/// `#[serde(try_from = "String", into = "String")]`.
macro_rules! written_by_name {
    ($type:ty) => {
        impl TryFrom<String> for $type {
            type Error = $crate::map::Failure;

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

pub(crate) use written_by_name;
