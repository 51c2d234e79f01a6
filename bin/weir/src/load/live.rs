//! Shows the progress of a run while it is active.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::crossterm::terminal::disable_raw_mode;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Paragraph;
use ratatui::{Frame, TerminalOptions, Viewport};
use weir_control::human;
use weir_lab::{Progress, Running};

use crate::ctl::table::printable;
use crate::top::{Termination, wait_for_input};

/// The way to show progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    /// A few lines of the terminal that are redrawn.
    Screen,
    /// A line at intervals.
    Lines,
    Nothing,
}

/// Maximum delay until a key press, a signal or the end of the run is noticed.
const TICK: Duration = Duration::from_millis(50);
/// Interval between columns of the screen.
const COLUMN: Duration = Duration::from_millis(500);
/// Interval between lines if there is no screen.
const LINE: Duration = Duration::from_secs(5);

/// Shows a run until its end. A signal or the key q stops the run.
pub(super) fn watch(running: &mut Running, view: View) -> Result<(), String> {
    let termination = Termination::listen().map_err(|cause| format!("signals: {cause}"))?;
    if view == View::Screen {
        let viewport = Viewport::Inline(Screen::LINES);
        if let Ok(mut terminal) = ratatui::try_init_with_options(TerminalOptions { viewport }) {
            let shown = show(running, &termination, &mut terminal);
            let cleared = terminal.clear();
            let restored = disable_raw_mode();
            return shown.and(cleared).and(restored).map_err(|cause| format!("terminal: {cause}"));
        }
    }
    let mut before = running.progress();
    let mut told = Instant::now();
    while !running.is_finished() {
        if termination.came() {
            running.stop();
        }
        std::thread::park_timeout(TICK);
        if view != View::Nothing && told.elapsed() >= LINE {
            told = Instant::now();
            let now = running.progress();
            // Ignores the error if standard error is closed.
            let _ = writeln!(io::stderr(), "{}", line(&before, &now));
            before = now;
        }
    }
    Ok(())
}

fn show(
    running: &mut Running,
    termination: &Termination,
    terminal: &mut ratatui::DefaultTerminal,
) -> io::Result<()> {
    let mut screen = Screen::new(running);
    let mut drawn = Instant::now();
    terminal.draw(|frame| screen.draw(frame))?;
    while !running.is_finished() {
        let mut stop = termination.came() || !wait_for_input(TICK)?;
        while event::poll(Duration::ZERO)? {
            if let Event::Key(key) = event::read()? {
                let is_interrupt =
                    key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
                stop |= is_interrupt || key.code == KeyCode::Char('q');
            }
        }
        if stop {
            running.stop();
        }
        if drawn.elapsed() >= COLUMN {
            drawn = Instant::now();
            screen.add(running.progress());
            terminal.draw(|frame| screen.draw(frame))?;
        }
    }
    Ok(())
}

/// Formats the changes between two progress reports as one line.
fn line(before: &Progress, now: &Progress) -> String {
    let per_s = |count: fn(&Progress) -> u64| {
        let seconds = (now.at_s - before.at_s).max(1e-3);
        human::count(((count(now) - count(before)) as f64 / seconds).round() as u64)
    };
    let quantile = |q| now.latency.quantile(q).map_or("-".to_owned(), human::latency);
    format!(
        "{:.0}s: due {}/s, sent {}/s, answered {}/s; {} late, {} failed; since the start p50 {} p99 {}",
        now.at_s,
        per_s(|progress| progress.due),
        per_s(|progress| progress.sent),
        per_s(|progress| progress.answered),
        now.late,
        now.failed,
        quantile(0.5),
        quantile(0.99)
    )
}

/// The state of the display.
#[derive(Debug)]
pub(super) struct Screen {
    title: String,
    /// Expected duration in seconds.
    lasts_s: Option<f64>,
    now: Progress,
    before: Progress,
    /// Requests of each row in each column; the newest column is last.
    columns: VecDeque<[u64; ROWS]>,
}

/// Upper bounds of the rows in microseconds. The last row holds all longer requests.
const BOUNDS: [u64; ROWS - 1] = [100, 1_000, 10_000, 100_000, 1_000_000];
const NAMES: [&str; ROWS] = ["< 100us", "< 1ms", "< 10ms", "< 100ms", "< 1s", "longer"];
const ROWS: usize = 6;
const COLUMNS_MAX: usize = 400;
const LABEL: usize = 9;
const DIM: Style = Style::new().fg(Color::DarkGray);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

impl Screen {
    pub(super) const LINES: u16 = ROWS as u16 + 4;

