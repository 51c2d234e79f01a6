//! Reads `balance`, in its short or its long form.

use weir_balance::{
    Algorithm, HashFunction, HashOptions, Hundredths, MeasureOptions, ResponseEnd, RingPoints,
};
use weir_http::expression::ExpressionUse;
use weir_http::{RequestKey, UriPart};

use super::keys::EXPRESSION;
use super::plan::{HashPlan, KeyPlan};
use crate::common::expression;
use crate::common::header::is_token;
use crate::syntax::source::Located;
use crate::syntax::tree::{Value, short};
use crate::values::suggest;
use crate::values::table::Table;

/// Reads the algorithm of a pool, its hash settings and its measurement options.
pub(crate) fn read(pool: &Table<'_, '_>) -> (Algorithm, HashPlan, MeasureOptions) {
    let table = pool.table("balance");
    let is_long = pool.get("balance").is_some_and(|node| matches!(node.value, Value::Table(_)));
    let name = if is_long { table.text("algorithm") } else { pool.text("balance") };
    let algorithm: Algorithm = name.parse().unwrap_or_default();
    let key = key(&table).unwrap_or_else(|| default_key(algorithm));
    let options = options(&table, algorithm);
    // The options of an unknown algorithm are unknown, too.
    if name == algorithm.name() {
        if needs_key(algorithm) && table.get("key").is_none() {
            let (whose, key) = if is_long { (&table, "algorithm") } else { (pool, "balance") };
            keyless(whose, key, algorithm);
        }
        if is_long {
            check_fit(&table, algorithm, &key);
            check_size(&table);
        }
    }
    (algorithm, HashPlan { key, options }, measure(&table, algorithm))
}

fn measure(table: &Table<'_, '_>, algorithm: Algorithm) -> MeasureOptions {
    let draws = if algorithm == Algorithm::LeastRequest { "choices" } else { "draws" };
    MeasureOptions {
        draws: table.number(draws),
        distinct: table.flag("distinct"),
        bias: table.get("bias").map(|_| Hundredths(table.share("bias").into())),
        decay: table.duration("decay"),
        default_rtt: table.duration("default-rtt"),
        drawn: table.number_if("drawn"),
        until: if table.text("until") == "last-byte" { ResponseEnd::LastByte } else { ResponseEnd::Header },
        inflight: table.flag("inflight"),
        forgive: table.duration("forgive"),
    }
}

/// Returns true if the algorithm needs an explicit key, as it does in the program from which it comes.
pub(crate) fn needs_key(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::Hash | Algorithm::NginxHash | Algorithm::Ketama)
}

fn keyless(table: &Table<'_, '_>, key: &str, algorithm: Algorithm) {
    let Some(node) = table.get(key) else { return };
    let help = format!(
        "for example: balance = {{ algorithm = \"{algorithm}\", key = \"uri\" }}; {KEYS}; for the client's address there is \"source\", too"
    );
    table.report(key, node.span, format!("{algorithm} of what? A key is missing"), Some(help));
}

/// Reports a table size that is not prime: some servers could then never get some of the slots.
fn check_size(table: &Table<'_, '_>) {
    let (Some(node), Some(size)) = (table.get("table-size"), table.number_if::<u32>("table-size")) else {
        return;
    };
    if !is_prime(size) {
        let help = prime_from(size).map(|prime| format!("the next one is {prime}"));
        table.report("table-size", node.span, format!("{size} is not a prime number"), help);
    }
}

fn is_prime(number: u32) -> bool {
    let number = u64::from(number);
    number > 1 && (2..).take_while(|divisor| divisor * divisor <= number).all(|divisor| number % divisor != 0)
}

/// Returns the first prime number from `number` on that is a valid table size.
pub(crate) fn prime_from(number: u32) -> Option<u32> {
    (number..=HashOptions::TABLE_SIZE_MAX).find(|number| is_prime(*number))
}

/// Returns the key of an algorithm that is given by its name alone.
pub(crate) fn default_key(algorithm: Algorithm) -> KeyPlan {
    match algorithm {
        Algorithm::IpvsDh | Algorithm::Lblc | Algorithm::Lblcr => KeyPlan::Destination,
        _ => KeyPlan::Source,
    }
}

