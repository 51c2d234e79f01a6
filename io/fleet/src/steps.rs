//! Observation of single steps.

use std::fmt;
use std::rc::Rc;

/// Calls an observer after each step with an external effect: a file is written, a process is started, a
/// signal is sent. It serves traces, and tests that kill the process at that point.
#[derive(Clone, Default)]
pub struct Steps(Option<Rc<dyn Fn(&'static str)>>);

impl Steps {
    /// Calls `observer` with the name of each step.
    pub fn observed(observer: impl Fn(&'static str) + 'static) -> Self {
        Self(Some(Rc::new(observer)))
    }

    pub(crate) fn reached(&self, name: &'static str) {
        if let Some(observer) = &self.0 {
            observer(name);
        }
    }
}

impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Steps").field(&self.0.is_some()).finish()
    }
}
