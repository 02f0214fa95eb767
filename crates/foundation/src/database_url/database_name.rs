//! The name of the database in a URL, also in one that lists several servers.

/// The parameter that overrides the name in the path.
const PARAMETER: &str = "dbname";

/// Returns the URL of another database of the same servers.
///
/// `database` must not need percent-encoding. A text that is no URL gets a path, too.
pub fn with_database(url: &str, database: &str) -> String {
    let (location, query) = url.split_once('?').unwrap_or((url, ""));
    let authority = &location[..find_path(location)];
    let others: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty() && !is_name(pair)).collect();
    let query = if others.is_empty() { String::new() } else { format!("?{}", others.join("&")) };
    format!("{authority}/{database}{query}")
}

/// Returns the name of the database in a URL, not decoded; `None` if it has none.
pub fn find_database(url: &str) -> Option<&str> {
    let (location, query) = url.split_once('?').unwrap_or((url, ""));
    let parameter = query.split('&').rev().find(|pair| is_name(pair)).and_then(|pair| pair.split_once('='));
    let path = location[find_path(location)..].strip_prefix('/');
    parameter.map(|(_, name)| name).or(path).filter(|name| !name.is_empty())
}

fn is_name(pair: &str) -> bool {
    pair.split('=').next() == Some(PARAMETER)
}

/// The position of the path: after the servers, whose names contain no slash that is not encoded.
fn find_path(location: &str) -> usize {
    let start = location.find("://").map_or(0, |at| at + 3);
    location[start..].find('/').map_or(location.len(), |at| start + at)
}
