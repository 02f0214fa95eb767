//! Parses SMTP commands (RFC 5321 §4.1).

/// The maximum number of bytes of an address (RFC 5321 §4.5.3.1, as a path without brackets).
const MAX_ADDRESS_BYTES: usize = 320;

/// A command of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// `EHLO` or `HELO`.
    Hello {
        /// Whether the client knows extensions.
        is_extended: bool,
    },
    /// `MAIL FROM:<address>`.
    Mail {
        /// The sender; empty for a delivery report.
        from: String,
        /// The announced size in bytes.
        size: Option<usize>,
    },
    /// `RCPT TO:<address>`.
    Recipient(String),
    Data,
    /// `AUTH PLAIN`, with the credentials or without.
    AuthPlain {
        /// Whether the credentials follow in a line of their own.
        is_continued: bool,
    },
    /// `AUTH LOGIN`, with the name or without.
    AuthLogin {
        /// Whether the name follows in a line of its own.
        is_continued: bool,
    },
    /// `RSET`.
    Reset,
    Noop,
    /// `VRFY`.
    Verify,
    Quit,
}

/// Why a line is no command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The line is not a command of this server.
    #[error("500 5.5.2 this is no command of this server")]
    Unknown,
    /// An argument is wrong.
    #[error("501 5.5.4 the argument is wrong")]
    Argument,
    /// A parameter is not supported.
    #[error("555 5.5.4 this parameter is not supported")]
    Parameter,
    /// The line is a request of HTTP: a browser connected, led by a page.
    #[error("421 4.7.0 this is no HTTP server")]
    Http,
}

impl Command {
    /// Parses a line without its line end.
    ///
    /// # Errors
    /// The line is not a valid command.
    pub fn parse(line: &[u8]) -> Result<Self, CommandError> {
        let line = str::from_utf8(line).map_err(|_| CommandError::Unknown)?;
        if line.chars().any(char::is_control) {
            return Err(CommandError::Unknown);
        }
        let (verb, argument) = line.split_once(' ').unwrap_or((line, ""));
        let argument = argument.trim();
        let without_argument = |command| if argument.is_empty() { Ok(command) } else { Err(CommandError::Argument) };
        match verb.to_ascii_uppercase().as_str() {
            "EHLO" | "HELO" if argument.is_empty() => Err(CommandError::Argument),
            "EHLO" => Ok(Self::Hello { is_extended: true }),
            "HELO" => Ok(Self::Hello { is_extended: false }),
            "MAIL" => parse_mail(argument),
            "RCPT" => parse_recipient(argument),
            "DATA" => without_argument(Self::Data),
            "AUTH" => parse_auth(argument),
            "RSET" => without_argument(Self::Reset),
            "QUIT" => without_argument(Self::Quit),
            "NOOP" => Ok(Self::Noop),
            "VRFY" => Ok(Self::Verify),
            "GET" | "POST" | "PUT" | "HEAD" | "OPTIONS" | "CONNECT" | "DELETE" | "PATCH" | "HOST:" => {
                Err(CommandError::Http)
            }
            _ => Err(CommandError::Unknown),
        }
    }
}

fn parse_mail(argument: &str) -> Result<Command, CommandError> {
    let (from, parameters) = parse_path(argument, "FROM:")?;
    let mut size = None;
    for parameter in parameters {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        match (name.to_ascii_uppercase().as_str(), value) {
            ("SIZE", digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                // A number of more digits is larger than every limit.
                size = Some(digits.parse().unwrap_or(usize::MAX));
            }
            ("BODY", kind) if kind.eq_ignore_ascii_case("7BIT") || kind.eq_ignore_ascii_case("8BITMIME") => {}
            ("SMTPUTF8", "") | ("AUTH", _) => {}
            _ => return Err(CommandError::Parameter),
        }
    }
    Ok(Command::Mail { from, size })
}

fn parse_recipient(argument: &str) -> Result<Command, CommandError> {
    let (to, mut parameters) = parse_path(argument, "TO:")?;
    if parameters.next().is_some() {
        return Err(CommandError::Parameter);
    }
    if to.is_empty() { Err(CommandError::Argument) } else { Ok(Command::Recipient(to)) }
}

/// Parses `FROM:<address>` and the parameters after it.
fn parse_path<'a>(argument: &'a str, keyword: &str) -> Result<(String, impl Iterator<Item = &'a str>), CommandError> {
    let start = argument.get(..keyword.len()).filter(|start| start.eq_ignore_ascii_case(keyword));
    let rest = start.map(|_| argument[keyword.len()..].trim_start()).ok_or(CommandError::Argument)?;
    let (address, parameters) =
        rest.strip_prefix('<').and_then(|rest| rest.split_once('>')).ok_or(CommandError::Argument)?;
    if !(address.is_empty() || is_address(address)) || !(parameters.is_empty() || parameters.starts_with(' ')) {
        return Err(CommandError::Argument);
    }
    Ok((address.to_owned(), parameters.split_whitespace()))
}

/// Returns whether a text is an address without a quoted local part.
fn is_address(text: &str) -> bool {
    let is_allowed = |c: char| !c.is_whitespace() && !c.is_control() && !"<>()[],;:\\\"".contains(c);
    text.len() <= MAX_ADDRESS_BYTES
        && text.chars().all(is_allowed)
        && text.rsplit_once('@').is_some_and(|(local, domain)| {
            !local.is_empty() && !domain.is_empty() && !local.contains('@') && !domain.starts_with('.')
        })
}

fn parse_auth(argument: &str) -> Result<Command, CommandError> {
    let (mechanism, initial) = argument.split_once(' ').unwrap_or((argument, ""));
    let is_continued = initial.trim().is_empty();
    match mechanism.to_ascii_uppercase().as_str() {
        "PLAIN" => Ok(Command::AuthPlain { is_continued }),
        "LOGIN" => Ok(Command::AuthLogin { is_continued }),
        _ => Err(CommandError::Parameter),
    }
}
