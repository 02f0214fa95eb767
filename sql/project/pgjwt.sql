-- The functions of the extension pgjwt, which is not packaged: tokens signed with HMAC (RFC 7519), by pgcrypto.

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pgjwt' AND extversion <> 'basalt')
        OR NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'pgcrypto') THEN
        RETURN;
    END IF;

    CREATE OR REPLACE FUNCTION extensions.url_encode(data bytea) RETURNS text LANGUAGE sql IMMUTABLE AS $body$
        SELECT translate(encode(data, 'base64'), E'+/=\n', '-_')
    $body$;

    CREATE OR REPLACE FUNCTION extensions.url_decode(data text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $body$
        SELECT decode(translate(data, '-_', '+/') || repeat('=', (4 - length(data) % 4) % 4), 'base64')
    $body$;

    CREATE OR REPLACE FUNCTION extensions.algorithm_sign(signables text, secret text, algorithm text)
    RETURNS text LANGUAGE sql IMMUTABLE AS $body$
        SELECT extensions.url_encode(
            extensions.hmac(
                signables,
                secret,
                CASE algorithm WHEN 'HS256' THEN 'sha256' WHEN 'HS384' THEN 'sha384' WHEN 'HS512' THEN 'sha512' ELSE '' END
            )
        )
    $body$;

    CREATE OR REPLACE FUNCTION extensions.sign(payload json, secret text, algorithm text DEFAULT 'HS256')
    RETURNS text LANGUAGE sql IMMUTABLE AS $body$
        SELECT parts.text || '.' || extensions.algorithm_sign(parts.text, secret, algorithm)
        FROM (
            SELECT extensions.url_encode(convert_to(json_build_object('alg', algorithm, 'typ', 'JWT')::text, 'utf8'))
                || '.' || extensions.url_encode(convert_to(payload::text, 'utf8')) AS text
        ) AS parts
    $body$;

    CREATE OR REPLACE FUNCTION extensions.verify(
        token text, secret text, algorithm text DEFAULT 'HS256', OUT header json, OUT payload json, OUT valid boolean
    ) LANGUAGE sql IMMUTABLE AS $body$
        SELECT
            convert_from(extensions.url_decode(split_part(token, '.', 1)), 'utf8')::json,
            convert_from(extensions.url_decode(split_part(token, '.', 2)), 'utf8')::json,
            split_part(token, '.', 3) = extensions.algorithm_sign(
                split_part(token, '.', 1) || '.' || split_part(token, '.', 2), secret, algorithm
            )
    $body$;
END
$$;
