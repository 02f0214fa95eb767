// The files of the schema `storage` in their order: the expression that crates include.
[
    include_str!("00-guard.sql"),
    include_str!("01-roles.sql"),
    include_str!("02-buckets-and-objects.sql"),
    include_str!("03-analytics-and-vectors.sql"),
    include_str!("04-migrations.sql"),
    include_str!("05-functions.sql"),
    include_str!("06-lists.sql"),
    include_str!("07-search.sql"),
    include_str!("08-rights.sql"),
]
