//! Anonymised copies of stored files.

use std::io::Cursor;
use std::sync::Mutex;

use axum::body::Body;
use http::StatusCode;
use serde_json::{Value, json};
use storage_rs::anonymise::{Anonymised, ObjectRules, anonymise};
use storage_rs::sweep;

use crate::api::{TestApi, send};

struct Rules;

impl ObjectRules for Rules {
    fn name(&self, name: &str) -> String {
        format!("other/{}", name.len())
    }

    fn user_metadata(&self, _: &Value, owner: &str) -> Value {
        json!({ "of": owner })
    }

    fn version(&self, id: &str) -> String {
        // Ids are UUIDs, and a version of the same form.
        id.chars().rev().collect::<String>().replace('-', "")
    }
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut content = Cursor::new(Vec::new());
    let image =
        image::RgbImage::from_fn(width, height, |x, y| image::Rgb([if (x + y) % 2 == 0 { 255 } else { 0 }, 7, 9]));
    image.write_to(&mut content, image::ImageFormat::Png).unwrap();
    content.into_inner()
}

#[tokio::test]
async fn every_file_and_text_is_replaced_and_rows_fit_their_files() {
    let api = TestApi::start(&[]).await;
    api.admin.batch_execute("INSERT INTO storage.buckets (id, name) VALUES ('b', 'b')").await.unwrap();
    let metadata = "eyJuYW1lIjoiQW5uIn0="; // {"name":"Ann"}
    let upload = async |name: &str, kind: &str, content: Vec<u8>| {
        let headers = [("content-type", kind), ("x-metadata", metadata)];
        let answer = send(&api.storage, "POST", &format!("/object/b/{name}"), &headers, content).await;
        assert_eq!(answer.status(), StatusCode::OK, "{answer:?}");
    };
    upload("ann/letter.txt", "text/plain", b"dear Ann".to_vec()).await;
    upload("face.png", "image/png", png(40, 30)).await;
    let tus = [
        ("tus-resumable", "1.0.0"),
        ("upload-length", "10"),
        ("upload-metadata", "bucketName Yg==,objectName YS50eHQ="),
    ];
    assert_eq!(
        send(&api.storage, "POST", "/upload/resumable", &tus, Body::empty()).await.status(),
        StatusCode::CREATED
    );
    let reports = Mutex::new(Vec::new());
    let report = |done: &Anonymised| reports.lock().unwrap().push(done.objects);
    let done = anonymise(&api.storage, &Rules, &report).await.unwrap();
    assert_eq!(done, Anonymised { objects: 2, uploads: 1, ..Anonymised::default() });
    assert_eq!(*reports.lock().unwrap(), [1, 2]);
    let letter = api.send("GET", "/object/b/other/14", Body::empty()).await;
    assert_eq!((&letter.body()[..], &letter.headers()["content-length"]), (&b"This tex"[..], &"8".parse().unwrap()));
    let face = api.send("GET", "/object/b/other/8", Body::empty()).await;
    assert_eq!(face.headers()["content-type"], "image/png");
    let image = image::load_from_memory(face.body()).unwrap().into_rgb8();
    assert_eq!((image.dimensions(), image.get_pixel(0, 0), image.get_pixel(39, 29)), {
        let grey = &image::Rgb([0x99; 3]);
        ((40, 30), grey, grey)
    });
    let rows = "SELECT string_agg(concat(name, user_metadata::text, metadata->>'eTag'), ' ') FROM storage.objects";
    let texts: String = api.admin.query_one(rows, &[]).await.unwrap().get(0);
    assert!(!texts.contains("Ann") && !texts.contains("ann") && texts.contains("\"of\""), "{texts}");
    let report = sweep::compare(&api.storage).await.unwrap();
    assert_eq!((report.rows, report.files, report.orphans, report.missing), (2, 2, 0, 0));
    assert_eq!(api.count_files(), 2, "files of before and of the upload are deleted");
}

#[tokio::test]
async fn interrupted_run_continues_without_new_pseudonyms() {
    let api = TestApi::start(&[]).await;
    api.admin.batch_execute("INSERT INTO storage.buckets (id, name) VALUES ('b', 'b')").await.unwrap();
    for name in ["a", "bb", "ccc"] {
        let answer = send(&api.storage, "POST", &format!("/object/b/{name}"), &[], name).await;
        assert_eq!(answer.status(), StatusCode::OK, "{answer:?}");
    }
    // The second object cannot be written yet.
    let refusal = "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF (SELECT count(*) FROM storage.objects WHERE name LIKE 'other/%') > 0 THEN RAISE 'later'; END IF;
            RETURN new; END $$;
        CREATE TRIGGER refuse BEFORE UPDATE ON storage.objects FOR EACH ROW EXECUTE FUNCTION public.refuse()";
    api.admin.batch_execute(refusal).await.unwrap();
    assert!(anonymise(&api.storage, &Rules, &|_| ()).await.is_err());
    let names = async || {
        let rows = api.admin.query("SELECT name FROM storage.objects ORDER BY length(name), name", &[]).await.unwrap();
        rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>()
    };
    let interrupted = names().await;
    assert_eq!(interrupted.iter().filter(|name| name.starts_with("other/")).count(), 1, "{interrupted:?}");
    api.admin.batch_execute("DROP TRIGGER refuse ON storage.objects").await.unwrap();
    let done = anonymise(&api.storage, &Rules, &|_| ()).await.unwrap();
    assert_eq!(done, Anonymised { objects: 2, replaced_before: 1, ..Anonymised::default() });
    assert_eq!(names().await, ["other/1", "other/2", "other/3"]);
    let done = anonymise(&api.storage, &Rules, &|_| ()).await.unwrap();
    assert_eq!(done, Anonymised { replaced_before: 3, ..Anonymised::default() });
    let report = sweep::compare(&api.storage).await.unwrap();
    assert_eq!((report.rows, report.files, report.orphans, report.missing), (3, 3, 0, 0));
}
