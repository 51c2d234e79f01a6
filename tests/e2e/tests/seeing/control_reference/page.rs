//! Writes the reference page in Markdown.

use std::fmt::Write;

use serde_json::{Value, json};
use weir_e2e::Weir;

use super::find;
use super::source::{Declared, Member};

/// Config of the Weir that runs the examples.
const CONFIG: &str = "\
[listener.web]
bind = \"127.0.0.1:0\"
pool = \"web\"

[storage-area.data]
root = \"DIRECTORY\"
access-points = \"/data\"

[pool.web]
sticky = { source = true }
servers = [{ name = \"w1\", address = \"10.0.0.11:8080\" }, { name = \"w2\", address = \"10.0.0.12:8080\" }]

[pool.batch]
check = \"tcp\"

[fleet.batch]
pool = \"batch\"
max = 5
capacity = 10
process = { command = \"true\" }
act = false
directory = \"DIRECTORY/fleet\"
";

/// Starts the Weir that runs the examples.
pub(super) fn start() -> Weir {
    let launcher = Weir::launcher("");
    let config = CONFIG.replace("DIRECTORY", &launcher.directory().display().to_string());
    launcher.config(&config).start()
}

/// Types of the parts of a snapshot, in the order of their sections.
pub(super) const SNAPSHOT: [&str; 36] = [
    "Snapshot",
    "ProcessSnapshot",
    "ListenerSnapshot",
    "ListenerStatus",
    "Protocol",
    "RefusalCount",
    "ExpressionFailures",
    "TlsCounts",
    "PoolSnapshot",
    "StickySnapshot",
    "StickyTableSnapshot",
    "BreakerSnapshot",
    "BreakerStatus",
    "ServerSnapshot",
    "Origin",
    "AdminState",
    "Health",
    "CheckSnapshot",
    "AgentSnapshot",
    "CheckCode",
    "Traffic",
    "Level",
    "PerSecond",
    "Responses",
    "Latency",
    "FleetSnapshot",
    "FleetPolicySnapshot",
    "FleetDone",
    "FleetEvent",
    "FleetServerSnapshot",
    "StorageSnapshot",
    "MethodsSnapshot",
    "TransfersSnapshot",
    "TransferSnapshot",
    "TransferTotals",
    "LockSnapshot",
];

const INTRODUCTION: &str = "\
# Control socket

<!-- Made from logic/control/src and from what a running Weir answers. After a change:
     WEIR_UPDATE_DOCS=1 cargo test -p weir-e2e --test seeing control_reference -->

A Unix socket, `control` under `[weir]` in the [config](config.md), through which a running Weir is asked and told. `weir ctl` and
`weir top` speak it; so can everything that speaks JSON:

```sh
echo '{\"show\": {\"what\": \"pools\"}}' | socat -t 60 - UNIX-CONNECT:/run/weir/control.sock
```

- One command a line, one reply a line, in the same order, as many as the caller likes. Empty lines are skipped.
- Whoever may open the file may give every command: its mode is 0600, its owner the user that Weir runs as.
- A command has at most 64 KiB; a longer one is refused and the connection closed. A caller who says nothing for 10 minutes is
  hung up on. 64 callers are served at once, a further one gets `in-use` and is hung up on.
- Unknown commands and unknown fields are errors. New fields may come into replies: skip those you do not know.
- What is changed here holds over reloads and restarts, until `reset` takes it back: see `state` in the [config](config.md).

A field without a default must be there. Names are those of the config. The examples are given one after the other to a Weir with
a pool `web` of the servers `w1` and `w2`, a fleet `batch`, and a storage area `data`.
";

const FIELDS: &str = "| field | value | default | meaning |\n|---|---|---|---|\n";

pub(super) fn write(all: &[Declared]) -> String {
    let weir = start();
    let mut page = INTRODUCTION.to_owned();
    commands(&mut page, all, &weir);
    replies(&mut page, all, &weir);
    page.push_str("\n## What a snapshot tells\n\nTimes end in their unit (`_ms`, `_us`); totals begin at 0 with the process.\n");
    SNAPSHOT.iter().for_each(|name| section(&mut page, find(all, name), all));
    page.push_str("\n## What was changed at runtime\n");
    ["RuntimeState", "Override", "AddedServer"]
        .iter()
        .for_each(|name| section(&mut page, find(all, name), all));
    page
}

/// Returns the example commands, in the order in which they are sent.
fn examples() -> Vec<Value> {
    vec![
        json!({"server-state": {"pool": "web", "server": "w1", "state": "drain"}}),
        json!({"server-weight": {"pool": "web", "server": "w2", "weight": 5}}),
        json!({"server-address": {"pool": "web", "server": "w2", "address": "10.0.0.22:8080"}}),
        json!({"add-server": {"pool": "web", "server": {"name": "w3", "address": "10.0.0.13:8080", "weight": 2}}}),
        json!({"show": {"what": "runtime"}}),
        json!({"remove-server": {"pool": "web", "server": "w3", "force": true}}),
        json!({"reset": {"pool": "web", "server": "w1"}}),
        json!({"clear-sticky": {"pool": "web", "key": "192.0.2.7"}}),
        json!({"fleet-scale": {"fleet": "batch", "servers": 3}}),
        json!({"fleet-pause": {"fleet": "batch", "paused": true}}),
        json!({"fleet-history": {"fleet": "batch", "rows": 0}}),
        json!({"storage-unlock": {"path": "/data/f", "dry_run": true}}),
        json!("reload"),
    ]
}

fn commands(page: &mut String, all: &[Declared], weir: &Weir) {
    let mut answered: Vec<(Value, Value)> = Vec::new();
    for command in examples() {
        let reply = weir.command(&command);
        assert!(reply.get("ok").is_some(), "{command}: {reply}");
        answered.push((command, reply));
    }
    page.push_str("\n## Commands\n");
    for command in &find(all, "Command").members {
        write!(page, "\n### {}\n\n{}\n", command.name, plain(&command.meaning)).unwrap();
        if command.fields.is_empty() {
            write!(page, "\nIt has no fields: the command is the text `\"{}\"`.\n", command.name).unwrap();
        } else {
            write!(page, "\n{FIELDS}").unwrap();
            command.fields.iter().for_each(|field| row(page, field, all));
        }
        for (example, reply) in answered.iter().filter(|(example, _)| name(example) == command.name) {
            write!(page, "\n```json\n{example}\n{reply}\n```\n").unwrap();
        }
    }
    section(page, find(all, "What"), all);
    let spec = find(all, "ServerSpec");
    write!(page, "\n### {}\n\n{}\n\n{FIELDS}", spec.name, plain(&spec.meaning)).unwrap();
    spec.members.iter().for_each(|field| row(page, field, all));
}

fn name(command: &Value) -> &str {
    command.as_str().or_else(|| command.as_object()?.keys().next().map(String::as_str)).unwrap()
}

fn replies(page: &mut String, all: &[Declared], weir: &Weir) {
    page.push_str("\n## Replies\n\n`{\"ok\": ...}` if the command was obeyed, with one of these:\n");
    for answer in &find(all, "Answer").members {
        write!(page, "\n### {}\n\n{}\n", answer.name, plain(&answer.meaning)).unwrap();
        match answer.of.as_str() {
            "" => {
                write!(page, "\n{FIELDS}").unwrap();
                answer.fields.iter().for_each(|field| row(page, field, all));
            }
            of => writeln!(page, "\nIt is {}.", value(of, all)).unwrap(),
        }
    }
    let refused = json!({"server-weight": {"pool": "web", "server": "w9", "weight": 5}});
    let reply = weir.command(&refused);
    assert_eq!(reply["error"]["code"], "not-found", "{reply}");
    page.push_str("\n### Errors\n\n`{\"error\": ...}` if it was not, and then nothing has changed:\n\n");
    page.push_str(FIELDS);
    find(all, "Refusal").members.iter().for_each(|field| row(page, field, all));
    write!(page, "\n```json\n{refused}\n{reply}\n```\n").unwrap();
    section(page, find(all, "Code"), all);
}

fn section(page: &mut String, declared: &Declared, all: &[Declared]) {
    // The table of latencies describes how they are written.
    let meaning = declared.meaning.split(" Shown as ").next().unwrap_or_default();
    write!(page, "\n### {}\n\n{}\n\n", declared.name, plain(meaning)).unwrap();
    let members = &find(all, shown_as(&declared.name)).members;
    if declared.is_enum {
        page.push_str("| value | meaning |\n|---|---|\n");
        for member in members {
            let fields: Vec<String> = member
                .fields
                .iter()
                .map(|field| format!("\"{}\": {}", field.name, bare(&field.of)))
                .collect();
            let shown = match fields.is_empty() {
                true => format!("\"{}\"", member.name),
                false => format!("{{\"{}\": {{{}}}}}", member.name, fields.join(", ")),
            };
            let more: Vec<String> = member
                .fields
                .iter()
                .map(|field| format!(" `{}`: {}", field.name, plain(&field.meaning)))
                .collect();
            writeln!(page, "| `{shown}` | {}{} |", plain(&member.meaning), more.concat()).unwrap();
        }
        return;
    }
    page.push_str("| field | value | meaning |\n|---|---|---|\n");
    for member in members {
        let meaning = match member.meaning.as_str() {
            "" => undocumented(&declared.name, &member.name),
            meaning => meaning,
        };
        writeln!(page, "| `{}` | {} | {} |", member.name, value(&member.of, all), plain(meaning)).unwrap();
    }
}

/// Returns the meaning of fields that exist only in JSON.
fn undocumented(of: &str, field: &str) -> &'static str {
    match (of, field) {
        ("Latency", "count") => "How many values there are.",
        ("Latency", "sum_us") => "Their sum.",
        ("Latency", "max_us") => "The largest.",
        ("Latency", "p50_us") => "Half of them are at most this; `None` = there are none.",
        ("Latency", "p90_us") => "90 of 100 are; `None` = there are none.",
        ("Latency", "p99_us") => "99 of 100 are; `None` = there are none.",
        ("Latency", "buckets") => {
            "Each an upper bound in microseconds, and how many values it holds; empty ones are left out."
        }
        ("RuntimeState", "pool") => "By pool and by server; those without a change are left out.",
        _ => panic!("{of} has an unexplained field {field}"),
    }
}

fn row(page: &mut String, field: &Member, all: &[Declared]) {
    let default = match (field.is_optional, field.of.as_str()) {
        (false, _) => "**required**",
        (true, "What") => "`\"all\"`",
        (true, "bool" | "Option<KnownSpeeds>") => "`false`",
        (true, "Weight") => "`1`",
        (true, "u16") => "`0`",
        (true, "Vec<String>") => "`[]`",
        (true, of) if of.starts_with("Option<") => "none",
        (true, of) => panic!("the default of {} ({of}) is not known here", field.name),
    };
    let (meaning, value) = (plain(&field.meaning), value(&field.of, all));
    writeln!(page, "| `{}` | {value} | {default} | {meaning} |", field.name).unwrap();
}

/// Describes the JSON value of a type.
fn value(of: &str, all: &[Declared]) -> String {
    // Of the known speeds, JSON contains only whether the weight is measured.
    if of == "Option<KnownSpeeds>" {
        return bare("bool").to_owned();
    }
    if let Some(inner) = of.strip_prefix("Option<").and_then(|of| of.strip_suffix('>')) {
        return format!("{} or `null`", value(inner, all));
    }
    if let Some(inner) = of.strip_prefix("Vec<").and_then(|of| of.strip_suffix('>')) {
        return format!("a list of {}", value(inner, all));
    }
    if let Some(inner) = of.strip_prefix("Box<").and_then(|of| of.strip_suffix('>')) {
        return value(inner, all);
    }
    if all.iter().any(|declared| declared.name == of) {
        return format!("[{of}](#{})", of.to_lowercase());
    }
    bare(of).to_owned()
}

fn bare(of: &str) -> &'static str {
    match of {
        "u16" | "u32" | "u64" | "f64" => "number",
        "bool" => "true or false",
        "String" => "text",
        "Name" | "PoolName" | "ServerName" | "ZoneName" => "name",
        "ServerAddress" => "address",
        "Weight" => "0 to 256",
        "(u64, u64)" => "pairs of numbers",
        "BTreeMap<PoolName, BTreeMap<ServerName, Override>>" => {
            "an object of objects of [Override](#override)"
        }
        "BTreeMap<String, BTreeMap<PoolName, BTreeMap<ServerName, Override>>>" => "an object of such objects",
        _ => panic!("what is a {of} in JSON?"),
    }
}

/// Returns the type inside a list, a box or an option.
pub(super) fn inner(of: &str) -> Option<&str> {
    ["Vec<", "Box<", "Option<"].iter().find_map(|start| of.strip_prefix(start)?.strip_suffix('>'))
}

/// Returns the type whose fields a type has in JSON.
pub(super) fn shown_as(of: &str) -> &str {
    if of == "Latency" { "Shown" } else { of }
}

/// Returns a comment without links, which only readers of the source can use.
fn plain(comment: &str) -> String {
    let mut text = comment.replace("`None`", "`null`");
    for (link, words) in [("[`Command::Show`]", "`show`"), ("[`What::Runtime`]", "`runtime`")] {
        text = text.replace(link, words);
    }
    assert!(!text.contains("[`"), "a link for readers of the source: {text}");
    text.replace('|', "\\|")
}
