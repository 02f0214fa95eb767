//! Values in statements that are not prepared: they arrive as in prepared ones, whatever they contain.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use gotrue_rs::testing::clone_migrated;
use platform::entropy::Entropy;
use platform::journal::Journal;
use platform::store::{BoundStatement, Connection, Pool, PoolOptions, Statement, StatementMode};
use platform::testing::TestDatabase;
use platform::{bind, statement};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use sqlx::types::Json;
use sqlx::types::ipnetwork::IpNetwork;
use uuid::Uuid;

const ECHO: Statement = statement!("tests.echo":
    "SELECT :text, :bytes, :json, jsonb_build_array(:list, :list[2:3]), :ids, :time, :number, :whole, :flag,
            :network, :nothing,
            concat(:text, '|', :bytes, '|', :json, '|', :list, '|', :ids, '|', :time, '|', :number, '|', :whole, '|',
                   :small, '|', :flag, '|', :network, '|', :numbers)");
const LENGTHS: Statement = statement!("tests.lengths":
    "INSERT INTO audit_log_entries (id, payload, ip_address)
     VALUES (:id, json_build_object('text', :text::text), '')
     RETURNING payload->>'text', length(:text), md5(:text)");
const COUNT: Statement = statement!("tests.count": "SELECT count(*) FROM audit_log_entries");
const PATH: Statement = statement!("tests.path": "SELECT current_setting('search_path')");
const PLAIN: Statement = statement!("tests.plain": "SELECT :text");

type EchoRow = (
    String,
    Vec<u8>,
    Json<Value>,
    Json<Vec<Vec<String>>>,
    Vec<Uuid>,
    DateTime<Utc>,
    f64,
    i64,
    bool,
    IpNetwork,
    Option<String>,
    String,
);

#[derive(Debug, Clone)]
struct Values {
    text: String,
    bytes: Vec<u8>,
    json: Value,
    list: Vec<String>,
    ids: Vec<Uuid>,
    microseconds: i64,
    number: f64,
    whole: i64,
    network: IpNetwork,
}

/// Text with what has a meaning in SQL, in JSON and in arrays.
///
/// It is without NUL, which PostgreSQL does not store.
fn texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[^\\x00]{0,8}",
        "('|\"|\\\\|;|--|/\\*|\\*/|\\$1|\\$\\$|E'|''|\\{|\\}|,|NULL|null|::text|\\)|\\(|:text){0,12}",
        "(a|\n|\r|\t|\u{1}|\u{7f}|é|漢|😀|\u{2028}){0,12}",
        Just("'); DROP TABLE auth.users; --".to_owned()),
        Just("\\'; SELECT 1; --".to_owned()),
    ];
    proptest::collection::vec(part, 0..4).prop_map(|parts| parts.concat())
}

fn values() -> impl Strategy<Value = Values> {
    let network = prop_oneof![
        (any::<[u8; 4]>(), 0..=32_u8).prop_map(|(address, prefix)| IpNetwork::new(address.into(), prefix)),
        (any::<[u8; 16]>(), 0..=128_u8).prop_map(|(address, prefix)| IpNetwork::new(address.into(), prefix)),
    ];
    let json = proptest::collection::btree_map(texts(), texts(), 0..3).prop_map(|members| json!(members));
    (
        texts(),
        proptest::collection::vec(any::<u8>(), 0..40),
        json,
        proptest::collection::vec(texts(), 0..4),
        proptest::collection::vec(any::<u128>().prop_map(Uuid::from_u128), 0..4),
        -60_000_000_000_000_000_i64..250_000_000_000_000_000,
        prop_oneof![any::<f64>().prop_filter("comparable", |number| !number.is_nan()), Just(f64::INFINITY), Just(-0.0)],
        any::<i64>(),
        network.prop_map(|network| network.expect("the prefix fits")),
    )
        .prop_map(|(text, bytes, json, list, ids, microseconds, number, whole, network)| Values {
            text,
            bytes,
            json,
            list,
            ids,
            microseconds,
            number,
            whole,
            network,
        })
}

fn bind_echo(values: &Values) -> BoundStatement {
    let numbers: Vec<i32> = values.bytes.iter().map(|byte| i32::from(*byte) - 128).collect();
    bind!(
        ECHO,
        text: &values.text,
        bytes: &values.bytes,
        json: Json(&values.json),
        list: &values.list,
        ids: &values.ids,
        time: DateTime::from_timestamp_micros(values.microseconds).expect("in range"),
        number: values.number,
        whole: values.whole,
        small: 7_i16,
        flag: values.whole > 0,
        network: values.network,
        nothing: None::<String>,
        numbers: numbers,
    )
}

