//! The built-in providers, one file each.
//! A new provider needs its module and its entry in [`ALL`].

mod apple;
mod azure;
mod bitbucket;
mod discord;
mod facebook;
mod figma;
mod fly;
mod github;
mod gitlab;
mod google;
mod kakao;
mod keycloak;
mod linkedin;
mod linkedin_oidc;
mod names;
mod notion;
mod slack;
mod slack_oidc;
mod snapchat;
mod spotify;
mod twitch;
mod twitter;
mod vercel_marketplace;
mod workos;
mod x;
mod zoom;

#[cfg(test)]
mod tests;

use super::provider::Provider;

/// Every built-in provider.
pub static ALL: [&dyn Provider; 25] = [
    &apple::Apple,
    &azure::Azure,
    &bitbucket::Bitbucket,
    &discord::Discord,
    &facebook::Facebook,
    &figma::Figma,
    &fly::Fly,
    &github::GitHub,
    &gitlab::GitLab,
    &google::Google,
    &kakao::Kakao,
    &keycloak::Keycloak,
    &linkedin::LinkedIn,
    &linkedin_oidc::LinkedInOidc,
    &notion::Notion,
    &slack::Slack,
    &slack_oidc::SlackOidc,
    &snapchat::Snapchat,
    &spotify::Spotify,
    &twitch::Twitch,
    &twitter::Twitter,
    &vercel_marketplace::VercelMarketplace,
    &workos::WorkOs,
    &x::X,
    &zoom::Zoom,
];

/// Finds a built-in provider by name, ignoring letter case.
pub fn find(name: &str) -> Option<&'static dyn Provider> {
    ALL.into_iter().find(|provider| provider.name().eq_ignore_ascii_case(name))
}
