//! Headers that keep an uploaded file from acting in the name of the site.

use weir_net::service::Value;

use crate::area::Area;

/// What keeps a file that somebody has uploaded from acting in the name of the site: browsers do not guess its type, and pages
/// run in a sandbox. An area that is read-only has its operator's files, which may do as they like.
pub(crate) fn guard(area: &Area, content_type: &str) -> impl Iterator<Item = (&'static str, Value)> + use<> {
    let nosniff = ("X-Content-Type-Options", Value::from("nosniff"));
    let acts = ["html", "svg", "xml"].iter().any(|kind| content_type.contains(kind));
    let sandbox = (acts && !area.plan.read_only).then(|| ("Content-Security-Policy", "sandbox".into()));
    std::iter::once(nosniff).chain(sandbox)
}
