//! Format and dimensions of a picture.

use std::io::Cursor;

use image::{ImageFormat, ImageReader};
use imagesize::{Compression, ImageType};

/// A format of pictures that browsers show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Png,
    Jpeg,
    WebP,
    Avif,
}

/// What a picture says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PictureHeader {
    pub format: Format,
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
}

impl Format {
    /// Returns the ending of file names, and the media type.
    pub(super) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Png => ("png", "image/png"),
            Self::Jpeg => ("jpg", "image/jpeg"),
            Self::WebP => ("webp", "image/webp"),
            Self::Avif => ("avif", "image/avif"),
        }
    }
}

/// Reads format and dimensions of a PNG, JPEG, WebP or AVIF file.
/// Returns `None` if it is none of them or ends too early.
pub(super) fn read_header(file: &[u8]) -> Option<PictureHeader> {
    if matches!(imagesize::image_type(file), Ok(ImageType::Heif(Compression::Av1))) {
        let size = imagesize::blob_size(file).ok()?;
        let [width, height] = [size.width, size.height].map(u32::try_from);
        return Some(PictureHeader { format: Format::Avif, width: width.ok()?, height: height.ok()? });
    }
    let reader = ImageReader::new(Cursor::new(file)).with_guessed_format().ok()?;
    let format = match reader.format()? {
        ImageFormat::Png => Format::Png,
        ImageFormat::Jpeg => Format::Jpeg,
        ImageFormat::WebP => Format::WebP,
        _ => return None,
    };
    let (width, height) = reader.into_dimensions().ok()?;
    Some(PictureHeader { format, width, height })
}

/// Returns whether a file is a picture that this program decodes.
pub(crate) fn is_uploadable_picture(file: &[u8]) -> bool {
    read_header(file).is_some_and(|header| header.format != Format::Avif)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The pictures of the shop's build, of which the file names and the sources tell the size.
    const AVIF: &[u8] = include_bytes!("../../../../frontend/src/previews/01-card-360.avif");
    const WEBP: &[u8] = include_bytes!("../../../../frontend/src/previews/01-card-480.webp");
    const PNG: &[u8] = include_bytes!("../../../../frontend/public/icon-192.png");
    const JPEG: &[u8] = include_bytes!("../../../../frontend/public/shared/01.jpg");

    fn header(format: Format, width: u32, height: u32) -> PictureHeader {
        PictureHeader { format, width, height }
    }

    #[test]
    fn dimensions_are_those_of_the_picture() {
        assert_eq!(read_header(AVIF), Some(header(Format::Avif, 360, 450)));
        assert_eq!(read_header(WEBP), Some(header(Format::WebP, 480, 600)));
        assert_eq!(read_header(PNG), Some(header(Format::Png, 192, 192)));
        assert_eq!(read_header(JPEG), Some(header(Format::Jpeg, 800, 420)));
        let mut lossless = Cursor::new(Vec::new());
        image::RgbaImage::new(1200, 600).write_to(&mut lossless, ImageFormat::WebP).expect("encoded");
        assert_eq!(read_header(lossless.get_ref()), Some(header(Format::WebP, 1200, 600)));
    }

    #[test]
    fn other_files_are_no_pictures() {
        for file in [
            &b""[..],
            b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>",
            b"GIF89a\x01\x00\x01\x00",
            b"\x89PNG\r\n\x1a\n",
            b"\xff\xd8\xff\xd9",
            b"\xff\xd8\xff\xe0\x00\x00\xff\xc0",
            b"RIFF\x00\x00\x00\x00WAVEfmt ",
            b"\x00\x00\x00\x14ftypheic\x00\x00\x00\x00mif1",
            b"\x00\x00\x00\x14ftypavif\x00\x00\x00\x00mif1",
        ] {
            assert_eq!(read_header(file), None, "{file:?}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_and_damaged_files_do_not_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..64),
            at in 0_usize..400,
            which in 0_usize..4,
        ) {
            let _ = read_header(&bytes);
            let mut file = [AVIF, WEBP, PNG, JPEG][which].to_vec();
            file.truncate(2000);
            for (position, byte) in bytes.iter().enumerate() {
                let end = file.len();
                file[(at + position) % end] = *byte;
            }
            let _ = read_header(&file);
            file.truncate(at);
            let _ = read_header(&file);
        }
    }
}
