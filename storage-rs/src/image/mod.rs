//! Transformation of images.
//!
//! The options are those of Supabase Storage, the results those of imgproxy with its usual settings: an image is never
//! enlarged, turned as its EXIF data says, stripped of metadata, and of an animation the first picture is kept.

mod limits;
mod options;
mod png;
mod render;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub use self::limits::ImageLimits;
pub use self::options::{Format, Gravity, OptionProblem, Resize, Transformation};
pub use self::render::{RenderProblem, RenderedImage};

/// The longest time that a request waits for its turn.
pub(crate) const TURN: Duration = Duration::from_secs(15);

/// The right to keep a source in memory and transform it.
#[derive(Debug)]
pub struct RenderTurn {
    _permit: OwnedSemaphorePermit,
}

/// Transforms images, a few at a time, outside the threads of requests.
#[derive(Debug, Clone)]
pub struct ImageRenderer {
    limits: ImageLimits,
    turns: Arc<Semaphore>,
}

impl ImageRenderer {
    /// A renderer that works on half of the processors: an image of the greatest size needs 400 MB.
    pub fn new(limits: ImageLimits) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { limits, turns: Arc::new(Semaphore::new(processors.div_ceil(2).min(4))) }
    }

    pub fn limits(&self) -> ImageLimits {
        self.limits
    }

    /// Waits until few enough images are being transformed. Sources are read after it, so that no more of them are in memory.
    ///
    /// # Errors
    /// [`RenderProblem::Busy`] if there are too many requests.
    pub async fn wait_for_turn(&self) -> Result<RenderTurn, RenderProblem> {
        let turn = tokio::time::timeout(TURN, Arc::clone(&self.turns).acquire_owned()).await;
        let permit = turn.map_err(|_| RenderProblem::Busy)?.map_err(|_| RenderProblem::Busy)?;
        Ok(RenderTurn { _permit: permit })
    }

    /// Transforms an image. `accepts_webp` says whether the client takes WebP when it asks for no format.
    ///
    /// # Errors
    /// The source is no image, or too large.
    pub async fn render(
        &self,
        turn: RenderTurn,
        source: Bytes,
        transformation: Transformation,
        accepts_webp: bool,
    ) -> Result<RenderedImage, RenderProblem> {
        let limits = self.limits;
        let rendering = tokio::task::spawn_blocking(move || {
            // The turn ends with the work, also when the request ended before.
            let _turn = turn;
            render::render(&source, &transformation, accepts_webp, limits)
        });
        rendering.await.map_err(|_| RenderProblem::Unsupported)?
    }
}
