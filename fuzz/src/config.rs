//! Fuzzes configs: any text becomes a plan or a list of problems, each of which can be rendered. A printed
//! plan loads again.

use weir_config::{Source, load, print, render};

/// Runs the target on one input; panics if a property does not hold.
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
