//! Response headers that isolate uploaded files from the site's origin.

use weir_net::service::Value;

use crate::area::Area;

/// Returns headers that prevent an uploaded file from acting with the site's origin. Browsers may not guess
/// its type, and pages run in a sandbox. In a read-only area, the files are the operator's and get no
/// sandbox.
pub(crate) fn guard(area: &Area, content_type: &str) -> impl Iterator<Item = (&'static str, Value)> + use<> {
    let nosniff = ("X-Content-Type-Options", Value::from("nosniff"));
    let acts = ["html", "svg", "xml"].iter().any(|kind| content_type.contains(kind));
    let sandbox = (acts && !area.plan.read_only).then(|| ("Content-Security-Policy", "sandbox".into()));
    std::iter::once(nosniff).chain(sandbox)
}
