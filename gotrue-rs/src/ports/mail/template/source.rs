//! The source of a configured body.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use platform::http_client::{HttpClient, ResponseLimits};
use tokio::io::AsyncReadExt;

/// The source of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TemplateSource {
    Url(String),
    /// A local file.
    File(PathBuf),
}

/// The time limit of a fetch, equal to that of a request.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);

impl TemplateSource {
    /// Parses a URL, a file (`file:///…`), or a path below the site URL.
    pub(super) fn parse(place: &str, site_url: &str) -> Self {
        if let Some(path) = place.strip_prefix("file://") {
            Self::File(PathBuf::from(path))
        } else if place.starts_with("http") {
            Self::Url(place.to_owned())
        } else {
            Self::Url(format!("{site_url}{place}"))
        }
    }

    /// Whether reading requires a network request.
    pub(super) fn is_remote(&self) -> bool {
        matches!(self, Self::Url(_))
    }

    /// Returns the text, truncated at `max_size` bytes.
    pub(super) async fn read(&self, http: &HttpClient, max_size: usize) -> Result<String, String> {
        let bytes = match self {
            Self::File(path) => {
                let reading = async {
                    let mut bytes = Vec::new();
                    let limit = u64::try_from(max_size).unwrap_or(u64::MAX);
                    tokio::fs::File::open(path).await?.take(limit).read_to_end(&mut bytes).await?;
                    std::io::Result::Ok(bytes)
                };
                reading.await.map_err(|error| format!("reading {}: {error}", path.display()))?
            }
            Self::Url(url) => {
                let limits = ResponseLimits { bytes: max_size, time: FETCH_TIMEOUT };
                let answer = http
                    .get_trusted("mail-template", url, limits)
                    .await
                    .map_err(|error| format!("fetching {url}: {error}"))?;
                if answer.status != 200 {
                    return Err(format!("fetching {url}: status {}", answer.status));
                }
                answer.body
            }
        };
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl fmt::Display for TemplateSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => f.write_str(url),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}
