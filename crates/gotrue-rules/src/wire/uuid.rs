//! UUIDs in the spellings that clients may use.

use uuid::Uuid;

/// Parses a UUID with or without hyphens, in braces, or after `urn:uuid:`.
pub fn parse_uuid(text: &str) -> Option<Uuid> {
    let braced = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let bare = braced.or_else(|| text.strip_prefix("urn:uuid:")).unwrap_or(text);
    let has_form = matches!(bare.len(), 32 | 36) && bare.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    Uuid::try_parse(bare).ok().filter(|_| has_form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_spelling_of_gotrue_is_accepted() {
        let id = Uuid::from_u128(0x6ba7_b810_9dad_11d1_80b4_00c0_4fd4_30c8);
        let (canonical, plain) = (id.to_string(), id.simple().to_string());
        for spelling in [canonical.as_str(), &plain, &canonical.to_uppercase()] {
            for text in [spelling.to_owned(), format!("{{{spelling}}}"), format!("urn:uuid:{spelling}")] {
                assert_eq!(parse_uuid(&text), Some(id), "{text}");
            }
        }
        let wrong = ["", "{}", "urn:uuid:", "x", &plain[1..], &format!("{{{plain}"), &format!("URN:UUID:{plain}")];
        for text in wrong {
            assert_eq!(parse_uuid(text), None, "{text}");
        }
    }
}
