//! Numbers the servers that responses name.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::tally::SERVERS_MAX;

/// Numbers of server names, which are the same in all threads.
#[derive(Debug)]
pub(super) struct ServerNames<'l> {
    all: &'l Mutex<Vec<String>>,
    known: HashMap<Vec<u8>, u32>,
}

impl<'l> ServerNames<'l> {
    pub(super) fn new(all: &'l Mutex<Vec<String>>) -> Self {
        Self { all, known: HashMap::new() }
    }

    /// Returns the number of a name; `None` = too many names.
    pub(super) fn number(&mut self, name: &[u8]) -> Option<u32> {
        if let Some(number) = self.known.get(name) {
            return Some(*number);
        }
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(name);
        let at = match all.iter().position(|other| *other == text) {
            Some(at) => at,
            None if all.len() < SERVERS_MAX => {
                all.push(text.into_owned());
                all.len() - 1
            }
            None => return None,
        };
        let number = u32::try_from(at).ok()?;
        self.known.insert(name.to_vec(), number);
        Some(number)
    }
}
