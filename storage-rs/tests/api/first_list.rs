//! The first version of the list under row security: what it reads, and a simple model of its entries.

use std::collections::{BTreeMap, BTreeSet};

use http::StatusCode;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::json;

use crate::api::{TestApi, json_of, send};

/// The buckets that are compared.
const CASES: usize = 150;

const BUCKET: &str = "INSERT INTO storage.buckets (id, name) VALUES ('b', 'b')";

#[tokio::test]
async fn page_of_a_large_folder_reads_what_it_shows() {
    let api = TestApi::start(&[]).await;
    api.admin
        .batch_execute(&format!(
            "{BUCKET}; \
             INSERT INTO storage.objects (bucket_id, name) \
             SELECT 'b', folder || lpad(number::text, 5, '0') || suffix FROM generate_series(0, 29999) AS numbers (number), \
                 (VALUES ('low/file', '.txt'), ('up/IMG_', '.JPG'), ('dirs/User', '/a')) AS kinds (folder, suffix); \
             CREATE SEQUENCE public.evaluated; \
             GRANT USAGE ON SEQUENCE public.evaluated TO authenticated; \
             CREATE POLICY counting ON storage.objects FOR SELECT TO authenticated \
             USING (nextval('public.evaluated') > 0 AND (storage.foldername(name))[1] <> 'another'); \
             ANALYZE storage.objects"
        ))
        .await
        .unwrap();
    for (folder, search, offset, order, first) in [
        ("low/", "", 0, "asc", "file00000.txt"),
        ("low/", "", 0, "desc", "file29999.txt"),
        ("low/", "", 2000, "asc", "file02000.txt"),
        ("low/", "", 2000, "desc", "file27999.txt"),
        ("low/", "file1", 0, "asc", "file10000.txt"),
        ("LOW/", "FILE1", 0, "desc", "file19999.txt"),
        ("up/", "", 0, "asc", "IMG_00000.JPG"),
        ("up/", "img", 0, "desc", "IMG_29999.JPG"),
        ("dirs/", "", 0, "asc", "User00000"),
        ("dirs/", "", 500, "desc", "User29499"),
    ] {
        let case = format!("{folder} {search} {offset} {order}");
        api.admin.batch_execute("SELECT setval('public.evaluated', 1); SET ROLE authenticated").await.unwrap();
        let sql = "SELECT name FROM storage.search($1, 'b', 100, 1, $2, $3, 'name', $4)";
        let names = api.admin.query(sql, &[&folder, &offset, &search, &order]).await.unwrap();
        api.admin.batch_execute("RESET ROLE").await.unwrap();
        assert_eq!((names.len(), names[0].get::<_, &str>(0)), (100, first), "{case}");
        let evaluated: i64 = api.admin.query_one("SELECT last_value FROM public.evaluated", &[]).await.unwrap().get(0);
        // Each entry is found and shown, a folder from below is looked up twice, and some seeks tell that none is left.
        let most = 2 * (i64::from(offset) + 100) + 250;
        assert!(evaluated <= most, "the policy was evaluated {evaluated} times, not {most}: {case}");
    }
}

/// Names of few characters: spellings, characters between the capital and the small letters, and others than those of ASCII.
fn text(lengths: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec!["a", "A", "b", "B", "z", "Z", "_", "/", "-", "0", "\u{e9}", "\u{c9}"]);
    prop::collection::vec(piece, lengths).prop_map(|pieces| pieces.concat())
}

/// The entries of a level in their order: folders in small letters, which end in one slash, and objects.
fn expected(names: &BTreeSet<String>, beginning: &str, is_descending: bool) -> Vec<String> {
    let mut entries = BTreeMap::new();
    for name in names {
        let small = name.to_ascii_lowercase();
        let Some(rest) = small.strip_prefix(&beginning.to_ascii_lowercase()) else { continue };
        match rest.find('/') {
            Some(position) => {
                let folder = small[..=beginning.len() + position].to_owned();
                let shown = format!("{}/", folder.trim_end_matches('/'));
                entries.insert((folder, None), shown);
            }
            None => drop(entries.insert((small, Some(name)), name.clone())),
        }
    }
    let in_order = entries.into_values();
    if is_descending { in_order.rev().collect() } else { in_order.collect() }
}

#[tokio::test]
async fn pages_are_those_of_the_whole_level() {
    let api = TestApi::start(&[]).await;
    api.admin
        .batch_execute(&format!(
            "{BUCKET}; CREATE POLICY readers ON storage.objects FOR SELECT TO authenticated USING (true)"
        ))
        .await
        .unwrap();
    let strategy = (prop::collection::btree_set(text(1..5), 1..25), text(0..2), any::<bool>(), 1_i32..5, 0_i32..4);
    let mut runner = TestRunner::deterministic();
    for _ in 0..CASES {
        let (names, beginning, is_descending, limit, offset) = strategy.new_tree(&mut runner).unwrap().current();
        api.admin.batch_execute("SET storage.allow_delete_query = 'true'; DELETE FROM storage.objects").await.unwrap();
        let rows: Vec<&str> = names.iter().map(String::as_str).collect();
        let statement = "INSERT INTO storage.objects (bucket_id, name) SELECT 'b', unnest($1::text[])";
        api.admin.execute(statement, &[&rows]).await.unwrap();
        let level = expected(&names, &beginning, is_descending);
        let skipped = level.into_iter().skip(usize::try_from(offset).unwrap());
        let wanted: Vec<String> = skipped.take(usize::try_from(limit).unwrap()).collect();
        let order = if is_descending { "desc" } else { "asc" };
        for role in ["authenticated", "service_role"] {
            api.admin.batch_execute(&format!("SET ROLE {role}")).await.unwrap();
            let sql = "SELECT name, id IS NULL FROM storage.search('', 'b', $1, 1, $2, $3, 'name', $4)";
            let found = api.admin.query(sql, &[&limit, &offset, &beginning, &order]).await.unwrap();
            api.admin.batch_execute("RESET ROLE").await.unwrap();
            let found: Vec<String> = found
                .iter()
                .map(|row| {
                    let name: String = row.get(0);
                    if row.get(1) { format!("{}/", name.to_ascii_lowercase()) } else { name }
                })
                .collect();
            assert_eq!(found, wanted, "{role} {order} {limit} {offset} {beginning:?} {names:?}");
        }
    }
}

#[tokio::test]
async fn list_by_case_does_without_the_function_of_later_schemas() {
    let api = TestApi::start(&[("BASALT_STORAGE_LIST_BY_CASE", "true")]).await;
    api.admin
        .batch_execute(&format!(
            "{BUCKET}; INSERT INTO storage.objects (bucket_id, name) VALUES ('b', 'B/x'), ('b', 'a')"
        ))
        .await
        .unwrap();
    let list = async || {
        let body = json!({"prefix": ""}).to_string();
        let answer = send(&api.storage, "POST", "/object/list/b", &[("content-type", "application/json")], body).await;
        assert_eq!(answer.status(), StatusCode::OK, "{answer:?}");
        let page = json_of(&answer);
        page.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(list().await, ["B", "a"], "in byte order");
    let signature = "storage.list_objects_with_delimiter(text, text, text, integer, text, text, text)";
    api.admin.batch_execute(&format!("DROP FUNCTION {signature}")).await.unwrap();
    assert_eq!(list().await, ["a", "B"], "as Supabase Storage lists");
}
