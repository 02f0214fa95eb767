//! Media types of `Accept` and `Content-Type`.

/// The options of `application/vnd.pgrst.plan`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlanOption {
    Analyze,
    Verbose,
    Settings,
    Buffers,
    Wal,
}

/// How a plan is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlanFormat {
    /// `+json`
    Json,
    /// `+text`
    Text,
}

/// What the data API reads or writes; any other type as text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MediaType {
    /// `application/json`
    Json,
    /// `application/geo+json`
    GeoJson,
    /// `text/csv`
    Csv,
    /// `text/plain`
    Text,
    /// `text/xml`
    Xml,
    /// `application/openapi+json`
    OpenApi,
    /// `application/x-www-form-urlencoded`
    Form,
    /// `application/octet-stream`
    OctetStream,
    /// `*/*`
    Any,
    /// `application/vnd.pgrst.array+json`; `nulls=stripped` is the only kind that differs from JSON.
    ArrayStripped,
    /// `application/vnd.pgrst.object+json`
    Object {
        /// `nulls=stripped`
        strip_nulls: bool,
    },
    /// `application/vnd.pgrst.plan`
    Plan {
        /// The media type whose statement is explained.
        for_type: Box<MediaType>,
        /// How the plan is written.
        format: PlanFormat,
        /// In the order sent.
        options: Vec<PlanOption>,
    },
    /// Another one, as sent without parameters.
    Other(String),
}

impl MediaType {
    /// Parses a media type with its parameters.
    pub fn parse(text: &str) -> Self {
        let Some((main, sub, parameters)) = tokenize(text) else { return Self::Other(text.to_owned()) };
        let parameter =
            |name: &str| parameters.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let strip_nulls = parameter("nulls") == Some("stripped");
        let plan = |format| {
            let options = parameter("options").unwrap_or_default();
            let is_set = |option: &PlanOption| options.split('|').any(|name| name == option.name());
            Self::Plan {
                for_type: Box::new(Self::parse(parameter("for").unwrap_or("application/json"))),
                format,
                options: PlanOption::ALL.into_iter().filter(is_set).collect(),
            }
        };
        match (main.to_lowercase().as_str(), sub.to_lowercase().as_str()) {
            ("application", "geo+json") => Self::GeoJson,
            ("text", "csv") => Self::Csv,
            ("text", "plain") => Self::Text,
            ("text", "xml") => Self::Xml,
            ("application", "openapi+json") => Self::OpenApi,
            ("application", "x-www-form-urlencoded") => Self::Form,
            ("application", "octet-stream") => Self::OctetStream,
            ("application", "vnd.pgrst.plan" | "vnd.pgrst.plan+text") => plan(PlanFormat::Text),
            ("application", "vnd.pgrst.plan+json") => plan(PlanFormat::Json),
            ("application", "vnd.pgrst.object+json" | "vnd.pgrst.object") => Self::Object { strip_nulls },
            ("application", "vnd.pgrst.array+json" | "vnd.pgrst.array") if strip_nulls => Self::ArrayStripped,
            ("application", "json" | "vnd.pgrst.array+json" | "vnd.pgrst.array") => Self::Json,
            ("*", "*") => Self::Any,
            _ => Self::Other(text.to_owned()),
        }
    }

    /// The media types of an `Accept` header, best first: by quality, then the more specific first.
    pub fn parse_accept(header: &str) -> Vec<Self> {
        let mut types: Vec<_> = header
            .split(',')
            .map(|item| {
                let item = item.replace(' ', "");
                let (name, quality) = match item.split_once(";q=") {
                    Some((name, rest)) => (name, rest.split(';').next().unwrap_or_default()),
                    None => (item.as_str(), ""),
                };
                let parameters = name.matches(';').count().cast_signed() - name.matches('*').count().cast_signed();
                (read_quality(quality), parameters, Self::parse(name))
            })
            .collect();
        types.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        types.into_iter().map(|(_, _, media_type)| media_type).collect()
    }

