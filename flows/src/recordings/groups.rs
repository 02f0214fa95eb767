//! Groups flows that share a server: those with equal settings, in pieces of a limited number.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::mutation::mutate;
use super::options::RecordingsOptions;
use crate::FlowError;
use crate::format::{Flow, Settings, load_settings};
use crate::replay::matches_glob;

/// The most flows of one server, so that several servers can share those of the usual settings.
const MAX_FLOWS: usize = 48;
/// The folder of settings below that of flows.
const SETTINGS: &str = "profiles";

/// Flows with the same settings.
#[derive(Debug)]
pub(super) struct Group {
    /// The name of its database and of its log.
    pub name: String,
    /// The settings.
    pub settings: Arc<Settings>,
    /// The flows, in the order of their names.
    pub flows: Vec<Flow>,
}

/// Reads the flows whose names match a glob and groups them, the largest group first.
pub(super) fn load_groups(options: &RecordingsOptions) -> Result<Vec<Group>, FlowError> {
    let mut flows: Vec<Flow> = Vec::new();
    let mut files = BTreeMap::new();
    for file in list_files(&options.flows)? {
        let place = file.display().to_string();
        let failed = |error: std::io::Error| FlowError::new(format!("{place}: {error}"), "check the file");
        let text = std::fs::read_to_string(&file).map_err(failed)?;
        let flow = Flow::parse(&text).map_err(|error| error.at(&place))?;
        let is_wanted = options.only.is_empty() || options.only.iter().any(|glob| matches_glob(glob, &flow.name));
        if is_wanted {
            files.insert(flow.name.clone(), file);
            flows.push(flow);
        }
    }
    if let Some((wanted, seed)) = &options.mutation {
        flows = mutate(flows, seed, *wanted);
        flows.sort_by(|left, right| left.name.cmp(&right.name));
    }
    let mut by_settings: BTreeMap<String, Group> = BTreeMap::new();
    for flow in flows {
        let folder = files[&flow.name].parent().unwrap_or(&options.flows);
        let settings = load_settings(&flow, folder).map_err(|error| error.at(&flow.name))?;
        // A flow that counts what all have made has a server of its own.
        let alone = settings.others.contains_key("isolated").then_some(&flow.name);
        let key = format!("{:?}", (&settings.env, &settings.sql, &settings.others, alone));
        let number = by_settings.len();
        let group = by_settings.entry(key).or_insert_with(|| Group {
            name: format!("recordings_{number}"),
            settings: Arc::new(settings),
            flows: Vec::new(),
        });
        group.flows.push(flow);
    }
    let mut groups: Vec<Group> = by_settings.into_values().flat_map(split).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.flows.len()));
    Ok(groups)
}

/// Splits a group into pieces of similar size.
fn split(group: Group) -> Vec<Group> {
    let pieces = group.flows.len().div_ceil(MAX_FLOWS);
    let size = group.flows.len().div_ceil(pieces.max(1));
    let mut flows = group.flows.into_iter().peekable();
    let mut groups = Vec::new();
    while flows.peek().is_some() {
        let name = format!("{}_{}", group.name, groups.len());
        groups.push(Group { name, settings: Arc::clone(&group.settings), flows: flows.by_ref().take(size).collect() });
    }
    groups
}

/// The files of flows below a folder, by name.
fn list_files(folder: &Path) -> Result<Vec<PathBuf>, FlowError> {
    let failed = |error: std::io::Error| {
        FlowError::new(format!("{}: {error}", folder.display()), "name the folder of the flows")
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != SETTINGS) {
            files.extend(list_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
