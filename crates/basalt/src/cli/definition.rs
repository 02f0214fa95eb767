//! The definition of the whole command line: options that work before and after each command, and the examples of each help.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory, FromArgMatches, value_parser};

use super::commands::Cli;
use super::examples::EXAMPLES;
use super::other_names::find_advice;

/// The commands that cannot use an option which the command above them has.
const WITHOUT: [(&str, &[&str]); 1] = [("backup verify", &["config", "data"])];
/// The commands that have commands below them, and none of the shared options where they run on their own.
const ALONE: [&str; 1] = ["storage"];

/// Returns the options that many commands share; their place is before or after the command.
fn shared_options() -> [Arg; 4] {
    let option = |name: &'static str, long: &'static str, value: &'static str| {
        Arg::new(name).long(long).value_name(value).global(true)
    };
    [
        option("config", "config", "FILE")
            .value_parser(value_parser!(PathBuf))
            .help("The configuration [default: config.toml, else supabase/config.toml here or above]"),
        option("data", "data", "DIR")
            .value_parser(value_parser!(PathBuf))
            .help("The folder of keys and database [default: .basalt beside the configuration]"),
        option("database_url", "database-url", "URL")
            .help("The database [default: the project's own, or DATABASE_URL]"),
        Arg::new("json").long("json").action(ArgAction::SetTrue).global(true).help("Print JSON"),
    ]
}

/// Builds the command line.
///
/// A command that has an option of the same name keeps its own help; one that cannot use an option does not list it.
pub(super) fn build() -> Command {
    let command = Cli::command().args(shared_options());
    command.mut_subcommands(|command| {
        let path = command.get_name().to_owned();
        complete(command, &path, &[])
    })
}

/// Hides the shared options that a command and those below it cannot use, and adds its examples.
fn complete(command: Command, path: &str, inherited: &[String]) -> Command {
    let own: Vec<String> = own_options(&command);
    let without = WITHOUT.iter().find(|(name, _)| *name == path).map_or(&[][..], |(_, options)| options);
    let below = options_below(&command);
    let is_unused = |option: &Arg| {
        let name = option.get_id().as_str();
        let is_inherited = inherited.iter().any(|other| other == name) && !without.contains(&name);
        !is_inherited && !own.iter().chain(&below).any(|other| other == name)
    };
    let hidden = shared_options().into_iter().filter(is_unused).map(|option| option.global(false).hide(true));
    let mut command = command.args(hidden.collect::<Vec<_>>());
    if command.get_after_help().is_none()
        && let Some((_, text)) = EXAMPLES.iter().find(|(name, _)| *name == path)
    {
        command = command.after_help(*text);
    }
    let inherited = [inherited, own.as_slice()].concat();
    command.mut_subcommands(|command| {
        let path = format!("{path} {}", command.get_name());
        complete(command, &path, &inherited)
    })
}

fn own_options(command: &Command) -> Vec<String> {
    let names = command.get_arguments().map(|option| option.get_id().to_string());
    names.filter(|name| shared_options().iter().any(|shared| shared.get_id() == name.as_str())).collect()
}

fn options_below(command: &Command) -> Vec<String> {
    command.get_subcommands().flat_map(|below| [own_options(below), options_below(below)].concat()).collect()
}

/// Parses the arguments of the process; ends it with a text where they are wrong or ask for help.
pub(super) fn parse() -> Cli {
    parse_from(std::env::args_os()).unwrap_or_else(|error| error.exit())
}

fn parse_from(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = build();
    let arguments = replace_old_spelling(arguments);
    let matches = command.try_get_matches_from_mut(&arguments);
    let matches = matches.map_err(|error| name_right_command(&mut command, &arguments, error))?;
    refuse_unused(&mut command, &matches)?;
    Cli::from_arg_matches(&matches)
}

/// Replaces the earlier name of `basalt users add --metadata`, `--data`, which is the folder of the project.
fn replace_old_spelling(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let is = |argument: &OsString, name: &str| argument == OsStr::new(name);
    let users = arguments.iter().position(|argument| is(argument, "users"));
    let add = users
        .and_then(|users| arguments.iter().skip(users).position(|argument| is(argument, "add")).map(|at| users + at));
    let is_json = |value: &str| value.trim_start().starts_with(['{', '[']);
    for index in add.unwrap_or(arguments.len())..arguments.len() {
        let value = arguments[index].to_str().and_then(|text| text.strip_prefix("--data=")).map(str::to_owned);
        if let Some(value) = value.filter(|value| is_json(value)) {
            arguments[index] = format!("--metadata={value}").into();
        } else if is(&arguments[index], "--data")
            && arguments.get(index + 1).and_then(|value| value.to_str()).is_some_and(is_json)
        {
            arguments[index] = "--metadata".into();
        }
    }
    arguments
}

/// Names the right command in the error about one that does not exist, such as one of the Supabase CLI.
fn name_right_command(command: &mut Command, arguments: &[OsString], error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let (mut found, mut path) = (&*command, Vec::new());
    let words = arguments.iter().skip(1).filter_map(|argument| argument.to_str());
    for word in words.take_while(|word| word != unknown) {
        if let Some(below) = found.find_subcommand(word) {
            found = below;
            path.push(word);
        }
    }
    path.push(unknown);
    let path = path.join(" ");
    match find_advice(&path) {
        Some(advice) => command.error(ErrorKind::InvalidSubcommand, format!("there is no `basalt {path}`: {advice}")),
        None => error,
    }
}

