//! Names and lines of settings in `config.toml`, for explanations.

use std::collections::BTreeMap;
use std::path::Path;

use platform::explanation::{SettingLocation, SettingNames};

use super::key_names::{find_key_name, is_negated, replace_setting_names};
use super::read::Values;

/// The keys of a configuration file with their lines.
#[derive(Debug)]
pub(crate) struct SettingLocations {
    file: String,
    lines: BTreeMap<String, usize>,
}

impl SettingLocations {
    /// Reads the lines of the values of a file.
    pub(super) fn new(file: &Path, values: &Values) -> Self {
        let lines = values.enabled_values().filter_map(|value| Some((value.path.join("."), value.line?)));
        Self { file: file.display().to_string(), lines: lines.collect() }
    }
}

impl SettingNames for SettingLocations {
    /// A name that is no variable is that of a key of `[basalt]`.
    fn locate(&self, variable: &str) -> Option<SettingLocation> {
        let name = find_key_name(variable).unwrap_or_else(|| replace_setting_names(variable));
        let line = self.lines.get(&name).copied();
        Some(SettingLocation { file: Some(self.file.clone()), line, name, is_negated: is_negated(variable) })
    }

    fn rename(&self, sentence: &str) -> String {
        replace_setting_names(sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ConfigFile;
    use super::*;

    #[test]
    fn settings_have_the_line_of_their_key() {
        let text = "[auth]\nenable_signup = false\n[basalt.rate_limit]\nwrong_codes = 3\n";
        let file = ConfigFile::read(Path::new("supabase/config.toml"), text, &|_| Ok(None)).expect("it is valid");
        let locations = file.locations();
        let locate = |variable: &str| locations.locate(variable).map(|found| (found.name, found.line));
        let expected = |name: &str, line| Some((name.to_owned(), line));
        assert_eq!(locate("GOTRUE_DISABLE_SIGNUP"), expected("auth.enable_signup", Some(2)));
        assert_eq!(locate("basalt.rate_limit.wrong_codes"), expected("basalt.rate_limit.wrong_codes", Some(4)));
        assert_eq!(locate("GOTRUE_URI_ALLOW_LIST"), expected("auth.additional_redirect_urls", None));
        let found = locations.locate("GOTRUE_JWT_EXP").expect("it has a key");
        assert_eq!(found.file.as_deref(), Some("supabase/config.toml"));
        assert_eq!(locations.rename("set GOTRUE_JWT_EXP"), "set auth.jwt_expiry");
    }
}
