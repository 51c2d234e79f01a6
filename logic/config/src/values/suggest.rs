//! Finds suggestions: "did you mean ...?"

use super::{quantity, scalar};
use crate::schema::{Key, Kind, Section};
use crate::syntax::tree::Value;

/// Returns the name that `wrong` was probably meant to be.
pub fn closest<'n>(wrong: &str, names: impl Iterator<Item = &'n str> + Clone) -> Option<&'n str> {
    // A comparison costs the square of the length, and a name of this length is no typing error of a short
    // one.
    const LENGTH_MAX: usize = 64;
    if wrong.len() > LENGTH_MAX {
        return None;
    }
    if let Some(name) = names.clone().find(|name| is_alike(name, wrong)) {
        return Some(name);
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

/// Returns true if two names differ only in case, and in the characters that join their words.
fn is_alike(one: &str, other: &str) -> bool {
    let plain = |byte: u8| match byte {
        b'_' | b' ' => b'-',
        byte => byte.to_ascii_lowercase(),
    };
    one.len() == other.len() && one.bytes().zip(other.bytes()).all(|(one, other)| plain(one) == plain(other))
}

pub(crate) fn did_you_mean(name: &str) -> String {
    format!("did you mean {name:?}?")
}

/// The probable meaning of an unknown key.
pub(crate) enum Meant {
    /// A key of the same table.
    Key(&'static str),
    /// A key with that name in the table below this key.
    Below(&'static str),
    /// A key with that name in this table, which contains the table with the unknown key.
    Above(&'static str),
}

/// Returns the probable meaning of an unknown key of a section. `root`: the root section of the file; `None`
/// = no search for misplaced keys.
pub(crate) fn for_key(
    root: Option<&'static Section>,
    section: &'static Section,
    wrong: &str,
) -> Option<Meant> {
    let names = || section.keys.iter().map(|key| key.name);
    if let Some(same) = names().find(|name| is_alike(name, wrong)) {
        return Some(Meant::Key(same));
    }
    let foreign =
        FOREIGN.iter().find(|(foreign, ours)| is_alike(foreign, wrong) && section.key(ours).is_some());
    if let Some((_, ours)) = foreign {
        return Some(Meant::Key(ours));
    }
    // In TOML, every key belongs to the last heading: a pool's key after the heading of a subtable belongs to
    // that subtable.
    if let Some(title) = root.and_then(|root| above(root, section, wrong)) {
        return Some(Meant::Above(title));
    }
    if let Some(name) = closest(wrong, names()) {
        return Some(Meant::Key(name));
    }
    let below = |key: &&Key| table_of(key.kind).is_some_and(|inner| inner.key(wrong).is_some());
    section.keys.iter().find(below).map(|key| Meant::Below(key.name))
}

/// Returns the table around `section` that has such a key.
fn above(root: &'static Section, section: &'static Section, wrong: &str) -> Option<&'static str> {
    let path = section.title.strip_prefix('[')?.trim_start_matches('[');
    if !path.contains('.') {
        return None;
    }
    let mut outer = Vec::new();
    around(root, path, &mut outer);
    outer.into_iter().rev().find(|section| section.key(wrong).is_some()).map(|section| section.title)
}

/// Collects the tables around the one with this path, from the outermost to the innermost.
fn around(within: &'static Section, path: &str, found: &mut Vec<&'static Section>) {
    for key in within.keys {
        let Some(section) = section_of(key.kind) else { continue };
        let own = section.title.trim_matches(['[', ']']);
        if path.strip_prefix(own).is_some_and(|rest| rest.starts_with('.')) {
            found.push(section);
            return around(section, path, found);
        }
    }
}

/// Returns a hint for a correct value.
pub(crate) fn for_value(kind: Kind, value: &Value) -> Option<String> {
    let text = |text: &crate::syntax::tree::Text| text.text.trim().to_ascii_lowercase();
    match (kind, value) {
        (Kind::Duration { min_ms, max_ms }, value) => {
            let is_right = |text: &str| scalar::duration(text, min_ms, max_ms).is_ok();
            write_one_of(&quantity::durations(value), is_right)
        }
        (Kind::Size { min, max }, value) => {
            let is_right = |text: &str| scalar::size(text, min, max).is_ok();
            write_one_of(&quantity::sizes(value), is_right)
        }
        (Kind::ByteRate, value) => {
            write_one_of(&quantity::byte_rates(value), |text| scalar::byte_rate(text).is_ok())
        }
        (Kind::Percent { min, max }, value) => {
            write_one_of(&quantity::percents(value), |text| scalar::percent(text, min, max).is_ok())
        }
        (Kind::Integer { .. } | Kind::Signed { .. }, Value::Text(there)) => {
            text(there).parse::<i64>().ok().map(|number| format!("write {number}, without quotes"))
        }
        (Kind::Number { min, max }, Value::Text(there)) => {
            let number = text(there).parse::<f64>().ok().filter(|number| (min..=max).contains(number));
            number.map(|number| format!("write {number}, without quotes"))
        }
        (Kind::Flag, Value::Text(there)) => match text(there).as_str() {
            "true" | "yes" | "on" => Some("write true".to_owned()),
            "false" | "no" | "off" => Some("write false".to_owned()),
            _ => None,
        },
        (Kind::On, Value::Text(there)) if ["on", "true", "yes"].contains(&text(there).as_str()) => {
            Some("write true".to_owned())
        }
        (Kind::Off, Value::Text(there)) if ["off", "none", "no"].contains(&text(there).as_str()) => {
            Some("write false".to_owned())
        }
        (Kind::Choice(names), Value::Float(number)) if names.contains(&number.as_str()) => {
            Some(format!("write \"{number}\""))
        }
        (Kind::Choice(names), Value::Text(there)) => {
            let there = there.text.trim();
            let same = names.iter().copied().find(|name| is_alike(name, there));
            let foreign = || {
                let known = FOREIGN_VALUES
                    .iter()
                    .find(|(foreign, ours)| is_alike(foreign, there) && names.contains(ours));
                known.map(|(_, ours)| *ours)
            };
            same.or_else(foreign).or_else(|| closest(there, names.iter().copied())).map(did_you_mean)
        }
        // A port by itself for "an address to bind", as in NGINX.
        (Kind::Text("an address to bind"), Value::Integer(Some(port @ 1..=65535))) => {
            Some(format!("write \":{port}\""))
        }
        (Kind::OneOrMany(kind), value) => for_value(*kind, value),
        (Kind::AnyOf(kinds), value) => kinds.iter().find_map(|kind| for_value(*kind, value)),
        _ => None,
    }
}

/// Returns a hint with the texts that are valid.
fn write_one_of(texts: &[String], is_right: impl Fn(&str) -> bool) -> Option<String> {
    let right: Vec<String> =
        texts.iter().filter(|text| is_right(text)).map(|text| format!("\"{text}\"")).collect();
    (!right.is_empty()).then(|| format!("write {}", right.join(" or ")))
}

/// Names of values in HAProxy, NGINX, Envoy, IPVS and others, with Weir's names.
const FOREIGN_VALUES: &[(&str, &str)] = &[
    ("leastconn", "least-connections"),
    ("least-conn", "least-connections"),
    ("roundrobin", "round-robin"),
    ("rr", "round-robin"),
    ("weighted-round-robin", "round-robin"),
    ("smooth-weighted-round-robin", "round-robin"),
    ("swrr", "round-robin"),
    ("wrr", "ipvs-wrr"),
    ("lc", "ipvs-lc"),
    ("wlc", "ipvs-wlc"),
    ("sh", "ipvs-sh"),
    ("dh", "ipvs-dh"),
    ("mh", "ipvs-mh"),
    ("twos", "ipvs-twos"),
    ("fo", "failover"),
    ("ovf", "overflow"),
    ("ip-hash", "nginx-ip-hash"),
    ("source-hash", "source"),
    ("source-ip", "source"),
    ("ring-hash", "ring"),
    ("consistent", "ring"),
    ("consistent-hash", "ring"),
    ("hrw", "rendezvous"),
    ("p2c", "random"),
    ("power-of-two", "random"),
    ("random-two", "random"),
    ("ewma", "peak-ewma"),
    ("least-time", "least-response-time"),
    ("uri", "hash"),
    ("url-param", "hash"),
    ("hdr", "hash"),
    ("tlsv1.2", "1.2"),
    ("tls1.2", "1.2"),
    ("tlsv1.3", "1.3"),
    ("tls1.3", "1.3"),
    ("clf", "common"),
    ("tcplog", "httplog"),
];

fn table_of(kind: Kind) -> Option<&'static Section> {
    match kind {
        Kind::Table(section) => Some(section),
        Kind::AnyOf(kinds) => kinds.iter().find_map(|kind| table_of(*kind)),
        _ => None,
    }
}

/// Returns the section of a kind that is a table or a set of tables.
fn section_of(kind: Kind) -> Option<&'static Section> {
    match kind {
        Kind::Table(section) | Kind::Named(_, section) | Kind::Tables(section) => Some(section),
        Kind::AnyOf(kinds) => kinds.iter().find_map(|kind| section_of(*kind)),
        Kind::OneOrMany(kind) => section_of(*kind),
        _ => None,
    }
}

/// Names of keys in other balancers, with Weir's names.
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
    ("maxqueue", "max-per-server"),
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
