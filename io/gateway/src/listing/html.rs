//! Directory listing as an HTML page.

use weir_dav::date::rfc3339;
use weir_dav::mime::MediaTypes;
use weir_dav::path::DavPath;
use weir_storage::Entry;

use super::Page;
use super::order::{Column, Order};
use super::tools::Tools;
use crate::place::Place;

/// An HTML page with a table. The browser's color-scheme preference selects light or dark.
pub(super) struct Html {
    directory: DavPath,
    /// True if the directory is the root of the area, which has no parent link.
    is_root: bool,
    order: Order,
    /// Set when the columns can be sorted.
    is_sorted: bool,
    /// Upload and delete tools; `None` if the client may change nothing here.
    tools: Option<Tools>,
    /// URL path of the area's root.
    prefix: DavPath,
    /// Media types of files, by name.
    types: MediaTypes,
    is_empty: bool,
}

/// Style sheet of the page.
const STYLE: &str = include_str!("page.css");

/// Icons before the names, by kind of file.
const ICONS: &str = "<svg hidden><symbol id=\"d\" viewBox=\"0 0 24 24\"><path d=\"M3 6h6l2 2h10v11H3z\"/></symbol>\
<symbol id=\"f\" viewBox=\"0 0 24 24\"><path d=\"M6 3h8l4 4v14H6zM14 3v4h4\"/></symbol>\
<symbol id=\"t\" viewBox=\"0 0 24 24\"><path d=\"M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6\"/></symbol>\
<symbol id=\"i\" viewBox=\"0 0 24 24\"><path d=\"M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15.5 9h.01\"/></symbol>\
<symbol id=\"m\" viewBox=\"0 0 24 24\"><path d=\"M4 5h16v14H4zM10 9l5 3-5 3z\"/></symbol>\
<symbol id=\"z\" viewBox=\"0 0 24 24\"><path d=\"M4 4h16v4H4zM5 8h14v12H5zM10 12h4\"/></symbol></svg>\n";

impl Html {
    /// Creates a page. `is_sorted` offers links that sort the columns.
    pub(super) fn new(
        place: &Place,
        order: Order,
        is_sorted: bool,
        tools: Option<Tools>,
        types: MediaTypes,
    ) -> Self {
        let (directory, prefix) = (place.full.clone(), place.prefix());
        let is_root = place.path.is_root();
        Self { directory, is_root, order, is_sorted, tools, prefix, types, is_empty: true }
    }

    /// Writes the path as a heading, with a link for each parent directory.
    fn way(&self, out: &mut String) {
        let above = self.directory.ancestors().filter(|path| path.starts_with(&self.prefix));
        let mut way: Vec<_> = above.filter(|path| *path != self.directory).collect();
        way.sort_by_key(DavPath::depth);
        way.push(self.directory.clone());
        out.push_str("<h1>");
        for (at, path) in way.iter().enumerate() {
            let name = match path.name() {
                // The root of an area that does not begin at `/` shows its full path.
                Some(_) if at == 0 => shown(path).trim_end_matches('/').to_owned(),
                Some(name) => String::from_utf8_lossy(name).into_owned(),
                None => "Home".to_owned(),
            };
            let is_last = at + 1 == way.len();
            if !is_last {
                out.push_str(&format!("<a href=\"{}\">", path.href(true)));
            }
            escape(out, &name);
            out.push_str(if is_last { "" } else { "</a><span>/</span>" });
        }
        out.push_str("</h1>\n");
    }

    fn heading(&self, column: Column, text: &str, class: &str) -> String {
        match self.is_sorted {
            false => format!("<th{class}>{text}</th>"),
            true => {
                let mark = match (self.order.by == column, self.order.descending) {
                    (false, _) => "",
                    (true, false) => " \u{2191}",
                    (true, true) => " \u{2193}",
                };
                format!("<th{class}><a href=\"{}\">{text}</a>{mark}</th>", self.order.link(column))
            }
        }
    }
}

