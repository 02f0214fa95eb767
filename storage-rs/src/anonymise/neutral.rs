//! Content that says nothing, of the type of other content: an image has its width and height, a text about its length.

use std::io::Cursor;

use image::{DynamicImage, ImageFormat, ImageReader, Rgb, RgbImage};

/// The longest text, and the most bytes of a type that is not known.
const MAXIMUM_LENGTH: usize = 64 * 1024;
/// The width and height of an image whose own are not known, in pixels.
const DEFAULT_SIDE: u32 = 64;
/// The greatest width and height of an image, in pixels.
const MAXIMUM_SIDE: u32 = 2000;
/// The colour of images.
const GREY: Rgb<u8> = Rgb([0x99, 0x99, 0x99]);
const SENTENCE: &str = "This text was replaced.\n";
const SVG: &str =
    r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" fill="#999"/></svg>"##;
/// A document of one empty page (ISO 32000-1 §7.5); readers rebuild the table of its objects.
const PDF: &str = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n\
    3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n";

/// Content of a type instead of that which has this size and begins with these bytes.
pub(super) fn content(media_type: &str, size: u64, prefix: &[u8]) -> Vec<u8> {
    let length = usize::try_from(size).unwrap_or(usize::MAX).min(MAXIMUM_LENGTH);
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if length == 0 {
        return Vec::new();
    }
    match essence.as_str() {
        "image/svg+xml" => SVG.into(),
        "application/pdf" => PDF.into(),
        "application/json" => b"{}".to_vec(),
        "application/xml" | "text/xml" => b"<replaced/>".to_vec(),
        "text/html" | "application/xhtml+xml" => b"<p>This text was replaced.</p>".to_vec(),
        text if text.starts_with("text/") => SENTENCE.bytes().cycle().take(length).collect(),
        image => image_format(image).and_then(|format| grey(format, prefix)).unwrap_or_else(|| vec![0; length]),
    }
}

fn image_format(essence: &str) -> Option<ImageFormat> {
    match essence {
        "image/png" => Some(ImageFormat::Png),
        "image/jpeg" | "image/jpg" => Some(ImageFormat::Jpeg),
        "image/gif" => Some(ImageFormat::Gif),
        "image/webp" => Some(ImageFormat::WebP),
        "image/bmp" => Some(ImageFormat::Bmp),
        "image/tiff" => Some(ImageFormat::Tiff),
        _ => None,
    }
}

/// An image of one colour, as wide and high as the one that begins with these bytes.
fn grey(format: ImageFormat, prefix: &[u8]) -> Option<Vec<u8>> {
    let reader = ImageReader::new(Cursor::new(prefix)).with_guessed_format().ok()?;
    let (width, height) = reader.into_dimensions().unwrap_or((DEFAULT_SIDE, DEFAULT_SIDE));
    let side = |length: u32| length.clamp(1, MAXIMUM_SIDE);
    let image = DynamicImage::from(RgbImage::from_pixel(side(width), side(height), GREY));
    let mut content = Cursor::new(Vec::new());
    image.write_to(&mut content, format).ok()?;
    Some(content.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_keeps_type_width_and_height() {
        for (media_type, format) in [
            ("image/png", ImageFormat::Png),
            ("image/jpeg; q=1", ImageFormat::Jpeg),
            ("image/gif", ImageFormat::Gif),
            ("image/webp", ImageFormat::WebP),
            ("IMAGE/BMP", ImageFormat::Bmp),
            ("image/tiff", ImageFormat::Tiff),
        ] {
            let mut source = Cursor::new(Vec::new());
            DynamicImage::from(RgbImage::from_fn(30, 20, |x, y| Rgb([u8::try_from(x * y % 256).unwrap(), 1, 2])))
                .write_to(&mut source, format)
                .unwrap();
            let replaced = content(media_type, 1000, source.get_ref());
            let reader = ImageReader::new(Cursor::new(&replaced)).with_guessed_format().unwrap();
            assert_eq!(reader.format(), Some(format), "{media_type}");
            let image = reader.decode().unwrap().into_rgb8();
            assert_eq!(image.dimensions(), (30, 20), "{media_type}");
            let (least, greatest) = (image.iter().min().unwrap(), image.iter().max().unwrap());
            assert!(greatest - least < 8, "{media_type}: one colour");
        }
        let unknown = content("image/png", 3, b"abc");
        assert_eq!(
            ImageReader::new(Cursor::new(unknown)).with_guessed_format().unwrap().into_dimensions().unwrap(),
            (64, 64)
        );
    }

    #[test]
    fn other_content_keeps_about_its_length() {
        assert_eq!(content("text/plain", 30, b"secret").len(), 30);
        assert_eq!(content("application/zip", 5, b"PK\x03\x04x"), [0; 5]);
        assert_eq!(content("application/zip", u64::MAX, b"").len(), MAXIMUM_LENGTH);
        assert!(content("text/plain", 0, b"").is_empty());
        assert_eq!(content("application/json; charset=utf-8", 9, b"{\"a\":\"b\"}"), b"{}");
    }
}
