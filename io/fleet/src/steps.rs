use std::fmt;
use std::rc::Rc;

/// Is told of every step after which the world is another one: something is on disk, a process runs, a signal is sent. For
/// traces, and for tests that end the process right there.
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
