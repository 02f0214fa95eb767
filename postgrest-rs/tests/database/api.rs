//! An API over a database of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use postgrest_rs::config::Sources;
use postgrest_rs::response::Body;
use postgrest_rs::service::DataApi;
use tokio_postgres::Client;

use crate::cluster::{Cluster, cluster};

/// What every schema of these tests begins with.
const ROLES: &str = "DO $$ BEGIN
  CREATE ROLE api_anonymous NOLOGIN; CREATE ROLE api_login LOGIN NOINHERIT; GRANT api_anonymous TO api_login;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;";

/// An API, and a connection of the superuser to its database.
pub(crate) struct TestApi {
    pub(crate) api: Arc<DataApi>,
    pub(crate) admin: Client,
    /// The name of the database.
    pub(crate) name: String,
}

/// Settings of an API of the login role over a database.
pub(crate) fn sources(uri: String, settings: &[(&str, &str)]) -> Sources {
    let mut file = BTreeMap::from([
        ("db-uri".to_owned(), uri),
        ("db-anon-role".to_owned(), "api_anonymous".to_owned()),
        ("db-pool".to_owned(), "1".to_owned()),
    ]);
    file.extend(settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    Sources { file, ..Sources::default() }
}

impl TestApi {
    /// An API over a new database with these objects, which anonymous requests may use.
    pub(crate) async fn start(objects: &str, settings: &[(&str, &str)]) -> Self {
        Self::start_in(cluster(), objects, settings).await
    }

    /// The same in a cluster of its own.
    pub(crate) async fn start_in(cluster: &Cluster, objects: &str, settings: &[(&str, &str)]) -> Self {
        let database = cluster.create_database("template0").await;
        let admin = cluster.connect(&database).await;
        admin.batch_execute(&format!("{ROLES} {objects}")).await.unwrap();
        let all =
            "GRANT USAGE ON SCHEMA public TO api_anonymous; GRANT ALL ON ALL TABLES IN SCHEMA public TO api_anonymous";
        admin.batch_execute(all).await.unwrap();
        let api = DataApi::new(sources(cluster.uri("api_login", &database), settings)).unwrap();
        api.reload_config(None).await.unwrap();
        api.reload_schema().await.unwrap();
        Self { api, admin, name: database }
    }

    /// The response to a request without body.
    pub(crate) async fn get(&self, target: &str) -> Response<Bytes> {
        get(&self.api, target).await
    }
}

/// The response to a GET.
pub(crate) async fn get(api: &DataApi, target: &str) -> Response<Bytes> {
    let (parts, ()) = Request::get(target).body(()).unwrap().into_parts();
    collect(api.handle(&parts, Bytes::new()).await).await
}

/// A response with its body in memory.
pub(crate) async fn collect(response: Response<Body>) -> Response<Bytes> {
    let (parts, body) = response.into_parts();
    Response::from_parts(parts, body.collect().await.unwrap())
}

/// The body as text.
pub(crate) fn text(response: &Response<Bytes>) -> String {
    String::from_utf8(response.body().to_vec()).unwrap()
}
