//! Profiles built from responses as recorded or as the provider documents them.

use serde_json::{Value, json};

use super::{basic_claims, fetch_profile, next_step, run_steps, single_email};

#[test]
fn github_emails_come_from_second_request() {
    let user = json!({"id": 7, "login": "ann", "email": "public@x.example", "name": "Ann", "avatar_url": "pic"});
    let emails = json!([{"email": "a@x.example", "primary": false, "verified": true},
                        {"email": "b@x.example", "primary": true, "verified": false}, {"email": ""}]);
    let (urls, data, addresses) = fetch_profile("github", &[user, emails]);
    assert_eq!(urls, ["/api/v3/user", "/api/v3/user/emails"]);
    let more = json!({"preferred_username": "ann", "user_name": "ann", "picture": null});
    assert_eq!(data, basic_claims("https://base.example/api/v3", more));
    assert_eq!(addresses, [("a@x.example".to_owned(), true, false), ("b@x.example".to_owned(), false, true)]);
}

#[test]
fn gitlab_verifies_primary_email_only() {
    let user = |confirmed| json!({"id": 7, "name": "Ann", "avatar_url": "pic", "email": "a@x.example", "confirmed_at": confirmed});
    let others = json!([{"id": 1, "email": "b@x.example"}, {"id": 2, "email": null}, null]);
    let (urls, data, addresses) = fetch_profile("gitlab", &[user(json!("2020-01-02T03:04:05Z")), others.clone()]);
    assert_eq!(urls, ["/api/v4/user", "/api/v4/user/emails"]);
    assert_eq!(data, basic_claims("https://base.example", json!({})));
    assert_eq!(addresses, [("b@x.example".to_owned(), false, false), ("a@x.example".to_owned(), true, true)]);
    let (_, _, addresses) = fetch_profile("gitlab", &[user(Value::Null), others]);
    assert_eq!(addresses.last(), Some(&("a@x.example".to_owned(), false, true)));
}

#[test]
fn bitbucket_emails_have_confirmation_flags() {
    let user = json!({"uuid": "7", "display_name": "Ann", "avatar": {"href": "pic"}});
    let emails = json!({"values": [{"email": "a@x.example", "is_primary": true, "is_confirmed": true},
                                   {"email": "b@x.example", "is_confirmed": false}, {"is_primary": true}]});
    let (urls, data, addresses) = fetch_profile("bitbucket", &[user, emails]);
    assert_eq!(urls, ["/2.0/user", "/2.0/user/emails"]);
    assert_eq!(data, basic_claims("https://base.example/2.0", json!({})));
    assert_eq!(addresses, [("a@x.example".to_owned(), true, true), ("b@x.example".to_owned(), false, false)]);
}

#[test]
fn discord_picture_url_is_built_from_hash() {
    let picture = |id: &str, avatar: Value, discriminator: &str| {
        let answer = json!({"id": id, "username": "Ann", "discriminator": discriminator, "global_name": "Ann G.",
                            "avatar": avatar, "email": "a@x.example", "verified": true});
        fetch_profile("discord", &[answer])
    };
    let (urls, data, addresses) = picture("7", json!("a_1f"), "1234");
    assert_eq!(urls, ["/api/users/@me"]);
    let pic = "https://cdn.discordapp.com/avatars/7/a_1f.gif";
    let more =
        json!({"name": "Ann#1234", "picture": pic, "avatar_url": pic, "custom_claims": {"global_name": "Ann G."}});
    assert_eq!(data, basic_claims("https://base.example/api", more));
    assert_eq!(addresses, single_email("a@x.example", true));
    assert_eq!(picture("7", json!("1f"), "0").1["picture"], "https://cdn.discordapp.com/avatars/7/1f.png");
    assert_eq!(picture("7", Value::Null, "1234").1["picture"], "https://cdn.discordapp.com/embed/avatars/4.png");
    for none in [json!({"id": "7"}), json!({"id": "7", "discriminator": "12x"})] {
        assert!(next_step("discord", "", &[none]).is_err());
    }
}