    /// The media type with its parameters, without a character set.
    pub fn name(&self) -> String {
        let name = match self {
            Self::Json => "application/json",
            Self::GeoJson => "application/geo+json",
            Self::Csv => "text/csv",
            Self::Text => "text/plain",
            Self::Xml => "text/xml",
            Self::OpenApi => "application/openapi+json",
            Self::Form => "application/x-www-form-urlencoded",
            Self::OctetStream => "application/octet-stream",
            Self::Any => "*/*",
            Self::ArrayStripped => "application/vnd.pgrst.array+json;nulls=stripped",
            Self::Object { strip_nulls: true } => "application/vnd.pgrst.object+json;nulls=stripped",
            Self::Object { strip_nulls: false } => "application/vnd.pgrst.object+json",
            Self::Plan { for_type, format, options } => {
                let format = match format {
                    PlanFormat::Json => "json",
                    PlanFormat::Text => "text",
                };
                let names: Vec<_> = options.iter().map(|option| option.name()).collect();
                let options = if names.is_empty() { String::new() } else { format!("; options={}", names.join("|")) };
                return format!("application/vnd.pgrst.plan+{format}; for=\"{}\"{options}", for_type.name());
            }
            Self::Other(name) => name,
        };
        name.to_owned()
    }

    /// The value of `Content-Type`: UTF-8, save for octets and types of the database's own.
    pub fn content_type(&self) -> String {
        match self {
            Self::OctetStream | Self::Other(_) => self.name(),
            _ => format!("{}; charset=utf-8", self.name()),
        }
    }
}

impl PlanOption {
    /// In the order in which they are written.
    const ALL: [Self; 5] = [Self::Analyze, Self::Verbose, Self::Settings, Self::Buffers, Self::Wal];

    /// As in the media type, and as an option of EXPLAIN.
    pub fn name(self) -> &'static str {
        match self {
            Self::Analyze => "analyze",
            Self::Verbose => "verbose",
            Self::Settings => "settings",
            Self::Buffers => "buffers",
            Self::Wal => "wal",
        }
    }
}

/// A quality as Haskell reads a number at the beginning of a text: digits on both sides of a point; 1 otherwise.
fn read_quality(text: &str) -> f64 {
    let text = text.trim_start();
    let whole = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if whole == 0 {
        return 1.0;
    }
    let fraction = text[whole..]
        .strip_prefix('.')
        .map_or(0, |rest| rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len());
    let length = if fraction > 0 { whole + 1 + fraction } else { whole };
    text[..length].parse().unwrap_or(1.0)
}

/// Keys and values.
type Parameters = Vec<(String, String)>;

/// Type, subtype and parameters with keys in lower case. What follows them is ignored.
fn tokenize(text: &str) -> Option<(&str, &str, Parameters)> {
    let word = |text: &str, others: &str| {
        text.find(|c: char| !c.is_alphanumeric() && !others.contains(c)).unwrap_or(text.len())
    };
    let length = word(text, ".*");
    let (main, rest) = text.split_at(length);
    let rest = rest.strip_prefix('/')?;
    let (sub, mut rest) = rest.split_at(word(rest, ".*+-"));
    if main.is_empty() || sub.is_empty() {
        return None;
    }
    let mut parameters = Vec::new();
    while let Some((key, value, after)) = parameter(rest, word) {
        parameters.push((key.to_lowercase(), value.to_owned()));
        rest = after;
    }
    Some((main, sub, parameters))
}

/// `; key=value`, and the text behind it.
fn parameter(text: &str, word: impl Fn(&str, &str) -> usize) -> Option<(&str, &str, &str)> {
    let text = text.trim_start().strip_prefix(';')?.trim_start();
    let (key, rest) = text.split_at(word(text, "-"));
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    if key.is_empty() {
        return None;
    }
    if let Some(quoted) = rest.strip_prefix('"') {
        let (value, after) = quoted.split_once('"')?;
        return Some((key, value, after));
    }
    let (value, after) = rest.split_at(word(rest, "|-"));
    (!value.is_empty()).then_some((key, value, after))
}
