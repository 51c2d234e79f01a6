//! Shows the figures: as a live screen or, without a terminal, as a sequence of tables.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::widgets::Paragraph;
use weir_lab::watch::{Moment, table};

use crate::top::{Termination, wait_for_input};

/// Time within which a signal is noticed while the screen waits for keys.
const TICK: Duration = Duration::from_millis(50);

pub(super) enum Screen {
    Terminal(Box<ratatui::DefaultTerminal>),
    Lines,
    Nothing,
}

impl Screen {
    /// Opens the screen. `live`: it may take the whole terminal.
    pub(super) fn open(is_shown: bool, live: bool) -> Self {
        if !is_shown {
            return Self::Nothing;
        }
        match live && io::stdout().is_terminal() {
            true => ratatui::try_init().map_or(Self::Lines, |terminal| Self::Terminal(Box::new(terminal))),
            false => Self::Lines,
        }
    }

    /// Returns true if the screen covers messages on standard error.
    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    /// Shows the figures. `remarks` are messages that a terminal would cover.
    pub(super) fn show(&mut self, moment: &Moment, remarks: &[String]) -> Result<(), String> {
        let shown = match self {
            Self::Terminal(terminal) => {
                let remarks: String = remarks.iter().map(|remark| format!("! {remark}\n")).collect();
                let seconds = moment.elapsed.as_secs_f64();
                let draw = |frame: &mut Frame<'_>| {
                    let tables = table(moment, Some(usize::from(frame.area().width)));
                    let text = format!("weir watch, {seconds:.0} s (q: quit)\n{remarks}\n{tables}");
                    frame.render_widget(Paragraph::new(text), frame.area());
                };
                terminal.draw(draw).map(drop)
            }
            Self::Lines => io::stdout().write_all(format!("{}\n", table(moment, None)).as_bytes()),
            Self::Nothing => Ok(()),
        };
        shown.map_err(|cause| format!("standard output: {cause}"))
    }

    /// Waits until the next reading. Returns true if the user or a signal ends the program.
    pub(super) fn wait(&mut self, until: Instant, termination: &Termination) -> Result<bool, String> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if termination.came() {
                return Ok(true);
            }
            if left.is_zero() {
                return Ok(false);
            }
            match self {
                Self::Terminal(_) => {
                    if is_told_to_end(left.min(TICK)).map_err(|cause| format!("terminal: {cause}"))? {
                        return Ok(true);
                    }
                }
                _ => return Ok(termination.came_within(left)),
            }
        }
    }
}

fn is_told_to_end(within: Duration) -> io::Result<bool> {
    let mut end = !wait_for_input(within)?;
    while event::poll(Duration::ZERO)? {
        if let Event::Key(key) = event::read()? {
            let is_interrupt =
                key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
            end |= is_interrupt || key.code == KeyCode::Char('q');
        }
    }
    Ok(end)
}

impl Drop for Screen {
    fn drop(&mut self) {
        if matches!(self, Self::Terminal(_)) {
            ratatui::restore();
        }
    }
}