#[test]
fn facebook_request_has_app_secret_proof() {
    let answer = json!({"id": "7", "email": "a@x.example", "first_name": " Ann", "last_name": "", "name": "Annie",
                        "picture": {"data": {"url": "pic", "height": 50}}});
    let (urls, data, addresses) = fetch_profile("facebook", &[answer]);
    let fields = "/me?fields=email,first_name,last_name,name,picture";
    // printf access | openssl dgst -sha256 -hmac our-secret
    let proof = "37db9c0fd74194e76b2847c60c56f140e99dc61bf7b7ab5c99ffd17625f74e33";
    assert_eq!(urls, [format!("{fields}&appsecret_proof={proof}")]);
    assert_eq!(
        data,
        basic_claims(&format!("https://base.example{fields}"), json!({"nickname": "Annie", "slug": "Annie"}))
    );
    assert_eq!(addresses, single_email("a@x.example", true));
}

#[test]
fn figma_handle_becomes_name() {
    let answer = json!({"id": "7", "email": "a@x.example", "handle": "Ann", "img_url": "pic"});
    let (urls, data, addresses) = fetch_profile("figma", &[answer]);
    assert_eq!(urls, ["/v1/me"]);
    assert_eq!(data, basic_claims("https://base.example", json!({"picture": null})));
    assert_eq!(addresses, single_email("a@x.example", true));
}

#[test]
fn fly_organizations_become_custom_claims() {
    let answer = json!({"resource_owner_id": "o", "user_id": "7", "user_name": "Ann", "email": "a@x.example",
                        "organizations": [{"id": "g", "role": "member", "more": 1}], "scope": ["read"],
                        "application": {"uid": "app"}, "expires_in": 7200, "created_at": 1_600_000_000});
    let (urls, data, addresses) = fetch_profile("fly", &[answer]);
    assert_eq!(urls, ["/oauth/token/info"]);
    let custom = json!({"resource_owner_id": "o", "organizations": [{"id": "g", "role": "member"}],
                        "application": {"uid": "app"}, "scope": ["read"], "created_at": 1_600_000_000});
    let more = json!({"name": null, "picture": null, "avatar_url": null, "custom_claims": custom});
    assert_eq!(data, basic_claims("https://base.example", more));
    assert_eq!(addresses, single_email("a@x.example", true));
    let nothing =
        json!({"resource_owner_id": "", "organizations": null, "application": null, "scope": null, "created_at": 0});
    assert_eq!(fetch_profile("fly", &[json!({"user_id": "7"})]).1["custom_claims"], nothing);
}

#[test]
fn kakao_email_must_be_valid_and_verified() {
    let answer = |valid, verified| {
        json!({"id": 7, "kakao_account": {"email": "a@x.example", "is_email_valid": valid, "is_email_verified": verified,
               "profile": {"nickname": "Ann", "profile_image_url": "pic"}}})
    };
    let (urls, data, addresses) = fetch_profile("kakao", &[answer(true, true)]);
    assert_eq!(urls, ["/v2/user/me"]);
    let more = json!({"picture": null, "preferred_username": "Ann", "user_name": "Ann"});
    assert_eq!(data, basic_claims("https://base.example", more));
    assert_eq!(addresses, single_email("a@x.example", true));
    for (valid, verified) in [(true, false), (false, true)] {
        assert_eq!(fetch_profile("kakao", &[answer(valid, verified)]).2, single_email("a@x.example", false));
    }
}

#[test]
fn keycloak_keeps_unknown_claims() {
    let answer = json!({"sub": "7", "name": "Ann", "email": "a@x.example", "email_verified": true, "groups": ["staff"],
                        "since": 1.0, "nothing": null});
    let (urls, data, addresses) = fetch_profile("keycloak", &[answer]);
    assert_eq!(urls, ["/protocol/openid-connect/userinfo"]);
    let more = json!({"picture": null, "avatar_url": null, "custom_claims": {"groups": ["staff"], "since": 1, "nothing": null}});
    assert_eq!(data, basic_claims("https://base.example", more));
    assert_eq!(addresses, single_email("a@x.example", true));
    let (_, data, addresses) =
        fetch_profile("keycloak", &[json!({"sub": 7, "name": [], "email": "a@x.example", "email_verified": "true"})]);
    assert_eq!(
        (data, addresses),
        (json!({"iss": "https://base.example", "custom_claims": {}}), single_email("a@x.example", false))
    );
}

