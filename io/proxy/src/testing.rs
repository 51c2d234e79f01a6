//! Helpers that the tests of this crate share.

use std::sync::Arc;

use weir_config::Source;
use weir_control::RuntimeState;

use crate::control::{Controller, EventLog, Setup};
use crate::state::Shared;

/// Returns the state that one worker needs for a configuration.
pub(crate) fn shared(config: &str) -> Arc<Shared> {
    shared_by(1, config)
}

/// Returns the state that `workers` workers need for a configuration.
pub(crate) fn shared_by(workers: usize, config: &str) -> Arc<Shared> {
    let source = Source { name: "test.toml".to_owned(), text: config.to_owned() };
    let plan = weir_config::load(&[source], &|_| None).unwrap().plan;
    let log = EventLog::new(|_| {});
    let setup = Setup {
        workers,
        connections_max: 1_000,
        descriptors_max: 1_024,
        access_log: None,
        service: None,
        log,
    };
    Controller::start(plan, RuntimeState::default(), setup).unwrap().1
}
