//! Writes the file of a flow, which is whole and valid after each step.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{Error, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::format::{Action, FILE_END, Flow, PRIVATE, Step, format_step, replace_file, write_head};

/// The largest file; later requests of the flow are not recorded.
const MAX_FILE: u64 = 32 << 20;
/// The longest name of a file.
const MAX_NAME: usize = 80;

/// The file of a flow that is being recorded.
#[derive(Debug)]
pub(super) struct FlowWriter {
    path: PathBuf,
    file: File,
    head: Flow,
    head_length: u64,
    size: u64,
    has_steps: bool,
}

impl FlowWriter {
    /// Creates the file in a folder, under the name of the flow or the next free one like it.
    pub(super) fn create(folder: &Path, mut head: Flow) -> Result<Self, Error> {
        std::fs::create_dir_all(folder)?;
        let wanted = file_name(&head.name);
        for number in 1..10_000 {
            let name = if number == 1 { wanted.clone() } else { format!("{wanted}-{number}") };
            let path = folder.join(format!("{name}.json"));
            let mut options = OpenOptions::new();
            let opened = options.read(true).write(true).create_new(true).mode(PRIVATE).open(&path);
            match opened {
                Ok(file) => {
                    head.name = name;
                    let mut writer = Self { path, file, head, head_length: 0, size: 0, has_steps: false };
                    writer.write_head()?;
                    return Ok(writer);
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::other("there are too many flows of this name in the folder"))
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns everything but the steps.
    pub(super) fn head(&self) -> &Flow {
        &self.head
    }

    fn write_head(&mut self) -> Result<(), Error> {
        let head = write_head(&self.head);
        self.file.write_all(format!("{head}{FILE_END}").as_bytes())?;
        self.head_length = length(&head);
        self.size = self.head_length + length(FILE_END);
        Ok(())
    }

    /// Appends steps; false if the file is full.
    pub(super) fn append(&mut self, steps: &[Step]) -> Result<bool, Error> {
        let mut text = String::new();
        for step in steps {
            text.push_str(if self.has_steps { ",\n" } else { "\n" });
            text.push_str(&format_step(step));
            self.has_steps = true;
        }
        let end = self.size - length(FILE_END);
        if end + length(&text) > MAX_FILE {
            return Ok(false);
        }
        text.push_str(FILE_END);
        // In one call, so that an interruption leaves the file as it was or with the whole step.
        self.file.write_all_at(text.as_bytes(), end)?;
        self.size = end + length(&text);
        Ok(true)
    }

    /// Replaces everything but the steps.
    pub(super) fn replace_head(&mut self, head: Flow) -> Result<(), Error> {
        if head == self.head {
            return Ok(());
        }
        let mut steps = String::new();
        self.file.seek(SeekFrom::Start(self.head_length))?;
        self.file.read_to_string(&mut steps)?;
        let text = write_head(&head);
        self.replace(&format!("{text}{steps}"))?;
        self.head_length = length(&text);
        self.head = head;
        Ok(())
    }

    fn replace(&mut self, text: &str) -> Result<(), Error> {
        self.file = replace_file(&self.path, text)?;
        self.size = length(text);
        Ok(())
    }

    /// Removes the captures that no later request uses. A flow without a step is deleted.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        if !self.has_steps {
            return std::fs::remove_file(&self.path);
        }
        let mut text = String::new();
        self.file.seek(SeekFrom::Start(0))?;
        self.file.read_to_string(&mut text)?;
        let Ok(mut flow) = Flow::parse(&text) else { return Ok(()) };
        let used = placeholder_names(&text);
        for step in &mut flow.steps {
            if let Action::Request(request) = &mut step.action {
                request.captures.retain(|(name, _)| used.contains(name.as_str()));
            }
        }
        self.replace(&flow.to_text())
    }
}

/// Returns the names of all placeholders.
fn placeholder_names(text: &str) -> HashSet<&str> {
    let starts = text.match_indices("{{").map(|(at, _)| &text[at + 2..]);
    starts.map(|rest| &rest[..rest.find(['.', '}', '|']).unwrap_or(rest.len())]).collect()
}

fn length(text: &str) -> u64 {
    text.len().try_into().unwrap_or(u64::MAX)
}

/// Returns the name of a flow as that of a file.
fn file_name(name: &str) -> String {
    let allowed = |each: char| each.is_ascii_alphanumeric() || matches!(each, '.' | '_' | '-');
    let name: String = name.chars().map(|each| if allowed(each) { each } else { '-' }).take(MAX_NAME).collect();
    let name = name.trim_matches(['.', '-']).to_owned();
    if name.is_empty() { "flow".to_owned() } else { name }
}
