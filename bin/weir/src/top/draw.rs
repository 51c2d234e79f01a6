use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Cell, Paragraph, Row, Table};
use weir_control::{BreakerStatus, ListenerSnapshot, PoolSnapshot, ServerSnapshot, Snapshot, Tone, human};

use super::app::App;
use super::recent::LastMoments;
use crate::ctl::table::printable;
use crate::ctl::tables;

const BAR_CELLS: usize = 12;
const DIM: Style = Style::new().fg(Color::DarkGray);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

/// Draws everything. Takes what it learns of the table's size back to `app`.
pub(super) fn draw(frame: &mut Frame<'_>, app: &mut App) {
    let head = head(app);
    let rows = [Constraint::Length(head.len() as u16), Constraint::Min(1), Constraint::Length(1)];
    let [top, middle, bottom] = Layout::vertical(rows).areas(frame.area());
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

fn head(app: &App) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(trouble) = &app.trouble {
        let text = format!("not connected, trying again: {}", printable(trouble));
        lines.push(Line::styled(text, colour(Tone::Bad).add_modifier(Modifier::BOLD)));
    }
    let Some(snapshot) = &app.snapshot else {
        lines.push(Line::from(format!("weir top, {}", app.socket.display())));
        return lines;
    };
    let process = &snapshot.process;
    lines.push(Line::from(vec![
        Span::styled(format!("weir {} on {}", printable(&process.version), printable(&process.host)), BOLD),
        Span::raw(format!("  up {}  {} workers", human::span(process.uptime_ms), process.workers)),
    ]));
    let limit = process.connections.limit.map_or(String::new(), |limit| format!("/{}", human::count(limit)));
    lines.push(Line::from(vec![
        Span::raw("connections "),
        Span::styled(format!("{}{limit}", human::count(process.connections.current)), BOLD),
        Span::raw("  requests "),
        Span::styled(format!("{}/s", human::count(process.request_rate.current)), BOLD),
        Span::styled(format!(" most {}/s", human::count(process.request_rate.max)), DIM),
    ]));
    lines.extend(snapshot.listeners.iter().map(listener));
    for (tone, text) in tables::notices(process) {
        lines.push(Line::styled(text, colour(tone)));
    }
    lines
}

fn listener(listener: &ListenerSnapshot) -> Line<'static> {
    let quantile = |q| listener.duration.quantile_us(q).map_or("-".to_owned(), human::latency);
    Line::from(vec![
        Span::raw(format!("{} {} ", printable(&listener.name), printable(&listener.bind.join(",")))),
        Span::styled(listener.status.name(), colour(listener.status.tone())),
        Span::raw(format!("  {} open", human::count(listener.connections.current))),
        Span::raw(format!("  {}/s", human::count(listener.request_rate.current))),
        Span::raw(format!("  5xx {}", human::count(listener.responses.server_error))),
        Span::styled(format!("  since start: p50 {} p99 {}", quantile(0.5), quantile(0.99)), DIM),
    ])
}

/// A column of the table.
struct Column {
    name: &'static str,
    width: u16,
    /// Numbers stand to the right.
    is_number: bool,
    /// On a narrow terminal the columns with the highest rank go first.
    rank: u8,
}

const COLUMNS: [Column; 11] = [
    column("SERVER", 22, 0),
    column("STATE", 18, 0),
    column("LOAD", BAR_CELLS as u16, 1),
    number("ACTIVE", 9, 0),
    number("RATE", 8, 0),
    number("ERR/s", 6, 0),
    number("P50", 7, 2),
    number("P99", 7, 0),
    number("REQUESTS", 8, 3),
    number("WEIGHT", 6, 4),
    column("CHECK", 24, 5),
];

const fn column(name: &'static str, width: u16, rank: u8) -> Column {
    Column { name, width, is_number: false, rank }
}

const fn number(name: &'static str, width: u16, rank: u8) -> Column {
    Column { name, width, is_number: true, rank }
}

/// The highest rank whose columns have room, one blank between two.
fn rank_that_fits(width: u16) -> u8 {
    let needed =
        |rank: u8| COLUMNS.iter().filter(|column| column.rank <= rank).map(|column| column.width + 1).sum();
    (0..=5).rev().find(|rank| width + 1 >= needed(*rank)).unwrap_or(0)
}

