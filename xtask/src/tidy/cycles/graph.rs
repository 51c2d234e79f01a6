//! Circles in a directed graph.

use std::collections::{BTreeMap, BTreeSet};

/// The names that each name points at.
pub(super) type Graph = BTreeMap<String, BTreeSet<String>>;

/// Groups of names that all reach each other (strongly connected components) with more than one member.
pub(super) fn circles(graph: &Graph) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|name| (name, reachable(graph, name))).collect();
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for (name, targets) in &reached {
        let mutual =
            targets.iter().filter(|other| reached.get(*other).is_some_and(|back| back.contains(name)));
        let circle: BTreeSet<String> = mutual.map(|other| (*other).clone()).collect();
        if circle.len() > 1 && !found.contains(&circle) {
            found.push(circle);
        }
    }
    found
}

/// All names that can be reached from one, itself included if a circle leads back.
fn reachable<'a>(graph: &'a Graph, from: &'a String) -> BTreeSet<&'a String> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        for next in graph.get(name).into_iter().flatten() {
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separate_circles_are_separate_and_chains_are_none() {
        let edges = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "c"), ("e", "f")];
        let mut graph = Graph::new();
        for (from, to) in edges {
            graph.entry(from.to_owned()).or_default().insert(to.to_owned());
        }
        let found: Vec<Vec<String>> =
            circles(&graph).into_iter().map(|circle| circle.into_iter().collect()).collect();
        assert_eq!(found, [vec!["a", "b"], vec!["c", "d", "e"]]);
    }
}
