//! Reads `[fleet.NAME]`.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use weir_model::Name;
use weir_scale::{Capacity, CapacityRule, Leaver, Rules};

use super::command::{command_of, texts};
use super::keys::{FLEET, FLEET_SIGNAL};
use super::kubernetes::read::suit;
use super::lease::read::lease;
use super::plan::{
    FleetBalancer, FleetCloud, FleetPlan, FleetProcesses, FleetProgram, FleetProvider, FleetRestart,
    HistoryForm, HistoryPlan,
};
use super::{haproxy, kubernetes};
use crate::common::choice::exactly_one;
use crate::common::names;
use crate::common::paths::{absolute, path_if};
use crate::scaling::read::rules;
use crate::syntax::context::Context;
use crate::syntax::source::{Located, Span};
use crate::syntax::tree::{Node, short};
use crate::values::subject::Subject;
use crate::values::table::{Table, located_text};

/// The values of `[fleet.NAME]`.
#[derive(Debug)]
pub(crate) struct FleetSpec {
    pub(crate) subject: Subject,
    pub(crate) name: Span,
    /// The configured pool name with its position.
    pub(crate) pool: Option<Located<String>>,
    pub(crate) plan: FleetPlan,
}

/// Default directory for persistent state.
const PLACE: &str = "/var/lib/weir/fleet";

pub(crate) fn read(cx: &Context<'_>, name: &Located<String>, node: &Node) -> Option<FleetSpec> {
    let subject = Subject::default().named("fleet", &name.value);
    let table = Table::new(cx, subject.clone(), &FLEET, node);
    let valid_name = names::name(cx, "fleet", name)?;
    let mut rules = Rules {
        leaver: leaver(&table.text("goes-first")),
        replace_after: table.duration("replace-after").duration(),
        stale_after: table.duration("stale-after").duration(),
        ..rules(&table, &FLEET_SIGNAL, capacity(&table))
    };
    let balancer = balancer(&table, &valid_name.value);
    let provider = provider(&table)?;
    if let FleetProvider::Kubernetes(pods) = &provider {
        suit(&table, pods, &mut rules);
    }
    let directory =
        absolute(&table, "directory").unwrap_or_else(|| Path::new(PLACE).join(valid_name.value.as_str()));
    let lease = lease(&table, &valid_name.value, absolute(&table, "lease"), &directory);
    let pool = table.text_if("pool");
    let plan = FleetPlan {
        balancer: balancer?,
        name: valid_name.value,
        port: port(&table, &provider),
        provider,
        rules,
        interval: table.duration("interval"),
        history: history(&table, &directory),
        directory,
        lease,
        act: table.flag("act"),
    };
    stale_before_the_next_look(&table, &plan);
    Some(FleetSpec { subject, name: name.span, pool, plan })
}

/// Reads the balancer of a fleet. `resolve` looks up the pool after all pools are read.
fn balancer(table: &Table<'_, '_>, fleet: &Name) -> Option<FleetBalancer> {
    let (key, ()) = exactly_one(table, [("pool", ()), ("haproxy", ())])?;
    if key == "pool" {
        let named = table.text_if("pool").and_then(|pool| Name::new(&pool.value).ok());
        return Some(FleetBalancer::Pool(named.unwrap_or_else(|| fleet.clone())));
    }
    Some(FleetBalancer::Haproxy(haproxy::read::backend(table)))
}

fn capacity(table: &Table<'_, '_>) -> CapacityRule {
    let learned = learned(table);
    let of = |node: &Node| node.decimal().map_or(learned, Capacity::Given);
    CapacityRule {
        flavour: None,
        standard: table.get("capacity").map_or(Capacity::Given(1.0), of),
        others: flavours(table).into_iter().map(|(name, node)| (name, of(node))).collect(),
    }
}

/// Reads the bounds of a measured capacity. If `capacity` is a number or a text, its table has only defaults.
fn learned(table: &Table<'_, '_>) -> Capacity {
    let learned = table.table("capacity");
    let (least, initial, most) =
        (learned.decimal("least"), learned.decimal("initial"), learned.decimal("most"));
    if let (Some(node), true) = (table.get("capacity"), least > initial || initial > most) {
        let message = format!("least {least}, initial {initial} and most {most} are not in this order");
        table.error("capacity", node.span, message);
    }
    Capacity::Learned { initial, least, most, slower: learned.decimal("slower") }
}

