//! Table cells that several tables share.

use weir_control::{Latency, Level, PerSecond, Responses, Tone, human};

use super::html::{Html, class, esc};

/// Writes the start of a table, in a box that scrolls sideways on narrow screens. The first `texts` columns
/// are not numbers.
pub(super) fn open_table(page: &mut Html, texts: usize, columns: &[(&str, &str)]) {
    page.add(format_args!("<div class=\"scroll\"><table><thead><tr>"));
    for (at, (name, explanation)) in columns.iter().enumerate() {
        let class = if at < texts { " class=\"text\"" } else { "" };
        page.add(format_args!("<th scope=\"col\"{class} title=\"{}\">{}</th>", esc(explanation), esc(name)));
    }
    page.add(format_args!("</tr></thead><tbody>\n"));
}

pub(super) fn close_table(page: &mut Html) {
    page.add(format_args!("</tbody></table></div>\n"));
}

/// Writes a state in words and colour.
pub(super) fn badge(page: &mut Html, tone: Tone, text: &str) {
    page.add(format_args!("<span class=\"badge {}\">{}</span>", class(tone), esc(text)));
}

/// Writes a mark beside a name, for instance "backup".
pub(super) fn tag(page: &mut Html, text: &str, explanation: &str) {
    page.add(format_args!(" <span class=\"tag\" title=\"{}\">{}</span>", esc(explanation), esc(text)));
}

/// Writes a number with its exact value in the tool tip; a zero is pale.
pub(super) fn number(page: &mut Html, count: u64) {
    cell(page, &human::count(count), &count.to_string(), count == 0);
}

/// Writes a number that should be zero.
pub(super) fn fault(page: &mut Html, count: u64) {
    if count == 0 {
        return number(page, count);
    }
    page.add(format_args!("<td class=\"fault\" title=\"{count}\">{}</td>", human::count(count)));
}

/// Writes the address of a listener or a server on a line below its name.
pub(super) fn address(page: &mut Html, address: &str) {
    page.add(format_args!("<small class=\"below\">{}</small>", esc(address)));
}

/// Writes the bytes from clients, and below them the bytes to clients.
pub(super) fn bytes(page: &mut Html, from: u64, to: u64) {
    let shown = format!("{}<span class=\"below\">{}</span>", human::bytes(from), human::bytes(to));
    let exact = format!("{from} bytes from clients, {to} bytes to clients");
    cell(page, &shown, &exact, from == 0 && to == 0);
}

/// Writes the current rate, with the highest rate in the tool tip.
pub(super) fn rate(page: &mut Html, rate: PerSecond) {
    let most = format!("most {}/s", rate.max);
    cell(page, &format!("{}/s", human::count(rate.current)), &most, rate.current == 0);
}

/// Writes a level with a bar, relative to its limit, or to its highest value if it has no limit.
pub(super) fn level(page: &mut Html, level: Level) {
    let of = level.limit.unwrap_or(level.max);
    let percent = level.current.saturating_mul(100).checked_div(of).unwrap_or(0).min(100);
    let full = if level.limit.is_some() && percent >= 90 { " full" } else { "" };
    let limit = level.limit.map_or("no limit".to_owned(), |limit| format!("limit {limit}"));
    let shown = match level.limit {
        Some(limit) => format!("{}<small>/{}</small>", human::count(level.current), human::count(limit)),
        None => human::count(level.current),
    };
    page.add(format_args!(
        "<td class=\"level\" title=\"now {}, most {}, {limit}\">{shown}\
         <span class=\"bar{full}\"><i style=\"width:{percent}%\"></i></span></td>",
        level.current, level.max
    ));
}

/// Writes the median and the 99th percentile.
pub(super) fn latency(page: &mut Html, latency: &Latency) {
    for q in [0.5, 0.99] {
        let shown = latency.quantile_us(q).map_or("&ndash;".to_owned(), human::latency);
        let most = format!("{} values, most {}", latency.count(), human::latency(latency.max_us()));
        cell(page, &shown, &most, latency.count() == 0);
    }
}

/// Writes the counts of 2xx, 3xx, 4xx and 5xx; the rest is in the tool tip.
pub(super) fn responses(page: &mut Html, responses: &Responses) {
    number(page, responses.success);
    number(page, responses.redirection);
    number(page, responses.client_error);
    fault(page, responses.server_error);
}

/// Writes cells for values that do not apply.
pub(super) fn none(page: &mut Html, cells: usize) {
    for _ in 0..cells {
        page.add(format_args!("<td class=\"zero\">&ndash;</td>"));
    }
}

/// Writes a cell. `shown` is markup from this module.
fn cell(page: &mut Html, shown: &str, explanation: &str, pale: bool) {
    let class = if pale { " class=\"zero\"" } else { "" };
    page.add(format_args!("<td{class} title=\"{}\">{shown}</td>", esc(explanation)));
}
