//! The commands to switch to Basalt, and to switch back.

use std::path::Path;

/// Commands with comments, in order.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct SwitchPlan {
    /// The commands to switch.
    pub forward: Vec<String>,
    /// The commands to switch back.
    pub back: Vec<String>,
}

/// The first step of every plan that keeps the database.
const BACKUP: &str = "pg_dump --schema auth --format custom --file auth.dump \"$DATABASE_URL\"   # a backup";

impl SwitchPlan {
    /// Returns the plan of an auth server that variables configure; `None` for those of the environment.
    pub(super) fn of_variables(file: Option<&Path>) -> Self {
        let option = file.map_or_else(String::new, |path| format!(" --config {}", quote(path)));
        Self {
            forward: vec![
                BACKUP.to_owned(),
                "# stop the auth server".to_owned(),
                format!("basalt gotrue{option}   # the same variables, the same database, the same port"),
            ],
            back: vec![
                "# stop Basalt".to_owned(),
                "# start the auth server again: schema auth is unchanged, sessions and passwords stay valid".to_owned(),
            ],
        }
    }

    /// Returns the plan of a project of the Supabase CLI.
    pub(super) fn of_config_file(path: &Path) -> Self {
        let path = quote(path);
        Self {
            forward: vec![
                "supabase db dump --local --data-only --schema auth --file users.sql   # to take users along"
                    .to_owned(),
                "supabase stop".to_owned(),
                format!("basalt check --config {path}"),
                format!("basalt users --config {path} import users.sql"),
                format!("basalt serve --config {path}"),
            ],
            back: vec!["# stop Basalt".to_owned(), "supabase start".to_owned()],
        }
    }

    /// Returns the plan of a service of a Compose file.
    pub(super) fn of_compose(path: &Path, service: &str) -> Self {
        let file = quote(path);
        let over = quote(&path.with_file_name("compose.basalt.yml"));
        Self {
            forward: vec![
                BACKUP.to_owned(),
                "docker build --file deploy/Dockerfile --tag basalt .   # in the sources of Basalt".to_owned(),
                format!("cat > {over} <<'END'"),
                format!(
                    "services:\n  {service}:\n    image: basalt\n    command: [gotrue]\n    healthcheck:\n      test: [CMD, /usr/bin/basalt, healthcheck]\nEND"
                ),
                format!("docker compose --file {file} --file {over} up --detach --no-deps {service}"),
            ],
            back: vec![format!("docker compose --file {file} up --detach --no-deps {service}")],
        }
    }
}

/// Quotes a path for a shell.
fn quote(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/._-".contains(character);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_name_the_files_of_their_source() {
        let plan = SwitchPlan::of_variables(Some(Path::new("/srv/auth env")));
        assert!(plan.forward.iter().any(|line| line.contains("basalt gotrue --config '/srv/auth env'")));
        let plan = SwitchPlan::of_compose(Path::new("docker/docker-compose.yml"), "auth");
        assert!(plan.forward.iter().any(|line| line.contains("docker/compose.basalt.yml")));
        assert_eq!(plan.back, ["docker compose --file docker/docker-compose.yml up --detach --no-deps auth"]);
    }
}
