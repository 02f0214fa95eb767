//! The object that a request names.

/// An object in a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    /// The id of the bucket.
    pub bucket: String,
    /// The name of the object.
    pub name: String,
}

impl Target {
    /// Bucket and name with a slash between.
    pub fn path(&self) -> String {
        format!("{}/{}", self.bucket, self.name)
    }
}
