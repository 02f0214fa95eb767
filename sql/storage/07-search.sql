-- One level of a bucket without regard to case, as the first version of the list shows it: folders that differ in case alone
-- are one. Names begin behind the prefix; the search is a further prefix. Sorted by name, folders are among the objects; by
-- a time, before them. Sorted by a time, prefix and search are patterns of ILIKE.
--
-- Under row security the entries of the level are found in byte order, by the index that policies allow (06-lists.sql), and
-- sorted afterwards; by name no more are found than the page and those before it, where no later name can belong to them.
-- Others, and levels with very many entries, are read in the order of lower(name), one page of it.
CREATE OR REPLACE FUNCTION storage.search(
    prefix text,
    bucketname text,
    limits integer DEFAULT 100,
    levels integer DEFAULT 1,
    offsets integer DEFAULT 0,
    search text DEFAULT '',
    sortcolumn text DEFAULT 'name',
    sortorder text DEFAULT 'asc'
)
RETURNS TABLE (
    name text,
    id uuid,
    updated_at timestamptz,
    created_at timestamptz,
    last_accessed_at timestamptz,
    metadata jsonb
) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    most_spellings CONSTANT integer := 64;
    page CONSTANT integer := least(coalesce(limits, 100), 1500);
    skipped CONSTANT integer := least(coalesce(offsets, 0), 1000000000);
    descending CONSTANT boolean := lower(coalesce(sortorder, 'asc')) <> 'asc';
    sorted_by CONSTANT text := CASE
        WHEN lower(sortcolumn) IN ('updated_at', 'created_at', 'last_accessed_at') THEN lower(sortcolumn)
        ELSE 'name'
    END;
    most_entries CONSTANT integer := CASE sorted_by WHEN 'name' THEN 1000000 ELSE 10000 END;
    -- Whether lower() adds 32 to capital letters of ASCII: then a later name in byte order that comes earlier in the order of
    -- lower(name) differs by a capital letter, or by a character that is not of ASCII.
    has_plain_letters CONSTANT boolean := getdatabaseencoding() = 'UTF8'
        AND lower('ABCDEFGHIJKLMNOPQRSTUVWXYZ') = 'abcdefghijklmnopqrstuvwxyz';
    walks_down CONSTANT boolean := descending AND sorted_by = 'name';
    -- The longest name in bytes.
    longest_name CONSTANT integer := 1024;
    greatest_text CONSTANT text := CASE getdatabaseencoding() WHEN 'UTF8' THEN chr(1114111) ELSE chr(255) END;
    pattern CONSTANT text := coalesce(prefix, '') || coalesce(search, '');
    wanted text := pattern;
    -- The characters of a name that are not shown.
    hidden integer := length(coalesce(prefix, ''));
    -- The ways in which the beginning is written by names of the bucket.
    spellings text [] := ARRAY[''];
    longer text [];
    spelling text;
    other text;
    letter text;
    -- The entries found so far: folders with their last slash and the first name in them, objects with their times.
    entries text [] := '{}';
    firsts text [] := '{}';
    times timestamptz [] := '{}';
    in_lower_case boolean := sorted_by = 'name' AND NOT row_security_active('storage.objects');
    low text;
    high text;
    peeked text;
    folder text;
    is_folder boolean;
    found_time timestamptz;
    -- The characters at whose place the order may turn around.
    least_turning CONSTANT text := CASE WHEN descending THEN '[' ELSE 'A' END;
    greatest_turning CONSTANT text := CASE WHEN descending THEN 'z' ELSE 'Z' END;
    -- The entries of the spellings before, and how many of this one are found before the next look at whether they suffice.
    former_entries integer;
    enough integer;
    is_complete boolean;
    neighbours refcursor;
    seek text;