/// Refuses shared options that the command cannot use.
fn refuse_unused(command: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let (mut found, mut values, mut path) = (&*command, matches, Vec::new());
    while let Some((name, below)) = values.subcommand() {
        let Some(next) = found.find_subcommand(name) else { return Ok(()) };
        (found, values) = (next, below);
        path.push(name);
    }
    let path = path.join(" ");
    let is_hidden = |name: &str| found.get_arguments().any(|option| option.get_id() == name && option.is_hide_set());
    let is_given = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
    let unused = shared_options().into_iter().find(|option| {
        let name = option.get_id().as_str();
        is_given(name) && (is_hidden(name) || ALONE.contains(&path.as_str()))
    });
    let Some(option) = unused else { return Ok(()) };
    let name = option.get_long().unwrap_or_default();
    let text = format!("`basalt {path}` cannot use --{name}; `basalt {path} --help` lists its options");
    Err(command.error(ErrorKind::UnknownArgument, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns each command with its path.
    fn commands(command: &Command, path: &str) -> Vec<(String, Command)> {
        let below = command.get_subcommands().filter(|below| below.get_name() != "help");
        let each = below.flat_map(|below| {
            let path = format!("{path} {}", below.get_name()).trim().to_owned();
            std::iter::once((path.clone(), below.clone())).chain(commands(below, &path))
        });
        each.collect()
    }

    /// Returns each command without commands below it, with its path.
    fn leaves(command: &Command, path: &str) -> Vec<(String, Command)> {
        let mut found = Vec::new();
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            let path = format!("{path} {}", below.get_name()).trim().to_owned();
            let of_below = leaves(below, &path);
            if of_below.is_empty() || ALONE.contains(&path.as_str()) || path == "gotrue" || path == "backup" {
                found.push((path, below.clone()));
            }
            found.extend(of_below);
        }
        found
    }

    fn parse(text: &str) -> Result<Cli, String> {
        let arguments = text.split(' ').map(OsString::from);
        parse_from(arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn definition_is_valid() {
        build().debug_assert();
    }

    #[test]
    fn each_help_has_an_example_of_its_command() {
        let mut command = build();
        command.build();
        for (path, mut command) in commands(&command, "") {
            let help = command.render_long_help().to_string();
            assert!(help.contains(&format!("basalt {path}")) && help.contains("Example"), "{path}: {help}");
        }
    }

    #[test]
    fn each_example_is_of_a_command() {
        let commands = commands(&build(), "");
        for (path, _) in EXAMPLES {
            assert!(commands.iter().any(|(command, _)| command == path), "{path}");
        }
    }

    #[test]
    fn options_work_before_and_after_each_command_that_lists_them() {
        let mut command = build();
        command.build();
        for (path, leaf) in leaves(&command, "") {
            let required = leaf.get_positionals().filter(|argument| argument.is_required_set());
            let required = required.map(|argument| {
                let values = argument.get_possible_values();
                format!(" {}", values.first().map_or("10000000-0000-4000-8000-000000000007", |value| value.get_name()))
            });
            let mut required: String = required.collect();
            if path == "record" {
                required.push_str(" --out flows --upstream http://127.0.0.1:9999");
            }
            for option in shared_options() {
                let (name, long) = (option.get_id().as_str(), option.get_long().expect("long"));
                let is_listed =
                    leaf.get_arguments().any(|argument| argument.get_id() == name && !argument.is_hide_set())
                        && !ALONE.contains(&path.as_str());
                let given = if name == "json" { format!("--{long}") } else { format!("--{long} value") };
                for text in [format!("basalt {given} {path}{required}"), format!("basalt {path} {given}{required}")] {
                    let parsed = parse(&text).map(|_| ());
                    let refusal = parsed.as_ref().err().filter(|error| error.contains("cannot use --"));
                    assert_eq!(refusal.is_none(), is_listed, "{text}: {parsed:?}");
                }
            }
        }
    }

    #[test]
    fn unknown_command_names_the_right_one() {
        for (text, expected) in [
            ("basalt start", "there is no `basalt start`: `basalt serve` starts"),
            ("basalt stop --no-backup", "`basalt serve` ends with Ctrl+C"),
            ("basalt --json db push --linked", "there is no `basalt db push`: `basalt db migrate --database-url URL`"),
            ("basalt link --project-ref abc", "no project is linked"),
            ("basalt migration up", "`basalt db migrate`"),
            ("basalt storage ls ss:///bucket", "`basalt status`"),
            ("basalt projects list", "projects that Supabase hosts"),
            ("basalt serv", "'serve'"),
            ("basalt db migrat", "'migrate'"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn metadata_keeps_its_earlier_name() {
        for text in [
            "basalt users add a@example.com --data {\"a\":1}",
            "basalt --data folder users add a@example.com --data={\"a\":1}",
            "basalt users add a@example.com --metadata {\"a\":1}",
        ] {
            let parsed = format!("{:?}", parse(text));
            assert!(parsed.contains("metadata: Some(\"{\\\"a\\\":1}\")"), "{text}: {parsed}");
            assert_eq!(parsed.contains("data: Some(\"folder\")"), text.contains("folder"), "{parsed}");
        }
    }
}
