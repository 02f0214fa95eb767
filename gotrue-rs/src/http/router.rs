//! Route matching on the raw path.
//!
//! Paths are case-sensitive, and HEAD is not GET. The guards of a group also run for a path or method below it that
//! matches no route.

use std::borrow::Cow;
use std::sync::Arc;

use foundation::error::Result;
use futures::future::BoxFuture;
use gotrue_rules::domain::mfa::key_uri::PATH_SEGMENT_ESCAPES;
use http::{Method, StatusCode};
use percent_encoding::{percent_decode_str, utf8_percent_encode};

use super::reply::Reply;
use super::route_handler::{Guard, RouteHandler, add_guards};
use crate::request_context::RequestContext;

/// The handler of a route, with its parameters.
type Handler = Box<dyn Fn(RequestContext) -> BoxFuture<'static, Result<Reply>> + Send + Sync>;

/// A check of requests below a group that match no route. Its reply replaces 404 and 405.
pub type UnmatchedCheck = for<'a> fn(&'a RequestContext) -> BoxFuture<'a, Result<Option<Reply>>>;

/// An entry of the route table.
pub enum RouteEntry {
    /// A method and a path.
    Route(Route),
    /// Routes below a path that share guards.
    Group(RouteGroup),
}

/// A method and a path with its handler.
pub struct Route {
    pub method: Method,
    /// The path below the group: `/` for the group's own, `{name}` for one segment.
    pub path: &'static str,
    /// The guards, in the order in which they run after those of the groups; see [`add_guards`].
    ///
    /// Private, so that those of the handler's parameters are always among them.
    guards: Vec<Guard>,
    /// The path with those of its groups, complete in a [`RouteTable`].
    template: Arc<str>,
    handler: Handler,
}

/// Routes below a path that share guards.
pub struct RouteGroup {
    /// The path, relative to the enclosing group.
    pub path: &'static str,
    /// The guards of everything below; see [`add_guards`].
    pub guards: Vec<Guard>,
    /// The entries below the path.
    pub entries: Vec<RouteEntry>,
    /// The reply to unknown paths below this one; `None` for the server's default.
    pub fallback: Option<fn() -> Reply>,
    /// The check of requests that match no route; `None` for none.
    pub unmatched_check: Option<UnmatchedCheck>,
}

impl Route {
    /// The guards that run after those of the groups.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }
}

/// Builds a route that handles `method` on `path`, with the guards of the handler's parameters.
pub fn route<P, H: RouteHandler<P>>(method: Method, path: &'static str, handler: H) -> RouteEntry {
    RouteEntry::Route(Route {
        method,
        path,
        guards: H::guards(),
        template: path.into(),
        handler: Box::new(move |cx| handler.call(cx)),
    })
}

/// Builds a group of routes below `path` that share `guards`.
pub fn route_group(path: &'static str, guards: &[Guard], entries: impl IntoIterator<Item = RouteEntry>) -> RouteEntry {
    RouteEntry::Group(RouteGroup {
        path,
        guards: guards.to_vec(),
        entries: entries.into_iter().collect(),
        fallback: None,
        unmatched_check: None,
    })
}

impl RouteEntry {
    /// Sets the reply to unknown paths below this group.
    #[must_use]
    pub fn with_fallback(mut self, answer: fn() -> Reply) -> Self {
        if let Self::Group(group) = &mut self {
            group.fallback = Some(answer);
        }
        self
    }

    /// Sets the check of requests below this group that match no route.
    #[must_use]
    pub fn with_unmatched_check(mut self, check: UnmatchedCheck) -> Self {
        if let Self::Group(group) = &mut self {
            group.unmatched_check = Some(check);
        }
        self
    }

    /// Adds guards to a route, before those of its handler's parameters, or to a group.
    #[must_use]
    pub fn with_guards(mut self, guards: &[Guard]) -> Self {
        match &mut self {
            Self::Route(row) => {
                let of_parameters = std::mem::replace(&mut row.guards, guards.to_vec());
                add_guards(&mut row.guards, &of_parameters);
            }
            Self::Group(group) => group.guards.extend_from_slice(guards),
        }
        self
    }
}

/// The route table, in which each route knows its template.
pub struct RouteTable(Vec<RouteEntry>);

impl RouteTable {
    /// Builds the table of these entries.
    pub fn new(mut entries: Vec<RouteEntry>) -> Self {
        complete_templates(&mut entries, "");
        Self(entries)
    }
}

/// Puts the path of the groups before the templates of their routes; `/` names the group itself.
fn complete_templates(entries: &mut [RouteEntry], group_path: &str) {
    for entry in entries {
        match entry {
            RouteEntry::Route(row) if row.path == "/" && !group_path.is_empty() => {
                row.template = group_path.into();
            }
            RouteEntry::Route(row) => row.template = format!("{group_path}{}", row.path).into(),
            RouteEntry::Group(group) => {
                complete_templates(&mut group.entries, &format!("{group_path}{}", group.path));
            }
        }
    }
}

/// The result of matching a request against the route table.
#[derive(Default)]
struct RouteMatch<'t> {
    group_guards: Vec<Guard>,
    params: Vec<(&'static str, String)>,
    row: Option<&'t Route>,
    allowed: Vec<&'t Method>,
    otherwise: Option<fn() -> Reply>,
    unmatched_check: Option<UnmatchedCheck>,
}

