//! Reads the names that a file gives to its listeners, pools and other things.

use weir_model::Name;

use crate::syntax::context::Context;
use crate::syntax::source::Located;
use crate::syntax::tree::short;

/// Reports a text that cannot be a name.
pub(crate) fn name(cx: &Context<'_>, noun: &str, text: &Located<String>) -> Option<Located<Name>> {
    match Name::new(&text.value) {
        Ok(value) => Some(Located { value, span: text.span }),
        Err(cause) => {
            cx.error(text.span, format!("{noun} {:?}: {cause}", short(&text.value)));
            None
        }
    }
}