fn options(table: &Table<'_, '_>, algorithm: Algorithm) -> HashOptions {
    let default = HashOptions::of(algorithm);
    let function = table.text_if("function");
    let named = |name: &str| HashFunction::ALL.into_iter().find(|function| function.name() == name);
    HashOptions {
        function: function.and_then(|name| named(&name.value)).unwrap_or(default.function),
        avalanche: table.get("avalanche").map_or(default.avalanche, |_| table.flag("avalanche")),
        points: points(&table.text("points")),
        bounded_load_percent: table.get("bounded-load").map(|_| u32::from(table.share("bounded-load"))),
        fallback: table.flag("fallback"),
        port: table.flag("port"),
        table_size: table.number("table-size"),
        expiration: table.duration("expiration"),
    }
}

fn points(name: &str) -> RingPoints {
    RingPoints::ALL.into_iter().find(|points| points.name() == name).unwrap_or_default()
}

fn key(table: &Table<'_, '_>) -> Option<KeyPlan> {
    let node = table.get("key")?;
    if matches!(node.value, Value::Table(_)) {
        return worked_out(&Table::new(table.cx, table.subject.key("key"), &EXPRESSION, node));
    }
    let text = table.text_if("key")?;
    match parse(table, &text) {
        Ok(key) => Some(key),
        Err((message, help)) => {
            table.report("key", text.span, message, help);
            None
        }
    }
}

fn worked_out(table: &Table<'_, '_>) -> Option<KeyPlan> {
    let expression = expression::read(table, "expression", ExpressionUse::Key)?;
    Some(KeyPlan::Request(RequestKey::Expression(expression.value.text().to_owned())))
}

const KEYS: &str =
    "there are source, destination, uri, host, path, url-param NAME, header NAME, cookie NAME, rdp-cookie";

fn parse(table: &Table<'_, '_>, text: &Located<String>) -> Result<KeyPlan, (String, Option<String>)> {
    let mut words = text.value.split_ascii_whitespace();
    let (kind, name) = (words.next().unwrap_or(""), words.next());
    let word = |word: &str| format!("{:?}", short(word));
    if let Some(more) = words.next() {
        return Err((format!("{} is one word too many", word(more)), None));
    }
    let bare = |key: KeyPlan| match name {
        None => Ok(key),
        Some(name) => Err((format!("{kind} has no name: {} is too much", word(name)), None)),
    };
    let named = |example: &str| match name {
        Some(name) => Ok(name.to_owned()),
        None => {
            Err((format!("{kind} of which name?"), Some(format!("for example: key = \"{kind} {example}\""))))
        }
    };
    let token = |name: String, what: &str| match is_token(&name) {
        true => Ok(name),
        false => Err((format!("{} is not the name of a {what}", word(&name)), None)),
    };
    let request = |key: RequestKey| Ok(KeyPlan::Request(key));
    match kind {
        "source" => bare(KeyPlan::Source),
        "destination" => bare(KeyPlan::Destination),
        "uri" => bare(KeyPlan::Request(RequestKey::Uri(uri_part(table)))),
        "host" => bare(KeyPlan::Request(RequestKey::Host)),
        "path" => bare(KeyPlan::Request(RequestKey::Path)),
        "url-param" => request(RequestKey::UrlParam(named("id")?)),
        "header" => request(RequestKey::Header {
            name: token(named("X-Tenant")?, "header")?,
            domain_only: table.flag("use-domain-only"),
        }),
        "cookie" => request(RequestKey::Cookie(token(named("session")?, "cookie")?)),
        "rdp-cookie" => Ok(KeyPlan::RdpCookie(name.unwrap_or("mstshash").to_owned())),
        _ => Err((format!("{} is not a key", word(kind)), Some(help(kind)))),
    }
}

/// Returns a hint for an unknown kind of key: the name of another balancer's kind, the closest name, or a
/// list.
fn help(kind: &str) -> String {
    const KINDS: [&str; 9] =
        ["source", "destination", "uri", "host", "path", "url-param", "header", "cookie", "rdp-cookie"];
    let ours = match kind {
        "hdr" => Some("header"),
        "query" | "param" => Some("url-param"),
        "src" | "ip" | "client" | "client_ip" => Some("source"),
        "dst" => Some("destination"),
        "url" => Some("uri"),
        "mstshash" => Some("rdp-cookie"),
        kind => suggest::closest(kind, KINDS.into_iter()),
    };
    match ours {
        Some(ours @ ("url-param" | "header" | "cookie")) => suggest::did_you_mean(&format!("{ours} NAME")),
        Some(ours) => suggest::did_you_mean(ours),
        None => KEYS.to_owned(),
    }
}

