//! Runs one target on inputs that failed before, on its corpus, and on mutations of the corpus until the time
//! is up.
//!
//! The target runs in its own thread, so that the test can give up on an input that hangs.

#[cfg(test)]
mod tests;

use std::any::Any;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use weir_fuzz::TARGETS;

use crate::artifacts::{self, RunningInput};
use crate::corpus;
use crate::mutator::Mutator;

/// Time after which an input counts as hanging. Inputs take milliseconds; the rest is a margin for busy
/// machines.
const INPUT_TIME_MAX: Duration = Duration::from_secs(60);

/// Stack size of a main thread, in which libFuzzer runs targets. Unoptimised parsers have larger frames than
/// release builds.
const STACK_BYTES: usize = 8 << 20;

/// A target and the settings of its search.
#[derive(Debug, Clone)]
pub(crate) struct Search<T> {
    name: String,
    target: T,
    corpus: PathBuf,
    artifacts: PathBuf,
    seed: u64,
    time: Duration,
    iterations_max: u64,
    input_time_max: Duration,
}

/// Result of a search without a failure.
#[derive(Debug)]
pub(crate) struct Summary {
    /// Number of replayed files.
    files: usize,
    mutated: u64,
    time: Duration,
}

/// Source of an input.
#[derive(Debug, Clone)]
enum Origin {
    File(PathBuf),
    Mutation { iteration: u64 },
}

/// The input that runs now.
struct Current {
    origin: Origin,
    input: Vec<u8>,
    since: Instant,
}

type Slot = Arc<Mutex<Option<Current>>>;

impl Search<weir_fuzz::Target> {
    /// Returns the search of a row of [`TARGETS`], with settings from the environment.
    pub(crate) fn of(name: &str) -> Self {
        let row = TARGETS.iter().find(|(row, _)| *row == name);
        let (_, target) = row.unwrap_or_else(|| panic!("TARGETS of fuzz/src/lib.rs has no row {name:?}"));
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self {
            name: name.to_owned(),
            target: *target,
            corpus: package.join("corpus").join(name),
            artifacts: package.join("artifacts").join(name),
            seed: number("WEIR_FUZZ_SEED", 1),
            time: Duration::from_secs(number("WEIR_FUZZ_SECONDS", 5)),
            iterations_max: u64::MAX,
            input_time_max: INPUT_TIME_MAX,
        }
    }

    /// Runs the search and prints its result, or panics.
    pub(crate) fn run_and_report(self) {
        let (name, seed) = (self.name.clone(), self.seed);
        match self.run() {
            Ok(Summary { files, mutated, time }) => {
                let seconds = time.as_secs_f64();
                // libtest shows the output of println! only for failed tests.
                let _ = writeln!(
                    std::io::stderr(),
                    "fuzz target {name}: {files} files, {mutated} mutated inputs in {seconds:.1} s, seed {seed}"
                );
            }
            Err(failure) => panic!("{failure}"),
        }
    }
}

impl<T: Fn(&[u8]) + Clone + Send + 'static> Search<T> {
    /// Runs the search.
    ///
    /// # Errors
    /// If an input panics or hangs, or a file cannot be read or written.
    pub(crate) fn run(self) -> Result<Summary, String> {
        let slot = Slot::default();
        let (done, result) = mpsc::channel();
        let worker = {
            let (search, slot) = (self.clone(), Arc::clone(&slot));
            move || drop(done.send(search.run_all(&slot)))
        };
        let thread =
            thread::Builder::new().name(format!("fuzz target {}", self.name)).stack_size(STACK_BYTES);
        let thread = thread.spawn(worker).map_err(|error| format!("a thread for {}: {error}", self.name))?;
        let mut wait = self.input_time_max;
        loop {
            match result.recv_timeout(wait) {
                Ok(result) => {
                    // The thread is about to end. Wait until it has removed its temporary directories.
                    let _ = thread.join();
                    return result;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(format!("fuzz target {}: its thread panicked outside the target", self.name));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            let current = slot.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(Current { origin, input, since }) = current.as_ref() else { continue };
            wait = self.input_time_max.saturating_sub(since.elapsed());
            if wait.is_zero() {
                let limit = self.input_time_max.as_secs_f64();
                return Err(self.failure("hang", &format!("runs for over {limit} s"), origin, input));
            }
        }
    }

    fn run_all(&self, slot: &Slot) -> Result<Summary, String> {
        let corpus = corpus::read(&self.corpus)?;
        let failed_before = artifacts::read(&self.artifacts)?;
        let mut running = RunningInput::create(&self.artifacts)?;
        for file in failed_before.iter().chain(&corpus) {
            self.run_one(Origin::File(file.path.clone()), file.bytes.clone(), slot, &mut running)?;
            running.remove_if_left_behind(&file.path);
        }
        let mutator = Mutator::new(&corpus, self.seed);
        let begin = Instant::now();
        let mut mutated = 0;
        while mutated < self.iterations_max && begin.elapsed() < self.time {
            let input = mutator.input(mutated);
            self.run_one(Origin::Mutation { iteration: mutated }, input, slot, &mut running)?;
            mutated += 1;
        }
        Ok(Summary { files: failed_before.len() + corpus.len(), mutated, time: begin.elapsed() })
    }

    fn run_one(
        &self,
        origin: Origin,
        input: Vec<u8>,
        slot: &Slot,
        running: &mut RunningInput,
    ) -> Result<(), String> {
        let set = |current| *slot.lock().unwrap_or_else(PoisonError::into_inner) = current;
        running.set(&input)?;
        set(Some(Current { origin: origin.clone(), input: input.clone(), since: Instant::now() }));
        let result = catch_unwind(AssertUnwindSafe(|| (self.target)(&input)));
        set(None);
        result.map_err(|panic| self.failure("panic", &message_of(&*panic), &origin, &input))
    }

    /// Describes a failure and how to repeat it. Writes a mutated input to a file.
    fn failure(&self, kind: &str, why: &str, origin: &Origin, input: &[u8]) -> String {
        let (source, path) = match origin {
            Origin::File(path) => ("replay".to_owned(), Ok(path.clone())),
            Origin::Mutation { iteration } => (
                format!("seed {}, iteration {iteration}", self.seed),
                artifacts::write(&self.artifacts, &format!("{kind}-{}-{iteration}", self.seed), input),
            ),
        };
        let name = &self.name;
        let file = path.map_or_else(|error| error, |path| path.display().to_string());
        format!(
            "fuzz target {name}, {source}: {kind}: {why}\n\
             input ({} bytes): {file}\n\
             replay: WEIR_FUZZ_SECONDS=0 cargo test -p weir-fuzz --test replay -- --exact fuzz_target::{name}",
            input.len()
        )
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

fn number<N: FromStr>(variable: &str, default: N) -> N {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable}={text:?}: expected a whole number")),
        Err(_) => default,
    }
}
