//! Draws the live view.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Cell, Paragraph, Row, Table};
use weir_control::{BreakerStatus, ListenerSnapshot, PoolSnapshot, ServerSnapshot, Snapshot, Tone, human};

use super::app::App;
use super::lines;
use super::recent::LastMoments;
use crate::ctl::table::printable;
use crate::ctl::tables;

const BAR_CELLS: usize = 12;
const DIM: Style = Style::new().fg(Color::DarkGray);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

/// Smallest height of the table with its header, in lines. The panel is hidden if it would leave less.
const TABLE_LINES_MIN: usize = 6;

/// Highest number of lines of one notice.
const NOTICE_LINES_MAX: usize = 8;

/// Draws everything. Stores the table's size in `app`.
pub(super) fn draw(frame: &mut Frame<'_>, app: &mut App) {
    let (width, height) = (usize::from(frame.area().width), usize::from(frame.area().height));
    let head = head(app, width);
    let mut panel: Vec<_> = app.panel.iter().flat_map(|line| lines::wrapped(line, width)).collect();
    if head.len() + TABLE_LINES_MIN + panel.len() + 1 > height {
        panel.clear();
    }
    let length = |lines: usize| Constraint::Length(u16::try_from(lines).unwrap_or(u16::MAX));
    let rows = [length(head.len()), Constraint::Min(1), length(panel.len()), Constraint::Length(1)];
    let [top, middle, below, bottom] = Layout::vertical(rows).areas(frame.area());
    let panel: Vec<_> = panel.into_iter().map(Line::from).collect();
    frame.render_widget(Paragraph::new(Text::from(panel)), below);
    frame.render_widget(Paragraph::new(Text::from(head)), top);
    match app.snapshot.take() {
        Some(snapshot) => {
            table(frame, middle, app, &snapshot);
            app.snapshot = Some(snapshot);
        }
        None => frame.render_widget(Paragraph::new("waiting for the first snapshot").style(DIM), middle),
    }
    frame.render_widget(Paragraph::new(foot(app)), bottom);
}

fn head(app: &App, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(trouble) = &app.trouble {
        let text = format!("not connected, trying again: {}", printable(trouble));
        lines.extend(notice(&text, Tone::Bad, Modifier::BOLD, width));
    }
    let Some(snapshot) = &app.snapshot else {
        lines.push(Line::from(format!("weir top, {}", app.socket.display())));
        return lines;
    };
    let process = &snapshot.process;
    // The list of features that a build lacks would fill a narrow line.
    let version = process.version.split(',').next().unwrap_or_default();
    lines.push(lines::whole_parts(
        vec![
            Span::styled(format!("weir {} on {}", printable(version), printable(&process.host)), BOLD),
            Span::raw(format!("  up {}", human::span(process.uptime_ms))),
            Span::raw(format!("  {} workers", process.workers)),
        ],
        width,
    ));
    let limit = process.connections.limit.map_or(String::new(), |limit| format!("/{}", human::count(limit)));
    lines.push(lines::whole_parts(
        vec![
            Span::raw("connections "),
            Span::styled(format!("{}{limit}", human::count(process.connections.current)), BOLD),
            Span::raw("  requests "),
            Span::styled(format!("{}/s", human::count(process.request_rate.current)), BOLD),
            Span::styled(format!(" most {}/s", human::count(process.request_rate.max)), DIM),
        ],
        width,
    ));
    lines.extend(snapshot.listeners.iter().map(|it| lines::whole_parts(listener(it), width)));
    for (tone, text) in tables::notices(process) {
        lines.extend(notice(&text, tone, Modifier::empty(), width));
    }
    lines
}

