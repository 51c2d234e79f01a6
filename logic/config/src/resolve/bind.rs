//! Checks the addresses of listeners for conflicts.

use std::collections::HashMap;

use weir_model::BindAddress;

use crate::spec::Spec;
use crate::syntax::context::Context;
use crate::syntax::diagnostic::Problem;
use crate::syntax::source::Span;

/// Reports addresses that several listeners, or one listener twice, would bind.
pub(super) fn check(cx: &Context<'_>, spec: &Spec) {
    let mut taken: HashMap<&BindAddress, (&str, Span)> = HashMap::new();
    for listener in &spec.listeners {
        for bind in listener.bind.iter().filter(|bind| is_fixed(&bind.value)) {
            let name = listener.name.value.as_str();
            if let Some((other, first)) = taken.insert(&bind.value, (name, bind.span)) {
                let whose = if other == name { "itself".to_owned() } else { format!("listener {other}") };
                let message = format!("listener {name}: {} is taken by {whose}", bind.value);
                cx.report(Problem::error(bind.span, message).also(first, "first here"));
            }
        }
    }
    let Some(admin) = &spec.admin else { return };
    for bind in admin.value.bind.iter().filter(|bind| is_fixed(bind)) {
        if let Some((other, first)) = taken.get(bind) {
            let message = format!("admin: {bind} is taken by listener {other}");
            cx.report(Problem::error(admin.span, message).also(*first, "first here"));
        }
    }
}

/// Returns true if the address has a fixed port. Port 0 gets another free port each time.
fn is_fixed(bind: &BindAddress) -> bool {
    !matches!(bind, BindAddress::Inet(address) if address.port() == 0)
}
