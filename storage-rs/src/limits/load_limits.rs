//! How many uploads and images at a time, and in which time.

/// The limits, as the settings have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadLimits {
    /// The most uploads at a time.
    pub uploads: usize,
    /// The most uploads at a time from one network.
    pub uploads_per_network: usize,
    /// The most resumable uploads, and of those of several parts, that a user may have open.
    pub open_uploads: usize,
    /// The images that are transformed for one network in a minute; 0 for any number.
    pub images_per_minute: u32,
}

impl Default for LoadLimits {
    fn default() -> Self {
        Self { uploads: 400, uploads_per_network: 100, open_uploads: 1000, images_per_minute: 1000 }
    }
}
