//! Property tests of the built-in providers with arbitrary responses.
//!
//! No response panics, every sequence of requests ends, and requests go only to the provider.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gotrue_rules::domain::external::id_token::ExternalIdToken;
use gotrue_rules::domain::external::profile::ProviderProfile;
use gotrue_rules::domain::external::provider::{ProfileContext, ProfileStep, Provider, ProviderTokenResponse};
use gotrue_rules::domain::external::providers::ALL;
use gotrue_rules::domain::policy::ExternalProviderSettings;
use gotrue_rules::wire::go_json::Document;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Member names that providers read, so that generated responses contain them.
const NAMES: [&str; 48] = [
    "id",
    "ID",
    "id_str",
    "uuid",
    "sub",
    "iss",
    "login",
    "name",
    "Name",
    "username",
    "screen_name",
    "display_name",
    "displayName",
    "firstName",
    "first_name",
    "last_name",
    "localized",
    "preferredLocale",
    "country",
    "language",
    "email",
    "emails",
    "email_verified",
    "verified_email",
    "is_primary",
    "verified",
    "primary",
    "values",
    "elements",
    "handle~",
    "emailAddress",
    "avatar",
    "href",
    "picture",
    "images",
    "height",
    "width",
    "url",
    "data",
    "me",
    "bot",
    "owner",
    "user",
    "person",
    "discriminator",
    "created_at",
    "profile",
    "kakao_account",
];

/// Maximum number of steps of a provider, validation of an ID token included.
const MAX_STEPS: usize = 3;

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop_oneof!["-?[0-9]{1,20}", "a_[0-9a-f]{4}", "en_US", "2016-12-14T20:32:28Z"].prop_map(Value::from),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 64, 6, |inner| {
        let name = prop_oneof![9 => prop::sample::select(&NAMES[..]).prop_map(str::to_owned), 1 => any::<String>()];
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            3 => prop::collection::vec((name, inner), 0..6).prop_map(|members| Value::Object(Map::from_iter(members))),
        ]
    })
}

/// A valid response for all providers at once; each provider reads its own members only.
fn valid_response() -> Value {
    let name = json!({"localized": {"en_US": "Ann"}, "preferredLocale": {"country": "US", "language": "en"}});
    json!({
        "id": "7", "id_str": "7", "uuid": "7", "user_id": "7", "sub": "7", "https://slack.com/user_id": "7",
        "https://slack.com/team_id": "T", "login": "ann", "username": "ann", "screen_name": "ann", "name": "Ann",
        "display_name": "Ann", "handle": "Ann", "first_name": "Ann", "last_name": "E", "firstName": name, "lastName": name,
        "email": "a@x.example", "email_verified": true, "verified_email": true, "discriminator": "1234",
        "global_name": "Ann", "avatar_url": "pic", "images": [{"url": "pic", "height": 1, "width": 2}],
        "values": [{"email": "a@x.example", "is_primary": true, "is_confirmed": true}],
        "elements": [{"handle": "urn", "handle~": {"emailAddress": "a@x.example"}}],
        "organizations": [{"id": "g", "role": "member"}], "scope": ["read"], "application": {"uid": "app"},
        "kakao_account": {"email": "a@x.example", "profile": {"nickname": "Ann", "profile_image_url": "pic"}},
        "bot": {"owner": {"user": {"id": "7", "name": "Ann", "person": {"email": "a@x.example"}}}},
        "data": {"id": "7", "username": "ann", "me": {"externalId": "7", "bitmoji": {"avatar": "pic"}}},
        "login_type": "100"
    })
}

/// A valid response with one value replaced, at any depth.
fn nearly_valid_response() -> impl Strategy<Value = Value> {
    (any::<prop::sample::Index>(), any_json()).prop_map(|(index, put)| {
        let mut answer = valid_response();
        let paths = json_pointers(&answer);
        if let Some(place) = answer.pointer_mut(&paths[index.index(paths.len())]) {
            *place = put;
        }
        answer
    })
}

/// Returns the JSON pointers of all values.
fn json_pointers(value: &Value) -> Vec<String> {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.replace('~', "~0").replace('/', "~1"), value)).collect()
        }
        Value::Array(items) => items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    let below = inner
        .into_iter()
        .flat_map(|(name, value)| json_pointers(value).into_iter().map(move |path| format!("/{name}{path}")));
    std::iter::once(String::new()).chain(below).collect()
}

fn response() -> impl Strategy<Value = Value> {
    prop_oneof![any_json(), nearly_valid_response()]
}

