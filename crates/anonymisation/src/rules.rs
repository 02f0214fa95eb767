//! What is done with every table and column of the schemas `auth` and `basalt`.

/// What is done with the rows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableRule {
    /// Nothing: the table has nothing of a user.
    Keep,
    /// They are deleted: they are tokens, codes or secrets, or of no use without them.
    Empty,
    /// Their columns are replaced.
    Replace(&'static [(&'static str, ColumnRule)]),
}

/// What is done with the value of a column. NULL stays NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnRule {
    /// It stays.
    Keep,
    /// It stays, except for addresses and numbers in it.
    Scrub,
    /// An e-mail address.
    Email,
    /// A list of e-mail addresses.
    Emails,
    /// A phone number.
    Phone,
    /// An e-mail address or a name.
    Contact,
    Text,
    Url,
    /// An IP address.
    Ip,
    /// An IP address or a network.
    Network,
    UserAgent,
    /// A domain of e-mail addresses.
    Domain,
    /// An id that a provider or a client gave.
    Identifier,
    /// The id of an identity at its provider; that of an address or a number is the user's own id.
    ProviderId,
    /// A JSON document.
    Document,
    /// A password hash: replaced by that of the known password, or emptied.
    Password,
    /// The secret of a TOTP factor.
    TotpSecret,
    /// The metadata of a SAML identity provider.
    SamlMetadata,
    /// It becomes this constant.
    Constant(&'static str),
    /// It becomes an empty JSON list.
    EmptyList,
    /// It becomes NULL.
    Null,
}

use ColumnRule::{
    Constant, Contact, Document, Domain, Email, Emails, EmptyList, Identifier, Ip, Keep, Network, Null, Password,
    Phone, ProviderId, SamlMetadata, Scrub, Text, TotpSecret, Url, UserAgent,
};

/// The rules of the tables; columns of numbers, times, switches and ids need none.
const TABLES: &[(&str, TableRule)] = &[
    ("auth.schema_migrations", TableRule::Keep),
    ("auth.users", TableRule::Replace(USERS)),
    ("auth.identities", TableRule::Replace(IDENTITIES)),
    ("auth.mfa_factors", TableRule::Replace(FACTORS)),
    ("auth.sessions", TableRule::Replace(SESSIONS)),
    ("auth.audit_log_entries", TableRule::Replace(&[("payload", Document), ("ip_address", Ip)])),
    ("auth.instances", TableRule::Empty),
    ("auth.mfa_amr_claims", TableRule::Replace(&[("authentication_method", Keep)])),
    ("auth.oauth_consents", TableRule::Replace(&[("scopes", Keep)])),
    ("auth.oauth_clients", TableRule::Replace(OAUTH_CLIENTS)),
    ("auth.custom_oauth_providers", TableRule::Replace(CUSTOM_PROVIDERS)),
    ("auth.sso_providers", TableRule::Replace(&[("resource_id", Text)])),
    ("auth.sso_domains", TableRule::Replace(&[("domain", Domain)])),
    ("auth.saml_providers", TableRule::Replace(SAML_PROVIDERS)),
    ("auth.one_time_tokens", TableRule::Empty),
    ("auth.refresh_tokens", TableRule::Empty),
    ("auth.flow_state", TableRule::Empty),
    ("auth.oauth_client_states", TableRule::Empty),
    ("auth.oauth_authorizations", TableRule::Empty),
    ("auth.saml_relay_states", TableRule::Empty),
    ("auth.mfa_challenges", TableRule::Empty),
    ("auth.webauthn_challenges", TableRule::Empty),
    ("auth.webauthn_credentials", TableRule::Empty),
    ("auth.mfa_recovery_code_sets", TableRule::Empty),
    ("auth.mfa_recovery_codes", TableRule::Empty),
    ("auth.scim_users", TableRule::Empty),
    ("auth.scim_tokens", TableRule::Empty),
    ("basalt.migrations", TableRule::Keep),
    ("basalt.notice_slots", TableRule::Keep),
    ("basalt.leases", TableRule::Keep),
    ("basalt.replicas", TableRule::Empty),
    ("basalt.key_sets", TableRule::Empty),
    ("basalt.limits", TableRule::Empty),
    ("basalt.limit_counters", TableRule::Empty),
    ("basalt.saml_assertions", TableRule::Empty),
    ("basalt.exchanged_codes", TableRule::Empty),
    ("basalt.decoys", TableRule::Empty),
    ("basalt.outbox", TableRule::Replace(OUTBOX)),
    ("basalt.submissions", TableRule::Replace(SUBMISSIONS)),
    ("basalt.submission_messages", TableRule::Replace(SUBMISSION_MESSAGES)),
    ("basalt.submission_notes", TableRule::Replace(&[("text", Text), ("author", Contact)])),
    ("basalt.submission_events", TableRule::Replace(&[("last_error", Null)])),
    ("basalt.submission_digests", TableRule::Keep),
    ("basalt.orders", TableRule::Replace(ORDERS)),
    ("basalt.payment_events", TableRule::Empty),
    ("basalt.download_keys", TableRule::Empty),
    ("basalt.desk_setup_links", TableRule::Empty),
    ("basalt.desk_tickets", TableRule::Empty),
    ("basalt.desk_sessions", TableRule::Empty),
    ("basalt.desk_recovery_codes", TableRule::Empty),
    ("basalt.desk_reset_links", TableRule::Empty),
    ("basalt.catalogue_revisions", TableRule::Replace(&[("changes", Keep), ("author", Contact)])),
    ("basalt.shop_files", TableRule::Replace(&[("name", Keep), ("kind", Keep)])),
    ("basalt.shop_file_chunks", TableRule::Keep),
    ("basalt.desk_devices", TableRule::Empty),
    ("basalt.desk_events", TableRule::Replace(&[("action", Keep), ("subject", Text), ("address", Ip)])),
    ("basalt.page_views", TableRule::Keep),
    ("basalt.test_page_views", TableRule::Keep),
];

