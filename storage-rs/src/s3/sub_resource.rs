//! Sub-resources of buckets and objects: parameters without which a request is another operation.

use http::Method;

use crate::request::Query;

/// The sub-resources of the protocol.
const KNOWN: [&str; 38] = [
    "abac",
    "accelerate",
    "acl",
    "analytics",
    "attributes",
    "cors",
    "delete",
    "encryption",
    "intelligent-tiering",
    "inventory",
    "legal-hold",
    "lifecycle",
    "location",
    "logging",
    "metadataConfiguration",
    "metadataInventoryTable",
    "metadataJournalTable",
    "metadataTable",
    "metrics",
    "notification",
    "object-lock",
    "ownershipControls",
    "policy",
    "policyStatus",
    "publicAccessBlock",
    "renameObject",
    "replication",
    "requestPayment",
    "restore",
    "retention",
    "select",
    "session",
    "tagging",
    "torrent",
    "uploads",
    "versioning",
    "versions",
    "website",
];

/// The sub-resources that are served: the method, whether it is one of an object, and the name.
const SERVED: [(Method, bool, &str); 6] = [
    (Method::GET, false, "location"),
    (Method::GET, false, "uploads"),
    (Method::GET, false, "versioning"),
    (Method::POST, false, "delete"),
    (Method::GET, true, "tagging"),
    (Method::POST, true, "uploads"),
];

/// Finds the sub-resource that a request is about, if it is not served.
pub(super) fn find_unserved(method: &Method, is_of_object: bool, query: &Query) -> Option<&'static str> {
    KNOWN.into_iter().find(|name| {
        let is_served = SERVED
            .iter()
            .any(|(served, of_object, other)| served == method && *of_object == is_of_object && other == name);
        !is_served && query.get(name).is_some()
    })
}
