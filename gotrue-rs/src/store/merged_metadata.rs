//! Metadata merged within the row by the database, so that of two concurrent updates neither is lost.

/// The SQL equivalent of `identity::merged`, for a column and the parameter of the updates.
///
/// Members replace those of the same name, null removes one. The object is rebuilt, because subtracting names takes
/// time proportional to their number times that of the members.
macro_rules! merged_metadata {
    ($column:literal, $updates:literal) => {
        concat!(
            "CASE
                 WHEN jsonb_typeof(",
            $column,
            ") = 'object' AND ",
            $updates,
            "::jsonb IS NOT NULL
                 THEN (SELECT COALESCE(jsonb_object_agg(it.key, it.value), '{}')
                       FROM jsonb_each(",
            $column,
            " || ",
            $updates,
            "::jsonb) AS it
                       WHERE it.key NOT IN (SELECT gone.key
                                            FROM jsonb_each(",
            $updates,
            "::jsonb) AS gone
                                            WHERE gone.value = 'null'))
                 ELSE (COALESCE(NULLIF(",
            $column,
            ", 'null'), '{}') || ",
            $updates,
            "::jsonb)
                      - ARRAY(SELECT it.key FROM jsonb_each(",
            $updates,
            "::jsonb) AS it WHERE it.value = 'null')
             END"
        )
    };
}
pub(super) use merged_metadata;
