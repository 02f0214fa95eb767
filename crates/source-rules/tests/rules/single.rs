//! Every security decision about the sender of a request has one implementation.
//!
//! Two readers of one header are two answers to who sent a request: a proxy's address that one of them trusts and the other
//! does not, a key that one of them finds and the other overlooks. Attacks use the difference. The compiler accepts both,
//! so that a text that such a reader contains is allowed in its module alone, and elsewhere with a reason. Each row says
//! which defect it prevents.

/// A pattern of code that belongs to one module.
struct Implementation {
    /// What the module does.
    decision: &'static str,
    /// The defect that a second implementation leads to.
    prevents: &'static str,
    /// A text of the code, in lower case, that a second implementation contains.
    pattern: &'static str,
    /// The module.
    home: &'static str,
    /// Other files that contain the text, with the reason why they do not decide the same.
    others: &'static [(&'static str, &'static str)],
}

const TOKEN_TYPE: &str = "names the type of a token in a response";
const FLOW_FILE: &str = "the name of a member in files of flows";
const CHALLENGE: &str = "names the scheme in `WWW-Authenticate`";
const EXAMPLE: &str = "an example in the documentation of a variable";

const IMPLEMENTATIONS: &[Implementation] = &[
    Implementation {
        decision: "parses `Authorization: Bearer`",
        prevents: "a token that one service reads and another takes for none",
        pattern: "\"bearer",
        home: "crates/http-edge/src/request/authorization.rs",
        others: &[
            ("crates/gotrue-rules/src/wire/redirect.rs", TOKEN_TYPE),
            ("gotrue-rs/src/services/sessions/mod.rs", TOKEN_TYPE),
            ("gotrue-rs/src/handlers/oauth_server/token.rs", TOKEN_TYPE),
            ("crates/provider-simulator/src/catalog.rs", TOKEN_TYPE),
            ("crates/gotrue-rules/src/domain/external/token_response.rs", "token types in the answers of providers"),
            ("crates/basalt/src/users/database.rs", "sends a token to the auth API"),
            ("crates/flows/src/format/parse.rs", FLOW_FILE),
            ("crates/flows/src/format/write.rs", FLOW_FILE),
            ("crates/flows/src/record/plain.rs", TOKEN_TYPE),
            ("crates/flows/src/recordings/data/steps.rs", "sends a token to the data API"),
            ("crates/desk/src/auth_client.rs", "sends a token to the auth API"),
            ("storage-rs/src/caller/mod.rs", "as Supabase Storage, which takes a token without a scheme, too"),
            ("postgrest-rs/src/jwt/mod.rs", "as PostgREST, which has other rules for white space and an empty token"),
            ("postgrest-rs/src/error/database.rs", CHALLENGE),
            ("postgrest-rs/src/error/token.rs", CHALLENGE),
            ("postgrest-rs/src/response/openapi/mod.rs", "describes the header in a document"),
        ],
    },
    Implementation {
        decision: "finds the API key of a request",
        prevents: "a request that is let in with a key that the service behind does not see",
        pattern: "\"apikey\"",
        home: "crates/http-edge/src/request/authorization.rs",
        others: &[
            ("gotrue-rs/src/ports/sms/textlocal.rs", "a parameter of the SMS provider"),
            ("gotrue-rs/src/config/settings/smtp.rs", EXAMPLE),
            ("crates/basalt/src/api_keys/authorization.rs", "lists every place where a service could find a token"),
            ("crates/basalt/src/router/published_keys.rs", "looks for credentials besides the public keys"),
            ("postgrest-rs/src/response/openapi/mod.rs", "a type of security schemes in OpenAPI"),
        ],
    },
    Implementation {
        decision: "reads forwarded headers",
        prevents: "a client that chooses its address or the host of links, because an untrusted header was read",
        pattern: "\"x-forwarded",
        home: "crates/http-edge/src/request/forwarded.rs",
        others: &[
            ("gotrue-rs/src/config/settings/limits.rs", EXAMPLE),
            ("storage-rs/src/s3/authenticate.rs", "the hosts and paths that a signature may name"),
            ("storage-rs/src/tus/location.rs", "the URL of an upload, from the headers that the router has replaced"),
            ("storage-rs/src/tus/request.rs", "refuses a malformed header, as the TUS server of Supabase Storage does"),
        ],
    },
    Implementation {
        decision: "reads `Sb-Forwarded-For`",
        prevents: "a client that chooses the address by which it is limited",
        pattern: "\"sb-forwarded",
        home: "crates/http-edge/src/request/forwarded.rs",
        others: &[],
    },
    Implementation {
        decision: "recognises a prefetch",
        prevents: "a one-time link that the prefetch of a mail program uses up",
        pattern: "\"sec-purpose",
        home: "crates/http-edge/src/request/prefetch.rs",
        others: &[],
    },
    Implementation {
        decision: "answers CORS",
        prevents: "an origin that may read responses of one service and not of another, or with credentials",
        pattern: "access_control_",
        home: "crates/http-edge/src/request/cors.rs",
        others: &[],
    },
    Implementation {
        decision: "answers CORS",
        prevents: "an origin that may read responses of one service and not of another, or with credentials",
        pattern: "\"access-control-",
        home: "crates/http-edge/src/request/cors.rs",
        others: &[
            ("crates/flows/src/runner/observe.rs", "names of headers that recordings compare"),
            ("crates/flows/src/record/redact.rs", "leaves these headers out of recordings"),
            ("crates/flows/src/recordings/data/steps.rs", "names of headers that recordings compare"),
            ("storage-rs/src/s3/multipart.rs", "lets pages read the ETag of a part, as Supabase Storage does"),
            ("storage-rs/src/tus/mod.rs", "answers as the TUS server of Supabase Storage does"),
            ("postgrest-rs/src/response/cors.rs", "answers as PostgREST does, where no router is in front of it"),
            ("postgrest-rs/src/response/mod.rs", "OPTIONS of a relation, as PostgREST answers"),
        ],
    },
    Implementation {
        decision: "compares API keys in constant time",
        prevents: "a comparison that tells by its duration how much of a key is right",
        pattern: ".ct_eq(",
        home: "crates/http-edge/src/request/api_keys.rs",
        others: &[
            ("gotrue-rs/src/ports/hashing/compute.rs", "password hashes"),
            ("crates/gotrue-rules/src/domain/one_time_token.rs", "hashes of one-time tokens"),
            ("crates/gotrue-rules/src/domain/oauth_server/client_auth.rs", "hashes of client secrets"),
            ("crates/gotrue-rules/src/domain/refresh/signed.rs", "checksum and signature of refresh tokens"),
            ("crates/gotrue-rules/src/domain/pkce.rs", "code challenges"),
            ("crates/gotrue-rules/src/domain/mfa/verification.rs", "codes of a phone factor"),
            ("crates/test-bench/src/api/mod.rs", "the key of the test API, which no service accepts"),
            ("crates/basalt/src/dev/access.rs", "the token of the inbox, which is no API key"),
            ("crates/desk/src/token.rs", "the token of the desk against forged requests, which is no API key"),
            ("crates/provider-simulator/src/registration.rs", "client secrets at the simulated providers"),
            ("crates/provider-simulator/src/profile.rs", "proofs of a client secret at a simulated provider"),
            ("crates/provider-simulator/src/oauth1.rs", "signatures of OAuth 1.0a at a simulated provider"),
        ],
    },
    Implementation {
        decision: "lists loopback hosts",
        prevents: "a redirect to another host, allowed because one list of loopback hosts is wider",
        pattern: "\"127.0.0.1\"",
        home: "crates/gotrue-rules/src/domain/redirect/loopback.rs",
        others: &[
            ("gotrue-rs/src/config/settings/api.rs", EXAMPLE),
            ("gotrue-rs/src/config/settings/operation.rs", EXAMPLE),
            ("crates/basalt/src/project.rs", "the address of a server that listens everywhere, for its own URL"),
            ("crates/flows/src/recordings/data/server.rs", "the address of the server that it starts"),
        ],
    },
];