#[test]
fn linkedin_name_uses_preferred_locale() {
    let name = |text: &str| json!({"localized": {"en_US": text, "de_DE": "?"}, "preferredLocale": {"country": "US", "language": "en"}});
    let images = json!({"displayImage~": {"elements": [{"identifiers": [{"identifier": "pic"}, {}]}, {}]}});
    let user = json!({"id": "7", "firstName": name("Ann"), "lastName": name(""), "profilePicture": images});
    let emails = json!({"elements": [{"handle": "urn:1", "handle~": {"emailAddress": "a@x.example"}}]});
    let (urls, data, addresses) = fetch_profile("linkedin", &[user.clone(), emails]);
    assert_eq!(
        urls,
        [
            "/v2/me?projection=(id,firstName,lastName,profilePicture(displayImage~:playableStreams))",
            "/v2/emailAddress?q=members&projection=(elements*(handle~))"
        ]
    );
    assert_eq!(data, basic_claims("https://base.example", json!({})));
    assert_eq!(addresses, single_email("a@x.example", true));
    assert!(fetch_profile("linkedin", &[user, json!({})]).2.is_empty());
    assert!(next_step("linkedin", "", &[json!({"id": "7"}), json!({})]).is_err());
}

#[test]
fn notion_profile_is_bot_owner() {
    let user = json!({"id": "7", "name": "Ann", "avatar_url": "pic", "person": {"email": "a@x.example"}});
    let (requests, _) = run_steps("notion", &[json!({"bot": {"owner": {"user": user}}})]);
    assert_eq!(requests[0].headers, [("Notion-Version".to_owned(), "2021-08-16".to_owned())]);
    let (urls, data, addresses) = fetch_profile("notion", &[json!({"bot": {"owner": {"user": user}}})]);
    assert_eq!(urls, ["/v1/users/me"]);
    assert_eq!(data, basic_claims("https://base.example", json!({})));
    assert_eq!(addresses, single_email("a@x.example", true));
}

#[test]
fn slack_oidc_reads_email_verified_and_slack_assumes_it() {
    let answer = json!({"https://slack.com/user_id": "7", "https://slack.com/team_id": "T1", "email": "a@x.example",
                        "email_verified": false, "name": "Ann", "picture": "pic"});
    for (name, verified) in [("slack", true), ("slack_oidc", false)] {
        let (urls, data, addresses) = fetch_profile(name, std::slice::from_ref(&answer));
        assert_eq!(urls, ["/api/openid.connect.userInfo"]);
        let more = json!({"custom_claims": {"https://slack.com/team_id": "T1"}});
        assert_eq!(data, basic_claims("https://base.example/api", more));
        assert_eq!(addresses, single_email("a@x.example", verified), "{name}");
    }
}

#[test]
fn snapchat_profile_comes_from_graphql_query() {
    let me = json!({"externalId": "7", "displayName": "Ann", "bitmoji": {"avatar": "pic"}, "email": "a@x.example"});
    let (urls, data, addresses) = fetch_profile("snapchat", &[json!({"data": {"me": me}})]);
    let query = "{me { externalId displayName bitmoji { avatar id } email } }";
    let pairs: Vec<_> = url::form_urlencoded::parse(urls[0].strip_prefix("/v1/me?").unwrap().as_bytes()).collect();
    assert_eq!(pairs, [("query".into(), query.into())]);
    assert_eq!(data, basic_claims("https://accounts.snapchat.com/accounts/oauth2/token", json!({"slug": "Ann"})));
    assert_eq!(addresses, single_email("a@x.example", true));
}

#[test]
fn spotify_uses_largest_picture_and_unverified_email() {
    let images = json!([{"url": "small", "height": 64, "width": 64}, {"url": "pic", "height": 300, "width": 300},
                        {"url": "as large", "height": 300, "width": 300}, {"url": "unmeasured", "height": null}]);
    let (urls, data, addresses) = fetch_profile(
        "spotify",
        &[json!({"id": "7", "display_name": "Ann", "email": "a@x.example", "images": images})],
    );
    assert_eq!(urls, ["/me"]);
    assert_eq!(data, basic_claims("https://base.example", json!({})));
    assert_eq!(addresses, single_email("a@x.example", false));
    let (_, data, _) = fetch_profile("spotify", &[json!({"id": "7", "display_name": "Ann", "images": []})]);
    assert_eq!(data, basic_claims("https://base.example", json!({"picture": null, "avatar_url": null})));
}

