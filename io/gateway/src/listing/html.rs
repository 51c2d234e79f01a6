use weir_dav::date::rfc3339;
use weir_dav::path::DavPath;
use weir_storage::Entry;

use super::Page;
use super::order::{Column, Order};
use crate::place::Place;

/// A table; the browser's preference decides whether it is dark.
pub(super) struct Html {
    directory: DavPath,
    /// The directory is the root of the area: there is nothing above it.
    is_root: bool,
    order: Order,
    /// It can be sorted.
    is_sorted: bool,
}

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem}\
h1{font-size:1.2rem;word-break:break-all}\
table{border-collapse:collapse;width:100%}\
th,td{text-align:left;padding:.25rem .5rem;border-bottom:1px solid #8884}\
td:first-child{word-break:break-all}\
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\
a{text-decoration:none}a:hover{text-decoration:underline}";

impl Html {
    pub(super) fn new(place: &Place, order: Order, is_sorted: bool) -> Self {
        Self { directory: place.full.clone(), is_root: place.path.is_root(), order, is_sorted }
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
        out.push_str(&format!(
            "<title>{title}</title><style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n"
        ));
        out.push_str("<table><thead><tr>");
        out.push_str(&self.heading(Column::Name, "Name", ""));
        out.push_str(&self.heading(Column::Size, "Size", " class=\"n\""));
        out.push_str(&self.heading(Column::Time, "Modified (UTC)", " class=\"n\""));
        out.push_str("</tr></thead>\n<tbody>\n");
        if let (false, Some(parent)) = (self.is_root, self.directory.parent()) {
            let href = parent.href(true);
            out.push_str(&format!("<tr><td><a href=\"{href}\">..</a></td><td></td><td></td></tr>\n"));
        }
    }

    fn entry(&mut self, out: &mut String, entry: &Entry) {
        let Ok(path) = self.directory.join(&entry.name) else { return };
        let is_directory = entry.metadata.is_directory();
        // An href is ASCII without quotes, `&` and `<`.
        out.push_str(&format!("<tr><td><a href=\"{}\">", path.href(is_directory)));
        escape(out, &String::from_utf8_lossy(&entry.name));
        let (slash, size) = match is_directory {
            true => ("/", String::new()),
            false => ("", size(entry.metadata.size)),
        };
        let time = rfc3339(entry.metadata.modified.unix_s()).replace('T', " ").replace('Z', "");
        let row = format!("{slash}</a></td><td class=\"n\">{size}</td><td class=\"n\">{time}</td></tr>\n");
        out.push_str(&row);
    }

    fn end(&self, out: &mut String) {
        out.push_str("</tbody></table></body></html>\n");
    }
}

/// A path, decoded, for people.
fn shown(path: &DavPath) -> String {
    let segments = path.segments().map(|segment| format!("/{}", String::from_utf8_lossy(segment)));
    segments.collect::<String>() + "/"
}

/// A size in the largest unit that keeps it above 1.
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

/// Text as HTML has it, in attributes as well.
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
