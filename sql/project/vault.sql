-- The SQL of the extension supabase_vault: secrets that are encrypted with a key beside the database, not in it. Dumps and
-- replicas of the tables hold ciphertext; `basalt backup` copies the key, too.

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_extension WHERE extname = 'supabase_vault' AND extversion <> 'basalt') THEN
        RETURN;
    END IF;

    CREATE SCHEMA IF NOT EXISTS vault;
    CREATE TABLE IF NOT EXISTS vault.secrets (
        id          uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        name        text,
        description text NOT NULL DEFAULT '',
        secret      text NOT NULL,
        key_id      uuid,
        nonce       bytea,
        created_at  timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
        updated_at  timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP
    );
    CREATE UNIQUE INDEX IF NOT EXISTS secrets_name_idx ON vault.secrets (name) WHERE name IS NOT NULL;
    COMMENT ON TABLE vault.secrets IS 'Encrypted secrets; decrypted by the view vault.decrypted_secrets';

    -- The file lies in the data folder of PostgreSQL, which only its account reads.
    CREATE OR REPLACE FUNCTION vault.read_key() RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = '' AS $body$
    DECLARE
        key text := pg_catalog.pg_read_file('vault.key', 0, 128, true);
    BEGIN
        IF pg_catalog.length(key) IS DISTINCT FROM 64 THEN
            RAISE EXCEPTION 'the key of the secrets is missing: start Basalt with this data folder, or restore a backup of it';
        END IF;
        RETURN key;
    END
    $body$;

    -- The id is encrypted with the secret, so that rows cannot exchange theirs.
    CREATE OR REPLACE FUNCTION vault.encrypt_secret(secret text, id uuid) RETURNS text
    LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $body$
        SELECT pg_catalog.encode(
            extensions.pgp_sym_encrypt(id::text || secret, vault.read_key(), 'cipher-algo=aes256, s2k-mode=1'), 'base64'
        )
    $body$;

    -- NULL for what is no ciphertext of this key and row, so that one such row does not hide the others.
    CREATE OR REPLACE FUNCTION vault.decrypt_secret(secret text, id uuid) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = '' AS $body$
    DECLARE
        key text := vault.read_key();
        plain text;
    BEGIN
        plain := extensions.pgp_sym_decrypt(pg_catalog.decode(secret, 'base64'), key);
        RETURN CASE WHEN pg_catalog.starts_with(plain, id::text) THEN pg_catalog.substr(plain, 37) END;
    EXCEPTION
        WHEN data_exception OR external_routine_invocation_exception THEN
            RETURN NULL;
    END
    $body$;

    CREATE OR REPLACE FUNCTION vault.is_pgp_message(secret text) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE SET search_path = '' AS $body$
    BEGIN
        RETURN extensions.pgp_key_id(pg_catalog.decode(secret, 'base64')) = 'SYMKEY';
    EXCEPTION
        WHEN data_exception OR external_routine_invocation_exception THEN
            RETURN false;
    END
    $body$;

    -- Encrypts what a statement writes to the table itself. Ciphertext of the same row, as in a restored dump, stays.
    CREATE OR REPLACE FUNCTION vault.encrypt_row() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $body$
    DECLARE
        moved text;
    BEGIN
        IF vault.decrypt_secret(NEW.secret, NEW.id) IS NOT NULL THEN
            RETURN NEW;
        END IF;
        IF TG_OP = 'UPDATE' AND NEW.secret = OLD.secret THEN
            moved := vault.decrypt_secret(OLD.secret, OLD.id);
        END IF;
        NEW.secret := vault.encrypt_secret(coalesce(moved, NEW.secret), NEW.id);
        RETURN NEW;
    END
    $body$;
    CREATE OR REPLACE TRIGGER encrypt_row BEFORE INSERT OR UPDATE OF id, secret ON vault.secrets
    FOR EACH ROW EXECUTE FUNCTION vault.encrypt_row();

    -- Rows from before the trigger.
    UPDATE vault.secrets AS s
    SET secret = vault.encrypt_secret(s.secret, s.id)
    WHERE NOT vault.is_pgp_message(s.secret);

    CREATE OR REPLACE VIEW vault.decrypted_secrets AS
    SELECT
        s.id,
        s.name,
        s.description,
        s.secret,
        vault.decrypt_secret(s.secret, s.id) AS decrypted_secret,
        s.key_id,
        s.nonce,
        s.created_at,
        s.updated_at
    FROM vault.secrets AS s;

    CREATE OR REPLACE FUNCTION vault.create_secret(
        new_secret text, new_name text DEFAULT NULL, new_description text DEFAULT '', new_key_id uuid DEFAULT NULL
    ) RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $body$
    DECLARE
        new_id uuid := pg_catalog.gen_random_uuid();
    BEGIN
        INSERT INTO vault.secrets (id, name, description, secret)
        VALUES (new_id, new_name, coalesce(new_description, ''), vault.encrypt_secret(new_secret, new_id));
        RETURN new_id;
    END
    $body$;

    CREATE OR REPLACE FUNCTION vault.update_secret(
        secret_id       uuid,
        new_secret      text DEFAULT NULL,
        new_name        text DEFAULT NULL,
        new_description text DEFAULT NULL,
        new_key_id      uuid DEFAULT NULL
    ) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $body$
        UPDATE vault.secrets AS s
        SET secret = CASE WHEN new_secret IS NULL THEN s.secret ELSE vault.encrypt_secret(new_secret, s.id) END,
            name = coalesce(new_name, s.name),
            description = coalesce(new_description, s.description),
            updated_at = CURRENT_TIMESTAMP
        WHERE s.id = secret_id
    $body$;

    REVOKE ALL ON ALL FUNCTIONS IN SCHEMA vault FROM PUBLIC;
    GRANT USAGE ON SCHEMA vault TO postgres, service_role;
    GRANT SELECT, DELETE ON vault.secrets, vault.decrypted_secrets TO postgres, service_role;
    GRANT EXECUTE ON FUNCTION
        vault.create_secret(text, text, text, uuid),
        vault.update_secret(uuid, text, text, text, uuid),
        vault.decrypt_secret(text, uuid)
    TO postgres, service_role;
END
$$;
