//! Decoding, resizing and encoding.

use std::io::Cursor;

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::{U8x3, U8x4};
use fast_image_resize::{PixelTrait, ResizeOptions, Resizer};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::metadata::Orientation;
use image::{
    DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder, ImageError, ImageFormat, ImageReader, Limits,
};

use super::limits::ImageLimits;
use super::options::{Format, Resize, Transformation};
use super::png::{with_right_checksums, without_profiles_of_icons};

/// The quality of JPEG when none is asked for: that of imgproxy.
const JPEG_QUALITY: u8 = 80;
/// The quality of WebP when none is asked for: that of imgproxy.
const WEBP_QUALITY: u8 = 79;
/// The bytes of a pixel of usual depth. Images of greater depth may have fewer pixels.
const BYTES_PER_PIXEL: u64 = 4;
/// The memory that decoding may need besides the pixels, in bytes.
const DECODER_MEMORY: u64 = 64 * 1024 * 1024;
/// The largest colour profile of a result, in bytes. That of a file may be packed a thousandfold.
const MAXIMUM_PROFILE: usize = 4 * 1024 * 1024;

/// A result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedImage {
    /// The bytes.
    pub content: Vec<u8>,
    /// Their type.
    pub media_type: &'static str,
}

/// Why an image cannot be transformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RenderProblem {
    /// It is none, or of a type that is not known.
    #[error("The source image is invalid or unsupported for rendering")]
    Unsupported,
    /// It has too many pixels.
    #[error("The source image resolution is too large to process")]
    TooManyPixels,
    /// It has too many bytes.
    #[error("The source image file is too large to process")]
    TooLarge,
    /// Too many images are being transformed.
    #[error("Too many requests")]
    Busy,
}

/// A decoded source.
struct Source {
    image: DynamicImage,
    format: ImageFormat,
    profile: Option<Vec<u8>>,
}

/// Whether bytes are an SVG, which has no pixels.
fn is_svg(source: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&source[..source.len().min(1024)]).to_ascii_lowercase();
    start.trim_start_matches('\u{feff}').trim_start().starts_with('<') && start.contains("<svg")
}

/// Transforms an image.
pub(super) fn render(
    source: &[u8],
    transformation: &Transformation,
    accepts_webp: bool,
    limits: ImageLimits,
) -> Result<RenderedImage, RenderProblem> {
    if source.len() as u64 > limits.maximum_source {
        return Err(RenderProblem::TooLarge);
    }
    if is_svg(source) {
        return Ok(RenderedImage { content: source.to_vec(), media_type: "image/svg+xml" });
    }
    let source = without_profiles_of_icons(source).ok_or(RenderProblem::Unsupported)?;
    let source = decode(&with_right_checksums(&source), limits)?;
    let image = resize(&source.image, transformation, limits)?;
    let wants_webp = match transformation.format {
        Some(Format::Webp) => true,
        Some(Format::Origin | Format::Avif) => false,
        None => accepts_webp,
    };
    encode(&image, &source, wants_webp, transformation.quality)
}

fn decode(source: &[u8], limits: ImageLimits) -> Result<Source, RenderProblem> {
    let mut reader =
        ImageReader::new(Cursor::new(source)).with_guessed_format().map_err(|_| RenderProblem::Unsupported)?;
    // What a PNG has packed is unpacked before its size is known.
    let mut opening = Limits::no_limits();
    opening.max_alloc = Some(DECODER_MEMORY);
    reader.limits(opening);
    let format = reader.format().ok_or(RenderProblem::Unsupported)?;
    let mut decoder = reader.into_decoder().map_err(|error| problem(&error))?;
    let (width, height) = decoder.dimensions();
    let most_bytes = limits.maximum_pixels.saturating_mul(BYTES_PER_PIXEL);
    if u64::from(width) * u64::from(height) > limits.maximum_pixels || decoder.total_bytes() > most_bytes {
        return Err(RenderProblem::TooManyPixels);
    }
    let mut decoding = Limits::no_limits();
    decoding.max_alloc = Some(decoder.total_bytes().saturating_add(DECODER_MEMORY));
    decoder.set_limits(decoding).map_err(|error| problem(&error))?;
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let profile = decoder.icc_profile().unwrap_or_default().filter(|profile| profile.len() <= MAXIMUM_PROFILE);
    let mut image = DynamicImage::from_decoder(decoder).map_err(|error| problem(&error))?;
    image.apply_orientation(orientation);
    // Sixteen bits and floating point numbers are more than any result has.
    let image = if image.color().has_alpha() { image.into_rgba8().into() } else { image.into_rgb8().into() };
    Ok(Source { image, format, profile })
}

