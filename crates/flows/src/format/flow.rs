//! A flow: its settings and its steps.

use serde_json::{Map, Value};

/// Which behaviour of the server a flow was recorded with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// That of `basalt serve`, with settings in the shape of `config.toml`.
    #[default]
    Serve,
    /// That of `basalt gotrue`, with settings as its variables.
    Gotrue,
}

impl Profile {
    /// Returns the name in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Serve => "serve",
            Self::Gotrue => "gotrue",
        }
    }
}

/// How headers of responses are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HeaderComparison {
    /// All recorded headers, in both directions.
    #[default]
    Exact,
    /// Only those that the file names.
    Relevant,
}

/// A flow as its file has it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flow {
    pub name: String,
    /// A text for its readers.
    pub about: Option<String>,
    /// The behaviour of the server.
    pub profile: Profile,
    /// The settings as written: `extends`, `env` or `config`.
    pub settings: Map<String, Value>,
    /// How headers are compared.
    pub headers: HeaderComparison,
    /// Generated values by name, each with the call of its source.
    pub values: Map<String, Value>,
    /// The steps in order.
    pub steps: Vec<Step>,
}

/// One step of a flow.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its name in reports.
    pub label: Option<String>,
    /// What it does.
    pub action: Action,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Sends a request.
    Request(Box<RequestStep>),
    /// Compares a value that is no response.
    Note {
        /// The value, with placeholders and calls.
        value: Value,
        /// The normalised value.
        expect: Value,
        /// Whether members that `expect` does not name are allowed.
        is_subset: bool,
    },
    /// Stores variables.
    Set(Map<String, Value>),
    /// Generates values and shows them by their names from here on.
    Values(Map<String, Value>),
    /// Calls sources for their effect.
    Do(Vec<Value>),
    /// Waits this number of seconds.
    Pause(f64),
    /// Advances the clock of the server's world, such as `61m`.
    Advance(Value),
    /// Shows texts by names from here on.
    Learn(Map<String, Value>),
}

/// Which API a path belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Service {
    /// The auth API.
    #[default]
    Auth,
    Functions,
    /// The data API.
    Rest,
    /// The storage API.
    Storage,
}

impl Service {
    pub const ALL: [Self; 4] = [Self::Auth, Self::Functions, Self::Rest, Self::Storage];

    /// Returns the name in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Functions => "functions",
            Self::Rest => "rest",
            Self::Storage => "storage",
        }
    }

    /// Returns whether its requests and responses have rows and objects of users.
    pub fn has_user_content(self) -> bool {
        matches!(self, Self::Rest | Self::Storage)
    }
}

/// What a step sends; values may contain placeholders.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum RequestBody {
    /// No body.
    #[default]
    None,
    Json(Value),
    /// URL-encoded pairs: an object, or a list of pairs.
    Form(Value),
    /// Text without a content type of its own.
    Raw(Value),
    /// Bytes in base64.
    RawBase64(Value),
}

/// A request, and what its response was.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestStep {
    pub method: String,
    /// Path and query below the API, or an absolute URL.
    pub path: String,
    /// The API.
    pub service: Service,
    /// The access token.
    pub bearer: Option<Value>,
    /// Headers; null removes one, a list is several lines.
    pub headers: Map<String, Value>,
    pub body: RequestBody,
    /// Variables and where in the response their values are.
    pub captures: Vec<(String, String)>,
    /// The normalised response: `status`, `headers`, and `json` or `text`. `None` for a set-up request.
    pub expect: Option<Value>,
    /// The status that a set-up request must have.
    pub setup_status: SetupStatus,
    /// Whether members that `expect` does not name are allowed.
    pub is_subset: bool,
    /// How often it is sent.
    pub repeat: u32,
}

/// The status that a set-up request must have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SetupStatus {
    /// Any below 400.
    #[default]
    Success,
    /// This one.
    Exactly(u16),
    Any,
}

impl Step {
    /// Returns the name of the step in reports.
    pub fn title(&self) -> String {
        if let Some(label) = &self.label {
            return label.clone();
        }
        match &self.action {
            Action::Request(request) => {
                let path = request.path.split('?').next().unwrap_or_default();
                if request.service.has_user_content() && path.starts_with('/') {
                    return format!("{} /{}/v1{path}", request.method, request.service.as_str());
                }
                format!("{} {path}", request.method)
            }
            Action::Note { .. } => "note".to_owned(),
            Action::Set(names) | Action::Values(names) => {
                format!("set {}", names.keys().map(String::as_str).collect::<Vec<_>>().join(", "))
            }
            Action::Do(_) => "do".to_owned(),
            Action::Pause(_) => "pause".to_owned(),
            Action::Advance(_) => "advance".to_owned(),
            Action::Learn(_) => "learn".to_owned(),
        }
    }
}
