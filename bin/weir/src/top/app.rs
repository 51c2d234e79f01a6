//! State of the live view, and its keys.

use std::cmp::{Ordering, Reverse};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::widgets::TableState;
use weir_control::{NameFilter, PoolSnapshot, ServerSnapshot, Snapshot};

use super::feed::Update;
use super::recent::Recent;

/// State of the view: the data that it shows, and the user's choices.
#[derive(Debug)]
pub(super) struct App {
    pub(super) socket: PathBuf,
    /// Lines below the table. The view hides them if the terminal is too low.
    pub(super) panel: Vec<String>,
    pub(super) snapshot: Option<Box<Snapshot>>,
    pub(super) recent: Recent,
    /// Error that prevents a newer snapshot.
    pub(super) trouble: Option<String>,
    /// Filter of pools and servers.
    pub(super) names: NameFilter,
    /// Text of the filter while the user types it.
    pub(super) typed: Option<String>,
    pub(super) sort: Sort,
    pub(super) reversed: bool,
    pub(super) paused: bool,
    /// Selected line, and the scroll position of the table.
    pub(super) table: TableState,
    /// Number of lines in the table, and of visible ones. Known once the table has been drawn.
    pub(super) lines: usize,
    pub(super) lines_visible: usize,
}

/// Order of servers within their pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Config,
    Name,
    State,
    Active,
    Rate,
    Errors,
    Latency,
}

impl App {
    pub(super) fn new(socket: &Path) -> Self {
        Self {
            socket: socket.to_owned(),
            panel: Vec::new(),
            snapshot: None,
            recent: Recent::default(),
            trouble: None,
            names: NameFilter::default(),
            typed: None,
            sort: Sort::Config,
            reversed: false,
            paused: false,
            table: TableState::default(),
            lines: 0,
            lines_visible: 0,
        }
    }

    pub(super) fn update(&mut self, update: Update) {
        match update {
            Update::Snapshot(snapshot) => {
                self.trouble = None;
                if !self.paused {
                    self.recent.push(&snapshot);
                    self.snapshot = Some(snapshot);
                }
            }
            Update::Trouble(why) => self.trouble = Some(why),
        }
    }

    /// Handles a key. Returns `Break` if the user ends the view.
    pub(super) fn key(&mut self, key: KeyEvent) -> ControlFlow<()> {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && matches!(key.code, KeyCode::Char('c' | 'd')) {
            return ControlFlow::Break(());
        }
        if let Some(typed) = self.typed.take() {
            self.type_filter(typed, key.code);
            return ControlFlow::Continue(());
        }
        let page = self.lines_visible.max(1);
        let last = self.lines.saturating_sub(1);
        let at = self.table.selected();
        let selected = match key.code {
            KeyCode::Esc if !self.names.is_empty() => {
                self.select(NameFilter::default());
                return ControlFlow::Continue(());
            }
            KeyCode::Char('q') | KeyCode::Esc => return ControlFlow::Break(()),
            KeyCode::Char('/') => {
                self.typed = Some(String::new());
                at
            }
            KeyCode::Char('s') => {
                self.sort = self.sort.next();
                at
            }
            KeyCode::Char('r') => {
                self.reversed = !self.reversed;
                at
            }
            KeyCode::Char('p' | ' ') => {
                self.paused = !self.paused;
                at
            }
            KeyCode::Down | KeyCode::Char('j') => Some(at.map_or(0, |at| at + 1)),
            KeyCode::Up | KeyCode::Char('k') => Some(at.unwrap_or(1).saturating_sub(1)),
            KeyCode::PageDown => Some(at.unwrap_or(0) + page),
            KeyCode::PageUp => Some(at.unwrap_or(0).saturating_sub(page)),
            KeyCode::Home | KeyCode::Char('g') => Some(0),
            KeyCode::End | KeyCode::Char('G') => Some(last),
            _ => at,
        };
        self.table.select(selected.map(|line| line.min(last)));
        ControlFlow::Continue(())
    }

    /// Handles a key while the user types the filter. The filter applies at once; Enter keeps it, Escape
    /// removes it.
    fn type_filter(&mut self, mut typed: String, key: KeyCode) {
        match key {
            KeyCode::Enter => return,
            KeyCode::Esc => return self.select(NameFilter::default()),
            KeyCode::Backspace => drop(typed.pop()),
            KeyCode::Char(letter) => typed.push(letter),
            _ => {}
        }
        self.select(NameFilter::new(&typed));
        self.typed = Some(typed);
    }

    fn select(&mut self, names: NameFilter) {
        self.names = names;
        // The same line would now mark another server.
        self.table = TableState::default();
    }

    /// Returns the selected servers of a pool in the chosen order.
    pub(super) fn sorted<'a>(&self, pool: &'a PoolSnapshot) -> Vec<&'a ServerSnapshot> {
        let mut servers = self.names.servers(pool);
        let recent = |server: &ServerSnapshot| self.recent.of(&pool.name, &server.name);
        match self.sort {
            Sort::Config => {}
            Sort::Name => servers.sort_by(|a, b| a.name.cmp(&b.name)),
            // The worst state comes first, because users look for problems.
            Sort::State => servers.sort_by_key(|server| Reverse(server.state().tone())),
            Sort::Active => servers.sort_by_key(|server| Reverse(server.traffic.active.current)),
            Sort::Rate => servers.sort_by_key(|server| Reverse(server.traffic.request_rate.current)),
            Sort::Errors => {
                let errors =
                    |server: &ServerSnapshot| recent(server).map_or(0.0, |recent| recent.errors_per_second);
                servers.sort_by(|a, b| errors(b).partial_cmp(&errors(a)).unwrap_or(Ordering::Equal));
            }
            Sort::Latency => {
                servers.sort_by_cached_key(|server| Reverse(recent(server).and_then(|recent| recent.p99_us)))
            }
        }
        if self.reversed {
            servers.reverse();
        }
        servers
    }
}

impl Sort {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Name => "name",
            Self::State => "state",
            Self::Active => "active",
            Self::Rate => "rate",
            Self::Errors => "errors",
            Self::Latency => "p99",
        }
    }

    const fn next(self) -> Self {
        match self {
            Self::Config => Self::Name,
            Self::Name => Self::State,
            Self::State => Self::Active,
            Self::Active => Self::Rate,
            Self::Rate => Self::Errors,
            Self::Errors => Self::Latency,
            Self::Latency => Self::Config,
        }
    }
}