fn problem(error: &ImageError) -> RenderProblem {
    match error {
        ImageError::Limits(_) => RenderProblem::TooManyPixels,
        _ => RenderProblem::Unsupported,
    }
}

/// The size to which an image is scaled, and the size to which the result is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Plan {
    scaled: (u32, u32),
    cut: (u32, u32),
}

/// Rounds a side; a side has at least one pixel.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sides are positive and below 2^32")]
fn round(side: f64) -> u32 {
    side.round().clamp(1.0, f64::from(u32::MAX)) as u32
}

/// Computes the sizes. An image is never enlarged.
fn plan(source: (u32, u32), wanted: (Option<u32>, Option<u32>), resize: Resize) -> Plan {
    let (width, height) = (f64::from(source.0), f64::from(source.1));
    let scale = |wanted: Option<u32>, side: f64| wanted.map(|wanted| f64::from(wanted) / side);
    let (x, y) = match (scale(wanted.0, width), scale(wanted.1, height)) {
        (None, None) => (1.0, 1.0),
        (Some(scale), None) | (None, Some(scale)) => (scale, scale),
        (Some(x), Some(y)) => match resize {
            Resize::Cover => (x.max(y), x.max(y)),
            Resize::Contain => (x.min(y), x.min(y)),
            Resize::Fill => (x, y),
        },
    };
    // The relation of both stays.
    let enlargement = x.max(y).max(1.0);
    let scaled = (round(width * x / enlargement), round(height * y / enlargement));
    let cut = |scaled: u32, wanted: Option<u32>| wanted.map_or(scaled, |wanted| wanted.min(scaled));
    let cut = match (wanted, resize) {
        ((Some(_), Some(_)), Resize::Cover) => (cut(scaled.0, wanted.0), cut(scaled.1, wanted.1)),
        _ => scaled,
    };
    Plan { scaled, cut }
}

fn resize(
    source: &DynamicImage,
    transformation: &Transformation,
    limits: ImageLimits,
) -> Result<DynamicImage, RenderProblem> {
    let size = (source.width(), source.height());
    let plan = plan(size, transformation.sides(limits), transformation.resize.unwrap_or(Resize::Cover));
    let scaled = if plan.scaled == size { source.clone() } else { scale(source, plan.scaled)? };
    if plan.cut == plan.scaled {
        return Ok(scaled);
    }
    let gravity = transformation.gravity;
    let place = gravity.map_or((0.5, 0.5), |gravity| gravity.place);
    let offset = gravity.and_then(|gravity| gravity.offset).unwrap_or((0.0, 0.0));
    let is_focus = gravity.is_some_and(|gravity| gravity.name == "fp");
    let start = |scaled: u32, cut: u32, place: f64, offset: f64| {
        let (scaled, cut) = (f64::from(scaled), f64::from(cut));
        let offset = if offset.abs() < 1.0 { offset * scaled } else { offset };
        // From the right and from below, offsets go the other way.
        let offset = if place > 0.5 && !is_focus { -offset } else { offset };
        let start = if is_focus { place * scaled - cut / 2.0 } else { (scaled - cut) * place + offset };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and the side of an image"
        )]
        let start = start.round().clamp(0.0, scaled - cut) as u32;
        start
    };
    let x = start(plan.scaled.0, plan.cut.0, place.0, offset.0);
    let y = start(plan.scaled.1, plan.cut.1, place.1, offset.1);
    Ok(scaled.crop_imm(x, y, plan.cut.0, plan.cut.1))
}

