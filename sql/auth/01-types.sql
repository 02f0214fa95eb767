-- The words that columns of this schema may hold. Their order counts: PostgreSQL compares enums by it,
-- and "the highest assurance level of a session" is such a comparison.

CREATE TYPE aal_level AS ENUM ('aal1', 'aal2', 'aal3');
CREATE TYPE code_challenge_method AS ENUM ('s256', 'plain');
CREATE TYPE factor_status AS ENUM ('unverified', 'verified');
CREATE TYPE factor_type AS ENUM ('totp', 'webauthn', 'phone');
CREATE TYPE one_time_token_type AS ENUM (
    'confirmation_token',
    'reauthentication_token',
    'recovery_token',
    'email_change_token_new',
    'email_change_token_current',
    'phone_change_token'
);

CREATE TYPE oauth_authorization_status AS ENUM ('pending', 'approved', 'denied', 'expired');
CREATE TYPE oauth_client_type AS ENUM ('public', 'confidential');
CREATE TYPE oauth_registration_type AS ENUM ('dynamic', 'manual');
CREATE TYPE oauth_response_type AS ENUM ('code');
