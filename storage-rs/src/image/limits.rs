//! The limits of images.

/// What images may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageLimits {
    /// The smallest width and height of a result, in pixels.
    pub minimum_side: u32,
    /// The greatest width and height of a result, in pixels.
    pub maximum_side: u32,
    /// The most pixels of a source.
    pub maximum_pixels: u64,
    /// The largest source, in bytes.
    pub maximum_source: u64,
}

impl Default for ImageLimits {
    fn default() -> Self {
        Self { minimum_side: 0, maximum_side: 2000, maximum_pixels: 50_000_000, maximum_source: 50 * 1024 * 1024 }
    }
}
