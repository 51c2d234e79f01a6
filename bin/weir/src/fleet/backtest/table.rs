//! The report in a terminal.

use weir_control::Tone;
use weir_sim::{Figure, FleetReport, PolicyReport};

use crate::ctl::table::{Align, Cell, Style, Table, printable};

/// Renders the scenario, the table of results and the conclusion.
pub(super) fn render(report: &FleetReport, style: Style) -> String {
    let world = &report.world;
    let seeds = if report.seeds == 1 { "1 seed".to_owned() } else { format!("{} seeds", report.seeds) };
    let mut out = format!(
        "{}: {}, {:.1}/s on average, {:.1}/s at most; {seeds}\n\
         a server does {}/s, takes {:.0} s to start ({:.0} s to wake), {:.0} s to drain\n\n",
        printable(&report.demand),
        length(report.seconds),
        report.mean_per_s,
        report.peak_per_s,
        world.capacity_per_s,
        world.start_up_s,
        world.wake_up_s,
        world.drain_s,
    );
    out.push_str(&table(report).render("", style));
    out.push('\n');
    for line in &report.verdict {
        out.push_str(&printable(line));
        out.push('\n');
    }
    out
}

fn table(report: &FleetReport) -> Table {
    let mut table = Table::new(&[
        ("POLICY", Align::Left),
        ("SERVER-MINUTES", Align::Right),
        ("OVERLOADED S", Align::Right),
        ("WAITED S", Align::Right),
        ("REFUSED", Align::Right),
        ("CHANGES", Align::Right),
        ("MOST", Align::Right),
        ("COST", Align::Right),
        ("KWH", Align::Right),
    ]);
    for policy in &report.policies {
        table.row(vec![
            name(policy),
            figure(policy.server_minutes, 1),
            figure(policy.overloaded_s, 1),
            figure(policy.waited_s, 1),
            format!("{:.2}%", policy.refused_share.mean * 100.0).into(),
            figure(policy.changes, 1),
            policy.servers_max.to_string().into(),
            format!("{:.2}", policy.cost.mean).into(),
            format!("{:.3}", policy.energy_kwh.mean).into(),
        ]);
    }
    table
}

/// Highlights a policy that is not worse than the first one in any figure.
fn name(policy: &PolicyReport) -> Cell {
    match &policy.versus {
        Some(versus) if versus.is_no_worse() => Cell::toned(policy.name.as_str(), Tone::Good),
        _ => policy.name.as_str().into(),
    }
}

fn figure(figure: Figure, decimals: usize) -> Cell {
    let margin = match (figure.low, figure.high) {
        (Some(low), Some(high)) => format!(" ±{:.decimals$}", (high - low) / 2.0),
        _ => String::new(),
    };
    format!("{:.decimals$}{margin}", figure.mean).into()
}

fn length(seconds: usize) -> String {
    match seconds {
        0..=7_199 => format!("{} minutes", seconds.div_ceil(60)),
        _ => format!("{:.1} hours", seconds as f64 / 3_600.0),
    }
}