/// Breaks a notice into lines. Cuts a long one, because the table needs room.
fn notice(text: &str, tone: Tone, modifier: Modifier, width: usize) -> Vec<Line<'static>> {
    let style = colour(tone).add_modifier(modifier);
    let mut lines: Vec<_> = text.lines().flat_map(|line| lines::wrapped(line, width)).collect();
    if lines.len() > NOTICE_LINES_MAX {
        lines.truncate(NOTICE_LINES_MAX - 1);
        lines.push("... (all of it: weir ctl show process)".to_owned());
    }
    lines.into_iter().map(|line| Line::styled(line, style)).collect()
}

fn listener(listener: &ListenerSnapshot) -> Vec<Span<'static>> {
    let quantile = |q| listener.duration.quantile_us(q).map_or("-".to_owned(), human::latency);
    vec![
        Span::raw(format!("{} {} ", printable(&listener.name), printable(&listener.bind.join(",")))),
        Span::styled(listener.status.name(), colour(listener.status.tone())),
        Span::raw(format!("  {} open", human::count(listener.connections.current))),
        Span::raw(format!("  {}/s", human::count(listener.request_rate.current))),
        Span::raw(format!("  5xx {}", human::count(listener.responses.server_error))),
        Span::styled(format!("  p50 {}", quantile(0.5)), DIM),
        Span::styled(format!("  p99 {}", quantile(0.99)), DIM),
        Span::styled("  since the start", DIM),
    ]
}

/// Column of the table.
struct Column {
    name: &'static str,
    width: u16,
    /// True for numbers, which are aligned right.
    is_number: bool,
    /// Priority on a narrow terminal: the columns with the highest rank are hidden first.
    rank: u8,
}

const COLUMNS: [Column; 11] = [
    column("SERVER", 22, 0),
    column("STATE", 18, 0),
    column("LOAD", BAR_CELLS as u16, 2),
    number("ACTIVE", 11, 0),
    number("RATE", 8, 0),
    number("ERR/s", 6, 1),
    number("P50", 7, 3),
    number("P99", 7, 1),
    number("REQUESTS", 8, 4),
    number("WEIGHT", 6, 5),
    column("CHECK", 24, 6),
];

const NAME: usize = 0;
const STATE: usize = 1;
const CHECK: usize = COLUMNS.len() - 1;
const RANK_MAX: u8 = 6;

const fn column(name: &'static str, width: u16, rank: u8) -> Column {
    Column { name, width, is_number: false, rank }
}

const fn number(name: &'static str, width: u16, rank: u8) -> Column {
    Column { name, width, is_number: true, rank }
}

/// Visible columns and their widths.
struct Widths {
    /// Highest rank of the visible columns.
    rank: u8,
    columns: [u16; COLUMNS.len()],
}

impl Widths {
    /// Hides columns until names of this width fit, those of the highest rank first. Cuts names if they do
    /// not fit beside the columns of rank 0.
    fn fitting(width: u16, name: u16, state: u16) -> Self {
        let mut columns = COLUMNS.map(|column| column.width);
        columns[NAME] = columns[NAME].max(name);
        columns[STATE] = columns[STATE].max(state);
        let needed = |columns: &[u16], rank: u8| -> u16 {
            let shown = COLUMNS.iter().zip(columns).filter(|(column, _)| column.rank <= rank);
            // One space separates two columns.
            shown.map(|(_, width)| width.saturating_add(1)).fold(0, u16::saturating_add).saturating_sub(1)
        };
        let rank = (0..=RANK_MAX).rev().find(|rank| needed(&columns, *rank) <= width);
        let excess = needed(&columns, 0).saturating_sub(width);
        if rank.is_none() {
            let spare = (columns[STATE] - state).min(excess);
            columns[STATE] -= spare;
            columns[NAME] = columns[NAME].saturating_sub(excess - spare).max(1);
        }
        let rank = rank.unwrap_or(0);
        columns[CHECK] += width.saturating_sub(needed(&columns, rank));
        Self { rank, columns }
    }

    fn shown(&self) -> impl Iterator<Item = (&'static Column, u16)> {
        let columns = COLUMNS.iter().zip(self.columns);
        let rank = self.rank;
        columns.filter(move |(column, _)| column.rank <= rank)
    }

