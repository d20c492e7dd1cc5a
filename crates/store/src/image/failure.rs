//! Errors of images.

use honeycomb_log::LogError;

use crate::error::{Error, ImageError};

/// The name of an image in errors of its format.
pub(super) const NAME: &str = "image";

/// Returns the error of an image for one of its format.
pub(super) fn failure(error: LogError) -> Error {
    match error {
        LogError::Io { source, .. } => ImageError::Io(source).into(),
        LogError::Format { found, supported, .. } => ImageError::Format { found, supported }.into(),
        LogError::Corrupt { offset, rule, .. } => ImageError::Invalid { offset, rule }.into(),
        other => other.into(),
    }
}
