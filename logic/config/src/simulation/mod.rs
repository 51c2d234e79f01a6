//! The scenario file of `weir simulate`: TOML text -> [`Scenario`]. Has the same checks, messages and
//! reference page as the config file.

mod balancer;
mod defaults;
mod keys;
mod read;
mod scenario;
mod time;

use crate::simulation;
use crate::syntax::context::Context;
use crate::syntax::diagnostic::{Diagnostic, Problem};
use crate::syntax::outside::{Outside, SOURCES_BYTES_MAX};
use crate::syntax::read as text;
use crate::syntax::source::{Source, SourceMap, Span};
use crate::syntax::tree::{Node, Value};
use crate::values::shape;
use crate::values::subject::Subject;
pub use balancer::{AtOnceRule, BalancerPlan, BudgetRule, FoundWeights, SimKey, StickySessions};
use keys::SCENARIO;
pub use scenario::{
    AgentWord, Arrivals, Burst, CachePlan, Disturbance, Drain, Failure, Group, LogFormat, LoggedTimes,
    Measure, Pattern, PoolRules, Population, PriorityShare, Replay, Scenario, Service, ServiceLaw, Sharing,
    SlowDown, Volume,
};
pub use time::{BadTime, SimTime};

/// Loads a scenario from its text.
///
/// # Errors
/// If the scenario has errors. Returns all of them, in the order of the text.
pub fn load(source: &Source, env: &dyn Fn(&str) -> Option<String>) -> Result<Scenario, Vec<Diagnostic>> {
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
    let scenario = simulation::read::scenario(&cx, &root);
    let (errors, _) = cx.finish();
    if errors.is_empty() { Ok(scenario) } else { Err(errors) }
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
# Scenario file

<!-- Made from logic/config/src/simulation/keys.rs. After a change: WEIR_UPDATE_DOCS=1 cargo test -p weir --test documents -->

What `weir simulate SCENARIO.toml` simulates: who asks, how much work that is, and the servers that do it. Every key has a
default; an empty file is a Poisson stream at 80% of what ten equal servers can do. [The guide](../guide/simulate.md) has a
worked example.

```toml scenario
algorithms = [\"least-connections\", \"random\", \"round-robin\"]

[arrivals]
pattern = \"bursty\"
load = 0.7

[service]
distribution = \"lognormal\"
mean = \"12ms\"
deviation = 2.0

[[servers]]
count = 8
concurrency = 4

[[servers]]
name = \"old\"
count = 2
speed = 0.5
concurrency = 4
slow = { at = \"20s\", for = \"10s\", speed = 0.1 }
```

- Times are written `\"250us\"`, `\"1.5ms\"`, `\"2s\"`, `\"5m\"`, `\"1h\"`; sizes `\"64KiB\"`; rates `\"10MiB/s\"`; numbers such as `0.8` without
  quotes.
- Where one or many make sense, a list may be left out.
- An unknown key is an error.
";