    /// Builds a row without the cells of hidden columns.
    fn row<'a>(&self, cells: [Cell<'a>; COLUMNS.len()]) -> Row<'a> {
        let shown = COLUMNS.iter().zip(cells).filter(|(column, _)| column.rank <= self.rank);
        Row::new(shown.map(|(_, cell)| cell).collect::<Vec<_>>())
    }
}

/// Returns the widths of the longest name and of the longest state.
fn widest(snapshot: &Snapshot) -> (u16, u16) {
    let mut widest = (0, 0);
    let mut add = |name: &str, state: &str| {
        let width = |text: &str| u16::try_from(text.chars().count()).unwrap_or(u16::MAX);
        widest = (widest.0.max(width(name)), widest.1.max(width(state)));
    };
    for pool in &snapshot.pools {
        add(&pool.name, &pool_state(pool));
        pool.servers.iter().for_each(|server| add(&server_name(server), &server.state().to_string()));
    }
    widest
}

fn server_name(server: &ServerSnapshot) -> String {
    format!("  {}", printable(&tables::name(server)))
}

fn pool_state(pool: &PoolSnapshot) -> String {
    let (active, backup) = pool.usable();
    format!("{} {}/{}", pool.status().name(), active + backup, pool.servers.len())
}

fn table(frame: &mut Frame<'_>, area: Rect, app: &mut App, snapshot: &Snapshot) {
    let (name, state) = widest(snapshot);
    let widths = Widths::fitting(area.width, name, state);
    let name_width = usize::from(widths.columns[NAME]);
    let rows: Vec<Row<'_>> = snapshot
        .pools
        .iter()
        .filter(|pool| app.names.shows(pool))
        .flat_map(|pool| {
            let most = pool.servers.iter().map(|server| server.traffic.active.current).max().unwrap_or(0);
            let servers = app.sorted(pool).into_iter();
            let recent = |server: &ServerSnapshot| app.recent.of(&pool.name, &server.name);
            let rows =
                servers.map(|server| widths.row(server_cells(server, most, recent(server), name_width)));
            let head = widths.row(pool_cells(pool, name_width)).style(BOLD);
            std::iter::once(head).chain(rows.collect::<Vec<_>>())
        })
        .collect();
    app.lines = rows.len();
    app.lines_visible = usize::from(area.height.saturating_sub(1));
    let header = widths.shown().map(|(column, width)| match column.is_number {
        true => right(column.name.to_owned(), width.into()),
        false => Cell::from(column.name),
    });
    let header = Row::new(header.collect::<Vec<_>>()).style(DIM);
    let table = Table::new(rows, widths.shown().map(|(_, width)| Constraint::Length(width)))
        .header(header)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    frame.render_stateful_widget(table, area, &mut app.table);
}

fn pool_cells(pool: &PoolSnapshot, name_width: usize) -> [Cell<'static>; COLUMNS.len()] {
    let traffic = &pool.traffic;
    let faults = [("none left", pool.nobody_left), ("busy", pool.busy), ("retries", traffic.retries)];
    let faults: Vec<_> = faults
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(what, count)| format!("{what} {}", human::count(*count)))
        .collect();
    let queue = match pool.breaker {
        Some(breaker) if breaker.state != BreakerStatus::Closed => {
            format!("breaker {}", breaker.state.name())
        }
        _ if pool.queue.current > 0 => format!("queue {}", pool.queue.current),
        _ => String::new(),
    };
    [
        Cell::from(lines::shortened(&printable(&pool.name), name_width)),
        Cell::from(pool_state(pool)).style(colour(pool.tone())),
        Cell::from(queue).style(colour(Tone::Warning)),
        right(human::count(traffic.active.current), 11),
        right(format!("{}/s", human::count(traffic.request_rate.current)), 8),
        Cell::from(""),
        Cell::from(""),
        Cell::from(""),
        right(human::count(traffic.requests_total), 8),
        Cell::from(""),
        Cell::from(faults.join(", ")),
    ]
}

