//! Whatever a provider answers: nothing panics, asking comes to an end, and nobody is asked but the provider.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gotrue_rules::domain::external::id_token::IdToken;
use gotrue_rules::domain::external::profile::Profile;
use gotrue_rules::domain::external::provider::{Known, Provider, Step, TokenAnswer};
use gotrue_rules::domain::external::providers::ALL;
use gotrue_rules::domain::policy::ExternalProvider;
use gotrue_rules::wire::go_json::Document;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Names that providers read, so that what is made up is read too.
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

/// The most a provider asks for, the check of an ID token included.
const ENOUGH: usize = 3;

fn plain() -> impl Strategy<Value = Value> {
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

fn anything() -> impl Strategy<Value = Value> {
    plain().prop_recursive(5, 64, 6, |inner| {
        let name = prop_oneof![9 => prop::sample::select(&NAMES[..]).prop_map(str::to_owned), 1 => any::<String>()];
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            3 => prop::collection::vec((name, inner), 0..6).prop_map(|members| Value::Object(Map::from_iter(members))),
        ]
    })
}

/// An answer as it should be, to be spoilt in one place: of every provider at once, since each reads its own members only.
fn whole() -> Value {
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

/// The answer as it should be, with one member of it replaced, however deep it lies.
fn nearly_whole() -> impl Strategy<Value = Value> {
    (any::<prop::sample::Index>(), anything()).prop_map(|(index, put)| {
        let mut answer = whole();
        let paths = paths(&answer);
        if let Some(place) = answer.pointer_mut(&paths[index.index(paths.len())]) {
            *place = put;
        }
        answer
    })
}

/// The JSON pointers of everything in it.
fn paths(value: &Value) -> Vec<String> {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.replace('~', "~0").replace('/', "~1"), value)).collect()
        }
        Value::Array(items) => items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    let below =
        inner.into_iter().flat_map(|(name, value)| paths(value).into_iter().map(move |path| format!("/{name}{path}")));
    std::iter::once(String::new()).chain(below).collect()
}

fn answer() -> impl Strategy<Value = Value> {
    prop_oneof![anything(), nearly_whole()]
}

/// Asks until the person is known; whom it asks, and the person, if the answers were of any use.
fn drive(provider: &dyn Provider, token: &TokenAnswer, replies: &[Value; ENOUGH]) -> (Vec<String>, Option<Profile>) {
    let settings = ExternalProvider { url: "https://base.example".to_owned(), ..ExternalProvider::default() };
    let (mut asked, mut answers, mut id_token) = (Vec::new(), Vec::new(), None);
    for reply in replies {
        let known =
            Known { settings: &settings, token, id_token: id_token.as_ref(), userinfo_url: "", answers: &answers };
        match provider.next(&known) {
            Ok(Step::Fetch(fetch)) => {
                asked.push(fetch.url);
                answers.push(Document::from(reply.clone()));
            }
            Ok(Step::CheckIdToken(check)) => {
                assert!(id_token.is_none(), "{} wants the token checked twice", provider.name());
                let claims = Document::from(reply.as_object().cloned().unwrap_or_default());
                id_token =
                    Some(IdToken { issuer: check.issuer, subject: "7".to_owned(), claims, ..IdToken::default() });
            }
            Ok(Step::Done(profile)) => return (asked, Some(*profile)),
            Err(_) => return (asked, None),
        }
    }
    panic!("{} asks on", provider.name());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_provider_answers_a_person_is_told_or_not(
        members in answer(),
        payload in prop::option::of(answer()),
        replies in [answer(), answer(), answer()],
        user in prop_oneof![any::<String>(), anything().prop_map(|user| user.to_string())],
    ) {
        let members = members.as_object().cloned().unwrap_or_default();
        let id_token = payload.map(|payload| format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(payload.to_string())));
        let token = TokenAnswer {
            access_token: "access".to_owned(),
            id_token: id_token.unwrap_or_default(),
            members,
            ..TokenAnswer::default()
        };
        for provider in ALL {
            let (asked, person) = drive(provider, &token, &replies);
            for url in asked {
                let base = ["https://base.example/", "https://www.googleapis.com/"];
                prop_assert!(base.iter().any(|base| url.starts_with(base)), "{} asks {url}", provider.name());
            }
            let Some(person) = person else { continue };
            // What is told of a person can be kept, and read again.
            let settled = person.clone().settled();
            let kept = serde_json::to_string(&settled.claims.identity_data()).unwrap();
            prop_assert!(serde_json::from_str::<Map<String, Value>>(&kept).is_ok(), "{kept}");
            let _either_way = provider.with_user(&user, person);
        }
    }

    #[test]
    fn a_person_is_told_the_same_however_often_one_asks(replies in [answer(), answer(), answer()]) {
        for provider in ALL {
            let token = TokenAnswer { access_token: "access".to_owned(), ..TokenAnswer::default() };
            let (first, again) = (drive(provider, &token, &replies), drive(provider, &token, &replies));
            prop_assert_eq!(first, again);
        }
    }
}

/// The answer that is spoilt above is one that most take: else the tests above would read nothing.
#[test]
fn most_providers_take_an_answer_as_it_should_be() {
    let token = TokenAnswer {
        access_token: "access".to_owned(),
        members: Map::from_iter([("profile".to_owned(), whole())]),
        ..TokenAnswer::default()
    };
    let replies = [whole(), whole(), whole()];
    let is_told = |provider: &&dyn Provider| {
        drive(*provider, &token, &replies).1.is_some_and(|person| !person.claims.subject.is_empty())
    };
    let told: Vec<&str> = ALL.into_iter().filter(is_told).map(Provider::name).collect();
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
    assert_eq!(told, most);
}

/// Threat B4: broken answers must not make one account of everybody.
#[test]
fn b4_an_answer_without_an_id_is_nobody() {
    let mut told = 0;
    for (provider, emails) in ALL.into_iter().flat_map(|it| [(it, json!([])), (it, json!({}))]) {
        let (asked, profile) = drive(provider, &TokenAnswer::default(), &[json!({}), emails, json!({})]);
        let Some(profile) = profile.filter(|_| !asked.is_empty()) else { continue };
        assert_eq!(profile.claims.subject, "", "{}", provider.name());
        told += 1;
    }
    assert!(told > 10, "only {told} answers were taken at all");
}
