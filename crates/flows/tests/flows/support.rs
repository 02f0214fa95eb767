//! Folders, exchanges and recordings.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use flows::format::Profile;
use flows::record::{Exchange, RecordedBody, RecordedUrls, Recorder, RecorderOptions};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

static NEXT: AtomicUsize = AtomicUsize::new(0);

/// A folder that is removed at the end of the test.
pub(crate) struct Folder(pub PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("flows-test-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    /// Returns names and contents of its files.
    pub(crate) fn files(&self) -> Vec<(String, String)> {
        let mut files: Vec<(String, String)> = fs::read_dir(&self.0)
            .expect("readable")
            .map(|entry| {
                let path = entry.expect("readable").path();
                let name = path.file_name().expect("a file").to_string_lossy().into_owned();
                (name, fs::read_to_string(&path).expect("text"))
            })
            .collect();
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(name.parse::<HeaderName>().expect("a name"), HeaderValue::from_str(value).expect("a value"));
    }
    headers
}

/// An exchange with JSON on both sides.
pub(crate) fn exchange(method: &str, path: &str, body: &Value, (status, answer): (u16, &Value)) -> Exchange {
    let bytes = |value: &Value| if value.is_null() { Vec::new() } else { value.to_string().into_bytes() };
    Exchange {
        method: method.to_owned(),
        path: path.to_owned(),
        headers: headers(&[("content-type", "application/json")]),
        body: RecordedBody::Whole(bytes(body)),
        status,
        response_headers: headers(&[("content-type", "application/json")]),
        response_body: RecordedBody::Whole(bytes(answer)),
        at: 1_700_000_000.0,
        client: "test".to_owned(),
        ..Exchange::default()
    }
}

pub(crate) fn options(folder: &Folder) -> RecorderOptions {
    RecorderOptions {
        folder: folder.0.clone(),
        profile: Profile::Serve,
        gap: 30.0,
        name: None,
        urls: RecordedUrls {
            bases: vec!["https://abc.supabase.co/auth/v1".to_owned()],
            projects: vec!["https://abc.supabase.co".to_owned()],
        },
        announced: Value::Null,
    }
}

/// Records the exchanges and returns the file of the one flow.
pub(crate) fn record(exchanges: &[Exchange]) -> String {
    let folder = Folder::new();
    let mut recorder = Recorder::new(options(&folder));
    for exchange in exchanges {
        recorder.record(exchange).expect("recorded");
    }
    recorder.finish().expect("finished");
    let files = folder.files();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].1.clone()
}
