//! Metadata merged by the database: in the row itself, so that of two updates at once neither is lost.

/// What `identity::merged` does to a map, for a column and the number of the parameter with the updates: members replace
/// those of the same name, null takes one away. An object is put together anew: to subtract names from it, as from anything
/// else that may be stored, takes time by the number of names times that of members.
macro_rules! merged_metadata {
    ($column:literal, $updates:literal) => {
        concat!(
            "CASE
                 WHEN jsonb_typeof(",
            $column,
            ") = 'object' AND $",
            $updates,
            "::jsonb IS NOT NULL
                 THEN (SELECT COALESCE(jsonb_object_agg(it.key, it.value), '{}')
                       FROM jsonb_each(",
            $column,
            " || $",
            $updates,
            "::jsonb) AS it
                       WHERE it.key NOT IN (SELECT gone.key
                                            FROM jsonb_each($",
            $updates,
            "::jsonb) AS gone
                                            WHERE gone.value = 'null'))
                 ELSE (COALESCE(NULLIF(",
            $column,
            ", 'null'), '{}') || $",
            $updates,
            "::jsonb)
                      - ARRAY(SELECT it.key FROM jsonb_each($",
            $updates,
            "::jsonb) AS it WHERE it.value = 'null')
             END"
        )
    };
}
pub(super) use merged_metadata;
