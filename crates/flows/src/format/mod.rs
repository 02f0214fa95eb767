//! The file of a flow: its settings and its steps.

mod file;
mod flow;
mod parse;
mod settings;
mod write;

pub(crate) use self::file::{PRIVATE, replace_file};
pub use self::flow::{Action, Flow, HeaderComparison, Profile, RequestBody, RequestStep, Service, SetupStatus, Step};
pub use self::parse::parse_flow;
pub use self::settings::{Settings, load_settings};
pub(crate) use self::write::{FILE_END, format_inline, format_step, write_flow, write_head};

use crate::FlowError;

impl Flow {
    /// Reads a flow from the text of its file.
    ///
    /// # Errors
    /// The text is no JSON, or a member is unknown or of another type; the error names it.
    pub fn parse(text: &str) -> Result<Self, FlowError> {
        parse_flow(text)
    }

    /// Formats the file.
    pub fn to_text(&self) -> String {
        write_flow(self)
    }
}
