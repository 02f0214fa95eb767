//! Which media type is answered, and what makes it.

use super::parts::Context;
use super::read::ReadNode;
use crate::error::Error;
use crate::request::media_type::MediaType;
use crate::request::preferences::PreferReturn;
use crate::request::{Action, InvokeMethod, QualifiedName};
use crate::schema_cache::{HandlerTarget, MediaHandler, ResolvedHandler};

/// The error when no media type can be answered.
pub(super) fn unacceptable(accept: &[MediaType]) -> Error {
    let names: Vec<_> = accept.iter().map(MediaType::name).collect();
    Error::unacceptable_media_types(&names)
}

/// Picks the first media type of `Accept` that can be made.
pub(super) fn negotiate(
    context: Context<'_>,
    relation: &QualifiedName,
    read: &ReadNode,
) -> Result<ResolvedHandler, Error> {
    let request = context.request;
    let is_default = read.selects_everything();
    let found = request.accept.iter().find_map(|wanted| find(context, relation, is_default, wanted));
    let (handler, media_type) = found.ok_or_else(|| unacceptable(&request.accept))?;
    let has_body = match &request.action {
        Action::Mutate { .. } => request.preferences.representation == Some(PreferReturn::Representation),
        Action::ReadRelation { headers_only, .. } => !headers_only,
        Action::Invoke { method, .. } => *method != InvokeMethod::Head,
        _ => true,
    };
    Ok((if has_body { handler } else { MediaHandler::Nothing }, media_type))
}

fn find(
    context: Context<'_>,
    relation: &QualifiedName,
    is_default: bool,
    wanted: &MediaType,
) -> Option<ResolvedHandler> {
    match wanted {
        // These have parameters, so the database cannot replace them.
        MediaType::Object { strip_nulls } => {
            Some((MediaHandler::SingleJson { strip_nulls: *strip_nulls }, wanted.clone()))
        }
        MediaType::ArrayStripped => Some((MediaHandler::StrippedArray, wanted.clone())),
        MediaType::Plan { for_type, .. } => {
            if !context.config.db_plan_enabled || matches!(**for_type, MediaType::Plan { .. }) {
                return None;
            }
            let (handler, _) = find(context, relation, is_default, for_type)?;
            Some((handler, wanted.clone()))
        }
        other => {
            let handlers = &context.cache.handlers;
            let of_relation = |media_type: &MediaType| {
                let target = HandlerTarget::Relation(relation.clone());
                handlers.get(&(target, media_type.clone())).filter(|_| is_default)
            };
            of_relation(&MediaType::Any)
                .or_else(|| of_relation(other))
                .or_else(|| handlers.get(&(HandlerTarget::AnyElement, other.clone())))
                .cloned()
        }
    }
}
