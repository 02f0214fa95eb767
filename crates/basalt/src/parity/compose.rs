//! Compose files: their services with variables, after substitution.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context, bail};
use gotrue_rs::config::dotenv;

use super::interpolation::Interpolation;
use super::yaml::{self, Yaml};

/// A Compose file whose variables are replaced.
#[derive(Debug, Default)]
pub(super) struct ComposeFile {
    /// Its services in order.
    pub services: Vec<ComposeService>,
    /// What was left out and may matter.
    pub warnings: Vec<String>,
}

/// A service of a Compose file.
#[derive(Debug, Default, Clone)]
pub(super) struct ComposeService {
    pub name: String,
    /// The image; empty if it is built.
    pub image: String,
    /// The host by which other services reach it.
    pub host: String,
    /// Its variables.
    pub environment: BTreeMap<String, String>,
    /// Why some of its variables are not known; warnings of the file, too.
    pub unread: Vec<String>,
}

/// Reads a Compose file, the `.env` beside it and the files that `env_file` names.
///
/// `process` returns a variable of the process, which takes precedence over `.env`.
pub(super) fn read_compose(path: &Path, process: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<ComposeFile> {
    let text = read_text(path)?;
    let document = yaml::parse(&text).map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
    let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
    let own = folder.join(".env");
    let defaults = if own.is_file() { read_variables(&own)? } else { BTreeMap::new() };
    let lookup = |name: &str| process(name).or_else(|| defaults.get(name).cloned());
    let read_file = |name: &str| read_variables(&folder.join(name));
    let mut file = parse_services(&document, &lookup, &read_file)
        .with_context(|| format!("{} cannot be used as a Compose file", path.display()))?;
    if !own.is_file() {
        file.warnings.push(format!("there is no {}: variables have their defaults", own.display()));
    }
    Ok(file)
}

/// Parses the services of a document.
fn parse_services(
    document: &Yaml,
    lookup: &dyn Fn(&str) -> Option<String>,
    read_file: &dyn Fn(&str) -> anyhow::Result<BTreeMap<String, String>>,
) -> anyhow::Result<ComposeFile> {
    let Some(services) = document.get("services").filter(|services| !services.entries().is_empty()) else {
        bail!("it has no services")
    };
    let mut interpolation = Interpolation::new(lookup);
    let mut file = ComposeFile::default();
    for (name, service) in services.entries() {
        let (mut environment, mut unread) = (BTreeMap::new(), Vec::new());
        for (env_file, is_required) in list_env_files(service.get("env_file")) {
            match read_file(&interpolation.expand(&env_file)) {
                Ok(variables) => environment.extend(variables),
                Err(_) if !is_required => {}
                Err(error) => unread.push(format!("service {name}: {error:#}")),
            }
        }
        environment.extend(parse_environment(service.get("environment"), &mut interpolation));
        let text = |key: &str| service.get(key).and_then(Yaml::as_text).unwrap_or_default().to_owned();
        let (image, container) = (interpolation.expand(&text("image")), interpolation.expand(&text("container_name")));
        // Realtime reads its tenant from the first label of the host.
        let host = if container.contains('.') { container } else { name.clone() };
        if service.get("extends").is_some() {
            unread.push(format!("service {name}: `extends` is not followed; see `docker compose config`"));
        }
        file.warnings.extend(unread.iter().cloned());
        file.services.push(ComposeService { name: name.clone(), image, host, environment, unread });
    }
    if document.get("include").is_some() {
        file.warnings.push("`include` is not followed; see `docker compose config`".to_owned());
    }
    let Interpolation { unset, missing, .. } = interpolation;
    add_names(&mut file.warnings, "variables without a value, which become empty", &unset);
    add_names(&mut file.warnings, "variables that the file requires and that have no value", &missing);
    Ok(file)
}

fn add_names(warnings: &mut Vec<String>, what: &str, names: &BTreeSet<String>) {
    if !names.is_empty() {
        warnings.push(format!("{what}: {}", names.iter().cloned().collect::<Vec<_>>().join(", ")));
    }
}

/// Returns the paths of `env_file`, and whether each is required: a text, a list of texts, or a list of maps with `path`.
fn list_env_files(value: Option<&Yaml>) -> Vec<(String, bool)> {
    let path = |item: &Yaml| {
        let path = item.as_text().or_else(|| item.get("path").and_then(Yaml::as_text))?;
        let is_required = item.get("required").and_then(Yaml::as_text) != Some("false");
        Some((path.to_owned(), is_required))
    };
    match value {
        Some(Yaml::List(items)) => items.iter().filter_map(path).collect(),
        Some(value) => path(value).into_iter().collect(),
        None => Vec::new(),
    }
}

/// Parses `environment`: a map, or a list of `NAME=value`.
///
/// A name alone takes the value of the file's variables.
fn parse_environment(value: Option<&Yaml>, interpolation: &mut Interpolation<'_>) -> Vec<(String, String)> {
    let mut variables = Vec::new();
    match value {
        Some(Yaml::Map(entries)) => {
            for (name, value) in entries {
                match value {
                    Yaml::Null => variables.extend((interpolation.lookup)(name).map(|value| (name.clone(), value))),
                    Yaml::Text(text) => variables.push((name.clone(), interpolation.expand(text))),
                    Yaml::List(_) | Yaml::Map(_) => {}
                }
            }
        }
        Some(Yaml::List(items)) => {
            for item in items.iter().filter_map(Yaml::as_text) {
                match item.split_once('=') {
                    Some((name, value)) => variables.push((name.to_owned(), interpolation.expand(value))),
                    None => variables.extend((interpolation.lookup)(item).map(|value| (item.to_owned(), value))),
                }
            }
        }
        _ => {}
    }
    variables
}

/// Reads a file of variables.
fn read_variables(path: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    dotenv::parse_lines(&read_text(path)?).map_err(|wrong| anyhow::anyhow!("{}: {wrong}", path.display()))
}

/// Reads a file of at most one MiB.
fn read_text(path: &Path) -> anyhow::Result<String> {
    let doing = || format!("reading {}", path.display());
    let mut text = String::new();
    let limit = u64::try_from(yaml::MAX_BYTES).unwrap_or(u64::MAX) + 1;
    let file = std::fs::File::open(path).with_context(doing)?;
    file.take(limit).read_to_string(&mut text).with_context(doing)?;
    if text.len() > yaml::MAX_BYTES {
        bail!("{} has more than 1 MiB", path.display());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> anyhow::Result<ComposeFile> {
        let lookup = |name: &str| (name == "SITE").then(|| "https://shop.example.com".to_owned());
        let read_file = |name: &str| match name {
            "auth.env" => Ok(BTreeMap::from([("GOTRUE_JWT_EXP".to_owned(), "60".to_owned())])),
            _ => bail!("{name} does not exist"),
        };
        parse_services(&yaml::parse(text).map_err(|error| anyhow::anyhow!("{error}"))?, &lookup, &read_file)
    }

    #[test]
    fn variables_come_from_maps_lists_and_files() {
        let text = "services:\n  auth:\n    image: supabase/gotrue:v2\n    env_file: [auth.env, {path: other.env}, {path: optional.env, required: false}]\n    environment:\n      \
                    GOTRUE_SITE_URL: ${SITE}\n      SITE:\n      GOTRUE_JWT_SECRET: ${SECRET:?wanted}\n  rest:\n    container_name: a.b\n    \
                    environment:\n      - PGRST_URI=${NONE}\n      - SITE\n      - UNSET\n";
        let file = parse(text).expect("valid");
        let pairs =
            |at: usize| -> Vec<(String, String)> { file.services[at].environment.clone().into_iter().collect() };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            pairs(0),
            [
                pair("GOTRUE_JWT_EXP", "60"),
                pair("GOTRUE_JWT_SECRET", ""),
                pair("GOTRUE_SITE_URL", "https://shop.example.com"),
                pair("SITE", "https://shop.example.com"),
            ]
        );
        assert_eq!(pairs(1), [pair("PGRST_URI", ""), pair("SITE", "https://shop.example.com")]);
        assert_eq!((file.services[0].host.as_str(), file.services[1].host.as_str()), ("auth", "a.b"));
        let warnings = file.warnings.join("\n");
        assert!(
            !warnings.contains("optional.env")
                && warnings.contains("other.env")
                && warnings.contains("NONE")
                && warnings.contains("SECRET"),
            "{warnings}"
        );
    }

    #[test]
    fn a_file_without_services_is_refused() {
        assert!(parse("services:\n").is_err());
        assert!(parse("[a, b]").is_err());
        assert!(parse("").is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_services_do_not_panic(lines in proptest::collection::vec("( {0,6})(services|auth|environment|env_file|image|- |A=b|\\$\\{A|[a-z]{1,3})(:|: |)( x| \\[a\\]| \\{a: b\\}|)", 0..20)) {
            let _ = parse(&format!("services:\n{}", lines.join("\n")));
        }
    }
}
