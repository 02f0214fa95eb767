//! Every security decision has one implementation.
//!
//! The compiler does not notice that a second place decides the same by itself, and both agree at first. The defect comes
//! with the next change of one of them: a ban, a second factor or an escape that holds on one path and not on another.
//! A text that is typical of a decision therefore occurs in its file alone. Each row says which defect it prevents.

use source_rules::{code_and_comments, list_files, read_text, relative_path, repository_root, without_unit_tests};

/// A security decision and the text that an implementation of it contains.
struct Decision {
    name: &'static str,
    /// The defect that a second implementation leads to.
    prevents: &'static str,
    /// Texts in code, or in literals; white space is ignored.
    signs: &'static [&'static str],
    /// Whether the text is in literals, as error codes and SQL are.
    is_literal: bool,
    home: &'static str,
    /// Other files that may contain it, with the reason.
    allowed: &'static [(&'static str, &'static str)],
}

const DECISIONS: &[Decision] = &[
    Decision {
        name: "whether a ban is in force",
        prevents: "a ban that has ended at one route and not at another: its end is exclusive here",
        signs: &["banned_until.is_some", "banned_until.is_none", "banned_until.map", "banned_until<", "banned_until>"],
        is_literal: false,
        home: "crates/gotrue-rules/src/domain/user.rs",
        allowed: &[],
    },
    Decision {
        name: "what a ban refuses",
        prevents: "a route that a banned user can still use, or an error that names the ban where others do not",
        signs: &[".is_banned("],
        is_literal: false,
        home: "crates/gotrue-rules/src/domain/ban.rs",
        allowed: &[
            ("gotrue-rs/src/services/sessions/refresh/mod.rs", "the token of a banned user is kept, not refused"),
            ("crates/basalt/src/dev/users.rs", "the list of accounts names the state"),
        ],
    },
    Decision {
        name: "whether a ban is in force, in SQL",
        prevents: "a statement that compares the end of a ban otherwise than the rule in Rust",
        signs: &["banned_until<", "banned_until>", "banned_until=now", "banned_until ISNULL", "banned_untilISNULL"],
        is_literal: true,
        home: "gotrue-rs/src/store/refresh_rotation.rs",
        allowed: &[],
    },
    Decision {
        name: "the error of a ban",
        prevents: "a refusal of a banned user with another status or text, which clients do not recognise",
        signs: &["(\"user_banned\"", "(ErrorCode::UserBanned"],
        is_literal: true,
        home: "crates/gotrue-rules/src/domain/ban.rs",
        allowed: &[],
    },
    Decision {
        name: "whether a session verified a second factor",
        prevents: "a session of one factor that passes a comparison turned around",
        signs: &["<Aal::Aal2", ">=Aal::Aal2", "==Aal::Aal2", "!=Aal::Aal2", ">Aal::Aal1", "==Aal::Aal1", "!=Aal::Aal1"],
        is_literal: false,
        home: "crates/gotrue-rules/src/domain/session.rs",
        allowed: &[],
    },
    Decision {
        name: "whether a user must step up",
        prevents: "a user with a verified factor who changes an account with one factor",
        signs: &["has_verified_factor()&&"],
        is_literal: false,
        home: "crates/gotrue-rules/src/domain/step_up.rs",
        allowed: &[],
    },
    Decision {
        name: "whether linking requires aal2",
        prevents: "an identity that is linked with one factor at the route that does not ask",
        signs: &[".linking_requires_aal2"],
        is_literal: false,
        home: "crates/gotrue-rules/src/domain/linking/manual.rs",
        allowed: &[
            ("crates/gotrue-rules/src/domain/policy/hardened.rs", "sets it"),
            ("crates/gotrue-rules/src/domain/policy/hardening.rs", "the table of switches names the field"),
        ],
    },
    Decision {
        name: "whether manual linking is enabled",
        prevents: "an identity that is linked where the operator has switched linking off",
        signs: &[".manual_linking_enabled"],
        is_literal: false,
        home: "crates/gotrue-rules/src/domain/linking/manual.rs",
        allowed: &[("gotrue-rs/src/config/settings/security.rs", "sets it")],
    },
    Decision {
        name: "aliases of tenants of Azure",
        prevents: "tokens of every tenant, accepted because an alias was taken for a tenant",
        signs: &["\"common\",\"organizations\""],
        is_literal: true,
        home: "crates/gotrue-rules/src/domain/external/issuers.rs",
        allowed: &[],
    },
    Decision {
        name: "parameters that a client or an operator cannot set at a provider",
        prevents: "a caller who replaces `state` or `redirect_uri` of a sign-in at a provider",
        signs: &["\"response_type\",\"state\""],
        is_literal: true,
        home: "crates/gotrue-rules/src/domain/external/authorization_url.rs",
        allowed: &[],
    },
    Decision {
        name: "escaping of text for HTML",
        prevents: "markup of a user in a page or a mail, at the place whose escape forgets a character",
        signs: &["&quot;"],
        is_literal: true,
        home: "crates/foundation/src/html.rs",
        allowed: &[("crates/gotrue-rules/src/wire/saml.rs", "XML attributes, in which line breaks are escaped too")],
    },
    Decision {
        name: "functions of templates",
        prevents: "a template that the check at the start accepts and that fails when a mail is sent",
        signs: &["\"println\""],
        is_literal: true,
        home: "gotrue-rs/src/ports/mail/template/syntax.rs",
        allowed: &[],
    },
    Decision {
        name: "which providers are simulated",
        prevents: "a real provider whose requests go to the simulator, or the reverse",
        signs: &[".simulator_url="],
        is_literal: false,
        home: "crates/provider-simulator/src/simulator.rs",
        allowed: &[],
    },
];

