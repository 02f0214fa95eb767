//! Pictures as owners upload them, made into files for the pages of the shop.

use bytes::Bytes;
use desk::DeskError;
use http::StatusCode;
use storage_rs::image::{Format, ImageLimits, ImageRenderer, RenderProblem, Resize, Transformation};

use crate::catalogue::is_uploadable_picture;

/// The most pixels of a picture: decoded, it needs 100 MB.
const MAX_PIXELS: u64 = 24_000_000;
/// The greatest width of a picture on a page, twice that of its column, in pixels.
const WIDTH: u32 = 1600;
/// The greatest height, in pixels.
const HEIGHT: u32 = 4800;
/// From 20 to 100; text in screenshots stays sharp.
const QUALITY: u8 = 88;
/// The largest result, in bytes: as large as a picture beside `catalogue.toml` may be.
const MAX_RESULT: usize = 1024 * 1024;

/// Decodes pictures and encodes them anew, so that nothing but pixels is kept of what was uploaded.
pub(super) struct PictureEncoder {
    renderer: ImageRenderer,
}

impl Default for PictureEncoder {
    fn default() -> Self {
        let limits = ImageLimits { maximum_side: HEIGHT, maximum_pixels: MAX_PIXELS, ..ImageLimits::default() };
        Self { renderer: ImageRenderer::new(limits) }
    }
}

impl PictureEncoder {
    /// Returns the picture as WebP, without metadata, turned as its EXIF data says, and scaled down if it is wide.
    ///
    /// # Errors
    /// 400 if it is no picture or too large, 503 if too many are being encoded; the text says what to do.
    pub(super) async fn encode(&self, content: Bytes) -> Result<Bytes, DeskError> {
        if !is_uploadable_picture(&content) {
            return Err(refuse("The file is no PNG, JPEG or WebP picture.", "Save it as PNG, JPEG or WebP."));
        }
        let wanted = Transformation {
            width: Some(WIDTH),
            height: Some(HEIGHT),
            resize: Some(Resize::Contain),
            format: Some(Format::Webp),
            quality: Some(QUALITY),
            gravity: None,
        };
        let turn = self.renderer.wait_for_turn().await.map_err(describe)?;
        let encoded = self.renderer.render(turn, content, wanted, true).await.map_err(describe)?;
        if encoded.content.len() > MAX_RESULT {
            return Err(refuse("The picture has too many details.", "Save it smaller, or cut it."));
        }
        Ok(encoded.content.into())
    }
}

fn refuse(message: &'static str, hint: &'static str) -> DeskError {
    DeskError::new(StatusCode::BAD_REQUEST, "picture_refused", message).hint(hint)
}

fn describe(problem: RenderProblem) -> DeskError {
    match problem {
        RenderProblem::Unsupported => {
            refuse("The picture is damaged.", "Open it in an image editor, save it again, and upload that file.")
        }
        RenderProblem::TooManyPixels | RenderProblem::TooLarge => {
            refuse("The picture has too many pixels.", "Save it smaller: 1600 pixels wide are enough.")
        }
        RenderProblem::Busy => DeskError::unavailable("Other pictures are being prepared. Try again in a moment."),
    }
}
