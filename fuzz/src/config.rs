//! Configs: any text gets a plan or a list of what is wrong with it, each problem with a place that can be drawn.

use weir_config::{Source, load, print, render};

/// Runs the target on one input; panics when a property does not hold.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let source = Source { name: "weir.toml".to_owned(), text: text.to_owned() };
    let env = |name: &str| name.len().is_multiple_of(2).then(|| "web".to_owned());
    match load(&[source], &env) {
        Err(problems) => {
            assert!(!problems.is_empty(), "refused without a reason");
            problems.iter().for_each(|problem| drop(render(problem, false)));
        }
        Ok(loaded) => {
            let printed = Source { name: "printed.toml".to_owned(), text: print(&loaded.plan) };
            assert!(load(&[printed], &|_| None).is_ok(), "a printed plan does not load");
        }
    }
}
