//! Suggestions for unknown names in `config.toml`.

use platform::nearest::find_nearest;

use super::keys::{UNSUPPORTED_TABLES, all_keys, allowed_names};

/// Suggests the known key or table nearest to an unknown one: a sibling, or one in another table.
pub(super) fn suggest_name(path: &[&str]) -> Option<String> {
    let (last, parents) = path.split_last()?;
    let siblings = sibling_names(parents);
    let limit = (last.chars().count() / 3).clamp(1, 3);
    let near = find_nearest(last, siblings.iter().map(String::as_str), limit);
    near.map(|name| join_path(parents, name)).or_else(|| find_in_other_table(last, parents))
}

/// Returns the names that are known below these parents.
fn sibling_names(parents: &[&str]) -> Vec<String> {
    let mut names = Vec::new();
    for key in all_keys() {
        let parts: Vec<&str> = key.path.split('.').collect();
        let below = parts.len() > parents.len()
            && parts.iter().zip(parents).all(|(part, parent)| part == parent || *part == "*");
        if below {
            names.push(parts[parents.len()].to_owned());
        }
    }
    names.extend(allowed_names(&parents.join(".")).into_iter().flatten().map(|name| (*name).to_owned()));
    names.extend(UNSUPPORTED_TABLES.iter().filter_map(|(table, _)| {
        let (before, name) = table.rsplit_once('.').unwrap_or(("", table));
        (before == parents.join(".")).then(|| name.to_owned())
    }));
    names.retain(|name| name != "*");
    names
}

/// Finds a key of the same name in another table; the one with the most shared parents is preferred.
fn find_in_other_table(last: &str, parents: &[&str]) -> Option<String> {
    let found: Vec<&str> =
        all_keys().map(|key| key.path).filter(|path| path.rsplit('.').next() == Some(last)).collect();
    let shared = |path: &&str| path.split('.').zip(parents).take_while(|(part, parent)| part == *parent).count();
    let best = found.iter().copied().min_by_key(|path| std::cmp::Reverse(shared(path)))?;
    (found.len() <= 3).then(|| best.to_owned())
}

fn join_path(parents: &[&str], name: &str) -> String {
    let mut path = parents.join(".");
    if !path.is_empty() {
        path.push('.');
    }
    path + name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestion_corrects_typos_and_wrong_tables() {
        let cases = [
            ("auth.site_ulr", Some("auth.site_url")),
            ("auth.enable_confirmations", Some("auth.email.enable_confirmations")),
            ("auth.external.gihtub", Some("auth.external.github")),
            ("auth.hook.send_mail", Some("auth.hook.send_email")),
            ("auht", Some("auth")),
            ("functions.send-submission.verify_jtw", Some("functions.send-submission.verify_jwt")),
            ("storag", Some("storage")),
            ("auth.something_entirely_new", None),
            ("auth.enabled_", Some("auth.enabled")),
        ];
        for (path, expected) in cases {
            let parts: Vec<&str> = path.split('.').collect();
            assert_eq!(suggest_name(&parts).as_deref(), expected, "{path}");
        }
    }
}
