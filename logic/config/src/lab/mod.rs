//! The scenario file of `weir lab`: TOML text -> [`Scenario`]. Has the same checks, messages and reference
//! page as the config file.

mod cases;
mod keys;
mod kinds;
mod read;
mod rival;
mod rival_keys;
mod rivals;
mod scenario;
mod topology;
mod topology_keys;
mod values;

use crate::lab;
use crate::syntax::context::Context;
use crate::syntax::diagnostic::{Diagnostic, Problem, Severity};
use crate::syntax::outside::{Outside, SOURCES_BYTES_MAX};
use crate::syntax::read as text;
use crate::syntax::source::{Source, SourceMap, Span};
use crate::syntax::tree::{Node, Value};
use crate::values::shape;
use crate::values::subject::Subject;
use keys::SCENARIO;
pub use rival::{FleetPolicy, FleetSetup, Product, Rival, Scheme, Way};
pub use scenario::{
    BalancerSetup, Case, Demand, Host, Hosts, Links, Loss, Mark, Measure, PairSetup, Published, Scenario,
    ServerKind, Servers, Topology, Watched,
};

/// Loads a scenario from its text. `quick` selects its quick form.
///
/// # Errors
/// If the scenario has errors. Returns all of them, in the order of the text.
pub fn load(
    source: &Source,
    quick: bool,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Scenario, Vec<Diagnostic>> {
    if source.text.len() > SOURCES_BYTES_MAX {
        let message =
            format!("the scenario has {} bytes; at most {SOURCES_BYTES_MAX} are read", source.text.len());
        return Err(vec![Problem::general(message).locate(&SourceMap::new(&[]))]);
    }
    let sources = std::slice::from_ref(source);
    let cx = Context::new(sources, Outside { env, file: &|_| Err("files are not read here".to_owned()) });
    let entries = text::read(&cx, 0, source).unwrap_or_default();
    let root = Node { span: Span::new(0, 0..0), value: Value::Table(entries) };
    shape::check_table(&cx, &Subject::default(), &SCENARIO, &root);
    let scenario = lab::read::scenario(&cx, &root, quick);
    let (mut errors, _) = cx.finish();
    // A quick form reads each test twice, so errors may be repeated.
    errors.dedup();
    if errors.is_empty() { Ok(scenario) } else { Err(errors) }
}

/// Returns a diagnostic for a problem found while a scenario ran, at the line that caused it.
pub fn complaint(source: &Source, mark: Mark, severity: Severity, message: String) -> Diagnostic {
    let problem = match severity {
        Severity::Error => Problem::error(mark.0, message),
        Severity::Warning => Problem::warning(mark.0, message),
    };
    problem.locate(&SourceMap::new(std::slice::from_ref(source)))
}

/// Returns the reference page of the scenario file, in Markdown.
pub fn reference() -> String {
    crate::schema::page::page(INTRODUCTION, &SCENARIO)
}

/// Returns the root section of the scenario file, for the tests of the documented keys.
#[cfg(test)]
pub(crate) fn root() -> &'static crate::schema::Section {
    &SCENARIO
}

const INTRODUCTION: &str = "\
# Lab scenario file

<!-- Made from logic/config/src/lab/keys.rs. After a change: WEIR_UPDATE_DOCS=1 cargo test -p weir --test documents -->

What `weir lab run SCENARIO.toml` plays: who is compared, in front of which servers, under which load. Every rival gets a
configuration made of the same description. [The guide](../guide/lab.md) has a worked example.

```toml lab
rivals = [\"weir\", \"haproxy\", \"nginx\"]
algorithms = [\"round-robin\", \"least-connections\"]
repeats = 7

[servers]
count = 3

[[test]]
name = \"small\"
connections = [10, 50]
requests = 5000
size = \"1KiB\"
```

- Times are written `\"250ms\"`, `\"2s\"`, `\"5m\"`; sizes `\"64KiB\"` or `\"1000000B\"`; numbers such as `0.8` without quotes.
- Where one or many make sense, a list may be left out. A test with lists is played for each combination of their values.
- An unknown key is an error.
";
