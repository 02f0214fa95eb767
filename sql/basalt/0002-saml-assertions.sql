-- Assertions that have signed somebody in, until nobody would accept them any more: each counts once.
CREATE TABLE saml_assertions (
    digest  bytea NOT NULL,       -- SHA-256 of the identity provider's name and the assertion's id
    ends_at timestamptz NOT NULL, -- from then on it is too old anyway
    CONSTRAINT saml_assertions_pkey PRIMARY KEY (digest)
);

CREATE INDEX saml_assertions_ends_at_idx ON saml_assertions (ends_at);
