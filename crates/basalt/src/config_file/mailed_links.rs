//! `[basalt.mailed_links]`: the pages of links in mails.

/// When a link needs a click on a button of a page before it is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LinkButton {
    /// Never on this machine, elsewhere for requests that look like those of programs.
    #[default]
    Automatic,
    Always,
    /// For requests that look like those of programs.
    Programs,
    Never,
}

/// The settings of the pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MailedLinkSettings {
    pub button: LinkButton,
    /// `refused = "page"`: also refused links to applications show the page.
    pub are_refusals_shown: bool,
}

impl MailedLinkSettings {
    /// Reads the settings.
    pub(super) fn from_text(text: &impl Fn(&str) -> Option<String>, refuse: &mut impl FnMut(&str, &str)) -> Self {
        let button = match text("basalt.mailed_links.button").as_deref() {
            None => LinkButton::Automatic,
            Some("always") => LinkButton::Always,
            Some("programs") => LinkButton::Programs,
            Some("never") => LinkButton::Never,
            Some(_) => {
                refuse("basalt.mailed_links.button", "must be \"always\", \"programs\" or \"never\"");
                LinkButton::Automatic
            }
        };
        let are_refusals_shown = match text("basalt.mailed_links.refused").as_deref() {
            None | Some("redirect") => false,
            Some("page") => true,
            Some(_) => {
                refuse("basalt.mailed_links.refused", "must be \"redirect\" or \"page\"");
                false
            }
        };
        Self { button, are_refusals_shown }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::ConfigFile;
    use super::*;
    use crate::problem::Problem;

    fn read(lines: &str) -> Result<MailedLinkSettings, Vec<Problem>> {
        ConfigFile::read(Path::new("config.toml"), lines, &|_| Ok(None)).map(|file| file.basalt.mailed_links)
    }

    #[test]
    fn settings_are_read_and_validated() {
        assert_eq!(read("").expect("valid"), MailedLinkSettings::default());
        for (text, button) in
            [("always", LinkButton::Always), ("programs", LinkButton::Programs), ("never", LinkButton::Never)]
        {
            let given = read(&format!("[basalt.mailed_links]\nbutton = \"{text}\"\nrefused = \"page\"\n"));
            assert_eq!(given.expect("valid"), MailedLinkSettings { button, are_refusals_shown: true });
        }
        for wrong in ["button = \"sometimes\"", "refused = \"mail\""] {
            assert!(read(&format!("[basalt.mailed_links]\n{wrong}\n")).is_err(), "{wrong}");
        }
    }
}
