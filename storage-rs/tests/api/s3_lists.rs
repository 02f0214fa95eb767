//! Lists of the S3 protocol by pages, compared with a simple model.

use std::collections::BTreeSet;
use std::fmt::Write;

use http::StatusCode;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::api::TestApi;
use crate::multipart::request_with;

/// The lists that are compared.
const CASES: usize = 120;

/// The names of a bucket, and how they are listed.
#[derive(Debug, Clone)]
struct Case {
    names: BTreeSet<String>,
    prefix: String,
    delimiter: Option<String>,
    size: usize,
    is_second_version: bool,
}

/// Texts of few characters, so that names have beginnings, delimiters and folders in common.
fn text(lengths: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec!["a", "b", "-", "/", "!", "ab", "ä", "\u{d7ff}"]);
    prop::collection::vec(piece, lengths).prop_map(|pieces| pieces.concat())
}

fn case() -> impl Strategy<Value = Case> {
    let delimiter = prop_oneof![
        1 => Just(None),
        2 => Just(Some("/".to_owned())),
        3 => Just(Some("-".to_owned())),
        1 => prop::sample::select(vec!["a", "ab", "--", "-a", "ä", "\u{d7ff}"]).prop_map(|text| Some(text.to_owned())),
    ];
    (prop::collection::btree_set(text(1..6), 0..14), text(0..3), delimiter, 1_usize..4, any::<bool>()).prop_map(
        |(names, prefix, delimiter, size, is_second_version)| Case {
            names,
            prefix,
            delimiter,
            size,
            is_second_version,
        },
    )
}

impl Case {
    /// The entries in their order: names, and folders once.
    fn expected(&self) -> Vec<String> {
        let entry = |name: &String| {
            let rest = name.strip_prefix(self.prefix.as_str())?;
            let delimiter = self.delimiter.as_deref();
            let folder = delimiter.and_then(|delimiter| Some(rest.find(delimiter)? + delimiter.len()));
            Some(folder.map_or_else(|| name.clone(), |length| name[..self.prefix.len() + length].to_owned()))
        };
        let mut entries: Vec<String> = self.names.iter().filter_map(entry).collect();
        entries.dedup();
        entries
    }

    /// The target of the page behind another one.
    fn target(&self, next: Option<&str>) -> String {
        let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let mut target = format!("/s3/b?max-keys={}&prefix={}", self.size, encode(&self.prefix));
        if let Some(delimiter) = &self.delimiter {
            write!(target, "&delimiter={}", encode(delimiter)).unwrap();
        }
        if self.is_second_version {
            target.push_str("&list-type=2");
        }
        if let Some(next) = next {
            let parameter = if self.is_second_version { "continuation-token" } else { "marker" };
            write!(target, "&{parameter}={}", encode(next)).unwrap();
        }
        target
    }
}

/// The entries of a page in their order, and where the next one begins.
async fn read_page(api: &TestApi, case: &Case, next: Option<&str>) -> (Vec<String>, Option<String>) {
    let answer = request_with(&api.storage, "GET", &case.target(next), &[], "").await;
    assert_eq!(answer.status(), StatusCode::OK, "{case:?}: {answer:?}");
    let document = std::str::from_utf8(answer.body()).unwrap();
    let document = roxmltree::Document::parse(document).unwrap();
    let texts = |name: &str| -> Vec<String> {
        let found = document.descendants().filter(|node| node.tag_name().name() == name);
        found.map(|node| node.text().unwrap_or_default().to_owned()).collect()
    };
    let keys = texts("Key");
    let folders = document.descendants().filter(|node| node.tag_name().name() == "CommonPrefixes");
    let folders = folders.map(|node| node.descendants().find_map(|node| node.text()).unwrap_or_default().to_owned());
    let mut entries: Vec<String> = keys.iter().cloned().chain(folders).collect();
    entries.sort();
    let is_truncated = texts("IsTruncated") == ["true"];
    let mark = match (case.is_second_version, &case.delimiter) {
        (true, _) => texts("NextContinuationToken").pop(),
        (false, Some(_)) => texts("NextMarker").pop(),
        (false, None) => keys.last().cloned(),
    };
    (entries, mark.filter(|_| is_truncated))
}

async fn check(api: &TestApi, case: &Case) {
    api.admin.batch_execute("SET storage.allow_delete_query = 'true'; DELETE FROM storage.objects").await.unwrap();
    let names: Vec<&str> = case.names.iter().map(String::as_str).collect();
    let statement = "INSERT INTO storage.objects (bucket_id, name) SELECT 'b', unnest($1::text[])";
    api.admin.execute(statement, &[&names]).await.unwrap();
    let mut found = Vec::new();
    let mut next = None;
    for _ in 0..=names.len() {
        let (entries, mark) = read_page(api, case, next.as_deref()).await;
        assert!(entries.len() <= case.size, "{case:?}: a page of {entries:?}");
        found.extend(entries);
        next = mark;
        if next.is_none() {
            break;
        }
    }
    assert_eq!(next, None, "{case:?}: the list ends, not with {found:?}");
    assert_eq!(found, case.expected(), "{case:?}");
}

#[tokio::test]
async fn pages_hold_every_entry_once() {
    let api = TestApi::start(&[]).await;
    api.admin.batch_execute("INSERT INTO storage.buckets (id, name) VALUES ('b', 'b')").await.unwrap();
    let known = |names: &[&str], prefix: &str, delimiter: &str, is_second_version| Case {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        prefix: prefix.to_owned(),
        delimiter: Some(delimiter.to_owned()),
        size: 1,
        is_second_version,
    };
    for is_second_version in [false, true] {
        check(&api, &known(&["a-", "a-b", "a-c", "b"], "", "-", is_second_version)).await;
        check(&api, &known(&["a-", "a-b", "a-c"], "a-", "-", is_second_version)).await;
        check(&api, &known(&["a", "a/b", "a//c", "//", "/x"], "", "/", is_second_version)).await;
        check(&api, &known(&["a/", "a/b", "a//c", "a///d"], "a/", "/", is_second_version)).await;
    }
    let mut runner = TestRunner::deterministic();
    for _ in 0..CASES {
        check(&api, &case().new_tree(&mut runner).unwrap().current()).await;
    }
}

#[tokio::test]
async fn long_folders_and_many_pages_are_listed_completely() {
    let api = TestApi::start(&[]).await;
    api.admin
        .batch_execute(
            "INSERT INTO storage.buckets (id, name) VALUES ('b', 'b'); \
             INSERT INTO storage.objects (bucket_id, name) \
             SELECT 'b', 'f' || lpad((number / 30)::text, 3, '0') || '-' || number FROM generate_series(0, 2999) AS numbers (number)",
        )
        .await
        .unwrap();
    for size in [7, 1000] {
        let case = Case {
            names: BTreeSet::new(),
            prefix: String::new(),
            delimiter: Some("-".to_owned()),
            size,
            is_second_version: true,
        };
        let (mut found, mut next) = (Vec::new(), None);
        for _ in 0..100 {
            let (entries, mark) = read_page(&api, &case, next.as_deref()).await;
            found.extend(entries);
            next = mark;
            if next.is_none() {
                break;
            }
        }
        let expected: Vec<String> = (0..100).map(|number| format!("f{number:03}-")).collect();
        assert_eq!(found, expected, "by {size}");
    }
}
