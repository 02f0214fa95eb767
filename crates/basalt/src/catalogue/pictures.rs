//! Pictures that the owner gives templates, read from files beside the catalogue.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use desk::TemplatePicture;
use serde::Serialize;
use uuid::Uuid;

use super::picture_format::read_header;
use crate::content_digest::content_digest;

/// The largest file, in bytes: a larger one would delay the page of a phone by seconds.
const MAX_PICTURE_BYTES: u64 = 1024 * 1024;
/// The largest width and height, in pixels.
const MAX_PIXELS: u32 = 10_000;

/// The pictures that owners have uploaded at the desk, by their ids.
pub(crate) type UploadedPictures = HashMap<Uuid, PictureFile>;

/// A picture of the owner's, as pages and their hydration data show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct OwnPicture {
    /// Its path on the site, which contains a digest of its content.
    pub src: String,
    #[serde(rename = "type")]
    pub media_type: &'static str,
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// The alternative text.
    pub alt: String,
    /// The content of the file.
    #[serde(skip)]
    pub content: Bytes,
}

/// A picture without its alternative text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PictureFile {
    src: String,
    media_type: &'static str,
    width: u32,
    height: u32,
    content: Bytes,
}

impl PictureFile {
    /// Reads format and dimensions of a picture.
    ///
    /// # Errors
    /// It is no usable picture; the text says what to change.
    pub(crate) fn parse(content: Bytes) -> Result<Self, String> {
        let Some(header) = read_header(&content) else {
            return Err("is no PNG, JPEG, WebP or AVIF file: convert it to one of these".to_owned());
        };
        let (width, height) = (header.width, header.height);
        if [width, height].iter().any(|length| !(1..=MAX_PIXELS).contains(length)) {
            return Err(format!("has {width} × {height} pixels: at most {MAX_PIXELS} × {MAX_PIXELS} are allowed"));
        }
        let (ending, media_type) = header.format.names();
        let src = format!("/assets/{}.{ending}", content_digest(&content));
        Ok(Self { src, media_type, width, height, content })
    }

    /// Returns the picture as the desk shows it.
    pub(crate) fn to_template_picture(&self) -> TemplatePicture {
        TemplatePicture { media_type: self.media_type, content: self.content.clone() }
    }

    /// Returns the picture as pages show it.
    pub(super) fn with_alt(&self, alt: String) -> OwnPicture {
        let Self { src, media_type, width, height, content } = self.clone();
        OwnPicture { src, media_type, width, height, alt, content }
    }
}

/// The pictures that a catalogue names, by their paths, or why they cannot be used.
pub(super) type FilePictures = BTreeMap<String, Result<PictureFile, String>>;

/// Reads the pictures at these paths, relative to `folder`.
pub(super) fn load_pictures<'a>(folder: &Path, paths: impl Iterator<Item = &'a str>) -> FilePictures {
    paths.map(|path| (path.to_owned(), load_picture(folder, path))).collect()
}

/// Reads a picture from the file at `path`, relative to `folder`.
///
/// # Errors
/// The path leads out of the folder, also by a symbolic link, or the file is no usable picture; the text says what to change.
fn load_picture(folder: &Path, path: &str) -> Result<PictureFile, String> {
    let file = locate(folder, path)?;
    PictureFile::parse(read_limited(&file)?.into())
}

/// Returns the file without symbolic links; those that stay in the folder are followed.
fn locate(folder: &Path, path: &str) -> Result<PathBuf, String> {
    let mut parts = Path::new(path).components();
    if path.is_empty() || !parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err("must be a path below the folder of catalogue.toml, such as \"pictures/menu.png\"".to_owned());
    }
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let folder = folder.canonicalize().map_err(unreadable)?;
    let file = folder.join(path).canonicalize().map_err(unreadable)?;
    if !file.starts_with(&folder) {
        return Err("leads out of the folder of catalogue.toml: copy the file into it".to_owned());
    }
    // A pipe or a device would be read without an end.
    if !fs::metadata(&file).map_err(unreadable)?.is_file() {
        return Err("is no file".to_owned());
    }
    Ok(file)
}

fn read_limited(path: &Path) -> Result<Vec<u8>, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let mut content = Vec::new();
    let mut file = File::open(path).map_err(unreadable)?.take(MAX_PICTURE_BYTES + 1);
    file.read_to_end(&mut content).map_err(unreadable)?;
    if content.len() as u64 > MAX_PICTURE_BYTES {
        return Err("has more than 1 MiB: save it smaller, 1200 pixels wide are enough".to_owned());
    }
    Ok(content)
}