fn scale(source: &DynamicImage, size: (u32, u32)) -> Result<DynamicImage, RenderProblem> {
    let bytes = source.as_bytes();
    let old_size = (source.width(), source.height());
    let image = if source.color().has_alpha() {
        let bytes = scale_pixels::<U8x4>(bytes, old_size, size)?;
        image::RgbaImage::from_raw(size.0, size.1, bytes).map(DynamicImage::from)
    } else {
        let bytes = scale_pixels::<U8x3>(bytes, old_size, size)?;
        image::RgbImage::from_raw(size.0, size.1, bytes).map(DynamicImage::from)
    };
    image.ok_or(RenderProblem::Unsupported)
}

/// Scales pixels of one type: the code for the other types of the library, 2 MB of it, is left out of the binary.
fn scale_pixels<P: PixelTrait>(bytes: &[u8], old: (u32, u32), new: (u32, u32)) -> Result<Vec<u8>, RenderProblem> {
    let source = TypedImageRef::<P>::from_buffer(old.0, old.1, bytes).map_err(|_| RenderProblem::Unsupported)?;
    let mut scaled = vec![0; new.0 as usize * new.1 as usize * P::size()];
    let mut target = TypedImage::<P>::from_buffer(new.0, new.1, &mut scaled).map_err(|_| RenderProblem::Unsupported)?;
    Resizer::new().resize_typed(&source, &mut target, &ResizeOptions::new()).map_err(|_| RenderProblem::Unsupported)?;
    Ok(scaled)
}

fn encode(
    image: &DynamicImage,
    source: &Source,
    wants_webp: bool,
    quality: Option<u8>,
) -> Result<RenderedImage, RenderProblem> {
    let has_alpha = image.color().has_alpha();
    let mut content = Vec::new();
    let color = if has_alpha { ExtendedColorType::Rgba8 } else { ExtendedColorType::Rgb8 };
    let (width, height) = (image.width(), image.height());
    let format = match source.format {
        _ if wants_webp => ImageFormat::WebP,
        format @ (ImageFormat::Jpeg | ImageFormat::Png | ImageFormat::Gif | ImageFormat::WebP) => format,
        _ if has_alpha => ImageFormat::Png,
        _ => ImageFormat::Jpeg,
    };
    let written = match format {
        ImageFormat::WebP => {
            let quality = f32::from(quality.unwrap_or(WEBP_QUALITY));
            let encoder = if has_alpha {
                webp::Encoder::from_rgba(image.as_bytes(), width, height)
            } else {
                webp::Encoder::from_rgb(image.as_bytes(), width, height)
            };
            let bytes = encoder.encode_simple(false, quality).map_err(|_| RenderProblem::Unsupported)?;
            content.extend_from_slice(&bytes);
            Ok(())
        }
        ImageFormat::Gif => image.write_to(&mut Cursor::new(&mut content), ImageFormat::Gif),
        ImageFormat::Png => {
            let mut encoder = PngEncoder::new(&mut content);
            set_profile(&mut encoder, source);
            encoder.write_image(image.as_bytes(), width, height, color)
        }
        _ => {
            let mut encoder = JpegEncoder::new_with_quality(&mut content, quality.unwrap_or(JPEG_QUALITY));
            set_profile(&mut encoder, source);
            encoder.write_image(image.to_rgb8().as_raw(), width, height, ExtendedColorType::Rgb8)
        }
    };
    written.map_err(|_| RenderProblem::Unsupported)?;
    Ok(RenderedImage { content, media_type: format.to_mime_type() })
}

