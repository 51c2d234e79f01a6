//! Tests the screens of the live view and its keys.

use std::path::Path;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use weir_control::Snapshot;

use super::app::App;
use super::draw::draw;
use super::feed::Update;
use crate::ctl::fixture;

const WIDTH: u16 = 140;

fn app() -> App {
    App::new(Path::new("/run/weir/control.sock"))
}

fn later(seconds: u64, change: impl FnOnce(&mut Snapshot)) -> Update {
    let mut snapshot = fixture::snapshot();
    snapshot.time_unix_ms += seconds * 1_000;
    change(&mut snapshot);
    Update::Snapshot(Box::new(snapshot))
}

fn screen(app: &mut App, height: u16) -> String {
    screen_of(app, WIDTH, height)
}

fn screen_of(app: &mut App, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, app)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let lines = buffer.content.chunks(usize::from(width)).map(|line| {
        let text: String = line.iter().map(|cell| cell.symbol()).collect();
        format!("{}\n", text.trim_end())
    });
    lines.collect()
}

fn press_often(app: &mut App, code: KeyCode, times: usize) {
    for _ in 0..times {
        press(app, code);
    }
}

fn press(app: &mut App, code: KeyCode) -> bool {
    app.key(KeyEvent::new(code, KeyModifiers::NONE)).is_break()
}

/// Returns the first words of the lines below the table's header.
fn order(app: &mut App) -> Vec<String> {
    let screen = screen(app, 20);
    let table = screen.lines().skip_while(|line| !line.starts_with("SERVER")).skip(1);
    table.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).take(7).collect()
}

#[test]
fn it_shows_states_loads_and_the_last_moments() {
    let mut app = app();
    app.update(later(0, |_| {}));
    app.update(later(2, |snapshot| {
        let traffic = &mut snapshot.pools[0].servers[0].traffic;
        traffic.connect_errors += 5;
        traffic.total.record(12_000, 100);
    }));
    insta::assert_snapshot!(screen(&mut app, 15));
}

#[test]
fn it_says_so_when_nobody_answers_and_keeps_what_it_knew() {
    let mut app = app();
    app.update(Update::Trouble("no such \u{1b}[31mfile".to_owned()));
    let before = screen(&mut app, 6);
    assert!(before.starts_with("not connected, trying again: no such  [31mfile\n"), "{before}");
    assert!(before.contains("waiting for the first snapshot"), "{before}");
    app.update(later(0, |_| {}));
    app.update(Update::Trouble("refused".to_owned()));
    let after = screen(&mut app, 15);
    assert!(after.starts_with("not connected, trying again: refused\n") && after.contains("w1"), "{after}");
    app.update(later(1, |_| {}));
    assert!(screen(&mut app, 15).starts_with("weir 0.1.0 on lb1"));
}

#[test]
fn servers_are_sorted_within_their_pool() {
    let mut app = app();
    app.update(later(0, |_| {}));
    app.update(later(1, |snapshot| {
        snapshot.pools[0].servers[3].traffic.connect_errors += 1;
        snapshot.pools[0].servers[4].traffic.total.record(70_000, 1);
    }));
    let expected = [
        ("config", ["web", "w1", "w2", "w3", "w4", "w9", "mail"]),
        ("name", ["web", "w1", "w2", "w3", "w4", "w9", "mail"]),
        ("state", ["web", "w3", "w2", "w4", "w1", "w9", "mail"]),
        ("active", ["web", "w2", "w1", "w4", "w3", "w9", "mail"]),
        ("rate", ["web", "w2", "w1", "w4", "w3", "w9", "mail"]),
        ("errors", ["web", "w4", "w1", "w2", "w3", "w9", "mail"]),
        ("p99", ["web", "w9", "w1", "w2", "w3", "w4", "mail"]),
    ];
    for (name, servers) in expected {
        assert_eq!(
            (app.sort.name(), order(&mut app).as_slice()),
            (name, servers.map(str::to_owned).as_slice())
        );
        press(&mut app, KeyCode::Char('s'));
    }
    press(&mut app, KeyCode::Char('r'));
    assert_eq!(order(&mut app), ["web", "w9", "w4", "w3", "w2", "w1", "mail"]);
    assert!(screen(&mut app, 15).contains("s sort (config, reversed)"));
}

