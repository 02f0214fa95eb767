//! Lists of objects.

use serde_json::Value;

use super::answer::S3Answer;
use super::request::Request;
use super::xml::Element;
use crate::error::Error;
use crate::objects::list_v2::{Cursor, OBJECT_MARK, Page, PageRequest, list_page, upper_bound};
use crate::signature::encode;

/// The most entries of a list.
const MAXIMUM_KEYS: u32 = 1000;
/// The delimiter of folders.
const SLASH: &str = "/";
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
        let cursor = token.map(Cursor::decode).transpose()?;
        let after = query(if is_second_version { "start-after" } else { "marker" }).map(|name| name.replace('\0', ""));
        let delimiter = query("delimiter");
        let mut request = PageRequest {
            prefix: query("prefix").unwrap_or_default().replace('\0', ""),
            has_folders: delimiter == Some(SLASH),
            limit: i64::from(limit),
            ..PageRequest::default()
        };
        let page = match delimiter {
            Some(delimiter) if delimiter != SLASH => {
                let after = cursor.map(|cursor| cursor.name).or(after);
                self.list_by_delimiter(request, delimiter, after, limit).await?
            }
            _ => {
                // An object is not the folder of the same name.
                let is_folder = |name: &str| find_folder(name, &request.prefix, SLASH) == Some(name);
                let mark = |name: String| if is_folder(&name) { name } else { format!("{name}{OBJECT_MARK}") };
                request.start_after = if request.has_folders { after.map(mark) } else { after };
                request.cursor = cursor;
                self.list_by_slash(&request).await?
            }
        };
        let listing = Listing { page, limit };
        let children = if is_second_version { self.second_version(&listing) } else { self.first_version(&listing) };
        Ok(S3Answer::document(&Element::new("ListBucketResult", children)))
    }

    /// Lists everything, or one level of folders. The names of folders end in a slash.
    async fn list_by_slash(&self, request: &PageRequest) -> Result<Page, Error> {
        let mut page = list_page(&self.call, &self.target.bucket, request).await?;
        for folder in &mut page.folders {
            let name = folder["name"].as_str().unwrap_or_default();
            // A folder without a name: its slash follows that of the prefix.
            if name.len() <= request.prefix.len() && request.prefix.ends_with(SLASH) {
                folder["name"] = format!("{}{SLASH}", request.prefix).into();
            }
        }
        if let Some((cursor, name)) = &mut page.next
            && request.has_folders
        {
            let last = cursor.name.as_str();
            *name = match last.strip_suffix(OBJECT_MARK) {
                Some(object) => object.to_owned(),
                None if last.ends_with(SLASH) => last.to_owned(),
                None => format!("{last}{SLASH}"),
            };
        }
        Ok(page)
    }

    /// Lists with another delimiter: names are read in pages, and what a folder covers is skipped. `after` is the last entry of
    /// the page before.
    async fn list_by_delimiter(
        &self,
        mut request: PageRequest,
        delimiter: &str,
        after: Option<String>,
        limit: u32,
    ) -> Result<Page, Error> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut found = Page::default();
        let mut last = after;
        let mut is_in_last: Option<String> = None;
        let end = |found: Page, last: Option<String>| Page {
            next: last.map(|name| (Cursor { name: name.clone(), ..Cursor::default() }, name)),
            ..found
        };
        for _ in 0..MAXIMUM_PAGES {
            if !last.as_deref().is_none_or(|entry| request.begin_behind(entry, delimiter)) {
                return Ok(found);
            }
            let page = list_page(&self.call, &self.target.bucket, &request).await?;
            let has_more = page.next.is_some();
            for object in page.objects {
                let name = object["name"].as_str().unwrap_or_default().to_owned();
                if is_in_last.as_deref().is_some_and(|folder| name.starts_with(folder)) {
                    continue;
                }
                if found.folders.len() + found.objects.len() == limit {
                    return Ok(end(found, last));
                }
                is_in_last = find_folder(&name, &request.prefix, delimiter).map(str::to_owned);
                if let Some(folder) = &is_in_last {
                    found.folders.push(serde_json::json!({ "name": folder }));
                } else {
                    found.objects.push(object);
                }
                last = Some(is_in_last.clone().unwrap_or(name));
            }
            if !has_more {
                return Ok(found);
            }
        }
        Ok(end(found, last))
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

impl PageRequest {
    /// Begins the list behind an entry; `false` if nothing can be there.
    fn begin_behind(&mut self, entry: &str, delimiter: &str) -> bool {
        (self.start_after, self.least) = match find_folder(entry, &self.prefix, delimiter) {
            Some(folder) if folder == entry => (None, upper_bound(folder)),
            _ => (Some(entry.to_owned()), None),
        };
        self.start_after.is_some() || self.least.is_some()
    }
}

/// The folder of a name, as the list shows it: up to the first delimiter behind the prefix.
fn find_folder<'a>(name: &'a str, prefix: &str, delimiter: &str) -> Option<&'a str> {
    let position = name.strip_prefix(prefix)?.find(delimiter)?;
    name.get(..prefix.len() + position + delimiter.len())
}
