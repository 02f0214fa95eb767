//! Generated types equal those that postgres-meta 0.99 with Prettier 3.5.3 writes for the same schema.

use postgrest_rs::types::{TypeOptions, generate_typescript};

use crate::cluster::cluster;

const SCHEMA: &str = include_str!("../types/schema.sql");
const EXPECTED: &str = include_str!("../types/expected.ts");

async fn generate(options: &TypeOptions) -> String {
    let database = cluster().create_database("template0").await;
    let admin = cluster().connect(&database).await;
    admin.batch_execute(SCHEMA).await.unwrap();
    generate_typescript(&admin, options).await.unwrap()
}

#[tokio::test]
async fn types_are_those_of_the_reference() {
    let schemas = ["edge", "empty_schema", "Odd-Schema", "missing"].map(str::to_owned).to_vec();
    let types = generate(&TypeOptions { schemas, omits_one_to_one: false }).await;
    for (number, (line, expected)) in types.lines().zip(EXPECTED.lines()).enumerate() {
        assert_eq!(line, expected, "line {}", number + 1);
    }
    assert_eq!(types, EXPECTED);
}

#[tokio::test]
async fn clients_of_postgrest_9_see_no_one_to_one_relationships() {
    let types = generate(&TypeOptions { schemas: vec!["edge".to_owned()], omits_one_to_one: true }).await;
    let key = "foreignKeyName: \"composite_key\"\n            columns: [\"a\", \"c\"]\n            referencedRelation";
    assert!(types.contains(key), "{types}");
}
