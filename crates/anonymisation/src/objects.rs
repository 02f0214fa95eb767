//! The names and the metadata of stored objects.

use serde_json::Value;
use storage_rs::anonymise::ObjectRules;
use uuid::Uuid;

use crate::rows::Anonymisation;

/// The longest ending of a name that stays, in characters.
const MAX_ENDING: usize = 8;
/// The name of an object that stands for an empty folder.
const PLACEHOLDER: &str = ".emptyFolderPlaceholder";

/// What becomes of the texts of objects.
pub struct AnonymisedObjects<'a> {
    /// The pseudonyms.
    pub anonymisation: &'a Anonymisation,
    /// Whether names stay.
    pub keeps_names: bool,
}

impl AnonymisedObjects<'_> {
    /// A folder or the last part of a name. Ids of users and endings stay.
    fn segment(&self, segment: &str) -> String {
        if segment.is_empty() || segment == PLACEHOLDER || segment.parse::<Uuid>().is_ok() {
            return segment.to_owned();
        }
        let pseudonym = self.anonymisation.pseudonyms.identifier(segment);
        let ending = segment.rsplit_once('.').map(|(_, ending)| ending);
        let is_kept =
            |ending: &&str| ending.len() <= MAX_ENDING && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
        match ending.filter(|ending| !ending.is_empty()).filter(is_kept) {
            Some(ending) => format!("{pseudonym}.{ending}"),
            None => pseudonym,
        }
    }
}

impl ObjectRules for AnonymisedObjects<'_> {
    fn name(&self, name: &str) -> String {
        if self.keeps_names {
            return name.to_owned();
        }
        name.split('/').map(|segment| self.segment(segment)).collect::<Vec<_>>().join("/")
    }

    fn user_metadata(&self, metadata: &Value, owner: &str) -> Value {
        self.anonymisation.row_rules().replace_document(metadata, owner)
    }

    fn version(&self, id: &str) -> String {
        self.anonymisation.pseudonyms.object_version(id)
    }
}
