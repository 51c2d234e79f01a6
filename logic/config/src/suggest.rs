//! "Did you mean ...?"

use crate::keys::{Key, Kind, Section};
use crate::tree::Value;

/// The name that `wrong` was probably meant to be.
pub fn closest<'n>(wrong: &str, names: impl Iterator<Item = &'n str> + Clone) -> Option<&'n str> {
    // Comparing costs length times length, and nobody mistypes a name of this length by a letter.
    const LENGTH_MAX: usize = 64;
    if wrong.len() > LENGTH_MAX {
        return None;
    }
    let wrong = wrong.to_ascii_lowercase().replace('_', "-");
    let edits_max = (wrong.len() / 3).clamp(1, 3);
    let is_beginning = |name: &&str| wrong.len() >= 3 && name.starts_with(wrong.as_str());
    if let Some(name) = names.clone().find(is_beginning) {
        return Some(name);
    }
    names
        .filter(|name| name.len().abs_diff(wrong.len()) <= edits_max)
        .map(|name| (strsim::damerau_levenshtein(&wrong, &name.to_ascii_lowercase().replace('_', "-")), name))
        .filter(|(edits, _)| *edits <= edits_max)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, name)| name)
}

pub(crate) fn did_you_mean(name: &str) -> String {
    format!("did you mean {name:?}?")
}