fn connection(pool: &Pool) -> Connection {
    Connection::pooled(pool.clone(), Arc::new(Journal::default()))
}

/// Returns a pool whose statements are prepared, and one whose statements are text.
fn pools(database: &TestDatabase) -> (Pool, Pool) {
    let pool = |statement_mode| {
        let usual = database.pool_options(std::time::Duration::ZERO).with_max_connections(1);
        Pool::new(PoolOptions { statement_mode, ..usual })
    };
    (pool(StatementMode::Prepare), pool(StatementMode::Text))
}

#[tokio::test]
async fn literals_are_stored_and_returned_as_parameters() {
    let (prepared, text) = pools(&clone_migrated().await);
    let mut runner = TestRunner::deterministic();
    for _ in 0..400 {
        let given = values().new_tree(&mut runner).expect("values").current();
        let expected: EchoRow = connection(&prepared).fetch_one(bind_echo(&given)).await.expect("it is prepared");
        let row: EchoRow =
            connection(&text).fetch_one(bind_echo(&given)).await.unwrap_or_else(|e| panic!("{e}: {given:?}"));
        assert_eq!(row, expected, "{given:?}");
        assert_eq!((&row.0, &row.1, &row.2.0), (&given.text, &given.bytes, &given.json));
        assert_eq!((&row.3.0[0], &row.4), (&given.list, &given.ids));
        assert_eq!((row.5.timestamp_micros(), row.7, row.9), (given.microseconds, given.whole, given.network));
        assert_eq!(row.6.to_bits(), given.number.to_bits());
    }
}

#[tokio::test]
async fn text_does_not_change_the_statement() {
    let database = clone_migrated().await;
    let (_, text) = pools(&database);
    let mut runner = TestRunner::deterministic();
    let mut written = 0_i64;
    for _ in 0..200 {
        let given = texts().new_tree(&mut runner).expect("text").current();
        let row: (String, i32, String) = connection(&text)
            .fetch_one(bind!(LENGTHS, id: Entropy::from_system().uuid(), text: &given))
            .await
            .expect("it is written");
        written += 1;
        assert_eq!((row.0.as_str(), row.1), (given.as_str(), i32::try_from(given.chars().count()).expect("short")));
        let (count,): (i64,) = connection(&text).fetch_one(bind!(COUNT)).await.expect("a count");
        assert_eq!(count, written, "{given:?}");
    }
    assert_eq!(database.query("SELECT count(*) FROM auth.users").await, ["0"]);
}

#[tokio::test]
async fn nul_is_refused_with_the_same_error() {
    let (prepared, text) = pools(&clone_migrated().await);
    for given in ["\0", "a\0'; SELECT 1; --", "\\\0"] {
        let mut refused = Vec::new();
        for pool in [&prepared, &text] {
            let error = connection(pool).fetch_one::<(String,)>(bind!(PLAIN, text: given)).await.expect_err("refused");
            refused.push((error.sqlstate(), error.database_message().map(str::to_owned)));
            let row: (String,) = connection(pool).fetch_one(bind!(PLAIN, text: "fine")).await.expect("it still works");
            assert_eq!(row.0, "fine");
        }
        assert_eq!(refused[0], refused[1], "{given:?}");
        assert_eq!(refused[0].0.as_deref(), Some("22021"));
    }
}

#[tokio::test]
async fn transaction_has_its_settings_and_ends_with_it() {
    let database = clone_migrated().await;
    let (_, text) = pools(&database);
    for _ in 0..2 {
        let mut transaction = Connection::begin(&text, Arc::new(Journal::default())).await.expect("it begins");
        let row: (String,) = transaction.fetch_one(bind!(PATH)).await.expect("a path");
        assert_eq!(row.0, "auth");
        transaction
            .execute(bind!(LENGTHS, id: Entropy::from_system().uuid(), text: "discarded"))
            .await
            .expect("written");
        transaction.rollback().await.expect("rolled back");
        let (count,): (i64,) = connection(&text).fetch_one(bind!(COUNT)).await.expect("a count");
        assert_eq!(count, 0);
    }
}
