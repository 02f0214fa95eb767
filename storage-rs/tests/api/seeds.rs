//! Buckets and objects that a project brings.

use axum::body::Body;
use storage_rs::seed::{self, BucketSeed};

use crate::api::TestApi;

#[tokio::test]
async fn objects_of_a_folder_are_uploaded_once_and_again_when_they_change() {
    let api = TestApi::start(&[]).await;
    let folder = std::env::temp_dir().join(format!("basalt-seeds-{}", api.database));
    std::fs::create_dir_all(folder.join("a")).unwrap();
    // More than one block, and not a whole number of them.
    let large: Vec<u8> = (0..3_000_001_u32).map(|number| (number % 251) as u8).collect();
    std::fs::write(folder.join("a/large.bin"), &large).unwrap();
    std::fs::write(folder.join("empty.txt"), "").unwrap();
    let seeds = [BucketSeed {
        name: "b".to_owned(),
        public: Some(true),
        objects: Some(folder.clone()),
        ..BucketSeed::default()
    }];
    let mut written = Vec::new();
    for round in 0..3 {
        if round == 2 {
            std::fs::write(folder.join("empty.txt"), "no more").unwrap();
        }
        written.push(seed::apply(&api.storage, &seeds).await.unwrap().objects);
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(written, [2, 0, 1]);
    let read = api.send("GET", "/object/public/b/a/large.bin", Body::empty()).await;
    assert!(read.body()[..] == large[..], "{} bytes", read.body().len());
    let read = api.send("GET", "/object/public/b/empty.txt", Body::empty()).await;
    assert_eq!(&read.body()[..], b"no more");
    assert_eq!(api.count_files(), 2);
}

#[tokio::test]
async fn files_that_a_bucket_does_not_take_are_left_out() {
    let api = TestApi::start(&[]).await;
    let folder = std::env::temp_dir().join(format!("basalt-limits-{}", api.database));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, size) in [("a.png", 10), ("b.png", 11), ("c.txt", 1)] {
        std::fs::write(folder.join(name), vec![0; size]).unwrap();
    }
    let mut seeds = [BucketSeed {
        name: "b".to_owned(),
        file_size_limit: Some(10),
        allowed_mime_types: Some(vec!["image/*".to_owned()]),
        objects: Some(folder.clone()),
        ..BucketSeed::default()
    }];
    let strict = seed::apply(&api.storage, &seeds).await.unwrap();
    seeds[0].file_size_limit = Some(11);
    seeds[0].allowed_mime_types = Some(vec!["text/plain".to_owned(), "image/png".to_owned()]);
    let wider = seed::apply(&api.storage, &seeds).await.unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(strict.objects, 1);
    let refused: Vec<&str> = strict.refused.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(refused, ["b.png", "c.txt"]);
    let text = strict.describe_refused().expect("files were left out");
    assert!(text.contains("b/c.txt (mime type text/plain is not supported)"), "{text}");
    assert_eq!((wider.objects, wider.describe_refused()), (2, None));
}
