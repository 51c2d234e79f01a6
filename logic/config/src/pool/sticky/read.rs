//! Reads `[pool.NAME.sticky]`.

use weir_http::expression::ExpressionUse;
use weir_http::{CookieAttributes, SameSite, is_cookie_name};
use weir_model::Millis;

use super::plan::{
    CookieMode, CookieValue, LearnFrom, StickyBy, StickyCookie, StickyLearn, StickyPlan, StickySource,
    StickyTablePlan, WhenBusy, WhenGone,
};
use crate::common::choice::exactly_one;
use crate::common::header::check_name;
use crate::common::secret::SecretPlace;
use crate::common::{expression, secret};
use crate::syntax::tree::{Node, short};
use crate::values::table::Table;

/// Keys that only cookies have, and keys that only inserted cookies have.
const OF_COOKIES: [&str; 4] = ["mode", "value", "key-file", "key-env"];
const OF_INSERTED: [&str; 9] =
    ["path", "domain", "max-age", "http-only", "secure", "same-site", "no-cache", "max-idle", "max-life"];
const OF_TABLES: [&str; 2] = ["size", "expire"];

/// Reads `sticky = { ... }`.
pub(crate) fn read(pool: &Table<'_, '_>) -> Option<StickyPlan> {
    if pool.is_off("sticky") {
        return None;
    }
    let table = pool.table("sticky");
    let methods = [("cookie", ()), ("learn", ()), ("source", ()), ("expression", ())];
    let (method, ()) = exactly_one(&table, methods)?;
    refuse_strangers(&table, method);
    let by = match method {
        "cookie" => StickyBy::Cookie(Box::new(cookie(&table))),
        "learn" => StickyBy::Learn(learn(&table.table("learn"))?, entries(&table)),
        "source" => StickyBy::Source(source(&table.table("source")), entries(&table)),
        _ => StickyBy::Expression(expression(&table)?, entries(&table)),
    };
    let when_gone = if table.text("when-gone") == "fail" { WhenGone::Fail } else { WhenGone::Redispatch };
    let when_busy =
        if table.text("when-busy") == "redispatch" { WhenBusy::Redispatch } else { WhenBusy::Wait };
    Some(StickyPlan { by, when_gone, when_busy })
}

/// Reports keys that belong to another method.
fn refuse_strangers(table: &Table<'_, '_>, method: &str) {
    let refuse = |keys: &[&str], why: &str| {
        for key in keys {
            if let Some(node) = table.get(key) {
                table.error(key, node.span, why);
            }
        }
    };
    if method == "cookie" {
        refuse(&OF_TABLES, "only for learn, source and expression: a cookie needs no table");
    } else {
        refuse(&OF_COOKIES, "only for cookie");
        refuse(&OF_INSERTED, "only for cookie");
    }
}

fn cookie(table: &Table<'_, '_>) -> StickyCookie {
    // An empty name makes the plan useless, but the other errors should be reported, too.
    let name = cookie_name(table, "cookie").unwrap_or_default();
    let mode = match table.text("mode").as_str() {
        "prefix" => CookieMode::Prefix,
        "rewrite" => CookieMode::Rewrite,
        _ => CookieMode::Insert,
    };
    let value = match table.text("value").as_str() {
        "plain" => CookieValue::Plain,
        "signed" => CookieValue::Signed,
        "encrypted" => CookieValue::Encrypted,
        _ => CookieValue::Opaque,
    };
    if mode != CookieMode::Insert {
        for key in OF_INSERTED {
            if let Some(node) = table.get(key) {
                let why =
                    format!("only for mode = \"insert\": with {:?} the server sets the cookie", mode.name());
                table.error(key, node.span, why);
            }
        }
    }
    let cookie = StickyCookie {
        mode,
        value,
        key: secret(table, value),
        attributes: attributes(table),
        secure: table.get("secure").map(|_| table.flag("secure")),
        no_cache: table.flag("no-cache"),
        idle_max: table.duration_if("max-idle"),
        life_max: table.duration_if("max-life"),
        name,
    };
    check_together(table, &cookie);
    cookie
}

fn secret(table: &Table<'_, '_>, value: CookieValue) -> Option<SecretPlace> {
    let place = secret::secret_place(table, "key-file", "key-env");
    let key = if table.get("key-file").is_some() { "key-file" } else { "key-env" };
    match (value, &place) {
        (CookieValue::Plain, Some(_)) => {
            let span = table.get(key).map_or(table.span(), |node| node.span);
            table.error(key, span, "value = \"plain\" uses no secret");
        }
        (CookieValue::Signed | CookieValue::Encrypted, None) => {
            let span = table.get("value").map_or(table.span(), |node| node.span);
            let help = "add key-file = \"/etc/weir/sticky.key\" or key-env = \"WEIR_STICKY_KEY\"".to_owned();
            table.report("value", span, format!("{:?} needs a secret", value.name()), Some(help));
        }
        _ => {}
    }
    place
}