impl Page for Html {
    fn begin(&self, out: &mut String) {
        let mut title = String::new();
        escape(&mut title, &shown(&self.directory));
        out.push_str("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
        out.push_str("<meta name=\"viewport\" content=\"width=device-width\">");
        let nonce = self.tools.as_ref().map(|tools| format!(" nonce=\"{}\"", tools.nonce()));
        let nonce = nonce.unwrap_or_default();
        out.push_str(&format!("<title>{title}</title><style{nonce}>\n{STYLE}</style></head>\n<body>"));
        out.push_str(ICONS);
        self.way(out);
        if let Some(tools) = &self.tools {
            tools.bar(out);
        }
        out.push_str("<table><thead><tr>");
        out.push_str(&self.heading(Column::Name, "Name", ""));
        out.push_str(&self.heading(Column::Size, "Size", " class=\"n\""));
        out.push_str(&self.heading(Column::Time, "Modified (UTC)", " class=\"n t\""));
        out.push_str(if self.tools.is_some() { "<th></th>" } else { "" });
        out.push_str("</tr></thead>\n<tbody>\n");
        if let (false, Some(parent)) = (self.is_root, self.directory.parent()) {
            let href = parent.href(true);
            let icon = icon("d");
            out.push_str(&format!(
                "<tr><td><a href=\"{href}\">{icon}..</a></td><td></td><td class=\"t\"></td>"
            ));
            out.push_str(if self.tools.is_some() { "<td></td></tr>\n" } else { "</tr>\n" });
        }
    }

    fn entry(&mut self, out: &mut String, entry: &Entry) {
        let Ok(path) = self.directory.join(&entry.name) else { return };
        self.is_empty = false;
        let is_directory = entry.metadata.is_directory();
        let kind = if is_directory { "d" } else { kind(&self.types.of(&entry.name)) };
        // An href is ASCII without quotes, `&` and `<`, so it needs no escaping.
        let href = path.href(is_directory);
        out.push_str(&format!("<tr><td><a href=\"{href}\">{}", icon(kind)));
        let mut name = String::new();
        escape(&mut name, &String::from_utf8_lossy(&entry.name));
        out.push_str(&name);
        let (slash, size) = match is_directory {
            true => ("/", String::new()),
            false => ("", size(entry.metadata.size)),
        };
        let time = rfc3339(entry.metadata.modified.seconds).replace('T', " ").replace('Z', "");
        out.push_str(&format!("{slash}</a></td><td class=\"n\">{size}</td><td class=\"n t\">{time}</td>"));
        match &self.tools {
            Some(tools) if tools.may_delete(entry) => out.push_str(&format!(
                "<td class=\"n\"><button class=\"x\" title=\"Delete\" data-delete=\"{href}\" data-name=\"{name}\">\u{2715}</button></td></tr>\n"
            )),
            Some(_) => out.push_str("<td></td></tr>\n"),
            None => out.push_str("</tr>\n"),
        }
    }

    fn end(&self, out: &mut String) {
        out.push_str("</tbody></table>");
        if self.is_empty {
            out.push_str("<p class=\"empty\">Nothing here</p>");
        }
        if let Some(tools) = &self.tools {
            tools.script(out);
        }
        out.push_str("</body></html>\n");
    }
}

/// Returns the icon of this kind as HTML.
fn icon(kind: &str) -> String {
    let class = if kind == "d" { " class=\"d\"" } else { "" };
    format!("<svg{class} aria-hidden=\"true\"><use href=\"#{kind}\"/></svg>")
}

/// Returns the kind of icon for a media type.
fn kind(content_type: &str) -> &'static str {
    const PACKED: [&str; 7] = ["zip", "gzip", "tar", "zstd", "bzip", "xz", "7z"];
    match content_type.split('/').next().unwrap_or_default() {
        "image" => "i",
        "audio" | "video" => "m",
        _ if PACKED.iter().any(|packed| content_type.contains(packed)) => "z",
        "text" => "t",
        _ if content_type.contains("json") || content_type.contains("pdf") => "t",
        _ => "f",
    }
}

/// Decodes a path for display.
fn shown(path: &DavPath) -> String {
    let segments = path.segments().map(|segment| format!("/{}", String::from_utf8_lossy(segment)));
    segments.collect::<String>() + "/"
}

/// Formats a size in the largest unit in which it is at least 1.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut units = UNITS.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    for larger in units {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    format!("{value:.1} {unit}")
}

/// Escapes text for HTML content and attributes.
fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short_and_names_are_text() {
        for (bytes, text) in
            [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (u64::MAX, "16.0 EiB")]
        {
            assert_eq!(size(bytes), text);
        }
        let mut out = String::new();
        escape(&mut out, "<script>\"a\" & 'b'</script>");
        assert_eq!(out, "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;&lt;/script&gt;");
    }
}