/// Returns the flavours whose servers have another capacity, each with its value.
fn flavours<'t>(table: &Table<'t, '_>) -> Vec<(Name, &'t Node)> {
    let is_untold = table.get("process").is_some() || table.get("kubernetes").is_some();
    if let (Some(node), true) = (table.get("flavours"), is_untold) {
        table.error("flavours", node.span, "only openstack and exec tell the flavour of a server");
    }
    let own = table.table("openstack").text_if("flavor");
    let mut flavours = Vec::new();
    for (name, node) in table.get("flavours").map_or(&[][..], Node::entries) {
        match Name::new(&name.value) {
            Ok(flavour) if own.as_ref().is_none_or(|own| own.value != name.value) => {
                flavours.push((flavour, node));
            }
            Ok(flavour) => {
                let message = format!("{flavour} is what the fleet makes: capacity says what it can do");
                table.error("flavours", name.span, message);
            }
            Err(cause) => table.error("flavours", name.span, cause.to_string()),
        }
    }
    flavours
}

fn leaver(name: &str) -> Leaver {
    Leaver::ALL.into_iter().find(|(known, _)| *known == name).map_or(Leaver::default(), |(_, leaver)| leaver)
}

fn provider(table: &Table<'_, '_>) -> Option<FleetProvider> {
    let (key, ()) =
        exactly_one(table, [("process", ()), ("exec", ()), ("openstack", ()), ("kubernetes", ())])?;
    let inner = table.table(key);
    Some(match key {
        "kubernetes" => FleetProvider::Kubernetes(Box::new(kubernetes::read::pods(&inner)?)),
        "process" => FleetProvider::Process(processes(&inner)),
        "exec" => FleetProvider::Exec(program(&inner)),
        _ => FleetProvider::OpenStack(Box::new(cloud(&inner))),
    })
}

fn processes(table: &Table<'_, '_>) -> FleetProcesses {
    let limits = table.table("limits");
    let address = table.parse::<IpAddr>("address").map(|address| address.value);
    FleetProcesses {
        command: command(table),
        address: address.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        ports: table.parse::<Ports>("ports").map(|ports| ports.value.0),
        environment: variables(table, "environment"),
        working_directory: absolute(table, "working-directory"),
        open_files_max: limits.number_if("open-files"),
        memory_max: limits.size_if("memory"),
        cpu_time_max: limits.duration_if("cpu-time"),
        core_max: limits.size_if("core"),
        restart: match table.text("restart").as_str() {
            "on-failure" => FleetRestart::OnFailure,
            "never" => FleetRestart::Never,
            _ => FleetRestart::Always,
        },
        restart_pause: table.duration("restart-pause"),
        stop_grace: table.duration("stop-grace"),
        output_max: table.size("max-output"),
    }
}

fn program(table: &Table<'_, '_>) -> FleetProgram {
    FleetProgram {
        command: command(table),
        environment: variables(table, "environment"),
        working_directory: absolute(table, "working-directory"),
        timeout: table.duration("timeout"),
        settling: table.duration("settling"),
    }
}

fn cloud(table: &Table<'_, '_>) -> FleetCloud {
    let text = |key: &str| table.text_if(key).map(|text| text.value);
    FleetCloud {
        cloud: text("cloud"),
        image: table.text("image"),
        flavor: table.text("flavor"),
        networks: texts(table, "networks"),
        key_pair: text("key-pair"),
        user_data: path_if(table, "user-data"),
        metadata: entries(table, "metadata"),
        tags: tags(table),
        server_group: text("server-group"),
        security_groups: texts(table, "security-groups"),
        availability_zone: text("availability-zone"),
        config_drive: table.flag("config-drive"),
        shelve: table.text("park") == "shelve",
        address_network: text("address-network"),
        address_version: text("address-family").map(|family| if family == "ipv6" { 6 } else { 4 }),
        floating: table.flag("floating"),
        build_timeout: table.duration("build-timeout"),
        timeout: table.duration("timeout"),
    }
}