fn attributes(table: &Table<'_, '_>) -> CookieAttributes {
    let path = table.text("path");
    let is_path = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b';');
    if let (Some(node), false) = (table.get("path"), is_path) {
        table.error(
            "path",
            node.span,
            format!("{:?} is not a path: it begins with / and has no ;", short(&path)),
        );
    }
    let domain = table.text_if("domain");
    if let Some(domain) = &domain {
        let is_label = |label: &str| {
            !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        if !domain.value.trim_start_matches('.').split('.').all(is_label) {
            table.error("domain", domain.span, format!("{:?} is not a domain", short(&domain.value)));
        }
    }
    CookieAttributes {
        path,
        domain: domain.map(|domain| domain.value),
        max_age_s: table.duration_if("max-age").map(|age| age.0 / 1_000),
        http_only: table.flag("http-only"),
        same_site: match table.text("same-site").as_str() {
            "strict" => Some(SameSite::Strict),
            "lax" => Some(SameSite::Lax),
            "none" => Some(SameSite::None),
            _ => None,
        },
    }
}

/// Reports settings that browsers would reject or that contradict each other.
fn check_together(table: &Table<'_, '_>, cookie: &StickyCookie) {
    let at = |key: &str| table.get(key).map_or(table.span(), |node: &Node| node.span);
    let wants_secure = |key: &str, what: &str| {
        let message = format!("{what} needs secure = true: browsers drop the cookie otherwise");
        table.error(key, at(key), message);
    };
    if cookie.mode == CookieMode::Insert && cookie.secure != Some(true) {
        if cookie.attributes.same_site == Some(SameSite::None) {
            wants_secure("same-site", "\"none\"");
        }
        for prefix in ["__Secure-", "__Host-"] {
            if cookie.name.starts_with(prefix) {
                wants_secure("cookie", &format!("a name with {prefix}"));
            }
        }
    }
    let is_host_only = cookie.attributes.domain.is_none() && cookie.attributes.path == "/";
    if cookie.name.starts_with("__Host-") && !is_host_only {
        let key = if cookie.attributes.domain.is_some() { "domain" } else { "path" };
        table.error(key, at(key), "a cookie whose name begins with __Host- has no domain, and / as its path");
    }
    if let (Some(idle), Some(life)) = (cookie.idle_max, cookie.life_max)
        && idle > life
    {
        table.error("max-idle", at("max-idle"), format!("max-idle {idle} is above max-life {life}"));
    }
    for key in ["max-age", "max-idle", "max-life"] {
        if table.duration_if(key).is_some_and(|Millis(ms)| !ms.is_multiple_of(1_000)) {
            table.error(key, at(key), "cookies have whole seconds");
        }
    }
}

fn learn(table: &Table<'_, '_>) -> Option<StickyLearn> {
    let (from, ()) = exactly_one(table, [("response-cookie", ()), ("response-header", ())])?;
    let [mut cookie, header_name, url_param] =
        ["request-cookie", "request-header", "url-param"].map(|key| table.get(key).is_some());
    let is_default = !(cookie || header_name || url_param);
    cookie |= is_default && from == "response-cookie";
    let header_wanted = header_name || (is_default && from == "response-header");
    let cookie_key = if table.get("request-cookie").is_some() { "request-cookie" } else { "response-cookie" };
    let header_key = if table.get("request-header").is_some() { "request-header" } else { "response-header" };
    if let Some(param) = table.text_if("url-param") {
        let is_param = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        if param.value.is_empty() || !param.value.bytes().all(is_param) {
            let message = format!("{:?} is not the name of a parameter", short(&param.value));
            table.error("url-param", param.span, message);
        }
    }
    Some(StickyLearn {
        from: match from {
            "response-cookie" => LearnFrom::Cookie(cookie_name(table, from)?),
            _ => LearnFrom::Header(header_of(table, from)?),
        },
        cookie: if cookie { Some(cookie_name(table, cookie_key)?) } else { None },
        header: if header_wanted { Some(header_of(table, header_key)?) } else { None },
        url_param: table.text_if("url-param").map(|param| param.value),
    })
}

fn source(table: &Table<'_, '_>) -> StickySource {
    StickySource { ipv4_prefix: table.number("ipv4-prefix"), ipv6_prefix: table.number("ipv6-prefix") }
}

fn expression(table: &Table<'_, '_>) -> Option<String> {
    let expression = expression::read(table, "expression", ExpressionUse::Key)?;
    Some(expression.value.text().to_owned())
}

fn entries(table: &Table<'_, '_>) -> StickyTablePlan {
    StickyTablePlan { entries_max: table.number("size"), expire: table.duration("expire") }
}

fn cookie_name(table: &Table<'_, '_>, key: &str) -> Option<String> {
    let name = table.text_if(key)?;
    let is_good = is_cookie_name(&name.value);
    if !is_good {
        let message = format!(
            "{:?} is not the name of a cookie: letters, digits and !#$%&'*+-.^_`|~ can stand in one",
            short(&name.value)
        );
        table.error(key, name.span, message);
    }
    is_good.then_some(name.value)
}

fn header_of(table: &Table<'_, '_>, key: &str) -> Option<String> {
    let name = table.text_if(key)?;
    check_name(table, key, name.span, &name.value).then_some(name.value)
}