/// The columns of `auth.users`.
pub(crate) const USERS: &[(&str, ColumnRule)] = &[
    ("aud", Keep),
    ("role", Keep),
    ("email", Email),
    ("encrypted_password", Password),
    ("confirmation_token", Constant("")),
    ("recovery_token", Constant("")),
    ("email_change_token_new", Constant("")),
    ("email_change", Email),
    ("raw_app_meta_data", Document),
    ("raw_user_meta_data", Document),
    ("phone", Phone),
    ("phone_change", Phone),
    ("phone_change_token", Constant("")),
    ("email_change_token_current", Constant("")),
    ("reauthentication_token", Constant("")),
];

/// The columns of `auth.identities`.
pub(crate) const IDENTITIES: &[(&str, ColumnRule)] =
    &[("provider_id", ProviderId), ("identity_data", Document), ("provider", Keep), ("email", Email)];

/// The columns of `auth.mfa_factors`, whose factors of security keys are deleted.
pub(crate) const FACTORS: &[(&str, ColumnRule)] = &[
    ("friendly_name", Text),
    ("factor_type", Keep),
    ("status", Keep),
    ("secret", TotpSecret),
    ("phone", Phone),
    ("web_authn_credential", Null),
    ("last_webauthn_challenge_data", Null),
];

const SESSIONS: &[(&str, ColumnRule)] = &[
    ("aal", Keep),
    ("user_agent", UserAgent),
    ("ip", Ip),
    ("tag", Text),
    ("refresh_token_hmac_key", Null),
    ("scopes", Keep),
];

const OAUTH_CLIENTS: &[(&str, ColumnRule)] = &[
    ("client_secret_hash", Null),
    ("registration_type", Keep),
    ("redirect_uris", Scrub),
    ("grant_types", Keep),
    ("client_name", Text),
    ("client_uri", Url),
    ("logo_uri", Url),
    ("client_type", Keep),
    ("token_endpoint_auth_method", Keep),
];