/// Production sources: path and text without tests.
fn sources() -> Vec<(String, String)> {
    let crates = [
        "crates/foundation",
        "crates/gotrue-rules",
        "crates/platform",
        "gotrue-rs",
        "functions-rs",
        "crates/desk",
        "crates/provider-simulator",
        "crates/anonymisation",
        "crates/basalt",
        "crates/data-folder",
        "crates/embedded-postgres",
        "crates/http-edge",
    ];
    let folders = crates.map(|name| format!("{name}/src"));
    let all = folders.iter().flat_map(|folder| list_files(&repository_root().join(folder), &[".rs"]));
    let sources = all.map(|path| (relative_path(&path), without_unit_tests(&read_text(&path))));
    let is_test = |path: &str| path.ends_with("tests.rs") || path.contains("/tests/") || path.contains("/testing/");
    sources.filter(|(path, _)| !is_test(path)).collect()
}

/// Whether a source contains one of the decision's texts.
fn contains(decision: &Decision, text: &str) -> bool {
    let (code, comments) = code_and_comments(text);
    let literal: String = text
        .chars()
        .zip(comments.chars())
        .map(|(character, comment)| if comment == ' ' { character } else { ' ' })
        .collect();
    let squeezed: String = if decision.is_literal { literal } else { code }.split_whitespace().collect();
    decision.signs.iter().any(|sign| squeezed.contains(&sign.replace(' ', "")))
}

#[test]
fn every_security_decision_has_one_implementation() {
    let sources = sources();
    let mut wrong = Vec::new();
    for decision in DECISIONS {
        let found: Vec<&str> =
            sources.iter().filter(|(_, text)| contains(decision, text)).map(|(path, _)| path.as_str()).collect();
        let is_known = |path: &str| path == decision.home || decision.allowed.iter().any(|(other, _)| *other == path);
        let second = found.iter().filter(|path| !is_known(path));
        wrong.extend(second.map(|path| {
            let Decision { name, home, prevents, .. } = decision;
            format!("{path}: {name} is decided in {home}; elsewhere it leads to {prevents}")
        }));
        let known = decision.allowed.iter().map(|(path, _)| *path).chain([decision.home]);
        let stale = known.filter(|path| !found.contains(path));
        wrong.extend(stale.map(|path| format!("{path}: {} is no longer decided here", decision.name)));
    }
    assert!(wrong.is_empty(), "second implementations, or stale rows of DECISIONS:\n{}", wrong.join("\n"));
}

#[test]
fn second_implementations_are_found() {
    let decision = |name: &str| DECISIONS.iter().find(|decision| decision.name == name).expect("it is listed");
    let ban = decision("whether a ban is in force");
    assert!(contains(ban, "let is_banned = account.banned_until\n    .is_some_and(|until| now < until);"));
    assert!(contains(ban, "if account.banned_until > Some(now) {}"));
    assert!(!contains(ban, "// banned_until > now\nlet text = \"banned_until > now\";"));
    let in_sql = decision("whether a ban is in force, in SQL");
    assert!(contains(in_sql, "const SQL: &str = \"SELECT 1 WHERE u.banned_until   > $1\";"));
    assert!(!contains(in_sql, "// u.banned_until > now"));
    assert!(contains(decision("the error of a ban"), "Error::forbidden(\n    \"user_banned\", \"x\")"));
    assert!(contains(decision("whether a user must step up"), "if it.has_verified_factor() && x {}"));
}
