//! The owner's desk of the shop: sign-in, session and JSON API below `/_desk/api`.
//!
//! Passwords, codes, passkeys, bans and rate limits are those of the auth API, which the desk calls in the process
//! ([`auth_client`]). `docs/guides/desk.md` describes the use, `docs/decisions/0118-sessions-of-the-desk.md` the
//! design.

mod account;
mod account_call;
mod api;
mod auth_client;
mod auth_session;
mod catalogue;
mod checklist;
mod cookies;
mod desk;
mod device;
mod document;
mod figures;
mod guards;
mod http;
mod orders;
mod ownership;
mod passkeys;
mod paths;
mod policy;
mod recovery;
mod schemas;
mod section;
mod session;
mod settings;
mod sign_in;
mod state;
mod store;
mod submissions;
mod token;
mod upkeep;
mod views;
mod visit;

pub use self::catalogue::{
    CatalogueEditor, CatalogueTemplate, EditedCatalogue, FindSaleState, Sale, SaleState, TemplateChange,
    TemplatePicture, list_changes, load_picture,
};
pub use self::checklist::{Checklist, FindReadiness, ShopReadiness};
pub use self::desk::Desk;
pub use self::figures::{Figures, ListTemplates};
pub use self::guards::Guarded;
pub use self::http::body::JsonBody;
pub use self::http::error::DeskError;
pub use self::http::headers::{CONTENT_SECURITY_POLICY, add_api_headers, add_file_headers};
pub use self::http::path::parse_id;
pub use self::http::query::Query;
pub use self::http::respond;
pub use self::orders::Orders;
pub use self::ownership::has_owner_role;
pub use self::paths::{API_PATH, MOUNT};
pub use self::policy::{apply_policy, prefer_localhost};
pub use self::section::{Owner, OwnerCall, OwnerRoutes, Section, Sections, unknown_path};
pub use self::session::remove_cookies;
pub use self::settings::DeskSettings;
pub use self::sign_in::{SetupState, create_link, create_reset_link, prepare_start};
pub use self::store::list_statements;
pub use self::submissions::SubmissionsSection;
pub use self::upkeep::maintain;
pub use self::views::{PageViews, ViewedPage};