/// Routes the request to its handler.
///
/// As in GoTrue, a non-standard method is refused before anything else, and gets no `Allow` header.
pub async fn dispatch(table: &RouteTable, mut cx: RequestContext) -> Result<Reply> {
    if !is_standard(&cx.request.method) {
        return Ok(Reply::empty(StatusCode::METHOD_NOT_ALLOWED));
    }
    let mut found = RouteMatch::default();
    let path = cx.request.path.clone();
    match_entries(&table.0, &path, &cx.request.method.clone(), &mut found);
    cx.request.params = std::mem::take(&mut found.params);
    if let Some(row) = found.row {
        cx.span.record("http.route", &*row.template);
        cx.journal.record_route(&row.template);
        cx.journal.trace(|trace| trace.route = Some(row.template.to_string()));
        add_guards(&mut found.group_guards, &row.guards);
    }
    run_guards(&found.group_guards, &mut cx).await?;
    match found.row {
        Some(row) => (row.handler)(cx).await,
        None => answer_unmatched(&cx, &found).await,
    }
}

/// Answers a request whose path or method matches no route.
async fn answer_unmatched(cx: &RequestContext, found: &RouteMatch<'_>) -> Result<Reply> {
    if let Some(check) = found.unmatched_check
        && let Some(reply) = check(cx).await?
    {
        return Ok(reply);
    }
    if found.allowed.is_empty() {
        return Ok(found.otherwise.unwrap_or(Reply::page_not_found)());
    }
    let allowed: Vec<&str> = found.allowed.iter().map(|method| method.as_str()).collect();
    Ok(Reply::empty(StatusCode::METHOD_NOT_ALLOWED).with_header(http::header::ALLOW, &allowed.join(", ")))
}

fn is_standard(method: &Method) -> bool {
    const STANDARD: [Method; 9] = [
        Method::CONNECT,
        Method::DELETE,
        Method::GET,
        Method::HEAD,
        Method::OPTIONS,
        Method::PATCH,
        Method::POST,
        Method::PUT,
        Method::TRACE,
    ];
    STANDARD.contains(method)
}

async fn run_guards(guards: &[Guard], cx: &mut RequestContext) -> Result<()> {
    for guard in guards {
        cx.journal.record(platform::journal::Step::Guard(guard.name));
        if let Err(error) = (guard.run)(cx).await {
            cx.journal.trace(|trace| trace.refusing_guard = Some(guard.name));
            return Err(error);
        }
    }
    Ok(())
}

fn match_entries<'t>(entries: &'t [RouteEntry], path: &str, method: &Method, found: &mut RouteMatch<'t>) {
    let mut is_named = false;
    for entry in entries {
        match entry {
            RouteEntry::Route(row) => {
                let Some((params, "")) = match_path(row.path, path, true) else { continue };
                if row.method == *method && found.row.is_none() {
                    found.row = Some(row);
                    found.params.extend(params);
                } else {
                    found.allowed.push(&row.method);
                }
            }
            // A literal group takes precedence over a group with a path parameter.
            RouteEntry::Group(group) if is_named && group.path.starts_with("/{") => {}
            RouteEntry::Group(group) => {
                let Some((params, rest)) = match_path(group.path, path, false) else { continue };
                is_named = true;
                found.group_guards.extend_from_slice(&group.guards);
                found.params.extend(params);
                found.unmatched_check = group.unmatched_check.or(found.unmatched_check);
                found.otherwise = group.fallback.or(found.otherwise);
                match_entries(&group.entries, rest, method, found);
            }
        }
    }
}

/// Matches `pattern` and returns the parameters and the rest of the path.
///
/// With `whole` the pattern must match the whole path, else a prefix of its segments.
fn match_path<'p>(pattern: &'static str, path: &'p str, whole: bool) -> Option<(Vec<(&'static str, String)>, &'p str)> {
    // Most patterns differ in the first character of the first segment.
    let first = |text: &str| text.as_bytes().get(1).copied();
    if !matches!(first(pattern), None | Some(b'{')) && first(pattern) != first(path) {
        return None;
    }
    if pattern == "/" {
        return (whole && matches!(path, "" | "/")).then(|| (Vec::new(), ""));
    }
    let mut params = Vec::new();
    let mut rest = path;
    for segment in pattern.split('/').skip(1) {
        rest = rest.strip_prefix('/')?;
        let end = rest.find('/').unwrap_or(rest.len());
        let (here, after) = rest.split_at(end);
        match segment.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) if !here.is_empty() => params.push((name, decode_parameter(here).into_owned())),
            None if segment == here => {}
            _ => return None,
        }
        rest = after;
    }
    (!whole || rest.is_empty()).then_some((params, rest))
}

/// Decodes a path parameter if its encoding is the usual one, in which no other character is encoded.
///
/// As in the reference, others stay as they are. So do control characters, which no stored name contains.
fn decode_parameter(raw: &str) -> Cow<'_, str> {
    if !raw.contains('%') {
        return Cow::Borrowed(raw);
    }
    match percent_decode_str(raw).decode_utf8() {
        Ok(decoded)
            if !decoded.contains(char::is_control)
                && utf8_percent_encode(&decoded, PATH_SEGMENT_ESCAPES).to_string() == raw =>
        {
            decoded
        }
        _ => Cow::Borrowed(raw),
    }
}