#[test]
fn a_long_list_scrolls_to_the_marked_line() {
    let mut app = app();
    app.update(later(0, |snapshot| {
        let server = snapshot.pools[0].servers[0].clone();
        let named = |at: usize| {
            let mut server = server.clone();
            server.name = format!("s{at}");
            server
        };
        snapshot.pools[0].servers = (0..100).map(named).collect();
    }));
    assert!(screen(&mut app, 12).contains(" s0 "));
    press(&mut app, KeyCode::End);
    assert!(screen(&mut app, 12).contains(" m1 "), "the last pool's server is in view");
    press(&mut app, KeyCode::Home);
    press_often(&mut app, KeyCode::PageDown, 3);
    let paged = screen(&mut app, 12);
    assert!(paged.contains(" s20 ") && !paged.contains(" s0 "), "{paged}");
    press_often(&mut app, KeyCode::Down, 200);
    assert_eq!(app.table.selected(), Some(app.lines - 1));
    press_often(&mut app, KeyCode::Up, 200);
    assert_eq!(app.table.selected(), Some(0));
}

#[test]
fn while_paused_nothing_moves() {
    let mut app = app();
    app.update(later(0, |_| {}));
    press(&mut app, KeyCode::Char('p'));
    app.update(later(1, |snapshot| snapshot.process.host = "other".to_owned()));
    let paused = screen(&mut app, 15);
    assert!(paused.contains("on lb1") && paused.contains("paused"), "{paused}");
    press(&mut app, KeyCode::Char('p'));
    app.update(later(2, |snapshot| snapshot.process.host = "other".to_owned()));
    assert!(screen(&mut app, 15).contains("on other"));
}

fn press_all(app: &mut App, text: &str) {
    text.chars().for_each(|letter| assert!(!press(app, KeyCode::Char(letter))));
}

#[test]
fn a_filter_leaves_the_names_that_contain_it_while_it_is_typed_and_until_escape() {
    let mut app = app();
    app.update(later(0, |_| {}));
    press_all(&mut app, "/q2");
    press(&mut app, KeyCode::Backspace);
    press(&mut app, KeyCode::Backspace);
    press_all(&mut app, "W3");
    assert!(screen(&mut app, 15).contains("names with W3_"));
    let shown = |app: &mut App| -> Vec<String> {
        let screen = screen(app, 15);
        let rows = screen.lines().skip_while(|line| !line.starts_with("SERVER")).skip(1);
        rows.take_while(|row| !row.is_empty())
            .map(|row| row.split_whitespace().next().unwrap().to_owned())
            .collect()
    };
    assert_eq!(shown(&mut app), ["web", "w3"]);
    press(&mut app, KeyCode::Enter);
    assert!(screen(&mut app, 15).contains("only names with w3 (Esc all)  q quit"));
    assert!(screen(&mut app, 15).contains(" up 3/5 "), "a pool is counted as a whole");
    assert!(!press(&mut app, KeyCode::Esc), "it ends the filter, and not the view");
    assert_eq!(shown(&mut app).len(), 8);
    press_all(&mut app, "/mail");
    assert_eq!(shown(&mut app), ["mail", "m1"]);
    press(&mut app, KeyCode::Esc);
    assert_eq!(shown(&mut app).len(), 8);
    assert!(press(&mut app, KeyCode::Esc));
}

#[test]
fn it_ends_by_q_escape_and_control_c_only() {
    let mut app = app();
    assert!(!press(&mut app, KeyCode::Char('x')) && !press(&mut app, KeyCode::Char('c')));
    assert!(press(&mut app, KeyCode::Char('q')) && press(&mut app, KeyCode::Esc));
    assert!(app.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)).is_break());
}

