//! The fleets on the status page.

use weir_control::{FleetSnapshot, Tone, human};

use super::html::{Html, esc};
use super::{notice, parts, tile};

/// Maximum number of events on the page, the latest first.
const EVENTS_MAX: usize = 8;

/// Writes a fleet: present and needed servers, the reasons, and the latest actions. `picture`: markup of the
/// rate and servers over time.
pub(super) fn section(page: &mut Html, fleet: &FleetSnapshot, picture: Option<&str>) {
    heading(page, fleet);
    for alarm in &fleet.alarms {
        notice(page, Tone::Bad, "Alarm", alarm);
    }
    for trouble in &fleet.troubles {
        notice(page, Tone::Warning, "Trouble", trouble);
    }
    numbers(page, fleet);
    decision(page, fleet);
    if let Some(picture) = picture {
        page.add(format_args!("<div class=\"picture\">{picture}</div>\n"));
    }
    events(page, fleet);
    page.add(format_args!("</section>\n"));
}

fn heading(page: &mut Html, fleet: &FleetSnapshot) {
    page.add(format_args!("<section><h2>Fleet {} ", esc(&fleet.name)));
    let (tone, state) = match (fleet.leads, fleet.paused, fleet.pinned) {
        (false, ..) => (Tone::Warning, "not led here".to_owned()),
        (true, true, _) => (Tone::Calm, "paused".to_owned()),
        (true, false, Some(servers)) => (Tone::Calm, format!("held at {servers}")),
        (true, false, None) => (Tone::Good, "follows demand".to_owned()),
    };
    parts::badge(page, tone, &state);
    page.add(format_args!("</h2><p class=\"about\">{} to {} servers", fleet.min, fleet.max));
    page.add(format_args!(" by {} in {}", esc(&fleet.provider), esc(&fleet.pool)));
    match fleet.looked_ms_ago {
        Some(ago) => page.add(format_args!(" &middot; looked at {} ago", human::span(ago))),
        None => page.add(format_args!(" &middot; not looked at yet")),
    }
    page.add(format_args!("</p>\n"));
}

fn numbers(page: &mut Html, fleet: &FleetSnapshot) {
    page.add(format_args!("<div class=\"tiles\">"));
    let enough = if fleet.active >= fleet.wanted { Tone::Good } else { Tone::Warning };
    tile(page, "Servers now", &fleet.active.to_string(), "take requests", enough);
    let demand = match fleet.demand {
        Some(demand) => format!("demand is {demand:.1}"),
        None => "demand is not known".to_owned(),
    };
    tile(page, "Needed", &fleet.wanted.to_string(), &demand, Tone::Good);
    tile(page, "Pending", &fleet.coming.to_string(), "on their way", Tone::Good);
    tile(page, "Draining", &fleet.draining.to_string(), "finish what they have", Tone::Good);
    tile(page, "Standby", &fleet.stopped.to_string(), "can be woken", Tone::Good);
    page.add(format_args!("</div>\n"));
}

fn decision(page: &mut Html, fleet: &FleetSnapshot) {
    if !fleet.reason.is_empty() {
        page.add(format_args!(
            "<p class=\"why\"><b>Needed: {}</b>, because {}</p>\n",
            fleet.wanted,
            esc(&fleet.reason)
        ));
    }
    for policy in &fleet.policies {
        page.add(format_args!("<p class=\"why\">{}", esc(&policy.policy)));
        page.add(format_args!(" says {}: {}</p>\n", policy.wanted, esc(&policy.reason)));
    }
    let verb = if fleet.paused { "Would be done" } else { "Last decision" };
    let actions = if fleet.actions.is_empty() { "nothing".to_owned() } else { fleet.actions.join(", ") };
    page.add(format_args!("<p class=\"why\">{verb}: {}</p>\n", esc(&actions)));
}

fn events(page: &mut Html, fleet: &FleetSnapshot) {
    if fleet.events.is_empty() {
        return;
    }
    page.add(format_args!("<ul class=\"events\">"));
    for event in fleet.events.iter().rev().take(EVENTS_MAX) {
        let seconds = event.time_unix_ms / 1_000 % 86_400;
        let (h, min, s) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        page.add(format_args!("<li><time>{h:02}:{min:02}:{s:02}Z</time> {}</li>", esc(&event.text)));
    }
    page.add(format_args!("</ul>\n"));
}
