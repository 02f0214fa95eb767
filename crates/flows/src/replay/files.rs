//! Finds the files of flows.

use std::path::{Path, PathBuf};

use serde_json::Value;
use wildmatch::WildMatch;

use crate::FlowError;
use crate::format::Flow;

/// The largest file.
const MAX_FILE: u64 = 64 << 20;
/// The deepest folder below a given one.
const MAX_DEPTH: usize = 8;

/// A flow and its file.
#[derive(Debug, Clone)]
pub struct FlowFile {
    pub path: PathBuf,
    /// The folder in which its files may be: the one that the caller named, or its own.
    pub root: PathBuf,
    /// The content.
    pub flow: Flow,
}

/// Reads the flows of these files and folders whose names match one of the globs, sorted by name.
///
/// In a folder only files that have the members `flow` and `steps` count.
///
/// # Errors
/// A path is missing, a file is invalid, or no flow is left.
pub fn find_flows(paths: &[PathBuf], only: &[String]) -> Result<Vec<FlowFile>, FlowError> {
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            walk(path, path, 0, &mut found)?;
        } else {
            let root = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            found.push(read(path, root)?.ok_or_else(|| {
                FlowError::new(format!("{}: it is no flow", path.display()), "a flow has the members flow and steps")
            })?);
        }
    }
    found.retain(|file| only.is_empty() || only.iter().any(|glob| WildMatch::new(glob).matches(&file.flow.name)));
    found.sort_by(|left, right| left.flow.name.cmp(&right.flow.name));
    if found.is_empty() {
        let hint = "name files or folders with flows; --only selects by the names of flows";
        return Err(FlowError::new("there is no flow to replay", hint));
    }
    Ok(found)
}

fn walk(folder: &Path, root: &Path, depth: usize, found: &mut Vec<FlowFile>) -> Result<(), FlowError> {
    let failed = |error: std::io::Error| FlowError::new(format!("{}: {error}", folder.display()), "check the path");
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            if depth < MAX_DEPTH {
                walk(&path, root, depth + 1, found)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "json") {
            found.extend(read(&path, root)?);
        }
    }
    Ok(())
}

/// Reads a flow; `None` if the file is JSON of another kind.
fn read(path: &Path, root: &Path) -> Result<Option<FlowFile>, FlowError> {
    let place = path.display().to_string();
    let failed = |problem: String| FlowError::new(format!("{place}: {problem}"), "check the file");
    let size = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?.len();
    if size > MAX_FILE {
        return Err(failed(format!("it has more than {MAX_FILE} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| failed(format!("it is no JSON: {error}")))?;
    if value.get("flow").is_none() || value.get("steps").is_none() {
        return Ok(None);
    }
    let mut flow = Flow::parse(&text).map_err(|error| error.at(&place))?;
    if flow.name.is_empty() {
        flow.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    }
    Ok(Some(FlowFile { path: path.to_owned(), root: root.to_owned(), flow }))
}
