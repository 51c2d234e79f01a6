//! Prints the results of the servers as a table.

use std::time::Duration;

use weir_control::{PoolSnapshot, ServerSnapshot, Tone, human};

use super::server::SERVERS;
use super::traffic::{Tally, Traffic};
use crate::ctl::table::{Align, Cell, Style, Table};

/// Returns a table with a line for each server of the pool, after `elapsed` of traffic.
pub(super) fn servers(pool: &PoolSnapshot, elapsed: Duration, style: Style) -> String {
    let mut table = Table::new(&[
        ("SERVER", Align::Left),
        ("SPEED", Align::Left),
        ("STATE", Align::Left),
        ("REQUESTS", Align::Right),
        ("SHARE", Align::Right),
        ("MEAN ACTIVE", Align::Right),
        ("P50", Align::Right),
        ("P99", Align::Right),
    ]);
    let all: u64 = pool.servers.iter().map(|server| server.traffic.requests_total).sum();
    for server in &pool.servers {
        table.row(row(server, all, elapsed).into());
    }
    table.render("  ", style)
}

fn row(server: &ServerSnapshot, all: u64, elapsed: Duration) -> [Cell; 8] {
    let traffic = &server.traffic;
    let state = server.state();
    // The user may have added other servers.
    let speed = SERVERS
        .iter()
        .find(|known| known.name == server.name)
        .map_or("-".to_owned(), |known| known.service_time());
    let share = traffic.requests_total as f64 / all.max(1) as f64;
    // Little's law: mean number of active requests = arrival rate * mean time that each takes.
    let active = traffic.total.sum_us() as f64 / elapsed.as_micros().max(1) as f64;
    let quantile = |q| traffic.total.quantile_us(q).map_or("-".to_owned(), human::latency);
    [
        server.name.as_str().into(),
        speed.into(),
        Cell::toned(state.to_string(), state.tone()),
        human::count(traffic.requests_total).into(),
        format!("{:.0}%", share * 100.0).into(),
        format!("{active:.1}").into(),
        quantile(0.5).into(),
        quantile(0.99).into(),
    ]
}

/// Describes the outcome of all requests, as their sender saw it.
pub(super) fn total(traffic: &Traffic, style: Style) -> String {
    let mut text =
        format!("In {:.1} s {}", traffic.elapsed().as_secs_f64(), outcome(&traffic.tally(), style));
    if !traffic.has_kept_its_rate() {
        let note =
            format!("the servers are too slow for {} requests/s: fewer were sent", traffic.rate_per_s());
        text.push_str(&format!("\n{}", style.paint(&note, Tone::Warning)));
    }
    text
}

fn outcome(tally: &Tally, style: Style) -> String {
    let quantile = |q| tally.latency().quantile(q).map_or("-".to_owned(), human::latency);
    let tone = if tally.not_served() == 0 { Tone::Good } else { Tone::Bad };
    let counts = style.paint(&tally.describe(), tone);
    format!("{counts}; p50 {}, p99 {}", quantile(0.5), quantile(0.99))
}

/// Describes the retries with which the balancer hid a failed server from clients. Returns `None` if there
/// were none.
pub(super) fn retries(pool: &PoolSnapshot) -> Option<String> {
    match pool.traffic.retries {
        0 => None,
        1 => Some("the balancer tried 1 request again on another server".to_owned()),
        count => Some(format!("the balancer tried {count} requests again on other servers")),
    }
}

#[cfg(test)]
mod tests {
    use weir_control::{Health, Latency};

    use super::*;

    fn server(name: &str, health: Health, requests: u64, us: u64) -> ServerSnapshot {
        let mut server = ServerSnapshot { name: name.to_owned(), health, ..ServerSnapshot::default() };
        server.traffic.requests_total = requests;
        let mut latency = Latency::default();
        latency.record(us, requests);
        server.traffic.total = latency;
        server
    }

    #[test]
    fn the_table_tells_speed_state_share_and_latency() {
        let servers = vec![
            server("a", Health::Up, 300, 5_600),
            server("c", Health::Down, 100, 21_000),
            server("added", Health::NoCheck, 0, 0),
        ];
        let pool = PoolSnapshot { servers, ..PoolSnapshot::default() };
        insta::assert_snapshot!(super::servers(&pool, Duration::from_secs(3), Style::Plain), @r"
        SERVER  SPEED  STATE     REQUESTS  SHARE  MEAN ACTIVE     P50     P99
        a       15 ms  up             300    75%          0.6  5.38ms  5.38ms
        c       60 ms  down           100    25%          0.7  21.0ms  21.0ms
        added   -      no check         0     0%          0.0       -       -
        ");
    }

    #[test]
    fn the_total_is_what_clients_saw() {
        let tally = Tally::of([(200, Duration::from_millis(7)); 3]);
        let text = outcome(&tally, Style::Plain);
        assert!(text.starts_with("3 requests: 3 answered with 200, 0 failed; p50 "), "{text}");
        assert!(text.ends_with("p99 7.00ms"), "{text}");
    }

    #[test]
    fn retries_are_told_if_there_were_any() {
        let mut pool = PoolSnapshot::default();
        assert_eq!(retries(&pool), None);
        pool.traffic.retries = 2;
        assert_eq!(retries(&pool).unwrap(), "the balancer tried 2 requests again on other servers");
    }
}