#[test]
fn twitch_profile_is_first_user() {
    let user = json!({"id": "7", "login": "Ann", "display_name": "AnnLive", "type": "", "broadcaster_type": "affiliate",
                        "description": "chess", "profile_image_url": "pic", "offline_image_url": "off", "view_count": 12,
                        "email": "a@x.example", "created_at": "2016-12-14T20:32:28Z"});
    let (requests, _) = run_steps("twitch", &[json!({"data": [user]})]);
    assert_eq!(requests[0].headers, [("Client-Id".to_owned(), "our-id".to_owned())]);
    let (urls, data, addresses) = fetch_profile("twitch", &[json!({"data": [user, {"id": "8"}]})]);
    assert_eq!(urls, ["/helix/users"]);
    let custom = json!({"broadcaster_type": "affiliate", "description": "chess", "type": "", "offline_image_url": "off", "view_count": 12});
    let more = json!({"nickname": "AnnLive", "slug": "AnnLive", "custom_claims": custom});
    assert_eq!(data, basic_claims("https://base.example", more));
    assert_eq!(addresses, single_email("a@x.example", true));
    for none in [json!({}), json!({"data": []}), json!({"data": [{"id": "7", "created_at": "yesterday"}]})] {
        assert!(next_step("twitch", "", &[none]).is_err());
    }
}

#[test]
fn twitter_ignores_members_of_wrong_type() {
    let answer = json!({"id_str": "7", "id": 7, "screen_name": "ann", "name": "Ann", "email": "a@x.example", "profile_image_url_https": "pic"});
    let (urls, data, addresses) = fetch_profile("twitter", &[answer]);
    let profile = "/1.1/account/verify_credentials.json";
    assert_eq!(urls, [format!("{profile}?include_email=true&include_entities=false&skip_status=true")]);
    let more = json!({"preferred_username": "ann", "user_name": "ann"});
    assert_eq!(data, basic_claims(&format!("https://base.example{profile}"), more));
    assert_eq!(addresses, single_email("a@x.example", true));
    assert!(fetch_profile("twitter", &[json!([7])]).2.is_empty());
}

#[test]
fn x_email_is_confirmed_email() {
    let user = json!({"id": "7", "name": "Ann", "username": "ann", "confirmed_email": "a@x.example", "profile_image_url": "pic",
                        "url": "https://ann.example", "created_at": "2013-12-14T04:35:55Z"});
    let (urls, data, addresses) = fetch_profile("x", &[json!({"data": user})]);
    assert_eq!(urls, ["/2/users/me?user.fields=id,name,username,confirmed_email,profile_image_url,url,created_at"]);
    let more = json!({"preferred_username": "ann", "user_name": "ann", "profile": "https://x.com/ann",
                      "website": "https://ann.example", "custom_claims": {"created_at": "2013-12-14T04:35:55Z"}});
    assert_eq!(data, basic_claims("https://base.example", more));
    assert_eq!(addresses, single_email("a@x.example", true));
}

#[test]
fn zoom_email_is_verified_except_unverified_password_login() {
    let answer = |login_type: &str, verified: i64| {
        json!({"id": "7", "first_name": "Ann", "last_name": "", "email": "a@x.example", "verified": verified,
               "login_type": login_type, "pic_url": "pic"})
    };
    let (urls, data, _) = fetch_profile("zoom", &[answer("100", 1)]);
    assert_eq!(urls, ["/v2/users/me"]);
    assert_eq!(data, basic_claims("https://base.example/v2", json!({})));
    for (login_type, verified, vouches) in [("100", 1, true), ("100", 0, false), ("1", 0, true), ("", 0, true)] {
        assert_eq!(fetch_profile("zoom", &[answer(login_type, verified)]).2, single_email("a@x.example", vouches));
    }
}

#[test]
fn profile_response_must_be_object_and_email_is_optional() {
    let empty = json!({"id": null});
    for provider in super::super::ALL.iter().map(|provider| provider.name()) {
        let answers = match provider {
            "apple" | "azure" | "google" | "linkedin_oidc" | "vercel_marketplace" | "workos" => continue,
            "github" | "gitlab" => vec![empty.clone(), json!(null)],
            "bitbucket" => vec![empty.clone(), empty.clone()],
            "discord" => vec![json!({"discriminator": "0"})],
            "twitch" => vec![json!({"data": [{}]})],
            "linkedin" => {
                let name = json!({"localized": {"_": "Ann"}});
                vec![json!({"firstName": name, "lastName": name}), empty.clone()]
            }
            _ => vec![empty.clone()],
        };
        assert!(fetch_profile(provider, &answers).2.is_empty(), "{provider}");
        if provider != "twitter" {
            let lists = vec![json!([[]]); answers.len()];
            assert!(next_step(provider, "", &lists).is_err(), "{provider}");
        }
    }
}