fn command(table: &Table<'_, '_>) -> Vec<String> {
    command_of(table, "command")
}

/// Reads tags. Nova permits 1 to 60 characters without slash and comma.
fn tags(table: &Table<'_, '_>) -> Vec<String> {
    let tags = table.many("tags").iter().filter_map(located_text);
    let sound = |tag: &Located<String>| {
        let good = (1..=60).contains(&tag.value.chars().count()) && !tag.value.contains(['/', ',']);
        if !good {
            let message = format!(
                "{:?} cannot be a tag: 1 to 60 characters, without slash and comma",
                short(&tag.value)
            );
            table.error("tags", tag.span, message);
        }
        good
    };
    tags.filter(sound).map(|tag| tag.value).collect()
}

fn entries(table: &Table<'_, '_>, key: &str) -> BTreeMap<String, String> {
    let entries = table.get(key).map_or(&[][..], Node::entries).iter();
    entries.filter_map(|(name, node)| Some((name.value.clone(), node.text()?.to_owned()))).collect()
}

/// Reads environment variables.
fn variables(table: &Table<'_, '_>, key: &str) -> BTreeMap<String, String> {
    let written = entries(table, key);
    let wrong = written
        .iter()
        .find(|(name, value)| name.is_empty() || name.contains(['=', '\0']) || value.contains('\0'));
    if let (Some(node), Some((name, _))) = (table.get(key), wrong) {
        table.error(key, node.span, format!("{:?} cannot be a variable", short(name)));
    }
    written
}

fn port(table: &Table<'_, '_>, provider: &FleetProvider) -> Option<u16> {
    let port = table.number_if("port");
    match (provider, table.get("port")) {
        (FleetProvider::Process(_), Some(node)) => {
            table.error("port", node.span, "each process has a port of its own: see process.ports");
        }
        (FleetProvider::OpenStack(_), None) => {
            table.report(
                "port",
                table.span(),
                "is missing: a cloud does not tell it",
                Some("for example: port = 8080".to_owned()),
            );
        }
        _ => {}
    }
    port
}

fn history(table: &Table<'_, '_>, directory: &Path) -> Vec<HistoryPlan> {
    let (interval, bytes_max) = (table.duration("history-interval"), table.size("history-size"));
    if table.is_off("history") {
        return Vec::new();
    }
    let mut files = Vec::new();
    for text in table.many("history").iter().filter_map(located_text) {
        let file = PathBuf::from(&text.value);
        if !file.is_absolute() || text.value.contains('\0') {
            let message = format!("{:?} does not begin with a /", short(&text.value));
            table.error("history", text.span, message);
        } else if files.contains(&file) {
            table.error("history", text.span, format!("{:?} is there twice", short(&text.value)));
        } else {
            files.push(file);
        }
    }
    if table.get("history").is_none() {
        files.push(directory.join("history.csv"));
    }
    let plan = |file: PathBuf| HistoryPlan { form: HistoryForm::of(&file), file, interval, bytes_max };
    files.into_iter().map(plan).collect()
}

/// Reports a `stale-after` that is too short: each evaluation would find the previous measurement too old.
fn stale_before_the_next_look(table: &Table<'_, '_>, plan: &FleetPlan) {
    if let Some(node) = table.get("stale-after").or_else(|| table.get("interval"))
        && plan.rules.stale_after < plan.interval.duration() * 2
    {
        let message =
            format!("measurements come each {}: stale-after must be twice that at least", plan.interval);
        table.error("stale-after", node.span, message);
    }
}

struct Ports((u16, u16));

impl FromStr for Ports {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{:?} is no range of ports such as 8100-8199", short(text));
        let (first, last) = text.split_once('-').ok_or_else(wrong)?;
        let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(wrong);
        match (port(first)?, port(last)?) {
            (first, last) if first <= last => Ok(Self((first, last))),
            _ => Err(wrong()),
        }
    }
}
