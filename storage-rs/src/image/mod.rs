//! Transformation of images.