/// What an unknown key may have been meant to be.
pub(crate) enum Meant {
    /// This key of the same table.
    Key(&'static str),
    /// A key of that name in the table below this key.
    Below(&'static str),
}

/// What to do about an unknown key of a section.
pub(crate) fn for_key(section: &'static Section, wrong: &str) -> Option<Meant> {
    let lower = wrong.to_ascii_lowercase().replace('_', "-");
    let foreign = FOREIGN.iter().find(|(foreign, ours)| *foreign == lower && section.key(ours).is_some());
    if let Some((_, ours)) = foreign {
        return Some(Meant::Key(ours));
    }
    if let Some(name) = closest(wrong, section.keys.iter().map(|key| key.name)) {
        return Some(Meant::Key(name));
    }
    let below = |key: &&Key| table_of(key.kind).is_some_and(|inner| inner.key(wrong).is_some());
    section.keys.iter().find(below).map(|key| Meant::Below(key.name))
}

/// What to write instead of a value.
pub(crate) fn for_value(kind: Kind, value: &Value) -> Option<String> {
    let text = |text: &crate::tree::Text| text.text.trim().to_ascii_lowercase();
    match (kind, value) {
        (Kind::Duration { .. }, Value::Integer(Some(number @ 0..))) => {
            Some(format!("write \"{number}s\" or \"{number}ms\""))
        }
        (Kind::Duration { .. }, Value::Text(there)) => with_unit(&text(there), DURATION_UNITS),
        (Kind::Size { .. }, Value::Integer(Some(number @ 0..))) => {
            Some(format!("write \"{number}B\" or \"{number}KiB\""))
        }
        (Kind::Size { .. }, Value::Text(there)) => with_unit(&text(there), SIZE_UNITS),
        (Kind::Percent { min, max }, Value::Integer(Some(number)))
            if (i64::from(min)..=i64::from(max)).contains(number) =>
        {
            Some(format!("write \"{number}%\""))
        }
        (Kind::Integer { .. } | Kind::Signed { .. }, Value::Text(there)) => {
            text(there).parse::<i64>().ok().map(|number| format!("write {number}, without quotes"))
        }
        (Kind::Flag, Value::Text(there)) => match text(there).as_str() {
            "true" | "yes" | "on" => Some("write true".to_owned()),
            "false" | "no" | "off" => Some("write false".to_owned()),
            _ => None,
        },
        (Kind::Off, Value::Text(there)) if ["off", "none", "no"].contains(&text(there).as_str()) => {
            Some("write false".to_owned())
        }
        (Kind::Choice(names), Value::Float(number)) if names.contains(&number.as_str()) => {
            Some(format!("write \"{number}\""))
        }
        (Kind::Choice(names), Value::Text(there)) => {
            let lower = text(there);
            let foreign =
                FOREIGN_VALUES.iter().find(|(foreign, ours)| *foreign == lower && names.contains(ours));
            if let Some((_, ours)) = foreign {
                return Some(did_you_mean(ours));
            }
            closest(&there.text, names.iter().copied()).map(did_you_mean)
        }
        (Kind::OneOrMany(kind), value) => for_value(*kind, value),
        (Kind::AnyOf(kinds), value) => kinds.iter().find_map(|kind| for_value(*kind, value)),
        _ => None,
    }
}

/// A quantity whose unit is spelled in another way.
fn with_unit(text: &str, units: &[(&str, &str)]) -> Option<String> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let (_, ours) = units.iter().find(|(theirs, _)| *theirs == unit.trim())?;
    (!number.is_empty()).then(|| format!("write \"{number}{ours}\""))
}

/// What HAProxy, NGINX, Envoy and IPVS call it, in lower case.
const FOREIGN_VALUES: &[(&str, &str)] = &[
    ("leastconn", "least-connections"),
    ("least_conn", "least-connections"),
    ("least-conn", "least-connections"),
    ("roundrobin", "round-robin"),
    ("rr", "round-robin"),
    ("wrr", "ipvs-wrr"),
    ("lc", "ipvs-lc"),
    ("wlc", "ipvs-wlc"),
    ("sh", "ipvs-sh"),
    ("dh", "ipvs-dh"),
    ("mh", "ipvs-mh"),
    ("fo", "failover"),
    ("ovf", "overflow"),
    ("ip_hash", "nginx-ip-hash"),
    ("ip-hash", "nginx-ip-hash"),
    ("ring_hash", "ring"),
    ("least_time", "least-response-time"),
    ("uri", "hash"),
    ("url_param", "hash"),
    ("hdr", "hash"),
];

/// In lower case.
const DURATION_UNITS: &[(&str, &str)] = &[
    ("msec", "ms"),
    ("millis", "ms"),
    ("milliseconds", "ms"),
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("min", "m"),
    ("mins", "m"),
    ("minute", "m"),
    ("minutes", "m"),
    ("hr", "h"),
    ("hour", "h"),
    ("hours", "h"),
    ("day", "d"),
    ("days", "d"),
];

/// In lower case.
const SIZE_UNITS: &[(&str, &str)] = &[
    ("b", "B"),
    ("bytes", "B"),
    ("k", "KiB"),
    ("kb", "KiB"),
    ("kib", "KiB"),
    ("m", "MiB"),
    ("mb", "MiB"),
    ("mib", "MiB"),
    ("g", "GiB"),
    ("gb", "GiB"),
    ("gib", "GiB"),
    ("t", "TiB"),
    ("tb", "TiB"),
    ("tib", "TiB"),
];

fn table_of(kind: Kind) -> Option<&'static Section> {
    match kind {
        Kind::Table(section) => Some(section),
        Kind::AnyOf(kinds) => kinds.iter().find_map(|kind| table_of(*kind)),
        _ => None,
    }
}

/// What other balancers call our keys.
const FOREIGN: &[(&str, &str)] = &[
    ("frontend", "listener"),
    ("entrypoint", "listener"),
    ("listen", "bind"),
    ("address", "bind"),
    ("backend", "pool"),
    ("upstream", "pool"),
    ("cluster", "pool"),
    ("default-backend", "pool"),
    ("nodes", "servers"),
    ("backends", "servers"),
    ("upstreams", "servers"),
    ("algorithm", "balance"),
    ("health-check", "check"),
    ("healthcheck", "check"),
    ("maxconn", "max-connections"),
    ("max-conns", "max-connections"),
    ("inter", "interval"),
    ("fastinter", "fast-interval"),
    ("resolvers", "resolver"),
    ("nameservers", "servers"),
    ("threads", "workers"),
    ("nbthread", "workers"),
    ("worker-processes", "workers"),
    ("location", "path"),
    ("uri", "path"),
    ("domain", "host"),
    ("hostname", "host"),
    ("source", "client"),
    ("return", "respond"),
    ("outlier-detection", "eject"),
    ("retries", "retry"),
    ("keepalive", "reuse"),
    ("log", "access-log"),
    ("stats", "admin"),
    ("metrics", "admin"),
];
