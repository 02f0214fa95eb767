//! Rows with a geometry as `GeoJSON`, where `PostGIS` is installed.

use http::Request;
use serde_json::{Value, json};

use crate::api::{TestApi, collect, text};
use crate::cluster::cluster;

const BUOYS: &str = "CREATE SCHEMA extensions; CREATE EXTENSION postgis SCHEMA extensions;
    GRANT USAGE ON SCHEMA extensions TO api_anonymous;
    CREATE TABLE waters (id int PRIMARY KEY, name text);
    CREATE TABLE buoys (id int PRIMARY KEY, colour text, water int REFERENCES waters, place extensions.geometry(Point, 4326));
    INSERT INTO waters VALUES (1, 'Jade');
    INSERT INTO buoys VALUES (1, 'red', 1, extensions.ST_SetSRID(extensions.ST_MakePoint(8.25, 53.5), 4326)),
      (2, 'green', 1, extensions.ST_SetSRID(extensions.ST_MakePoint(8.5, 53.75), 4326)), (3, 'yellow', NULL, NULL);";

/// A buoy as a feature.
fn feature(place: &Value, properties: &Value) -> Value {
    let geometry = if place.is_null() { Value::Null } else { json!({"type": "Point", "coordinates": place}) };
    json!({"type": "Feature", "geometry": geometry, "properties": properties})
}

/// A collection whose missing geometries are null; some versions of `PostGIS` write them as `{"type": null}`.
fn with_null_geometries(mut collection: Value) -> Value {
    for feature in collection["features"].as_array_mut().into_iter().flatten() {
        if feature["geometry"] == json!({"type": null}) {
            feature["geometry"] = Value::Null;
        }
    }
    collection
}

async fn ask(api: &TestApi, request: http::request::Builder, body: &str) -> (u16, String, Value) {
    let request = request.header("accept", "application/geo+json").header("content-type", "application/json");
    let (parts, ()) = request.body(()).unwrap().into_parts();
    let answer = collect(api.api.handle(&parts, body.to_owned().into()).await).await;
    let media_type = answer.headers()["content-type"].to_str().unwrap().to_owned();
    (answer.status().as_u16(), media_type, serde_json::from_str(&text(&answer)).unwrap())
}

#[tokio::test]
async fn rows_with_a_geometry_are_features() {
    let admin = cluster().connect("postgres").await;
    let available = "SELECT FROM pg_available_extensions WHERE name = 'postgis'";
    if admin.query(available, &[]).await.unwrap().is_empty() {
        eprintln!("LEFT OUT: GeoJSON needs PostGIS (apt install postgresql-15-postgis-3)");
        return;
    }
    let api = TestApi::start(BUOYS, &[("db-extra-search-path", "public, extensions")]).await;
    let collection = |features: &[Value]| json!({"type": "FeatureCollection", "features": features});
    let of = |answer: (u16, String, Value)| {
        assert_eq!(answer.1, "application/geo+json; charset=utf-8");
        (answer.0, with_null_geometries(answer.2))
    };
    let all = ask(&api, Request::get("/buoys?order=id&select=*"), "").await;
    let expected = collection(&[
        feature(&json!([8.25, 53.5]), &json!({"id": 1, "colour": "red", "water": 1})),
        feature(&json!([8.5, 53.75]), &json!({"id": 2, "colour": "green", "water": 1})),
        feature(&Value::Null, &json!({"id": 3, "colour": "yellow", "water": null})),
    ]);
    assert_eq!(of(all), (200, expected));
    let embedded = ask(&api, Request::get("/buoys?select=colour,place,waters(name)&id=eq.2"), "").await;
    let properties = json!({"colour": "green", "waters": {"name": "Jade"}});
    assert_eq!(of(embedded), (200, collection(&[feature(&json!([8.5, 53.75]), &properties)])));
    assert_eq!(of(ask(&api, Request::get("/buoys?id=gt.9"), "").await), (200, collection(&[])));
    let inserted = Request::post("/buoys?select=id,place").header("prefer", "return=representation");
    let row = r#"{"id": 4, "place": {"type": "Point", "coordinates": [8, 54], "crs": {"type": "name", "properties": {"name": "EPSG:4326"}}}}"#;
    let inserted = ask(&api, inserted, row).await;
    assert_eq!(of(inserted), (201, collection(&[feature(&json!([8, 54]), &json!({"id": 4}))])));
    let (status, _, refused) = ask(&api, Request::get("/waters"), "").await;
    assert_eq!((status, &refused["message"]), (400, &json!("geometry column is missing")));
}
