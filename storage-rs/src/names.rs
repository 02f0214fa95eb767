//! The names of buckets and objects.

use crate::error::Error;

/// The longest name of a bucket, in characters.
const MAXIMUM_BUCKET_NAME: usize = 100;
/// The longest name of an object, in bytes: that of S3.
pub(crate) const MAXIMUM_OBJECT_NAME: usize = 1024;
/// The end of names that belong to analytics buckets.
const RESERVED_SUFFIX: &str = "--table-s3";

/// Characters of names, besides letters and digits: those that S3 calls safe or that need encoding at most.
const MARKS: &str = "_!.*'() &$=@;:+,?-";

fn is_allowed(character: char) -> bool {
    character.is_ascii_alphanumeric() || MARKS.contains(character)
}

/// Checks the name of an object.
///
/// # Errors
/// It is empty, too long, has another character than allowed, or a segment `.` or `..`.
pub fn check_object_name(name: &str) -> Result<(), Error> {
    let is_valid = !name.is_empty()
        && name.len() <= MAXIMUM_OBJECT_NAME
        && name.chars().all(|character| character == '/' || is_allowed(character))
        && !name.split('/').any(|segment| matches!(segment, "." | ".."));
    if is_valid { Ok(()) } else { Err(Error::invalid_key(name)) }
}

/// Checks the name of a bucket.
///
/// # Errors
/// It is empty, too long, has another character than allowed, or is a segment of a path that means another one.
pub fn check_bucket_name(name: &str) -> Result<(), Error> {
    let is_valid = !name.is_empty()
        && name.len() <= MAXIMUM_BUCKET_NAME
        && name.chars().all(is_allowed)
        && !matches!(name, "." | "..");
    if is_valid { Ok(()) } else { Err(Error::invalid_bucket_name(name)) }
}

/// Checks the name of a bucket that is created.
///
/// # Errors
/// As [`check_bucket_name`], and names that belong to analytics buckets.
pub fn check_new_bucket_name(name: &str) -> Result<(), Error> {
    if name.trim().len() != name.len() || name.ends_with(RESERVED_SUFFIX) {
        return Err(Error::invalid_bucket_name(name));
    }
    check_bucket_name(name)
}

/// Whether an object stands for a folder without objects: it has to be empty and may have any type.
pub fn is_folder_placeholder(name: &str) -> bool {
    name.ends_with(".emptyFolderPlaceholder")
}

/// Whether the claim `sub` fits into the column `owner`, which holds a UUID of a version up to 5.
pub fn is_owner_uuid(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 36
        && uuid::Uuid::try_parse(text).is_ok()
        && matches!(bytes[14], b'0'..=b'5')
        && matches!(bytes[19].to_ascii_lowercase(), b'0' | b'8' | b'9' | b'a' | b'b')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_names_have_the_characters_of_s3() {
        for name in ["a", "a/b//c.txt", "open/!$&'()*,;=@:.txt", "a+b c?", "a/", "...", &"x".repeat(1024)] {
            assert!(check_object_name(name).is_ok(), "{name}");
        }
        for name in
            ["", "ü", "a#b", "a%b", "a\\b", "[a]", "~", "a\nb", "\0", "../a", "a/..", "a/./b", &"x".repeat(1025)]
        {
            assert!(check_object_name(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn bucket_names_have_no_slash() {
        for name in ["a", "rc-odd (1)!&$@=;:+,?*'_.", &"x".repeat(100)] {
            assert!(check_new_bucket_name(name).is_ok(), "{name}");
        }
        for name in ["", ".", "..", "a/b", " a", "a ", "ä", "a--table-s3", &"x".repeat(101)] {
            assert!(check_new_bucket_name(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn owner_is_a_uuid() {
        assert!(is_owner_uuid("ada00000-1111-4111-8111-00000000ada0"));
        assert!(!is_owner_uuid("ada00000-1111-7111-8111-00000000ada0"));
        assert!(!is_owner_uuid("ada000001111411181110000000ada00"));
        assert!(!is_owner_uuid("x"));
    }
}
