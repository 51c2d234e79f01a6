//! Tests configs that consist of several files.

use super::source;
use crate::{Diagnostic, load};

#[test]
fn the_files_of_a_directory_are_one_config() {
    let files = [
        source(
            "10-listeners.toml",
            "[listener.web]\nbind = \":80\"\npool = \"b\"\n[[route]]\npath = \"/a\"\npool = \"a\"\n",
        ),
        source("20-a.toml", "[pool.a]\nservers = \"10.0.0.1:80\"\n[[route]]\npath = \"/c\"\npool = \"a\"\n"),
        source("30-b.toml", "[pool.b]\nservers = \"10.0.0.2:80\"\n[weir]\nworkers = 2\n"),
    ];
    let loaded = load(&files, &|_| None).unwrap();
    assert_eq!(loaded.plan.process.workers, Some(2));
    let names: Vec<_> = loaded.plan.pools.iter().map(|pool| pool.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let crate::plan::Mode::Http(http) = &loaded.plan.listeners[0].mode else { panic!("HTTP") };
    let origins: Vec<_> = http.routes.iter().map(|route| route.origin.as_str()).collect();
    assert_eq!(origins, ["10-listeners.toml:4", "20-a.toml:3", "10-listeners.toml:3"]);
}

#[test]
fn what_two_files_define_is_an_error_that_names_both_places() {
    let files = [
        source("a.toml", "[listener.web]\nbind = \":80\"\npool = \"web\"\n[weir]\nworkers = 1\n"),
        source("b.toml", "[listener.web]\nbind = \":81\"\n[pool.web]\nservers = \"10.0.0.1:80\"\n"),
        source("c.toml", "[weir]\nworkers = 2\n[pool.web]\nservers = \"10.0.0.1:80\"\n"),
    ];
    let errors = load(&files, &|_| None).unwrap_err();
    insta::assert_snapshot!(errors.iter().map(|error| format!("{error}\n\n")).collect::<String>());
}

#[test]
fn a_broken_file_does_not_make_the_others_look_wrong() {
    let files = [
        source("a.toml", "[listener.web]\nbind = \":80\"\npool = \"web\"\nbackloog = 5\n"),
        source("b.toml", "[pool.web\nservers = \"10.0.0.1:80\"\n"),
    ];
    let errors: Vec<Diagnostic> = load(&files, &|_| None).unwrap_err();
    let files: Vec<_> = errors.iter().map(|error| error.places[0].file.as_str()).collect();
    assert_eq!(files, ["a.toml", "b.toml"], "{errors:#?}");
    assert!(errors[0].message.contains("backloog"), "{}", errors[0].message);
}

#[test]
fn no_file_at_all_is_an_error() {
    assert!(load(&[], &|_| None).is_err());
}