const CUSTOM_PROVIDERS: &[(&str, ColumnRule)] = &[
    ("provider_type", Keep),
    ("identifier", Keep),
    ("name", Text),
    ("client_id", Identifier),
    ("client_secret", Constant("removed")),
    ("acceptable_client_ids", EmptyList),
    ("scopes", Keep),
    ("attribute_mapping", Keep),
    ("authorization_params", Keep),
    ("issuer", Keep),
    ("discovery_url", Keep),
    ("cached_discovery", Null),
    ("authorization_url", Keep),
    ("token_url", Keep),
    ("userinfo_url", Keep),
    ("jwks_uri", Keep),
    ("custom_claims_allowlist", Keep),
    ("token_endpoint_auth_method", Keep),
    ("client_signing_key", Null),
    ("client_signing_key_id", Null),
];

const SAML_PROVIDERS: &[(&str, ColumnRule)] = &[
    ("entity_id", Url),
    ("metadata_xml", SamlMetadata),
    ("metadata_url", Url),
    ("attribute_mapping", Keep),
    ("name_id_format", Keep),
];

const OUTBOX: &[(&str, ColumnRule)] = &[
    ("purpose", Keep),
    ("recipient", Contact),
    ("subject", Text),
    ("html", Constant("")),
    ("text", Null),
    ("headers", EmptyList),
    ("code", Null),
    ("link", Null),
    ("message_id", Identifier),
    ("last_error", Null),
    ("sent_to", Keep),
    ("channel", Keep),
    ("sender", Contact),
    ("raw", Null),
];

const SUBMISSIONS: &[(&str, ColumnRule)] = &[
    ("description", Text),
    ("peer", Network),
    ("idempotency_key", Identifier),
    ("status", Keep),
    ("account_email", Email),
    ("senders", Emails),
];

const SUBMISSION_MESSAGES: &[(&str, ColumnRule)] = &[
    ("kind", Keep),
    ("recipient", Contact),
    ("subject", Text),
    ("text", Text),
    ("author", Contact),
    ("message_id", Identifier),
];

const ORDERS: &[(&str, ColumnRule)] = &[
    ("provider", Keep),
    ("provider_reference", Identifier),
    ("checkout", Null),
    ("template_title", Keep),
    ("buyer_email", Email),
    ("currency", Keep),
    ("state", Keep),
    ("locale", Keep),
];

/// Types of columns that hold nothing of a user: numbers, times, switches and ids of rows.
const HARMLESS_TYPES: &[&str] = &[
    "uuid",
    "uuid[]",
    "boolean",
    "smallint",
    "integer",
    "bigint",
    "double precision",
    "numeric",
    "date",
    "timestamp without time zone",
    "timestamp with time zone",
    "interval",
];

/// Returns what is done with a table; `None` for an unknown one.
pub(crate) fn find_table_rule(name: &str) -> Option<TableRule> {
    TABLES.iter().find(|(table, _)| *table == name).map(|(_, rule)| *rule)
}

/// Returns what is done with a column; `None` for an unknown one that may hold something of a user.
pub(crate) fn find_column_rule(rules: &[(&str, ColumnRule)], name: &str, type_name: &str) -> Option<ColumnRule> {
    let found = rules.iter().find(|(column, _)| *column == name).map(|(_, rule)| *rule);
    found.or_else(|| HARMLESS_TYPES.contains(&type_name).then_some(Keep))
}

/// Returns whether it is known what is done with a column of a table.
pub fn has_rule(table: &str, column: &str, type_name: &str) -> bool {
    match find_table_rule(table) {
        Some(TableRule::Replace(rules)) => find_column_rule(rules, column, type_name).is_some(),
        Some(TableRule::Keep | TableRule::Empty) => true,
        None => false,
    }
}

/// Returns the rows of a table that are deleted although others stay, as a condition of SQL.
pub(crate) fn find_deleted_rows(table: &str) -> Option<&'static str> {
    (table == "auth.mfa_factors").then_some("factor_type::text IN ('webauthn', 'recovery_code')")
}
