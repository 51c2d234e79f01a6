//! The file of `weir fleet backtest`: TOML text -> named scaling rules. Has the same checks, messages and
//! reference page as the config file.

pub(crate) mod keys;
mod policies;
pub(crate) mod read;

use weir_model::Name;
use weir_scale::Rules;

use crate::scaling;
use crate::syntax::context::Context;
use crate::syntax::diagnostic::{Diagnostic, Problem};
use crate::syntax::outside::{Outside, SOURCES_BYTES_MAX};
use crate::syntax::read as text;
use crate::syntax::source::{Source, SourceMap, Span};
use crate::syntax::tree::{Node, Value};
use crate::values::shape;
use crate::values::subject::Subject;
use keys::FILE;

/// Scaling rules with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedRules {
    /// Name in the file.
    pub name: Name,
    /// The rules.
    pub rules: Rules,
}

/// Reads all `[rules.NAME]` tables of a text, in their order.
///
/// # Errors
/// If the text has errors. Returns all of them, in the order of the text.
pub fn load(
    source: &Source,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<NamedRules>, Vec<Diagnostic>> {
    if source.text.len() > SOURCES_BYTES_MAX {
        let message =
            format!("the file has {} bytes; at most {SOURCES_BYTES_MAX} are read", source.text.len());
        return Err(vec![Problem::general(message).locate(&SourceMap::new(&[]))]);
    }
    let sources = std::slice::from_ref(source);
    let cx = Context::new(sources, Outside { env, file: &|_| Err("files are not read here".to_owned()) });
    let entries = text::read(&cx, 0, source).unwrap_or_default();
    let root = Node { span: Span::new(0, 0..0), value: Value::Table(entries) };
    shape::check_table(&cx, &Subject::default(), &FILE, &root);
    let rules = scaling::read::file(&cx, &root);
    let (errors, _) = cx.finish();
    if errors.is_empty() { Ok(rules) } else { Err(errors) }
}

/// Returns the reference page of the file, in Markdown.
pub fn reference() -> String {
    crate::schema::page::page(INTRODUCTION, &FILE)
}

/// Returns the root section of the file, for the tests of the documented keys.
#[cfg(test)]
pub(crate) fn root() -> &'static crate::schema::Section {
    &FILE
}

const INTRODUCTION: &str = "\
# Scaling rules

<!-- Made from logic/config/src/scaling/keys.rs. After a change: WEIR_UPDATE_DOCS=1 cargo test -p weir --test documents -->

What `weir fleet backtest --rules FILE` compares: one set of rules for each name. [The guide](../guide/scaling.md) says what the
policies do and how to choose.

```toml rules
[rules.published]
policy = \"reactive\"
min = 2
max = 13
capacity = 10
standby = 1

[rules.calm]
policy = [
  { kind = \"target\", up-after = \"10s\", down-after = \"30s\" },
  { kind = \"schedule\", floors = { begins = \"0 8 * * mon-fri\", lasts = \"10h\", servers = 5 } },
]
min = 2
max = 13
capacity = 10
```

- Durations are written `\"250ms\"`, `\"2s\"`, `\"5m\"`, `\"1h\"`, `\"7d\"`; shares `\"20%\"`; numbers such as `0.8` without quotes.
- Where one or many make sense, a list may be left out.
- An unknown key is an error.
";
