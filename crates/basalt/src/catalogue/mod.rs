//! The catalogue of the shop: the built-in templates with the changes of `catalogue.toml`.

mod entries;
mod merge;
mod offer;
mod picture_format;
mod pictures;
mod source;
#[cfg(test)]
mod tests;

pub(crate) use offer::{Catalogue, Template, is_placeholder};
pub(crate) use picture_format::is_uploadable_picture;
pub(crate) use pictures::{OwnPicture, PictureFile, UploadedPictures};
pub(crate) use source::{CATALOGUE_FILE, CatalogueSource, find_uploaded_picture, format_for_desk};