#[test]
fn decisions_about_the_sender_have_one_implementation() {
    let root = source_rules::repository_root();
    let files: Vec<(String, String)> = source_rules::CRATES
        .iter()
        .flat_map(|name| source_rules::list_files(&root.join(name).join("src"), &[".rs"]))
        .map(|path| (source_rules::relative_path(&path), path))
        .filter(|(name, _)| !name.contains("/testing/") && !name.ends_with("tests.rs") && !name.contains("/tests/"))
        .map(|(name, path)| (name, production_code(&source_rules::read_text(&path))))
        .collect();

    let wrong: Vec<String> =
        IMPLEMENTATIONS.iter().flat_map(|implementation| violations(implementation, &files)).collect();

    assert!(wrong.is_empty(), "use the module that decides this, or give a reason in `others`:\n{}", wrong.join("\n"));
}

#[test]
fn second_implementation_and_stale_reason_are_found() {
    let others = &[("b.rs", "a reason")];
    let rule = Implementation { decision: "d", prevents: "p", pattern: "\"bearer", home: "a/src/x.rs", others };
    let file = |name: &str, text: &str| (name.to_owned(), production_code(text));
    let second = "fn f() { v.strip_prefix(\"Bearer \"); } // \"bearer\"";
    let commented = "// \"Bearer \"\n/// \"bearer\"\n#[cfg(test)]\nmod tests { const A: &str = \"Bearer x\"; }";
    let home = file("a/src/x.rs", second);
    assert_eq!(violations(&rule, &[home.clone(), file("b.rs", second), file("c.rs", commented)]).len(), 0);
    assert_eq!(violations(&rule, &[home.clone(), file("b.rs", second), file("c.rs", second)]).len(), 1);
    assert_eq!(violations(&rule, &[home, file("b.rs", "")]).len(), 1, "the reason is stale");
    assert_eq!(violations(&rule, &[file("b.rs", second)]).len(), 1, "the module is missing");
}

fn violations(rule: &Implementation, files: &[(String, String)]) -> Vec<String> {
    let Implementation { decision, prevents, pattern, home, others } = rule;
    let found: Vec<&str> =
        files.iter().filter(|(_, code)| code.contains(pattern)).map(|(name, _)| name.as_str()).collect();
    let expected: Vec<&str> = others.iter().map(|(name, _)| *name).chain([*home]).collect();
    let second = found
        .iter()
        .filter(|name| !expected.contains(name))
        .map(|name| format!("{name} contains {pattern}, but {home} {decision}; elsewhere it leads to {prevents}"));
    let missing = expected
        .iter()
        .filter(|name| !found.contains(name))
        .map(|name| format!("{name} does not contain {pattern} any more, which {decision}: remove it from the list"));
    second.chain(missing).collect()
}

/// The code and the literals of a file without its unit tests, in lower case.
fn production_code(text: &str) -> String {
    let text = source_rules::without_unit_tests(text);
    let (_, comments) = source_rules::code_and_comments(&text);
    let without_comment =
        |(character, comment): (char, char)| if comment == ' ' || comment == '\n' { character } else { ' ' };
    let code: String = text.chars().zip(comments.chars()).map(without_comment).collect();
    code.to_ascii_lowercase()
}
