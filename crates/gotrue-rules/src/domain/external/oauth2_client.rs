//! The client of the crate `oauth2` with the token responses of providers.

use oauth2::basic::{BasicRevocationErrorResponse, BasicTokenIntrospectionResponse};
use oauth2::{Client, EndpointNotSet, EndpointSet, StandardRevocableToken};

use super::token_response::{TokenErrorResponse, TolerantTokenResponse};

/// A client of a provider; the parameters are the states of its authorization and token endpoint.
pub type OAuth2Client<HasAuthUrl = EndpointNotSet, HasTokenUrl = EndpointNotSet> = Client<
    TokenErrorResponse,
    TolerantTokenResponse,
    BasicTokenIntrospectionResponse,
    StandardRevocableToken,
    BasicRevocationErrorResponse,
    HasAuthUrl,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    HasTokenUrl,
>;

/// A client that requests tokens.
pub type TokenClient = OAuth2Client<EndpointNotSet, EndpointSet>;
