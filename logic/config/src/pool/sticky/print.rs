//! Prints `[pool.NAME.sticky]`.

use toml::Value;

use super::plan::{
    CookieMode, LearnFrom, StickyBy, StickyCookie, StickyLearn, StickyPlan, StickyTablePlan, WhenBusy,
    WhenGone,
};
use crate::common::secret;
use crate::common::writer::{OFF, Printed, Spelled, Writer, table};
use weir_http::SameSite;
use weir_model::Millis;

pub(crate) fn print(writer: &mut Writer, name: &str, sticky: &StickyPlan) {
    writer.table(&format!("[pool.{name}.sticky]"));
    match &sticky.by {
        StickyBy::Cookie(cookie) => print_cookie(writer, cookie),
        StickyBy::Learn(learn, entries) => {
            writer.key("learn", learned(learn));
            print_table(writer, entries);
        }
        StickyBy::Source(source, entries) => {
            let prefixes = [
                ("ipv4-prefix", Some(source.ipv4_prefix.spelled())),
                ("ipv6-prefix", Some(source.ipv6_prefix.spelled())),
            ];
            writer.key("source", table(prefixes));
            print_table(writer, entries);
        }
        StickyBy::Expression(text, entries) => {
            writer.key("expression", text);
            print_table(writer, entries);
        }
    }
    writer.key("when-gone", if sticky.when_gone == WhenGone::Fail { "fail" } else { "redispatch" });
    writer.key("when-busy", if sticky.when_busy == WhenBusy::Wait { "wait" } else { "redispatch" });
}

/// Prints `sticky = false` for a pool without sticky sessions.
pub(crate) fn print_off(writer: &mut Writer) {
    writer.key("sticky", OFF);
}

fn print_cookie(writer: &mut Writer, cookie: &StickyCookie) {
    writer.key("cookie", &cookie.name);
    writer.key("mode", cookie.mode.name());
    writer.key("value", cookie.value.name());
    secret::secret(writer, "", cookie.key.as_ref());
    if cookie.mode != CookieMode::Insert {
        return;
    }
    let attributes = &cookie.attributes;
    writer.key("path", &attributes.path);
    writer.key_if("domain", attributes.domain.as_ref());
    writer.key_if("max-age", attributes.max_age_s.map(|seconds| Printed(Millis::from_secs(seconds))));
    writer.key("http-only", attributes.http_only);
    writer.key_if("secure", cookie.secure);
    writer.key_if(
        "same-site",
        attributes.same_site.map(|same_site| match same_site {
            SameSite::Strict => "strict",
            SameSite::Lax => "lax",
            SameSite::None => "none",
        }),
    );
    writer.key("no-cache", cookie.no_cache);
    writer.key_if("max-idle", cookie.idle_max.map(Printed));
    writer.key_if("max-life", cookie.life_max.map(Printed));
}

fn learned(learn: &StickyLearn) -> Value {
    let (cookie, header) = match &learn.from {
        LearnFrom::Cookie(name) => (Some(name), None),
        LearnFrom::Header(name) => (None, Some(name)),
    };
    table([
        ("response-cookie", cookie.map(Spelled::spelled)),
        ("response-header", header.map(Spelled::spelled)),
        ("request-cookie", learn.cookie.as_ref().map(Spelled::spelled)),
        ("request-header", learn.header.as_ref().map(Spelled::spelled)),
        ("url-param", learn.url_param.as_ref().map(Spelled::spelled)),
    ])
}

fn print_table(writer: &mut Writer, entries: &StickyTablePlan) {
    writer.key("size", entries.entries_max);
    writer.key("expire", Printed(entries.expire));
}