/// Keeps the colours of the source.
fn set_profile(encoder: &mut impl ImageEncoder, source: &Source) {
    if let Some(profile) = &source.profile {
        // An encoder without profiles writes the image without one.
        let _ = encoder.set_icc_profile(profile.clone());
    }
}

#[cfg(test)]
mod tests {
    use image::{Rgb, RgbImage, RgbaImage};
    use proptest::prelude::*;

    use super::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut image = RgbImage::new(width, height);
        for (x, _, pixel) in image.enumerate_pixels_mut() {
            *pixel = Rgb(if x < width / 2 { [255, 0, 0] } else { [0, 0, 255] });
        }
        let mut bytes = Vec::new();
        image.write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png).unwrap();
        bytes
    }

    #[test]
    fn deep_pixels_count_by_their_bytes() {
        let limits = ImageLimits { maximum_pixels: 10_000, ..ImageLimits::default() };
        let mut bytes = Vec::new();
        let deep = DynamicImage::new_rgba16(90, 100);
        deep.write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png).unwrap();
        let refused = render(&bytes, &Transformation::default(), false, limits);
        assert_eq!(refused, Err(RenderProblem::TooManyPixels));
        assert!(render(&png(90, 100), &Transformation::default(), false, limits).is_ok());
    }

    fn options(width: u32, height: u32, resize: Resize) -> Transformation {
        Transformation { width: Some(width), height: Some(height), resize: Some(resize), ..Transformation::default() }
    }

    fn rendered(source: &[u8], transformation: Transformation, accepts_webp: bool) -> (u32, u32, &'static str) {
        let rendered = render(source, &transformation, accepts_webp, ImageLimits::default()).unwrap();
        let image = image::load_from_memory(&rendered.content).unwrap();
        (image.width(), image.height(), rendered.media_type)
    }

    #[test]
    fn images_have_the_size_that_is_asked_for() {
        let source = png(80, 40);
        for (transformation, size) in [
            (options(20, 20, Resize::Cover), (20, 20)),
            (options(20, 20, Resize::Contain), (20, 10)),
            (options(20, 30, Resize::Fill), (20, 30)),
            (Transformation { width: Some(20), ..Transformation::default() }, (20, 10)),
            (Transformation { height: Some(20), ..Transformation::default() }, (40, 20)),
            (Transformation::default(), (80, 40)),
            // Nothing is enlarged.
            (options(800, 800, Resize::Contain), (80, 40)),
            (options(160, 20, Resize::Cover), (80, 20)),
            (Transformation { width: Some(800), ..Transformation::default() }, (80, 40)),
        ] {
            let (width, height, media_type) = rendered(&source, transformation, false);
            assert_eq!(((width, height), media_type), (size, "image/png"), "{transformation:?}");
        }
    }

    #[test]
    fn format_is_negotiated() {
        let source = png(80, 40);
        let plain = options(8, 8, Resize::Cover);
        assert_eq!(rendered(&source, plain, true).2, "image/webp");
        assert_eq!(rendered(&source, Transformation { format: Some(Format::Origin), ..plain }, true).2, "image/png");
        assert_eq!(rendered(&source, Transformation { format: Some(Format::Webp), ..plain }, false).2, "image/webp");
        let mut transparent = Vec::new();
        RgbaImage::new(4, 4).write_to(&mut Cursor::new(&mut transparent), ImageFormat::Bmp).unwrap();
        assert_eq!(rendered(&transparent, Transformation::default(), false).2, "image/png");
    }

    #[test]
    fn gravity_says_what_stays() {
        let source = png(80, 40);
        for (name, is_red) in [("we", true), ("ea", false)] {
            let find = |wanted: &str| match wanted {
                "width" | "height" => Some("20".into()),
                "gravity" => Some(name.into()),
                _ => None,
            };
            let transformation = Transformation::parse(find).unwrap();
            let rendered = render(&source, &transformation, false, ImageLimits::default()).unwrap();
            let image = image::load_from_memory(&rendered.content).unwrap().into_rgb8();
            assert_eq!(image.get_pixel(10, 10)[0] > 128, is_red, "{name}");
        }
    }

    #[test]
    fn bombs_and_other_files_are_refused() {
        let limits = ImageLimits { maximum_pixels: 1000, ..ImageLimits::default() };
        assert_eq!(render(&png(40, 40), &Transformation::default(), false, limits), Err(RenderProblem::TooManyPixels));
        let limits = ImageLimits { maximum_source: 10, ..ImageLimits::default() };
        assert_eq!(render(&png(4, 4), &Transformation::default(), false, limits), Err(RenderProblem::TooLarge));
        let mut bomb = png(4, 4);
        // The width of the header: 16 million pixels in each row.
        bomb[17] = 0xff;
        for source in [bomb.as_slice(), b"", b"text", b"\x89PNG\r\n\x1a\n", &png(4, 4)[..60]] {
            assert!(render(source, &Transformation::default(), false, ImageLimits::default()).is_err());
        }
        let svg = b"<?xml version=\"1.0\"?><svg xmlns=\"http://www.w3.org/2000/svg\"/>";
        let passed = render(svg, &options(5, 5, Resize::Cover), true, ImageLimits::default()).unwrap();
        assert_eq!(passed.media_type, "image/svg+xml");
    }

    /// The colour profile of a result of a picture that has one of this size.
    fn profile_behind(size: usize) -> Result<Option<usize>, RenderProblem> {
        let mut bytes = Vec::new();
        let mut encoder = PngEncoder::new(&mut bytes);
        encoder.set_icc_profile(vec![0; size]).unwrap();
        encoder.write_image(&[0; 3], 1, 1, ExtendedColorType::Rgb8).unwrap();
        assert!(bytes.len() < size / 100, "the picture is small: {}", bytes.len());
        let rendered = render(&bytes, &Transformation::default(), false, ImageLimits::default())?;
        let mut decoder =
            ImageReader::new(Cursor::new(rendered.content)).with_guessed_format().unwrap().into_decoder().unwrap();
        Ok(decoder.icc_profile().unwrap().map(|profile| profile.len()))
    }

    #[test]
    fn profiles_that_are_bombs_are_not_kept() {
        assert_eq!(profile_behind(1_000_000), Ok(Some(1_000_000)));
        for size in [16_000_000, 100_000_000] {
            assert!(matches!(profile_behind(size), Ok(None) | Err(_)), "{size}");
        }
    }

    proptest! {
        #[test]
        fn plans_never_enlarge_nor_vanish(
            source in (1_u32..5000, 1_u32..5000),
            wanted in (proptest::option::of(1_u32..3000), proptest::option::of(1_u32..3000)),
            kind in 0..3_usize,
        ) {
            let plan = plan(source, wanted, [Resize::Cover, Resize::Contain, Resize::Fill][kind]);
            prop_assert!(plan.scaled.0 >= 1 && plan.scaled.1 >= 1 && plan.cut.0 >= 1 && plan.cut.1 >= 1);
            prop_assert!(plan.scaled.0 <= source.0 && plan.scaled.1 <= source.1);
            prop_assert!(plan.cut.0 <= plan.scaled.0 && plan.cut.1 <= plan.scaled.1);
            if let (Some(width), Some(height)) = wanted {
                prop_assert!(plan.cut.0 <= width && plan.cut.1 <= height);
            }
        }

        #[test]
        fn broken_images_never_panic(mut bytes in Just(png(16, 16)), position in 0_usize..80, value in any::<u8>()) {
            bytes[position] = value;
            let _ = render(&bytes, &options(5, 5, Resize::Cover), true, ImageLimits::default());
        }
    }
}