fn server_cells(
    server: &ServerSnapshot,
    most_active: u64,
    recent: Option<LastMoments>,
    name_width: usize,
) -> [Cell<'static>; COLUMNS.len()] {
    let state = server.state();
    let traffic = &server.traffic;
    let active = match traffic.active.limit {
        Some(limit) => format!("{}/{}", human::count(traffic.active.current), human::count(limit)),
        None => human::count(traffic.active.current),
    };
    let errors = recent.map_or(0.0, |recent| recent.errors_per_second);
    let quantile = |us: Option<u64>| us.map_or("-".to_owned(), human::latency);
    let check = tables::check(server);
    let check_style = check.tone.map_or(DIM, colour);
    [
        Cell::from(lines::shortened(&server_name(server), name_width)),
        Cell::from(state.to_string()).style(colour(state.tone())),
        bar(traffic.active.current, traffic.active.limit.unwrap_or(most_active)),
        right(active, 11),
        right(format!("{}/s", human::count(traffic.request_rate.current)), 8),
        right(errors_per_second(errors), 6).style(if errors > 0.0 { colour(Tone::Bad) } else { DIM }),
        right(quantile(recent.and_then(|recent| recent.p50_us)), 7),
        right(quantile(recent.and_then(|recent| recent.p99_us)), 7),
        right(human::count(traffic.requests_total), 8),
        right(server.weight.to_string(), 6),
        Cell::from(check.text).style(check_style),
    ]
}

/// Returns `0.5`, `12.3`, `1234` or `12.3k`.
fn errors_per_second(errors: f64) -> String {
    if errors < 1_000.0 { format!("{errors:.1}") } else { human::count(errors.round() as u64) }
}

/// Draws the load of a server: relative to its limit, or to the busiest server of its pool.
fn bar(active: u64, of: u64) -> Cell<'static> {
    let eighths = active.saturating_mul(BAR_CELLS as u64 * 8).checked_div(of).unwrap_or(0);
    let eighths = (eighths as usize).min(BAR_CELLS * 8);
    let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    let filled = format!("{}{part}", "█".repeat(eighths / 8));
    let tone = if eighths >= BAR_CELLS * 8 * 9 / 10 { Color::Yellow } else { Color::Blue };
    Cell::from(filled).style(Style::new().fg(tone))
}

fn foot(app: &App) -> Line<'static> {
    if let Some(typed) = &app.typed {
        return Line::from(vec![
            Span::styled("names with ", DIM),
            Span::styled(format!("{}_", printable(typed)), BOLD),
            Span::styled("  Enter keep  Esc all", DIM),
        ]);
    }
    let direction = if app.reversed { ", reversed" } else { "" };
    let keys =
        format!("q quit  / filter  s sort ({}{direction})  r reverse  p pause  arrows move", app.sort.name());
    let mut spans = Vec::new();
    if !app.names.is_empty() {
        let style = colour(Tone::Warning).add_modifier(Modifier::BOLD);
        spans.push(Span::styled(
            format!("only names with {} (Esc all)  ", printable(app.names.text())),
            style,
        ));
    }
    if app.paused {
        spans.push(Span::styled("paused  ", colour(Tone::Warning).add_modifier(Modifier::BOLD)));
    }
    spans.push(Span::styled(keys, DIM));
    Line::from(spans)
}

fn right(text: String, width: usize) -> Cell<'static> {
    Cell::from(format!("{text:>width$}"))
}

const fn colour(tone: Tone) -> Style {
    Style::new().fg(match tone {
        Tone::Good => Color::Green,
        Tone::Calm => Color::Cyan,
        Tone::Warning => Color::Yellow,
        Tone::Bad => Color::Red,
    })
}
