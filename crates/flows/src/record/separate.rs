//! Separates requests into flows and records each in its file.

use std::path::PathBuf;

use flow_proxy::FLOW_HEADER;
use serde_json::Value;

use super::exchange::Exchange;
use super::plain::is_name;
use super::session::{FlowSession, RecordedUrls};
use super::settings::infer_settings;
use super::steps;
use super::writer::FlowWriter;
use crate::FlowError;
use crate::format::{Flow, HeaderComparison, Profile};

/// The most flows at a time; the one without a request for the longest time is finished.
const MAX_OPEN: usize = 64;

/// How flows are recorded.
#[derive(Debug, Clone)]
pub struct RecorderOptions {
    /// The folder of the files.
    pub folder: PathBuf,
    /// The profile of the replays.
    pub profile: Profile,
    /// Seconds without a request after which a client begins another flow.
    pub gap: f64,
    /// The name of flows that no request names.
    pub name: Option<String>,
    /// The addresses of the recorded server.
    pub urls: RecordedUrls,
    /// What `GET /settings` of the server answers.
    pub announced: Value,
}

/// A flow that is being recorded.
struct OpenFlow {
    /// The name that its requests gave.
    given_name: Option<String>,
    client: String,
    last_request: f64,
    session: FlowSession,
    writer: FlowWriter,
    /// The number of facts that the settings of the file follow from.
    facts: usize,
    is_full: bool,
}

/// Records exchanges.
pub struct Recorder {
    options: RecorderOptions,
    open: Vec<OpenFlow>,
    /// The name of all flows from here on.
    current_name: Option<String>,
    steps: u64,
    files: u64,
}

impl Recorder {
    /// Creates a recorder.
    pub fn new(options: RecorderOptions) -> Self {
        let current_name = options.name.clone();
        Self { options, open: Vec::new(), current_name, steps: 0, files: 0 }
    }

    /// Names the flow of the following requests that name none.
    pub fn set_name(&mut self, name: &str) {
        self.current_name = Some(name.to_owned());
    }

    /// Returns how many requests and files were recorded.
    pub fn counts(&self) -> (u64, u64) {
        (self.steps, self.files)
    }

    /// Records an exchange at once.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record(&mut self, exchange: &Exchange) -> Result<(), FlowError> {
        let failed =
            |error: std::io::Error| FlowError::new(format!("a step cannot be written: {error}"), "check --out");
        let at = self.find(exchange).map_or_else(|| self.open(exchange).map_err(failed), Ok)?;
        let announced = &self.options.announced;
        let flow = &mut self.open[at];
        flow.last_request = exchange.at;
        if flow.is_full {
            return Ok(());
        }
        let steps = steps::record(&mut flow.session, exchange);
        let facts = flow.session.count_facts();
        if facts != flow.facts {
            flow.facts = facts;
            let mut head = flow.writer.head().clone();
            head.settings = infer_settings(&flow.session, announced);
            // The profile gotrue has no simulated providers.
            if !flow.session.providers.is_empty() {
                head.profile = Profile::Serve;
            }
            flow.writer.replace_head(head).map_err(failed)?;
        }
        if !flow.writer.append(&steps).map_err(failed)? {
            flow.is_full = true;
            tracing::warn!(file = %flow.writer.path().display(), "the file of a flow is full, its further requests are not recorded");
        }
        self.steps += 1;
        Ok(())
    }

    /// Finds the flow of a request: by its name, by what it knows, or by its client.
    fn find(&self, exchange: &Exchange) -> Option<usize> {
        let name = self.given_name(exchange);
        if name.is_some() {
            return self.open.iter().position(|flow| flow.given_name == name);
        }
        let body = exchange.json();
        let form = |name: &str| body[name].as_str().map(str::to_owned).or_else(|| exchange.query(name));
        let mut credentials: Vec<String> = exchange.bearer().map(str::to_owned).into_iter().collect();
        credentials.extend(
            ["refresh_token", "auth_code", "code_verifier", "state", "challenge_id"].into_iter().filter_map(form),
        );
        let knows = |flow: &OpenFlow| credentials.iter().any(|value| flow.session.known.find(value).is_some());
        if let Some(at) = self.open.iter().rposition(knows) {
            return Some(at);
        }
        self.open
            .iter()
            .rposition(|flow| flow.client == exchange.client && exchange.at - flow.last_request <= self.options.gap)
    }

    fn given_name(&self, exchange: &Exchange) -> Option<String> {
        let of_header = exchange.header(FLOW_HEADER).filter(|name| !name.is_empty()).map(str::to_owned);
        of_header.or_else(|| self.current_name.clone())
    }

    fn open(&mut self, exchange: &Exchange) -> Result<usize, std::io::Error> {
        if self.open.len() >= MAX_OPEN {
            let oldest = (0..self.open.len())
                .min_by(|left, right| self.open[*left].last_request.total_cmp(&self.open[*right].last_request));
            if let Some(oldest) = oldest {
                self.open.swap_remove(oldest).writer.finish()?;
            }
        }
        let given_name = self.given_name(exchange);
        let session = FlowSession::new(self.options.urls.clone());
        let head = Flow {
            name: given_name.clone().unwrap_or_else(|| route_name(exchange)),
            profile: self.options.profile,
            headers: HeaderComparison::Relevant,
            settings: infer_settings(&session, &self.options.announced),
            ..Flow::default()
        };
        let writer = FlowWriter::create(&self.options.folder, head)?;
        tracing::info!(file = %writer.path().display(), "recording a flow");
        self.files += 1;
        let (client, last_request) = (exchange.client.clone(), exchange.at);
        self.open.push(OpenFlow { given_name, client, last_request, session, writer, facts: 0, is_full: false });
        Ok(self.open.len() - 1)
    }

    /// Finishes all flows.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish(&mut self) -> Result<(), FlowError> {
        for flow in self.open.drain(..) {
            let place = flow.writer.path().display().to_string();
            flow.writer.finish().map_err(|error| FlowError::new(format!("{place}: {error}"), "check the folder"))?;
        }
        Ok(())
    }
}

/// Returns a name by the first request, such as `signup`.
fn route_name(exchange: &Exchange) -> String {
    let first = exchange.route().split('/').find(|segment| !segment.is_empty()).unwrap_or("flow");
    if is_name(first) { first.to_owned() } else { "flow".to_owned() }
}
