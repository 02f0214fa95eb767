//! The pages of a server without the shop: what it serves, and that there is nothing at a path.

/// The page, with `HEADING` and `ITEMS` in place of what differs.
const TEMPLATE: &str = include_str!("status_page.html");

/// What a server has besides auth and functions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ServedPaths {
    /// Whether `/rest/v1` is answered.
    pub has_data_api: bool,
    /// Whether `/storage/v1` is answered.
    pub has_storage: bool,
    /// Whether there are development pages.
    pub has_development_pages: bool,
}

impl ServedPaths {
    /// Formats the page at `/`.
    pub(super) fn format_status(self) -> String {
        self.format_page("Basalt is running")
    }

    /// Formats the page at any other path.
    pub(super) fn format_not_found(self) -> String {
        self.format_page("There is no page at this path")
    }

    fn format_page(self, heading: &str) -> String {
        let items = [
            (self.has_data_api, "/rest/v1: tables and functions of the database"),
            (self.has_storage, "/storage/v1: buckets and files"),
            (true, "/functions/v1: functions"),
            (
                self.has_development_pages,
                "<a href=\"/_dev\">/_dev</a>: mails that were sent, accounts and explanations, on this machine",
            ),
        ];
        let served = items.into_iter().filter_map(|(is_served, item)| is_served.then_some(item));
        let list: Vec<String> = served.map(|item| format!("<li>{item}</li>\n")).collect();
        TEMPLATE.replace("HEADING", heading).replace("ITEMS", &list.concat())
    }
}
