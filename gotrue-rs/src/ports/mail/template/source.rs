//! Where a body of the operator's is, and how it is read.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::AsyncReadExt;

use crate::ports::http_client::{HttpClient, Limits};

/// Where a body is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// On a web server.
    Url(String),
    /// On this machine.
    File(PathBuf),
}

/// Longest time to fetch a template: as long as a request may take.
const FETCHING: Duration = Duration::from_secs(10);

impl Source {
    /// A URL, a file (`file:///…`), or a path below the site URL.
    pub fn of(place: &str, site_url: &str) -> Self {
        if let Some(path) = place.strip_prefix("file://") {
            Self::File(PathBuf::from(path))
        } else if place.starts_with("http") {
            Self::Url(place.to_owned())
        } else {
            Self::Url(format!("{site_url}{place}"))
        }
    }

    /// Whether somebody else has to answer before it can be read.
    pub fn is_elsewhere(&self) -> bool {
        matches!(self, Self::Url(_))
    }

    /// Its text, cut off at that many bytes.
    pub async fn read(&self, http: &HttpClient, max_size: usize) -> Result<String, String> {
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
                let limits = Limits { bytes: max_size, time: FETCHING };
                let answer = http.get(url, limits).await.map_err(|error| format!("fetching {url}: {error}"))?;
                if answer.status != 200 {
                    return Err(format!("fetching {url}: status {}", answer.status));
                }
                answer.body
            }
        };
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => f.write_str(url),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}
