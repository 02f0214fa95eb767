-- Inserts :users confirmed users, each with one identity, one session and one refresh token. All share one bcrypt hash of
-- cost 10.
create extension if not exists pgcrypto schema public;
set search_path = auth, public;
select setseed(0.5);

create temp table seed as
  select n, gen_random_uuid() as user_id, gen_random_uuid() as session_id,
         format('user-%s@bench.test', n) as email,
         substr(md5(random()::text), 1, 12) as refresh_token
  from generate_series(1, :users) n;
create temp table password as select crypt(:'password', gen_salt('bf', 10)) as hash;

insert into users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at,
    confirmation_token, recovery_token, email_change_token_new, email_change, last_sign_in_at,
    raw_app_meta_data, raw_user_meta_data, created_at, updated_at,
    phone_change, phone_change_token, email_change_token_current, reauthentication_token)
  select '00000000-0000-0000-0000-000000000000', user_id, 'authenticated', 'authenticated', email, hash, now(),
    '', '', '', '', now(), '{"provider": "email", "providers": ["email"]}',
    jsonb_build_object('sub', user_id, 'email', email, 'email_verified', true, 'phone_verified', false),
    now(), now(), '', '', '', ''
  from seed, password;

insert into identities (provider_id, user_id, identity_data, provider, last_sign_in_at, created_at, updated_at)
  select user_id, user_id,
    jsonb_build_object('sub', user_id, 'email', email, 'email_verified', false, 'phone_verified', false),
    'email', now(), now(), now()
  from seed;

insert into sessions (id, user_id, created_at, updated_at, aal, user_agent, ip)
  select session_id, user_id, now(), now(), 'aal1', 'seed', '127.0.0.1' from seed;

insert into mfa_amr_claims (id, session_id, created_at, updated_at, authentication_method)
  select gen_random_uuid(), session_id, now(), now(), 'password' from seed;

insert into refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, session_id)
  select '00000000-0000-0000-0000-000000000000', refresh_token, user_id, false, now(), now(), session_id from seed;

\copy (select email, user_id, session_id, refresh_token from seed order by n) to pstdout
vacuum (analyze, freeze);
