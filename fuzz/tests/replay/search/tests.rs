//! Tests, with small targets, that the search finds, names and repeats failures.

use std::fs::{self, File};
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

/// Creates a search of 5,000 mutations for a target with a corpus of two files, in its own directory.
fn search<T: Fn(&[u8]) + Clone + Send + 'static>(target: T) -> (tempfile::TempDir, Search<T>) {
    let directory = tempfile::tempdir().unwrap();
    let (corpus, artifacts) = (directory.path().join("corpus"), directory.path().join("artifacts"));
    fs::create_dir(&corpus).unwrap();
    fs::write(corpus.join("get"), "GET /a HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
    fs::write(corpus.join("put"), "PUT /b HTTP/1.1\r\n\r\n").unwrap();
    let search = Search {
        name: "fake".to_owned(),
        target,
        corpus,
        artifacts,
        seed: 1,
        time: Duration::from_secs(60),
        iterations_max: 5_000,
        input_time_max: Duration::from_secs(60),
    };
    (directory, search)
}

/// A parser with a defect: it panics on the byte `~` after `PUT`.
fn indexes_by_a_rare_byte(input: &[u8]) {
    if input.starts_with(b"PUT ") && input.contains(&b'~') {
        let _ = input[input.len()];
    }
}

fn contains(input: &[u8], part: &[u8]) -> bool {
    input.windows(part.len()).any(|window| window == part)
}

fn files(directory: &Path) -> Vec<PathBuf> {
    corpus::paths(directory).unwrap()
}

#[test]
fn the_whole_corpus_and_the_given_number_of_mutations_run() {
    let runs = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&runs);
    let (_directory, search) = search(move |_: &[u8]| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let artifacts = search.artifacts.clone();
    let summary = search.run().unwrap();
    assert_eq!((summary.files, summary.mutated), (2, 5_000));
    assert_eq!(runs.load(Ordering::Relaxed), 5_002);
    assert!(files(&artifacts).is_empty(), "nothing failed");
}

#[test]
fn zero_seconds_replay_the_corpus_only() {
    let (_directory, search) = search(|_: &[u8]| ());
    let summary = Search { time: Duration::ZERO, ..search }.run().unwrap();
    assert_eq!((summary.files, summary.mutated), (2, 0));
}

#[test]
fn a_panic_is_found_and_named_and_its_input_replays_first() {
    let (_directory, search) = search(indexes_by_a_rare_byte);
    let failure = search.clone().run().unwrap_err();
    assert!(failure.starts_with("fuzz target fake, seed 1, iteration "), "{failure}");
    assert!(failure.contains("panic: index out of bounds"), "{failure}");
    let [artifact] = &files(&search.artifacts)[..] else { panic!("one artifact: {failure}") };
    assert!(failure.contains(&artifact.display().to_string()), "{failure}");
    assert!(std::panic::catch_unwind(|| indexes_by_a_rare_byte(&fs::read(artifact).unwrap())).is_err());

    let replay = Search { time: Duration::ZERO, ..search.clone() };
    let failure = replay.run().unwrap_err();
    assert!(failure.starts_with("fuzz target fake, replay: panic: "), "{failure}");
    assert_eq!(files(&search.artifacts).len(), 1, "not written once more");
}

#[test]
fn the_same_seed_fails_in_the_same_iteration() {
    let failure = || {
        let (_directory, search) = search(indexes_by_a_rare_byte);
        let failure = search.run().unwrap_err();
        failure.lines().next().unwrap().to_owned()
    };
    assert_eq!(failure(), failure());
}

#[test]
fn an_input_that_hangs_is_named() {
    let hangs = |input: &[u8]| {
        while contains(input, b"Host: h\r\nHost: h\r\n") {
            thread::park();
        }
    };
    let (_directory, search) = search(hangs);
    let search = Search { input_time_max: Duration::from_secs(2), ..search };
    let failure = search.clone().run().unwrap_err();
    assert!(failure.contains(": hang: runs for over 2 s"), "{failure}");
    let artifacts = files(&search.artifacts);
    // The thread that still runs the input has its own file there too.
    let artifact = artifacts.iter().find(|path| path.to_string_lossy().contains("/hang-1-")).unwrap();
    assert!(contains(&fs::read(artifact).unwrap(), b"Host: h\r\nHost: h\r\n"));
}

#[test]
fn the_running_input_is_in_a_file() {
    let directory = Arc::new(Mutex::new(PathBuf::new()));
    let artifacts = Arc::clone(&directory);
    let (_directory, search) = search(move |input: &[u8]| {
        let [running] = &files(&artifacts.lock().unwrap())[..] else { panic!("one file") };
        assert_eq!(fs::read(running).unwrap(), input);
    });
    *directory.lock().unwrap() = search.artifacts.clone();
    assert_eq!(search.run().unwrap().mutated, 5_000);
}

#[test]
fn an_input_that_ended_a_process_is_replayed_and_removed_if_it_passes() {
    let (_directory, search) = search(|input: &[u8]| assert_ne!(input, b"bad"));
    let left = ["bad", "good", "in use"].map(|text| {
        let name = format!("running-0-{text}");
        artifacts::write(&search.artifacts, &name, text.as_bytes()).unwrap()
    });
    let locked = File::open(&left[2]).unwrap();
    locked.lock().unwrap();
    let failure = search.clone().run().unwrap_err();
    assert!(failure.contains("running-0-bad"), "{failure}");
    fs::remove_file(&left[0]).unwrap();
    let summary = search.clone().run().unwrap();
    assert_eq!(summary.files, 3, "the corpus and what is not in use");
    assert_eq!(files(&search.artifacts), [left[2].clone()]);
}

#[test]
fn a_target_without_a_corpus_fails() {
    let (_directory, search) = search(|_: &[u8]| ());
    files(&search.corpus).iter().for_each(|path| fs::remove_file(path).unwrap());
    let failure = search.run().unwrap_err();
    assert!(failure.ends_with("corpus: no file in it; add at least one valid input"), "{failure}");
}