BEGIN
    IF sorted_by <> 'name' THEN
        wanted := regexp_replace(pattern, '\\(.)', '\1', 'g');
        hidden := length(regexp_replace(regexp_replace(coalesce(prefix, ''), '\\(.)', '\1', 'g'), '[^/]*$', ''));
        in_lower_case := regexp_replace(pattern, '\\.', '', 'g') ~ '[%_]';
    END IF;

    -- No name begins so. The loop below would take longer than its square.
    IF octet_length(wanted) > longest_name THEN
        RETURN;
    END IF;

    FOR index IN 1..length(wanted) LOOP
        EXIT WHEN in_lower_case;
        letter := substr(wanted, index, 1);
        other := CASE lower(letter) WHEN letter THEN upper(letter) ELSE lower(letter) END;
        longer := '{}';
        FOREACH spelling IN ARRAY spellings LOOP
            FOREACH seek IN ARRAY CASE other WHEN letter THEN ARRAY[letter] ELSE ARRAY[letter, other] END LOOP
                seek := spelling || seek;
                -- The beginning as it was asked for is looked up below.
                IF seek <> left(wanted, index) THEN
                    high := left(seek, -1) || chr(CASE ascii(right(seek, 1)) WHEN 55295 THEN 57344 ELSE ascii(right(seek, 1)) + 1 END);
                    PERFORM FROM storage.objects
                    WHERE bucket_id = bucketname AND name COLLATE "C" >= seek AND name COLLATE "C" < high
                    LIMIT 1;
                    CONTINUE WHEN NOT FOUND;
                END IF;
                longer := longer || seek;
            END LOOP;
        END LOOP;
        spellings := longer;
        in_lower_case := cardinality(spellings) > most_spellings;
    END LOOP;

    <<everything>>
    FOREACH spelling IN ARRAY spellings LOOP
        EXIT everything WHEN in_lower_case;
        low := spelling;
        high := CASE
            WHEN spelling = '' THEN greatest_text
            ELSE left(spelling, -1) || chr(CASE ascii(right(spelling, 1)) WHEN 55295 THEN 57344 ELSE ascii(right(spelling, 1)) + 1 END)
        END;
        former_entries := cardinality(entries);
        enough := CASE WHEN sorted_by = 'name' AND has_plain_letters THEN skipped + page ELSE 2 * most_entries END;
        <<level>>
        LOOP
            in_lower_case := cardinality(entries) > most_entries;
            EXIT everything WHEN in_lower_case;

            IF cardinality(entries) - former_entries >= enough THEN
                -- A name that is left differs from the last entry at some place by a greater character, or by a lesser one
                -- where the list descends. Is there one whose order turns around in lower case?
                peeked := entries[cardinality(entries)];
                is_complete := substr(peeked, length(spelling) + 1) !~ '[^\x01-\x7f]';
                FOR place IN length(spelling)..length(peeked) - 1 LOOP
                    EXIT WHEN NOT is_complete;
                    letter := substr(peeked, place + 1, 1);
                    IF NOT descending THEN
                        PERFORM FROM storage.objects
                        WHERE bucket_id = bucketname
                            AND name COLLATE "C" >= left(peeked, place) || chr(128)
                            AND name COLLATE "C" < left(peeked, place) || greatest_text
                        LIMIT 1;
                        is_complete := NOT FOUND;
                    END IF;
                    IF is_complete AND letter COLLATE "C" BETWEEN least_turning AND greatest_turning THEN
                        PERFORM FROM storage.objects
                        WHERE bucket_id = bucketname
                            AND name COLLATE "C" >= left(peeked, place) || CASE
                                WHEN NOT descending THEN '['
                                WHEN ascii(letter) < 97 THEN 'A'
                                ELSE upper(letter)
                            END
                            AND name COLLATE "C" < left(peeked, place) || CASE
                                WHEN descending THEN '['
                                ELSE chr(ascii(letter) + 33)
                            END
                        LIMIT 1;
                        is_complete := NOT FOUND;
                    END IF;
                END LOOP;
                IF is_complete THEN
                    SELECT count(*) >= skipped + page INTO is_complete
                    FROM (
                        SELECT DISTINCT lower(level.entry), CASE WHEN level.first IS NULL THEN level.entry END
                        FROM unnest(entries[former_entries + 1:], firsts[former_entries + 1:]) AS level (entry, first)
                        WHERE CASE
                            WHEN descending THEN lower(level.entry) COLLATE "C" >= lower(peeked)
                            ELSE lower(level.entry) COLLATE "C" <= lower(peeked)
                        END
                    ) AS settled;
                END IF;
                EXIT level WHEN is_complete;
                enough := 2 * (cardinality(entries) - former_entries);
            END IF;

            -- A folder costs one row, however many it holds.
            IF walks_down THEN
                SELECT objects.name INTO peeked
                FROM storage.objects
                WHERE bucket_id = bucketname AND name COLLATE "C" >= low AND name COLLATE "C" < high
                ORDER BY name COLLATE "C" DESC LIMIT 1;
            ELSE
                SELECT objects.name INTO peeked
                FROM storage.objects
                WHERE bucket_id = bucketname AND name COLLATE "C" >= low AND name COLLATE "C" < high
                ORDER BY name COLLATE "C" LIMIT 1;
            END IF;
            EXIT level WHEN peeked IS NULL;
            folder := storage.get_common_prefix(peeked, spelling, '/');
            IF folder IS NOT NULL THEN
                IF walks_down THEN
                    SELECT objects.name INTO peeked
                    FROM storage.objects
                    WHERE bucket_id = bucketname AND name COLLATE "C" >= folder AND name COLLATE "C" < high
                    ORDER BY name COLLATE "C" LIMIT 1;
                    high := folder;
                ELSE
                    low := left(folder, -1) || '0';
                END IF;
                entries := entries || folder;
                firsts := firsts || peeked;
                times := times || NULL::timestamptz;
                CONTINUE level;
            END IF;
            -- Objects that follow one another are read together.
            IF walks_down THEN
                OPEN neighbours FOR
                    SELECT objects.name, NULL::timestamptz
                    FROM storage.objects
                    WHERE bucket_id = bucketname AND name COLLATE "C" >= low AND name COLLATE "C" < high
                    ORDER BY name COLLATE "C" DESC LIMIT 1000;
            ELSE
                OPEN neighbours FOR
                    SELECT
                        objects.name,
                        CASE sorted_by
                            WHEN 'updated_at' THEN objects.updated_at
                            WHEN 'last_accessed_at' THEN objects.last_accessed_at
                            ELSE objects.created_at
                        END
                    FROM storage.objects
                    WHERE bucket_id = bucketname AND name COLLATE "C" >= low AND name COLLATE "C" < high
                    ORDER BY name COLLATE "C" LIMIT 1000;
            END IF;
            LOOP
                FETCH neighbours INTO peeked, found_time;
                EXIT WHEN NOT FOUND OR position('/' IN substr(peeked, length(wanted) + 1)) > 0;
                entries := entries || peeked;
                firsts := firsts || NULL::text;
                times := times || coalesce(found_time, 'infinity'::timestamptz);
                IF walks_down THEN
                    high := peeked;
                ELSE
                    low := peeked || chr(1);
                END IF;
                EXIT WHEN cardinality(entries) - former_entries >= enough;
            END LOOP;
            CLOSE neighbours;
        END LOOP;
    END LOOP;

    IF sorted_by = 'name' AND in_lower_case THEN
        entries := '{}';
        firsts := '{}';
        times := '{}';
        low := lower(wanted);
        high := CASE
            WHEN low = '' THEN greatest_text
            ELSE left(low, -1) || chr(CASE ascii(right(low, 1)) WHEN 55295 THEN 57344 ELSE ascii(right(low, 1)) + 1 END)
        END;
        WHILE cardinality(entries) < skipped + page LOOP
            is_folder := false;
            OPEN neighbours NO SCROLL FOR EXECUTE format(
                'SELECT name FROM storage.objects WHERE bucket_id = $1 AND lower(name) COLLATE "C" >= $2 '
                'AND lower(name) COLLATE "C" < $3 ORDER BY lower(name) COLLATE "C" %s LIMIT 1000',
                CASE WHEN descending THEN 'DESC' ELSE 'ASC' END
            ) USING bucketname, low, high;
            FETCH neighbours INTO peeked;
            EXIT WHEN NOT FOUND;
            WHILE FOUND AND cardinality(entries) < skipped + page LOOP
                folder := storage.get_common_prefix(peeked, wanted, '/');
                is_folder := folder IS NOT NULL;
                entries := entries || coalesce(folder, peeked);
                firsts := firsts || CASE WHEN is_folder THEN peeked END;
                times := times || CASE WHEN NOT is_folder THEN 'infinity'::timestamptz END;
                IF descending THEN
                    high := lower(coalesce(folder, peeked));
                ELSE
                    low := CASE WHEN is_folder THEN left(lower(folder), -1) || '0' ELSE lower(peeked) || chr(1) END;
                END IF;
                EXIT WHEN is_folder;
                FETCH neighbours INTO peeked;
            END LOOP;
            CLOSE neighbours;
        END LOOP;
    END IF;

    IF sorted_by = 'name' THEN
        RETURN QUERY
        WITH merged AS (
            SELECT DISTINCT ON (found.folded, found.of_object) found.*
            FROM (
                SELECT
                    entry,
                    first,
                    lower(entry) COLLATE "C" AS folded,
                    (CASE WHEN first IS NULL THEN entry END) COLLATE "C" AS of_object
                FROM unnest(entries, firsts) AS level (entry, first)
            ) AS found
            ORDER BY found.folded, found.of_object, lower(found.first) COLLATE "C"
        ),
        chosen AS (
            SELECT
                merged.*,
                row_number() OVER (
                    ORDER BY
                        CASE WHEN NOT descending THEN merged.folded END,
                        CASE WHEN NOT descending THEN merged.of_object END,
                        merged.folded DESC,
                        merged.of_object DESC
                ) AS place
            FROM merged
            ORDER BY place
            LIMIT page OFFSET skipped
        )
        SELECT
            substr(CASE WHEN chosen.first IS NULL THEN chosen.entry ELSE rtrim(chosen.entry, '/') END, hidden + 1),
            objects.id,
            objects.updated_at,
            objects.created_at,
            objects.last_accessed_at,
            objects.metadata
        FROM chosen
        LEFT JOIN LATERAL (
            SELECT * FROM storage.objects
            WHERE bucket_id = bucketname AND name = chosen.of_object COLLATE "default"
            LIMIT 1
        ) AS objects ON true
        ORDER BY chosen.place;
        RETURN;
    END IF;

    IF in_lower_case THEN
        SELECT
            array_agg(coalesce(found.folder, found.name)),
            array_agg(found.first),
            array_agg(found.found_time)
        INTO entries, firsts, times
        FROM (
            SELECT
                left(objects.name, length(array_to_string(path_tokens[1:level.depth], '/')) + 1) AS folder,
                NULL AS name,
                min(objects.name) AS first,
                NULL::timestamptz AS found_time
            FROM storage.objects
            CROSS JOIN (SELECT greatest(cardinality(string_to_array(pattern, '/')), 1) AS depth) AS level
            WHERE bucket_id = bucketname AND objects.name ILIKE pattern || '%' AND cardinality(path_tokens) > level.depth
            GROUP BY 1
            UNION ALL
            SELECT
                NULL,
                objects.name,
                NULL,
                coalesce(
                    CASE sorted_by
                        WHEN 'updated_at' THEN objects.updated_at
                        WHEN 'last_accessed_at' THEN objects.last_accessed_at
                        ELSE objects.created_at
                    END,
                    'infinity'::timestamptz
                )
            FROM storage.objects
            CROSS JOIN (SELECT greatest(cardinality(string_to_array(pattern, '/')), 1) AS depth) AS level
            WHERE bucket_id = bucketname AND objects.name ILIKE pattern || '%' AND cardinality(path_tokens) = level.depth
        ) AS found;
    END IF;

    RETURN QUERY
    WITH shown AS (
        SELECT
            substr(level.entry, hidden + 1) AS label,
            level.entry,
            level.found_time
        FROM unnest(entries, firsts, times) AS level (entry, first, found_time)
        WHERE level.first IS NULL
        UNION ALL
        SELECT DISTINCT
            substr(left(level.entry, -1), hidden + 1),
            NULL,
            NULL::timestamptz
        FROM unnest(entries, firsts) AS level (entry, first)
        WHERE level.first IS NOT NULL
    ),
    chosen AS (
        SELECT
            shown.*,
            row_number() OVER (
                ORDER BY
                    shown.entry IS NOT NULL,
                    CASE WHEN shown.entry IS NULL AND NOT descending THEN shown.label END,
                    CASE WHEN shown.entry IS NULL AND descending THEN shown.label END DESC,
                    CASE WHEN NOT descending THEN shown.found_time END,
                    CASE WHEN descending THEN shown.found_time END DESC,
                    shown.entry COLLATE "C"
            ) AS place
        FROM shown
        ORDER BY place
        LIMIT page OFFSET skipped
    )
    SELECT chosen.label, objects.id, objects.updated_at, objects.created_at, objects.last_accessed_at, objects.metadata
    FROM chosen
    LEFT JOIN LATERAL (
        SELECT * FROM storage.objects
        WHERE bucket_id = bucketname AND name = chosen.entry
        LIMIT 1
    ) AS objects ON true
    ORDER BY chosen.place;
END
$$;
