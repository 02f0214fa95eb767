//! The walk through the route table. Raw paths, case matters, HEAD is not GET. A group's guards run before a path or
//! method below it is looked at; a row's guards after.

use futures::future::BoxFuture;
use gotrue_rules::domain::error::Result;
use http::{Method, StatusCode};

use super::reply::Reply;
use crate::cx::Cx;

/// A check before a handler; what it finds goes into the [`Cx`].
#[derive(Clone, Copy)]
pub struct Guard {
    /// As the journal and the table's tests show it.
    pub name: &'static str,
    /// The check.
    pub run: for<'a> fn(&'a mut Cx) -> BoxFuture<'a, Result<()>>,
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// What answers a request.
pub type Handler = Box<dyn Fn(Cx) -> BoxFuture<'static, Result<Reply>> + Send + Sync>;

/// A line of the table.
pub enum Entry {
    /// A method and a path.
    Row(Row),
    /// Lines below a path that share guards.
    Group(Group),
}

/// A method and a path with what answers it.
pub struct Row {
    /// The method.
    pub method: Method,
    /// The path below the group: `/` for the group's own, `{name}` for any one segment.
    pub path: &'static str,
    /// What must be passed, in this order.
    pub guards: Vec<Guard>,
    handler: Handler,
}

/// Lines below a path that share guards.
pub struct Group {
    /// The path, below the group that holds this one.
    pub path: &'static str,
    /// What must be passed before anything below is looked at.
    pub guards: Vec<Guard>,
    /// The lines.
    pub entries: Vec<Entry>,
    /// What any other path below it answers; the server's own answer if this is none.
    pub otherwise: Option<fn() -> Reply>,
}

/// A line that answers `method` on `path`.
pub fn row<F>(method: Method, path: &'static str, handler: fn(Cx) -> F) -> Entry
where
    F: Future<Output = Result<Reply>> + Send + 'static,
{
    Entry::Row(Row { method, path, guards: Vec::new(), handler: Box::new(move |cx| Box::pin(handler(cx))) })
}

/// Lines below `path` that share `guards`.
pub fn group(path: &'static str, guards: &[Guard], entries: impl IntoIterator<Item = Entry>) -> Entry {
    Entry::Group(Group { path, guards: guards.to_vec(), entries: entries.into_iter().collect(), otherwise: None })
}

impl Entry {
    /// The same group with an answer of its own to paths that are not there.
    #[must_use]
    pub fn otherwise(mut self, answer: fn() -> Reply) -> Self {
        if let Self::Group(group) = &mut self {
            group.otherwise = Some(answer);
        }
        self
    }

    /// The same line with guards of its own.
    #[must_use]
    pub fn guards(mut self, guards: &[Guard]) -> Self {
        match &mut self {
            Self::Row(row) => row.guards = guards.to_vec(),
            Self::Group(group) => group.guards.extend_from_slice(guards),
        }
        self
    }
}

/// What the walk found.
#[derive(Default)]
struct Found<'t> {
    group_guards: Vec<Guard>,
    params: Vec<(&'static str, String)>,
    row: Option<&'t Row>,
    allowed: Vec<&'t Method>,
    otherwise: Option<fn() -> Reply>,
}

/// Answers the request by the table.
pub async fn dispatch(table: &[Entry], mut cx: Cx) -> Result<Reply> {
    let mut found = Found::default();
    let path = cx.request.path.clone();
    walk(table, &path, &cx.request.method.clone(), &mut found);
    cx.request.params = found.params;
    pass(&found.group_guards, &mut cx).await?;
    match found.row {
        Some(row) => {
            pass(&row.guards, &mut cx).await?;
            (row.handler)(cx).await
        }
        None if found.allowed.is_empty() => Ok(found.otherwise.unwrap_or(Reply::page_not_found)()),
        // As recorded: who asks with a method of his own invention is not told which there are.
        None if !is_standard(&cx.request.method) => Ok(Reply::empty(StatusCode::METHOD_NOT_ALLOWED)),
        None => {
            let allowed: Vec<&str> = found.allowed.iter().map(|method| method.as_str()).collect();
            Ok(Reply::empty(StatusCode::METHOD_NOT_ALLOWED).with_header(http::header::ALLOW, &allowed.join(", ")))
        }
    }
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

async fn pass(guards: &[Guard], cx: &mut Cx) -> Result<()> {
    for guard in guards {
        cx.journal.note(crate::journal::Step::Guard(guard.name));
        (guard.run)(cx).await?;
    }
    Ok(())
}

fn walk<'t>(entries: &'t [Entry], path: &str, method: &Method, found: &mut Found<'t>) {
    let mut is_named = false;
    for entry in entries {
        match entry {
            Entry::Row(row) => {
                let Some((params, "")) = matched(row.path, path, true) else { continue };
                if row.method == *method && found.row.is_none() {
                    found.row = Some(row);
                    found.params.extend(params);
                } else {
                    found.allowed.push(&row.method);
                }
            }
            // A group's own name comes before a group that takes any.
            Entry::Group(group) if is_named && group.path.starts_with("/{") => {}
            Entry::Group(group) => {
                let Some((params, rest)) = matched(group.path, path, false) else { continue };
                is_named = true;
                found.group_guards.extend_from_slice(&group.guards);
                found.params.extend(params);
                found.otherwise = group.otherwise.or(found.otherwise);
                walk(&group.entries, rest, method, found);
            }
        }
    }
}

/// The parameters and the rest of the path, if `pattern` fits: all of it when `whole`, else a prefix of segments.
fn matched<'p>(pattern: &'static str, path: &'p str, whole: bool) -> Option<(Vec<(&'static str, String)>, &'p str)> {
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
            Some(name) if !here.is_empty() => params.push((name, here.to_owned())),
            None if segment == here => {}
            _ => return None,
        }
        rest = after;
    }
    (!whole || rest.is_empty()).then_some((params, rest))
}