    fn new(running: &Running) -> Self {
        let head = running.head();
        let title = head.targets.first().map_or_else(String::new, |name| printable(name));
        Self::of(title, head.duration_s, running.progress())
    }

    pub(super) fn of(title: String, lasts_s: Option<f64>, now: Progress) -> Self {
        Self { title, lasts_s, before: now.clone(), now, columns: VecDeque::new() }
    }

    pub(super) fn add(&mut self, progress: Progress) {
        self.before = std::mem::replace(&mut self.now, progress);
        let counts = |progress: &Progress| {
            let mut counts = [progress.latency.count(); ROWS];
            for (count, up_to) in counts.iter_mut().zip(progress.latency.counts_up_to(&BOUNDS)) {
                *count = up_to;
            }
            counts
        };
        let (now, before) = (counts(&self.now), counts(&self.before));
        let in_between: [u64; ROWS] = std::array::from_fn(|row| now[row].saturating_sub(before[row]));
        // Subtracts the requests of the row below, because the counts are cumulative.
        let column = std::array::from_fn(|row| match row {
            0 => in_between[0],
            row => in_between[row].saturating_sub(in_between[row - 1]),
        });
        self.columns.push_back(column);
        if self.columns.len() > COLUMNS_MAX {
            self.columns.pop_front();
        }
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>) {
        let width = usize::from(frame.area().width).saturating_sub(LABEL + 1);
        let mut lines = vec![self.head(), self.rates(), self.faults()];
        lines.extend((0..ROWS).rev().map(|row| self.strip(row, width)));
        lines.push(Line::styled("q stops it", DIM));
        frame.render_widget(Paragraph::new(Text::from(lines)), frame.area());
    }

    fn head(&self) -> Line<'static> {
        let of = self.lasts_s.map_or(String::new(), |lasts_s| format!(" of {lasts_s:.0}s"));
        Line::from(vec![
            Span::styled(format!("{:.0}s{of}  ", self.now.at_s), BOLD),
            Span::raw(self.title.clone()),
        ])
    }

    fn rates(&self) -> Line<'static> {
        let seconds = (self.now.at_s - self.before.at_s).max(1e-3);
        let rate = |count: fn(&Progress) -> u64| (count(&self.now) - count(&self.before)) as f64 / seconds;
        let shown = |rate: f64| format!("{}/s", human::count(rate.round() as u64));
        let (asked, kept) = (rate(|progress| progress.due), rate(|progress| progress.sent));
        let kept_style = if kept < asked * 0.99 { Style::new().fg(Color::Red) } else { BOLD };
        Line::from(vec![
            Span::raw("asked "),
            Span::styled(shown(asked), BOLD),
            Span::raw("  kept "),
            Span::styled(shown(kept), kept_style),
            Span::raw("  answered "),
            Span::styled(shown(rate(|progress| progress.answered)), BOLD),
            Span::raw(format!("  {}/s", human::bytes(rate(|progress| progress.bytes_in) as u64))),
        ])
    }

    fn faults(&self) -> Line<'static> {
        let count = |name: &str, count: u64| {
            let style = if count > 0 { Style::new().fg(Color::Red) } else { DIM };
            Span::styled(format!("{name} {}  ", human::count(count)), style)
        };
        let quantile = |q| self.now.latency.quantile(q).map_or("-".to_owned(), human::latency);
        Line::from(vec![
            count("late", self.now.late),
            count("failed", self.now.failed),
            Span::styled(format!("since the start: p50 {} p99 {}", quantile(0.5), quantile(0.99)), DIM),
        ])
    }

    /// Draws one row of the latency strip. A darker cell stands for a larger share of the column's responses.
    fn strip(&self, row: usize, width: usize) -> Line<'static> {
        const SHADES: [&str; 5] = [" ", "░", "▒", "▓", "█"];
        let first = self.columns.len().saturating_sub(width);
        let cells = self.columns.iter().skip(first).map(|column| {
            let total: u64 = column.iter().sum();
            let share = column[row] as f64 / total.max(1) as f64;
            // Even one response in a thousand is visible.
            let shade = if column[row] == 0 { 0 } else { 1 + (share.sqrt() * 3.0).round() as usize };
            SHADES[shade.min(4)]
        });
        let colour = [Color::Green, Color::Green, Color::Cyan, Color::Yellow, Color::Red, Color::Red][row];
        Line::from(vec![
            Span::styled(format!("{:>LABEL$} ", NAMES[row]), DIM),
            Span::styled(cells.collect::<String>(), Style::new().fg(colour)),
        ])
    }
}