fn header(app: &mut App, width: u16) -> String {
    let screen = screen_of(app, width, 12);
    let header = screen.lines().find(|line| line.starts_with("SERVER")).unwrap();
    header.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn on_a_narrow_terminal_the_less_important_columns_go() {
    let mut app = app();
    app.update(later(0, |_| {}));
    assert_eq!(header(&mut app, 139), "SERVER STATE LOAD ACTIVE RATE ERR/s P50 P99 REQUESTS WEIGHT CHECK");
    assert_eq!(header(&mut app, 138), "SERVER STATE LOAD ACTIVE RATE ERR/s P50 P99 REQUESTS WEIGHT");
    assert_eq!(header(&mut app, 97), "SERVER STATE LOAD ACTIVE RATE ERR/s P99");
    assert_eq!(header(&mut app, 80), "SERVER STATE ACTIVE RATE ERR/s P99");
}

/// Returns the fixture with limits of five digits and a listener whose line is too long for 80 columns.
fn busy() -> Update {
    later(0, |snapshot| {
        snapshot.process.version = "0.1.0, built without cedar, cel, lab, simulate, sqlite".to_owned();
        snapshot.listeners[0].bind = vec!["[2001:db8::1234]:65535".to_owned()];
        for server in &mut snapshot.pools[0].servers {
            (server.traffic.active.current, server.traffic.active.limit) = (12_300, Some(50_000));
        }
    })
}

#[test]
fn no_number_loses_its_unit_at_80_columns() {
    let mut app = app();
    app.update(busy());
    let screen = screen_of(&mut app, 80, 24);
    assert!(screen.starts_with("weir 0.1.0 on lb1  up 1d 2h  4 workers\n"), "{screen}");
    // The next part would have room only for "p99 41".
    let listener = screen.lines().find(|line| line.starts_with("http ")).unwrap();
    assert!(listener.ends_with("  5xx 1988  p50 799us"), "{screen}");
    assert_eq!(screen.matches(" 12.3k/50.0k ").count(), 5, "{screen}");
}

#[test]
fn names_of_a_fleet_are_whole_and_columns_make_room_for_them() {
    let mut app = app();
    let name = "frontend-of-the-shop-01ab23cd45ef";
    app.update(later(0, |snapshot| {
        let server = &mut snapshot.pools[0].servers[4];
        assert!(server.backup && server.origin == weir_control::Origin::Runtime);
        (server.name, server.backup) = (name.to_owned(), false);
    }));
    for width in [80, 100, 140] {
        let screen = screen_of(&mut app, width, 15);
        assert!(screen.contains(&format!("  {name} (added) ")), "{screen}");
    }
    assert_eq!(header(&mut app, 80), "SERVER STATE ACTIVE RATE");
    let narrow = screen_of(&mut app, 60, 15);
    assert!(
        narrow.contains("  frontend-") && narrow.contains("…") && narrow.contains(" (added) "),
        "{narrow}"
    );
}

#[test]
fn the_panel_stands_below_the_table_where_there_is_room() {
    let panel = vec!["In another terminal:".to_owned(), "  kill -9 503".to_owned()];
    let mut app = App { panel, ..app() };
    app.update(later(0, |_| {}));
    let screen = screen_of(&mut app, 80, 24);
    let lines: Vec<_> = screen.lines().collect();
    assert_eq!(lines[21..23], ["In another terminal:", "  kill -9 503"], "{screen}");
    assert!(lines[23].starts_with("q quit"), "{screen}");
    assert!(!screen_of(&mut app, 80, 11).contains("kill"));
}

#[test]
fn why_a_reload_was_refused_keeps_its_lines_as_far_as_there_is_room() {
    let mut app = app();
    let error = |lines: usize| -> String { (0..lines).map(|line| format!("  line {line}\n")).collect() };
    app.update(later(0, |snapshot| snapshot.process.reload_error = Some(error(2))));
    let text = screen_of(&mut app, 80, 24);
    assert!(text.contains("the last reload was refused:\n  line 0\n  line 1\nSERVER "), "{text}");
    app.update(later(1, |snapshot| snapshot.process.reload_error = Some(error(20))));
    let text = screen_of(&mut app, 80, 24);
    assert!(text.contains("  line 5\n... (all of it: weir ctl show process)\nSERVER "), "{text}");
}

#[test]
fn a_tiny_terminal_is_no_reason_to_fail() {
    let mut app = app();
    app.update(later(0, |_| {}));
    for (width, height) in [(1, 1), (2, 3), (20, 4), (300, 5)] {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, &mut app)).unwrap();
    }
}
