-- What owners change of the catalogue at the desk. A row has all values of its template that differ from those of the
-- files, so that the row with the highest revision is in effect; the earlier ones are the history.

CREATE TABLE catalogue_revisions (
    template   integer NOT NULL,
    -- From 1, without gaps: of two owners who change the same revision one gets the next number.
    revision   integer NOT NULL CHECK (revision > 0),
    created_at timestamptz NOT NULL,
    -- The address of the owner.
    author     text NOT NULL,
    -- The values by their keys in catalogue.toml.
    changes    jsonb NOT NULL,
    CONSTRAINT catalogue_revisions_pkey PRIMARY KEY (template, revision)
);

DO $$
BEGIN
    IF to_regrole('supabase_auth_admin') IS NOT NULL THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON basalt.catalogue_revisions TO supabase_auth_admin;
    END IF;
END
$$;
