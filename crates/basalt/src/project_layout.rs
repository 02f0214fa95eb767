//! Where the files of a project are: its configuration, its root and its files of variables.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, bail};
use gotrue_rs::config::Vars;

use crate::catalogue::CATALOGUE_FILE;
use crate::reload::{FileFilter, SettingsFiles};

/// The configuration of a project that does not use the Supabase CLI.
const OWN_CONFIG: &str = "config.toml";
/// The folder of the Supabase CLI.
pub(crate) const SUPABASE_FOLDER: &str = "supabase";
/// The largest configuration, in bytes.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// The location of a project.
#[derive(Debug, Clone)]
pub(crate) struct ProjectLayout {
    /// The configuration, as shown in messages; it may not exist.
    pub config: PathBuf,
    /// Whether the configuration exists.
    pub has_config: bool,
    /// The absolute folder of the configuration, to which its paths are relative.
    pub folder: PathBuf,
    /// The absolute root: the folder that contains `supabase`, else that of the configuration.
    pub root: PathBuf,
    /// The folder whose `.env` the process reads.
    start: PathBuf,
}

impl ProjectLayout {
    /// Finds the configuration.
    ///
    /// It is the given one, `config.toml` in the current folder, or `supabase/config.toml` in it or in the nearest folder
    /// above.
    pub(crate) fn find(given: Option<&Path>) -> anyhow::Result<Self> {
        let current = env::current_dir().context("finding the current folder")?;
        if let Some(path) = given {
            let absolute = std::path::absolute(path).context("finding the folder of config.toml")?;
            return Ok(Self::new(path.to_owned(), true, &absolute, current));
        }
        let own = current.join(OWN_CONFIG);
        if own.is_file() {
            return Ok(Self::new(OWN_CONFIG.into(), true, &own, current));
        }
        for above in current.ancestors() {
            let found = above.join(SUPABASE_FOLDER).join(OWN_CONFIG);
            if found.is_file() {
                let shown = found.strip_prefix(&current).unwrap_or(&found).to_owned();
                return Ok(Self::new(shown, true, &found, above.to_owned()));
            }
        }
        Ok(Self::new(own.clone(), false, &own, current))
    }

    fn new(config: PathBuf, has_config: bool, absolute: &Path, start: PathBuf) -> Self {
        let folder = absolute.parent().unwrap_or(Path::new("/")).to_owned();
        let is_supabase = folder.file_name().is_some_and(|name| name == SUPABASE_FOLDER);
        let root = folder.parent().filter(|_| is_supabase).unwrap_or(&folder).to_owned();
        Self { config, has_config, folder, root, start }
    }

    /// Returns the folder of migrations, seed files and functions.
    pub(crate) fn supabase_folder(&self) -> PathBuf {
        if self.has_config { self.folder.clone() } else { self.root.join(SUPABASE_FOLDER) }
    }

    /// Reads the configuration; a missing one is empty.
    pub(crate) fn read_config(&self) -> anyhow::Result<String> {
        let path = &self.config;
        let doing = || format!("reading {}", path.display());
        match fs::metadata(path) {
            Ok(meta) if meta.len() > MAX_CONFIG_BYTES => {
                bail!("{} has more than {MAX_CONFIG_BYTES} bytes: is it a configuration?", path.display())
            }
            Ok(_) => fs::read_to_string(path).with_context(doing),
            Err(error) if error.kind() == ErrorKind::NotFound && !self.has_config => Ok(String::new()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!("there is no file {}: `basalt init` writes a first configuration", path.display())
            }
            Err(error) => Err(error).with_context(doing),
        }
    }

    /// Reads the variables of the process and those of `env(NAME)`, in this order.
    ///
    /// The process has those of `.env` in the folder where the project was found, too. `env(NAME)` also has those of the
    /// CLI's files, which may hold a `DATABASE_URL` of another program.
    pub(crate) fn read_variables(&self) -> anyhow::Result<(Vars, Vars)> {
        let environment =
            env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let process = Vars::from_map(environment.collect());
        let own = self.start.join(".env");
        let mut of_config = process.clone();
        for file in self.list_variable_files(process.get("SUPABASE_ENV").unwrap_or_default()) {
            of_config = of_config.with_defaults_from(&file)?;
        }
        Ok((process.with_defaults_from(&own)?, of_config.with_defaults_from(&own)?))
    }

    /// Takes note of the files of settings, to find later changes.
    pub(crate) fn observe_files(&self) -> SettingsFiles {
        let names = [self.config.as_path(), Path::new(CATALOGUE_FILE)].into_iter().filter_map(Path::file_name);
        let filter = FileFilter::Project(names.map(ToOwned::to_owned).collect());
        let folders = BTreeSet::from([&self.folder, &self.root, &self.start]);
        SettingsFiles::observe(folders.into_iter().cloned().collect(), filter)
    }

    /// Returns the files of variables, first the one that takes precedence.
    ///
    /// In the folder of the configuration, then in the root: `.env.<environment>.local`, `.env.local` except for `test`,
    /// `.env.<environment>` and `.env`.
    fn list_variable_files(&self, environment: &str) -> Vec<PathBuf> {
        let environment = if environment.is_empty() { "development" } else { environment };
        let mut names = vec![format!(".env.{environment}.local")];
        if environment != "test" {
            names.push(".env.local".to_owned());
        }
        names.extend([format!(".env.{environment}"), ".env".to_owned()]);
        let mut folders = vec![&self.folder];
        if self.root != self.folder {
            folders.push(&self.root);
        }
        folders.into_iter().flat_map(|folder| names.iter().map(|name| folder.join(name))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(config: &str) -> ProjectLayout {
        ProjectLayout::new(config.into(), true, Path::new(config), PathBuf::from("/start"))
    }

    #[test]
    fn root_contains_the_supabase_folder() {
        for (config, folder, root) in [
            ("/project/supabase/config.toml", "/project/supabase", "/project"),
            ("/project/config.toml", "/project", "/project"),
        ] {
            let layout = layout(config);
            assert_eq!((layout.folder, layout.root), (PathBuf::from(folder), PathBuf::from(root)), "{config}");
        }
    }

    #[test]
    fn variable_files_have_the_order_of_the_cli() {
        let layout = layout("/p/supabase/config.toml");
        let files = |environment: &str| -> Vec<String> {
            layout.list_variable_files(environment).iter().map(|file| file.display().to_string()).collect()
        };
        let expected = [
            "/p/supabase/.env.development.local",
            "/p/supabase/.env.local",
            "/p/supabase/.env.development",
            "/p/supabase/.env",
            "/p/.env.development.local",
            "/p/.env.local",
            "/p/.env.development",
            "/p/.env",
        ];
        assert_eq!(files(""), expected);
        assert_eq!(files("test")[..3], ["/p/supabase/.env.test.local", "/p/supabase/.env.test", "/p/supabase/.env"]);
    }
}