/// Runs a provider until it returns a profile; returns the requested URLs and the profile, if any.
fn run_provider(
    provider: &dyn Provider,
    token: &ProviderTokenResponse,
    replies: &[Value; MAX_STEPS],
) -> (Vec<String>, Option<ProviderProfile>) {
    let settings =
        ExternalProviderSettings { url: "https://base.example".to_owned(), ..ExternalProviderSettings::default() };
    let (mut urls, mut answers, mut id_token) = (Vec::new(), Vec::new(), None);
    for reply in replies {
        let known = ProfileContext {
            settings: &settings,
            token,
            id_token: id_token.as_ref(),
            userinfo_url: "",
            responses: &answers,
        };
        match provider.next_step(&known) {
            Ok(ProfileStep::Fetch(fetch)) => {
                urls.push(fetch.url);
                answers.push(Document::from(reply.clone()));
            }
            Ok(ProfileStep::CheckIdToken(check)) => {
                assert!(id_token.is_none(), "{} wants the token checked twice", provider.name());
                let claims = Document::from(reply.as_object().cloned().unwrap_or_default());
                id_token = Some(ExternalIdToken {
                    issuer: check.issuer,
                    subject: "7".to_owned(),
                    claims,
                    ..ExternalIdToken::default()
                });
            }
            Ok(ProfileStep::Done(profile)) => return (urls, Some(*profile)),
            Err(_) => return (urls, None),
        }
    }
    panic!("{} does not finish within the maximum number of steps", provider.name());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_response_yields_profile_or_error(
        members in response(),
        payload in prop::option::of(response()),
        replies in [response(), response(), response()],
        user in prop_oneof![any::<String>(), any_json().prop_map(|user| user.to_string())],
    ) {
        let members = members.as_object().cloned().unwrap_or_default();
        let id_token = payload.map(|payload| format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(payload.to_string())));
        let token = ProviderTokenResponse {
            access_token: "access".to_owned(),
            id_token: id_token.unwrap_or_default(),
            members,
            ..ProviderTokenResponse::default()
        };
        for provider in ALL {
            let (urls, profile) = run_provider(provider, &token, &replies);
            for url in urls {
                let base = ["https://base.example/", "https://www.googleapis.com/"];
                prop_assert!(base.iter().any(|base| url.starts_with(base)), "{} asks {url}", provider.name());
            }
            let Some(profile) = profile else { continue };
            // Profiles can be stored and read again.
            let settled = profile.clone().with_primary_email();
            let kept = serde_json::to_string(&settled.claims.identity_data()).unwrap();
            prop_assert!(serde_json::from_str::<Map<String, Value>>(&kept).is_ok(), "{kept}");
            let _either_way = provider.apply_user_field(&user, profile);
        }
    }

    #[test]
    fn profiles_are_deterministic(replies in [response(), response(), response()]) {
        for provider in ALL {
            let token = ProviderTokenResponse { access_token: "access".to_owned(), ..ProviderTokenResponse::default() };
            let (first, again) = (run_provider(provider, &token, &replies), run_provider(provider, &token, &replies));
            prop_assert_eq!(first, again);
        }
    }
}

/// Checks that most providers accept the generated base response, so that tests reach their parsers.
#[test]
fn most_providers_accept_the_valid_response() {
    let token = ProviderTokenResponse {
        access_token: "access".to_owned(),
        members: Map::from_iter([("profile".to_owned(), valid_response())]),
        ..ProviderTokenResponse::default()
    };
    let replies = [valid_response(), valid_response(), valid_response()];
    let has_subject = |provider: &&dyn Provider| {
        run_provider(*provider, &token, &replies).1.is_some_and(|profile| !profile.claims.subject.is_empty())
    };
    let accepted: Vec<&str> = ALL.into_iter().filter(has_subject).map(Provider::name).collect();
    let most = [
        "bitbucket",
        "discord",
        "facebook",
        "figma",
        "fly",
        "google",
        "keycloak",
        "linkedin",
        "notion",
        "slack",
        "slack_oidc",
        "snapchat",
        "spotify",
        "twitter",
        "workos",
        "x",
        "zoom",
    ];
    assert_eq!(accepted, most);
}

/// A response without an id must not yield a subject, which would merge all users into one.
#[test]
fn response_without_id_has_no_subject() {
    let mut count = 0;
    for (provider, emails) in ALL.into_iter().flat_map(|provider| [(provider, json!([])), (provider, json!({}))]) {
        let (urls, profile) =
            run_provider(provider, &ProviderTokenResponse::default(), &[json!({}), emails, json!({})]);
        let Some(profile) = profile.filter(|_| !urls.is_empty()) else { continue };
        assert_eq!(profile.claims.subject, "", "{}", provider.name());
        count += 1;
    }
    assert!(count > 10, "only {count} answers were taken at all");
}
