//! Writes beyond the recordings.

use bytes::Bytes;
use http::{Request, StatusCode};

use crate::api::{TestApi, text};

#[tokio::test]
async fn defaults_of_a_wide_table_apply() {
    // A function takes 100 arguments at most: 50 pairs of a column and its default.
    let columns: Vec<_> = (0..120).map(|number| format!("c{number} int DEFAULT {number}")).collect();
    let api = TestApi::start(&format!("CREATE TABLE wide (id int PRIMARY KEY, {});", columns.join(", ")), &[]).await;
    let names: Vec<_> = (0..120).map(|number| format!("c{number}")).collect();
    for body in [r#"{"id": 1, "c7": 70}"#, r#"[{"id": 2, "c7": 70}, {"id": 3}]"#] {
        let (parts, ()) = Request::post(format!("/wide?columns=id,{}&select=c7,c49,c50,c119", names.join(",")))
            .header("prefer", "missing=default, return=representation")
            .body(())
            .unwrap()
            .into_parts();
        let response = crate::api::collect(api.api.handle(&parts, Bytes::from_static(body.as_bytes())).await).await;
        assert_eq!(response.status(), StatusCode::CREATED, "{}", text(&response));
        assert!(text(&response).contains(r#""c7":70,"c49":49,"c50":50,"c119":119"#), "{}", text(&response));
    }
}