/// A row without the cells of hidden columns.
fn visible<'a>(cells: [Cell<'a>; COLUMNS.len()], rank: u8) -> Row<'a> {
    let shown = COLUMNS.iter().zip(cells).filter(|(column, _)| column.rank <= rank);
    Row::new(shown.map(|(_, cell)| cell).collect::<Vec<_>>())
}

fn table(frame: &mut Frame<'_>, area: Rect, app: &mut App, snapshot: &Snapshot) {
    let rank = rank_that_fits(area.width);
    let rows: Vec<Row<'_>> = snapshot
        .pools
        .iter()
        .flat_map(|pool| {
            let most = pool.servers.iter().map(|server| server.traffic.active.current).max().unwrap_or(0);
            let servers = app.sorted(pool).into_iter();
            let recent = |server: &ServerSnapshot| app.recent.of(&pool.name, &server.name);
            let rows = servers.map(|server| visible(server_cells(server, most, recent(server)), rank));
            let head = visible(pool_cells(pool), rank).style(BOLD);
            std::iter::once(head).chain(rows.collect::<Vec<_>>())
        })
        .collect();
    app.lines = rows.len();
    app.lines_visible = usize::from(area.height.saturating_sub(1));
    let shown = || COLUMNS.iter().filter(|column| column.rank <= rank);
    let header = shown().map(|column| match column.is_number {
        true => right(column.name.to_owned(), column.width.into()),
        false => Cell::from(column.name),
    });
    let header = Row::new(header.collect::<Vec<_>>()).style(DIM);
    let table = Table::new(rows, shown().map(|column| Constraint::Length(column.width)))
        .header(header)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    frame.render_stateful_widget(table, area, &mut app.table);
}

fn pool_cells(pool: &PoolSnapshot) -> [Cell<'static>; COLUMNS.len()] {
    let status = pool.status();
    let (active, backup) = pool.usable();
    let state = format!("{} {}/{}", status.name(), active + backup, pool.servers.len());
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
        Cell::from(printable(&pool.name)),
        Cell::from(state).style(colour(pool.tone())),
        Cell::from(queue).style(colour(Tone::Warning)),
        right(human::count(traffic.active.current), 9),
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
        Cell::from(format!("  {}", printable(&tables::name(server)))),
        Cell::from(state.to_string()).style(colour(state.tone())),
        bar(traffic.active.current, traffic.active.limit.unwrap_or(most_active)),
        right(active, 9),
        right(format!("{}/s", human::count(traffic.request_rate.current)), 8),
        right(format!("{errors:.1}"), 6).style(if errors > 0.0 { colour(Tone::Bad) } else { DIM }),
        right(quantile(recent.and_then(|recent| recent.p50_us)), 7),
        right(quantile(recent.and_then(|recent| recent.p99_us)), 7),
        right(human::count(traffic.requests_total), 8),
        right(server.weight.to_string(), 6),
        Cell::from(check.text).style(check_style),
    ]
}

/// How busy a server is: of its limit, or next to the busiest of its pool.
fn bar(active: u64, of: u64) -> Cell<'static> {
    let eighths = active.saturating_mul(BAR_CELLS as u64 * 8).checked_div(of).unwrap_or(0);
    let eighths = (eighths as usize).min(BAR_CELLS * 8);
    let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    let filled = format!("{}{part}", "█".repeat(eighths / 8));
    let tone = if eighths >= BAR_CELLS * 8 * 9 / 10 { Color::Yellow } else { Color::Blue };
    Cell::from(filled).style(Style::new().fg(tone))
}

fn foot(app: &App) -> Line<'static> {
    let direction = if app.reversed { ", reversed" } else { "" };
    let mut spans = vec![Span::styled(
        format!("q quit  s sort ({}{direction})  r reverse  p pause  arrows move", app.sort.name()),
        DIM,
    )];
    if app.paused {
        spans.push(Span::styled("  paused", colour(Tone::Warning).add_modifier(Modifier::BOLD)));
    }
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