fn uri_part(table: &Table<'_, '_>) -> UriPart {
    UriPart {
        bytes_max: table.number_if("len"),
        depth: table.number_if("depth"),
        whole: table.flag("whole"),
        path_only: table.flag("path-only"),
    }
}

/// Reports options that the algorithm or the key does not use.
fn check_fit(table: &Table<'_, '_>, algorithm: Algorithm, key: &KeyPlan) {
    let only = |option: &str, fits: bool, whose: &str| {
        if let (Some(node), false) = (table.get(option), fits) {
            table.error(option, node.span, format!("only {whose}"));
        }
    };
    let takes = |option| takes_option(algorithm, option);
    if let (Some(node), false) = (table.get("key"), takes("key")) {
        let help =
            (algorithm == Algorithm::Source).then(|| "use algorithm = \"hash\" for other keys".to_owned());
        table.report("key", node.span, format!("{algorithm} {}", no_key(algorithm)), help);
    }
    for option in ["len", "depth", "whole", "path-only"] {
        only(option, matches!(key, KeyPlan::Request(RequestKey::Uri(_))), "for key = \"uri\"");
    }
    let is_header = matches!(key, KeyPlan::Request(RequestKey::Header { .. }));
    only("use-domain-only", is_header, "for key = \"header NAME\"");
    let options = [
        "function",
        "avalanche",
        "points",
        "bounded-load",
        "fallback",
        "port",
        "table-size",
        "expiration",
        "draws",
        "distinct",
        "choices",
        "bias",
        "decay",
        "default-rtt",
        "drawn",
        "until",
        "inflight",
        "forgive",
    ];
    for option in options {
        only(option, takes(option), &format!("for {}", takers(option)));
    }
    let is_number = matches!(key, KeyPlan::Source | KeyPlan::Destination);
    if takes("function") {
        only("function", !is_number, "for keys that are not addresses: those are numbers already");
    }
    if takes("bounded-load") && !table.flag("fallback") {
        only("bounded-load", false, "with fallback = true: it is about which other server to take");
    }
    if takes("port") {
        only("port", matches!(key, KeyPlan::Source), "for key = \"source\"");
    }
}

fn no_key(algorithm: Algorithm) -> &'static str {
    if algorithm.goes_by_key() { "goes by the client's address alone" } else { "does not hash" }
}

/// Returns true if the algorithm uses the option.
fn takes_option(algorithm: Algorithm, option: &str) -> bool {
    use Algorithm::{
        Hash, IpvsDh, IpvsMh, IpvsSh, Ketama, Lblc, Lblcr, LeastRequest, LeastResponseTime, Maglev,
        NginxHash, NginxIpHash, PeakEwma, Random, Rendezvous, Ring, Source,
    };
    match option {
        "key" => algorithm.takes_key() && !matches!(algorithm, Source | NginxIpHash),
        "function" => takes_option(algorithm, "key") && !matches!(algorithm, Ketama | NginxHash),
        "avalanche" => matches!(algorithm, Source | Hash | Ring),
        "points" => algorithm == Ring,
        "bounded-load" => matches!(algorithm, Ring | Ketama | Random),
        "fallback" => {
            matches!(algorithm, Source | Hash | Ring | Maglev | Rendezvous | IpvsSh | IpvsDh | IpvsMh)
        }
        "port" => matches!(algorithm, IpvsSh | IpvsMh),
        "table-size" => algorithm == Maglev,
        "expiration" => matches!(algorithm, Lblc | Lblcr),
        "draws" | "distinct" => algorithm == Random,
        "choices" | "bias" => algorithm == LeastRequest,
        "decay" | "default-rtt" => algorithm == PeakEwma,
        "drawn" | "until" | "inflight" | "forgive" => algorithm == LeastResponseTime,
        _ => false,
    }
}

/// Returns the names of the algorithms that use the option.
fn takers(option: &str) -> String {
    let names = Algorithm::ALL.into_iter().filter(|algorithm| takes_option(*algorithm, option));
    names.map(Algorithm::name).collect::<Vec<_>>().join(", ")
}
