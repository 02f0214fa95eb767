//! JSON templates of the providers' responses.
//!
//! A string `$name` stands for the variable of that name. A member whose variable has no value is left out, and so is an
//! element of a list with such a member. The member `$claims` stands for all members of the variable `claims`.

use serde_json::{Map, Value};

/// The member that is replaced by the members of the variable `claims`.
const CLAIMS_MEMBER: &str = "$claims";

/// The values of the variables, by name without `$`.
pub(crate) type Variables = Map<String, Value>;

/// Fills a template; `None` if it is a variable without a value.
pub(crate) fn render(template: &Value, variables: &Variables) -> Option<Value> {
    match template {
        Value::String(text) => match text.strip_prefix('$') {
            Some(name) => variables.get(name).filter(|value| !value.is_null()).cloned(),
            None => Some(template.clone()),
        },
        Value::Array(elements) => {
            let complete = elements.iter().filter(|element| is_complete(element, variables));
            Some(complete.filter_map(|element| render(element, variables)).collect())
        }
        Value::Object(members) => Some(Value::Object(render_members(members, variables))),
        other => Some(other.clone()),
    }
}

/// Replaces `$name` inside a text, for URLs; an unknown name stays.
pub(crate) fn render_text(template: &str, variables: &[(&str, &str)]) -> String {
    variables.iter().fold(template.to_owned(), |text, (name, value)| text.replace(&format!("${name}"), value))
}

/// Returns whether a template contains the variable.
pub(crate) fn contains_variable(template: &Value, name: &str) -> bool {
    match template {
        Value::String(text) => text.strip_prefix('$') == Some(name),
        Value::Array(elements) => elements.iter().any(|element| contains_variable(element, name)),
        Value::Object(members) => members.values().any(|member| contains_variable(member, name)),
        _ => false,
    }
}

fn render_members(members: &Map<String, Value>, variables: &Variables) -> Map<String, Value> {
    let mut rendered = Map::new();
    for (name, member) in members.iter().filter(|(name, _)| *name != CLAIMS_MEMBER) {
        if let Some(value) = render(member, variables) {
            rendered.insert(name.clone(), value);
        }
    }
    if members.contains_key(CLAIMS_MEMBER)
        && let Some(Value::Object(claims)) = variables.get("claims")
    {
        rendered.extend(claims.clone());
    }
    rendered
}

/// Returns whether all direct members of an element have a value.
fn is_complete(element: &Value, variables: &Variables) -> bool {
    let Value::Object(members) = element else { return true };
    members.iter().all(|(name, member)| name == CLAIMS_MEMBER || render(member, variables).is_some())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn members_without_value_are_left_out() {
        let Value::Object(variables) = json!({"id": 7, "email": null, "claims": {"hd": "x", "id": 8}}) else {
            panic!()
        };
        let template = json!({"id": "$id", "email": "$email", "list": [{"a": "$email"}, {"a": "$id"}], "b": [true, "c"],
                              "in": {"id": "$id", "email": "$email", "$claims": true}});
        let expected = json!({"id": 7, "list": [{"a": 7}], "b": [true, "c"], "in": {"id": 8, "hd": "x"}});
        assert_eq!(render(&template, &variables), Some(expected));
        assert_eq!(render(&json!("$email"), &variables), None);
        assert_eq!(render_text("https://$host/$tenant/v2", &[("host", "h"), ("tenant", "t")]), "https://h/t/v2");
    }

    #[test]
    fn variables_are_found_at_any_depth() {
        assert!(contains_variable(&json!({"a": [{"b": "$c"}]}), "c"));
        assert!(!contains_variable(&json!({"a": ["c", "$cc", 7]}), "c"));
    }

    proptest! {
        #[test]
        fn text_without_variables_is_unchanged(text in "[^$]*") {
            prop_assert_eq!(render(&json!({"a": [&text]}), &Variables::new()), Some(json!({"a": [&text]})));
            prop_assert_eq!(render_text(&text, &[("a", "b")]), text);
        }
    }
}
