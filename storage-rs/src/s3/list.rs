//! Lists of objects.

use serde_json::Value;

use super::answer::S3Answer;
use super::request::Request;
use super::xml::Element;
use crate::error::Error;
use crate::objects::list_v2::{Cursor, Page, PageRequest, list_page};
use crate::signature::encode;

/// The most entries of a list.
const MAXIMUM_KEYS: u32 = 1000;
/// The pages that are read for one list with another delimiter than the slash.
const MAXIMUM_PAGES: usize = 50;

/// What a list holds.
struct Listing {
    page: Page,
    limit: u32,
}

impl Request {
    /// `ListObjects` and `ListObjectsV2`.
    pub(super) async fn list_objects(self, is_second_version: bool) -> Result<S3Answer, Error> {
        let limit = self.number("max-keys", 0, u32::MAX)?.filter(|keys| *keys > 0).unwrap_or(MAXIMUM_KEYS);
        let limit = limit.min(MAXIMUM_KEYS);
        let query = |name: &str| self.call.query.get(name).filter(|value| !value.is_empty());
        if self.call.query.get("encoding-type").is_some_and(|kind| kind != "url") {
            return Err(Error::validation("Querystring, encoding-type must be equal to one of the allowed values"));
        }
        self.find_bucket().await?;
        let token = query("continuation-token").filter(|_| is_second_version);
        let start_after = query(if is_second_version { "start-after" } else { "marker" });
        let request = PageRequest {
            prefix: query("prefix").unwrap_or_default().replace('\0', ""),
            has_folders: query("delimiter") == Some("/"),
            limit: i64::from(limit),
            cursor: token.map(Cursor::decode).transpose()?,
            start_after: start_after.map(|name| name.replace('\0', "")),
            column: None,
            order: None,
        };
        let page = match query("delimiter") {
            Some(delimiter) if delimiter != "/" => self.list_by_delimiter(request, delimiter, limit).await?,
            _ => list_page(&self.call, &self.target.bucket, &request).await?,
        };
        let listing = Listing { page, limit };
        let children = if is_second_version { self.second_version(&listing) } else { self.first_version(&listing) };
        Ok(S3Answer::document(&Element::new("ListBucketResult", children)))
    }

    /// Lists with another delimiter: names are read in pages, and what a prefix covers is skipped.
    async fn list_by_delimiter(&self, mut request: PageRequest, delimiter: &str, limit: u32) -> Result<Page, Error> {
        let mut found = Page::default();
        let mut last: Option<String> = None;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        for _ in 0..MAXIMUM_PAGES {
            let page = list_page(&self.call, &self.target.bucket, &request).await?;
            let has_more = page.next.is_some();
            let mut behind = None;
            for object in page.objects {
                let name = object["name"].as_str().unwrap_or_default().to_owned();
                if last.as_deref().is_some_and(|folder| {
                    found.folders.iter().any(|known| known["name"] == folder) && name.starts_with(folder)
                }) {
                    continue;
                }
                if found.folders.len() + found.objects.len() == limit {
                    found.next =
                        last.map(|name| (Cursor { name: behind_folder(&name, delimiter), ..Cursor::default() }, name));
                    return Ok(found);
                }
                let rest = name.get(request.prefix.len()..).unwrap_or_default();
                if let Some(position) = rest.find(delimiter) {
                    let folder = name[..request.prefix.len() + position + delimiter.len()].to_owned();
                    behind = Some(behind_folder(&folder, delimiter));
                    found.folders.push(serde_json::json!({ "name": folder }));
                    last = Some(folder);
                } else {
                    behind = None;
                    last = Some(name);
                    found.objects.push(object);
                }
            }
            let Some((cursor, _)) = page.next.filter(|_| has_more) else { return Ok(found) };
            request.cursor = Some(behind.map_or(cursor, |name| Cursor { name, ..Cursor::default() }));
        }
        found.next = last.map(|name| (Cursor { name: behind_folder(&name, delimiter), ..Cursor::default() }, name));
        Ok(found)
    }

    /// A name as the client wants it.
    fn name(&self, name: &str) -> String {
        if self.call.query.get("encoding-type") == Some("url") { encode(name) } else { name.to_owned() }
    }

    fn contents(&self, page: &Page) -> Vec<Element> {
        let content = |object: &Value| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let size = &object["metadata"]["size"];
            let size = size.as_u64().map_or_else(|| size.as_str().unwrap_or("0").to_owned(), |size| size.to_string());
            let mut children = vec![Element::text("Key", self.name(object["name"].as_str().unwrap_or_default()))];
            if object["updated_at"].is_string() {
                children.push(Element::text("LastModified", text(&object["updated_at"])));
            }
            if object["metadata"]["eTag"].is_string() {
                children.push(Element::text("ETag", text(&object["metadata"]["eTag"])));
            }
            children.extend([Element::text("Size", size), Element::text("StorageClass", "STANDARD")]);
            Element::new("Contents", children)
        };
        page.objects.iter().map(content).collect()
    }

    fn common_prefixes(&self, page: &Page) -> Vec<Element> {
        let prefix = |folder: &Value| {
            let name = self.name(folder["name"].as_str().unwrap_or_default());
            Element::new("CommonPrefixes", vec![Element::text("Prefix", name)])
        };
        page.folders.iter().map(prefix).collect()
    }

    /// Parameters of the request, as elements of the result.
    fn echo(&self, parameter: &str, element: &'static str) -> Option<Element> {
        self.call.query.get(parameter).filter(|value| !value.is_empty()).map(|value| Element::text(element, value))
    }

    fn second_version(&self, listing: &Listing) -> Vec<Element> {
        let page = &listing.page;
        let mut children = vec![
            Element::text("Name", self.target.bucket.as_str()),
            Element::text("Prefix", self.call.query.get("prefix").unwrap_or_default()),
        ];
        children.extend(self.echo("continuation-token", "ContinuationToken"));
        children.extend(self.contents(page));
        children.push(Element::text("IsTruncated", page.next.is_some().to_string()));
        children.push(Element::text("MaxKeys", listing.limit.to_string()));
        children.extend(self.echo("delimiter", "Delimiter"));
        children.extend(self.echo("encoding-type", "EncodingType"));
        children.push(Element::text("KeyCount", (page.objects.len() + page.folders.len()).to_string()));
        children.extend(self.common_prefixes(page));
        children.extend(page.next.as_ref().map(|(cursor, _)| Element::text("NextContinuationToken", cursor.encode())));
        children
    }

    fn first_version(&self, listing: &Listing) -> Vec<Element> {
        let page = &listing.page;
        let next = page.next.as_ref().map(|(_, name)| name.as_str());
        let mut children = vec![
            Element::text("Name", self.target.bucket.as_str()),
            Element::text("Prefix", self.call.query.get("prefix").unwrap_or_default()),
        ];
        children.extend(next.map(|name| Element::text("Marker", name)));
        if self.call.query.get("delimiter").is_some_and(|delimiter| !delimiter.is_empty()) {
            children.extend(next.map(|name| Element::text("NextMarker", name)));
        }
        children.push(Element::text("MaxKeys", listing.limit.to_string()));
        children.push(Element::text("IsTruncated", page.next.is_some().to_string()));
        children.extend(self.contents(page));
        children.extend(self.common_prefixes(page));
        children.extend(self.echo("encoding-type", "EncodingType"));
        children
    }
}

/// The name behind everything that a folder covers, or the name of an object.
fn behind_folder(name: &str, delimiter: &str) -> String {
    if name.ends_with(delimiter) { format!("{name}\u{10ffff}") } else { name.to_owned() }
}
