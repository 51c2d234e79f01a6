//! Reads `[storage-area.NAME]` and `[token-issuer.NAME]`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use weir_access::jwt::Algorithm as JwtAlgorithm;
use weir_access::rule::{AreaSpec, Effect, PolicyAction, PolicySpec, Principal, RuleError};
use weir_access::token::Issuer;
use weir_dav::digest::Algorithm;
use weir_dav::mime::{MediaTypeError, MediaTypes};
use weir_model::Millis;

use super::keys::{AREA, TOKEN_ISSUER};
use super::plan::{
    AccelRedirectPlan, ActAsPlan, AreaPlan, Durability, KeySetSource, Symlinks, TokenIssuerPlan,
};
use super::policy::{AREA_POLICY, PRINCIPAL};
use crate::common::header::check_value;
use crate::common::matching::networks;
use crate::common::paths::{path, path_if};
use crate::common::{names, secret};
use crate::syntax::context::Context;
use crate::syntax::diagnostic::Problem;
use crate::syntax::source::{Located, Span};
use crate::syntax::tree::{Node, short};
use crate::values::subject::Subject;
use crate::values::table::{Table, located_text};

/// The values of `[storage-area.NAME]`.
#[derive(Debug)]
pub(crate) struct AreaSpecs {
    pub(crate) name: Span,
    pub(crate) subject: Subject,
    /// Issuers in the access rules, with their positions.
    pub(crate) issuers: Vec<Located<String>>,
    /// Configured token endpoint, with its position.
    pub(crate) token_endpoint: Option<Located<String>>,
    pub(crate) plan: AreaPlan,
}

/// The values of `[token-issuer.NAME]`.
#[derive(Debug)]
pub(crate) struct IssuerSpec {
    pub(crate) name: Span,
    /// Position of `issuer`.
    pub(crate) issuer: Span,
    pub(crate) plan: TokenIssuerPlan,
}

pub(crate) fn area(cx: &Context<'_>, name: &Located<String>, node: &Node) -> Option<AreaSpecs> {
    let subject = Subject::default().named("storage area", &name.value);
    let table = Table::new(cx, subject.clone(), &AREA, node);
    let valid_name = names::name(cx, "storage area", name)?;
    let root = path(&table, "root");
    if let (false, Some(node)) = (root.is_absolute() || root.as_os_str().is_empty(), table.get("root")) {
        table.error(
            "root",
            node.span,
            format!("{:?} does not begin with a /", short(&root.to_string_lossy())),
        );
    }
    let cache_control = table.text_if("cache-control");
    if let Some(value) = &cache_control {
        check_value(&table, "cache-control", value.span, &value.value);
    }
    let token_endpoint = table.text_if("token-endpoint");
    let access = table.table("access");
    let mut issuers: Vec<Located<String>> = access.many("issuers").iter().filter_map(located_text).collect();
    let plan = AreaPlan {
        name: valid_name.value,
        root,
        access_points: access_points(&table),
        read_only: table.flag("read-only"),
        index: table.many("index").iter().filter_map(|node| file_name(&table, node)).collect(),
        listing: table.flag("listing"),
        precompressed: table.flag("precompressed"),
        cache_control: cache_control.map(|value| value.value),
        mime_types: mime_types(&table),
        symlinks: symlinks(&table),
        durability: match table.text("durability").as_str() {
            "none" => Durability::None,
            "full" => Durability::Full,
            _ => Durability::Data,
        },
        checksums: checksums(&table),
        checksum_interval: table.duration_if("checksum-interval"),
        trust_checksums: table.flag("trust-checksums"),
        propfind_infinity: table.flag("propfind-infinity"),
        threads: table.number("threads"),
        queue: table.number("queue"),
        open_files_max: table.number("open-files"),
        quota: table.size_if("quota"),
        files_max: table.number_if("max-files"),
        locks_max: table.number("max-locks"),
        locks_per_user_max: table.number("max-locks-per-user"),
        usage_interval: usage_interval(&table),
        upload_expiry: table.duration("upload-expiry"),
        htpasswd: path_if(&table, "htpasswd"),
        realm: table.text_if("realm").map_or_else(|| name.value.clone(), |realm| realm.value),
        identity_from: networks(&table, "identity-from"),
        vo_maps: vo_maps(&table),
        token_in_url: table.flag("token-in-url"),
        act_as: table.table_if("act-as").map(|act_as| ActAsPlan {
            map: path(&act_as, "map"),
            otherwise: act_as.text_if("otherwise").map(|user| user.value),
        }),
        // `resolve` sets it after it has found the endpoint.
        token_endpoint: None,
        redirect_key: secret::secret_place(&table, "redirect-key-file", "redirect-key-env"),
        accel_redirect: table.table_if("accel-redirect").map(|table| accel_redirect(&table)),
        third_party_copy: table.flag("third-party-copy"),
        third_party_copy_rate: table.byte_rate("third-party-copy-rate"),
        access: area_access(&access, &mut issuers),
    };
    if let (Some(node), false) = (table.get("third-party-copy-rate"), plan.third_party_copy) {
        table.error(
            "third-party-copy-rate",
            node.span,
            "there are no such copies without third-party-copy = true",
        );
    }
    if let (Some(node), true) = (table.get("checksum-interval"), plan.checksums.is_empty()) {
        table.error("checksum-interval", node.span, "checksums names none that could be computed");
    }
    if !cx.is_incomplete() {
        prove_rules(&access, &plan);
        warn_of_links(&table, &plan, token_endpoint.is_some());
        warn_of_members(&access, &plan);
    }
    Some(AreaSpecs { name: name.span, subject, issuers, token_endpoint, plan })
}

/// Warns about links in an area whose rules depend on paths: a link may lead from a permitted path to a
/// denied one. The rules check only the requested path.
fn warn_of_links(table: &Table<'_, '_>, plan: &AreaPlan, issues_tokens: bool) {
    let access = &plan.access;
    // Tokens may be limited to paths, too.
    let by_path = issues_tokens
        || !access.issuers.is_empty()
        || !access.cedar.is_empty()
        || access.policy.iter().any(|policy| policy.paths.iter().any(|path| path != "/**"));
    if let (Symlinks::InsideRoot, true, Some(node)) = (plan.symlinks, by_path, table.get("symlinks")) {
        let message = format!(
            "{}: rules go by paths here, and a link may lead from a path that they permit to one that they deny",
            table.subject.key("symlinks")
        );
        let help = "\"never\" is safe; \"owner-match\" trusts the owner of what a link points to";
        table.cx.report(Problem::warning(node.span, message).help(help.to_owned()));
    }
}

/// Warns about `vos` without a source of memberships. Weir does not read the VOMS attributes of certificates.
fn warn_of_members(access: &Table<'_, '_>, plan: &AreaPlan) {
    let is_unknown = plan.identity_from.is_empty() && plan.vo_maps.is_empty();
    if let (Some(node), false, true) = (access.get("vos"), plan.access.vos.is_empty(), is_unknown) {
        let message = format!(
            "{}: no effect: nobody says who is a member, neither a proxy of identity-from nor a map of vo-maps",
            access.subject.key("vos")
        );
        access.cx.report(Problem::warning(node.span, message));
    }
}

fn accel_redirect(table: &Table<'_, '_>) -> AccelRedirectPlan {
    let prefix = table.text("prefix");
    if let (Some(node), Err(cause)) = (table.get("prefix"), weir_access::AccessPath::from_plain(&prefix)) {
        table.error("prefix", node.span, format!("{:?}: {cause}", short(&prefix)));
    }
    if let (Some(node), []) = (table.get("trusted"), table.many("trusted")) {
        table.error("trusted", node.span, "expected at least one network");
    }
    AccelRedirectPlan { prefix, trusted: networks(table, "trusted") }
}

/// Reads `symlinks`.
pub(crate) fn symlinks(table: &Table<'_, '_>) -> Symlinks {
    match table.text("symlinks").as_str() {
        "inside-root" => Symlinks::InsideRoot,
        "owner-match" => Symlinks::OwnerMatch,
        _ => Symlinks::Never,
    }
}

fn mime_types(table: &Table<'_, '_>) -> MediaTypes {
    let mut types = MediaTypes::default();
    for (extension, node) in table.get("mime-types").map_or(&[][..], Node::entries) {
        let Some(content_type) = node.text() else { continue };
        if let Err(cause) = types.set(&extension.value, content_type) {
            let span = if matches!(cause, MediaTypeError::Type(_)) { node.span } else { extension.span };
            table.error("mime-types", span, cause);
        }
    }
    types
}

/// Reads the paths of VO maps. The code that opens the files checks their content.
fn vo_maps(table: &Table<'_, '_>) -> BTreeMap<String, PathBuf> {
    let entries = table.get("vo-maps").map_or(&[][..], Node::entries).iter();
    let read = entries.filter_map(|(organisation, node)| {
        let file = node.text()?;
        if file.is_empty() || file.contains('\0') {
            table.error("vo-maps", node.span, "expected a path");
        }
        Some((organisation.value.clone(), PathBuf::from(file)))
    });
    read.collect()
}

/// Reads the interval of usage scans. A quota needs one; its default is an hour.
fn usage_interval(table: &Table<'_, '_>) -> Option<Millis> {
    let of_quota = table.get("quota").or(table.get("max-files")).map(|_| Millis::from_secs(3_600));
    table.duration_if("usage-interval").or(of_quota)
}

/// Resolves the access rules once, so that errors in them are reported here.
fn prove_rules(access: &Table<'_, '_>, plan: &AreaPlan) {
    let points: Vec<&str> = plan.access_points.iter().map(String::as_str).collect();
    let Err(RuleError { place, why }) = plan.access.resolve(plan.name.as_str(), &points) else { return };
    // `policy 2, paths` is a key of the second policy table.
    let in_policy = place.strip_prefix("policy ").and_then(|rest| rest.split_once(", "));
    let policy = in_policy.and_then(|(number, key)| Some((number.parse::<usize>().ok()?, key)));
    match policy {
        Some((number, key)) => {
            let nodes = access.many("policy");
            let at = nodes.get(number - 1).map(|node| node.get(key).map_or(node.span, |node| node.span));
            access.error("policy", at.unwrap_or(access.span()), format!("{place}: {why}"));
        }
        None if place == "scope-bases" => {
            let at = access.get("scope-bases").map_or(access.span(), |node| node.span);
            access.error("scope-bases", at, why);
        }
        // Access points are checked separately.
        None => {}
    }
}

fn access_points(table: &Table<'_, '_>) -> Vec<String> {
    let Some(node) = table.get("access-points") else {
        return vec![table.default("access-points").to_owned()];
    };
    let nodes = table.many("access-points");
    if nodes.is_empty() {
        table.error("access-points", node.span, "expected at least one path");
    }
    let mut points: Vec<String> = Vec::new();
    for point in nodes.iter().filter_map(located_text) {
        if let Err(cause) = weir_access::AccessPath::from_plain(&point.value) {
            table.error("access-points", point.span, format!("{:?}: {cause}", short(&point.value)));
        }
        if points.contains(&point.value) {
            table.error("access-points", point.span, format!("{:?} is there twice", short(&point.value)));
        }
        points.push(point.value);
    }
    points
}

fn file_name(table: &Table<'_, '_>, node: &Node) -> Option<String> {
    let name = node.text()?;
    if name.is_empty() || name.contains(['/', '\0']) || name == "." || name == ".." {
        table.error("index", node.span, format!("{:?} is not the name of a file", short(name)));
        return None;
    }
    Some(name.to_owned())
}

fn checksums(table: &Table<'_, '_>) -> Vec<Algorithm> {
    if table.get("checksums").is_none() {
        return Algorithm::from_name(table.default("checksums").as_bytes()).into_iter().collect();
    }
    let mut algorithms = Vec::new();
    for node in table.many("checksums") {
        match node.text().and_then(|name| Algorithm::from_name(name.as_bytes())) {
            Some(algorithm) if !algorithms.contains(&algorithm) => algorithms.push(algorithm),
            _ => {}
        }
    }
    algorithms
}

/// Reads `[storage-area.NAME.access]`. Adds the issuers of its policies to `issuers`.
fn area_access(table: &Table<'_, '_>, issuers: &mut Vec<Located<String>>) -> AreaSpec {
    let texts = |key| table.many(key).iter().filter_map(Node::text).map(str::to_owned).collect::<Vec<_>>();
    let bases = table.get("scope-bases").map_or(&[][..], Node::entries);
    let policies = table.many("policy").iter().enumerate();
    AreaSpec {
        anonymous_read: table.flag("anonymous-read"),
        authenticated_read: table.flag("authenticated-read"),
        certificate_read: table.flag("certificate-read"),
        vos: texts("vos"),
        vo_map_read: table.flag("vo-map-read"),
        vo_map_write: table.flag("vo-map-write"),
        issuers: texts("issuers"),
        issuers_read: table.flag("issuers-read"),
        issuers_write: table.flag("issuers-write"),
        token_scopes: table.flag("token-scopes"),
        scope_bases: bases
            .iter()
            .filter_map(|(issuer, base)| Some((issuer.value.clone(), base.text()?.to_owned())))
            .collect(),
        policies: table.flag("policies"),
        policy: policies.map(|(index, node)| policy(table, index, node, issuers)).collect(),
        cedar: cedar(table),
    }
}

/// Reads the paths of Cedar policies. The code that opens the files checks their content.
fn cedar(table: &Table<'_, '_>) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for file in table.many("cedar").iter().filter_map(located_text) {
        let path = PathBuf::from(&file.value);
        if file.value.is_empty() || file.value.contains('\0') {
            table.error("cedar", file.span, "expected a path");
        } else if files.contains(&path) {
            table.error("cedar", file.span, format!("{:?} is there twice", short(&file.value)));
        }
        files.push(path);
    }
    // Without a file, Cedar would forbid nothing.
    if let (Some(node), []) = (table.get("cedar"), table.many("cedar")) {
        table.error("cedar", node.span, "expected at least one path");
    }
    files
}

fn policy(
    access: &Table<'_, '_>,
    index: usize,
    node: &Node,
    issuers: &mut Vec<Located<String>>,
) -> PolicySpec {
    let subject = access.subject.named("policy", &(index + 1).to_string());
    let table = Table::new(access.cx, subject, &AREA_POLICY, node);
    let actions = table.many("actions").iter().filter_map(Node::text).filter_map(|name| match name {
        "list" => Some(PolicyAction::List),
        "read" => Some(PolicyAction::Read),
        "write" => Some(PolicyAction::Write),
        "delete" => Some(PolicyAction::Delete),
        "all" => Some(PolicyAction::All),
        _ => None,
    });
    let principals = table.many("principals").iter();
    PolicySpec {
        description: table.text("description"),
        effect: if table.text("effect") == "permit" { Effect::Permit } else { Effect::Deny },
        actions: actions.collect(),
        paths: table.many("paths").iter().filter_map(Node::text).map(str::to_owned).collect(),
        principals: principals.filter_map(|node| principal(&table, node, issuers)).collect(),
    }
}

fn principal(policy: &Table<'_, '_>, node: &Node, issuers: &mut Vec<Located<String>>) -> Option<Principal> {
    const KEYS: [&str; 8] = ["vo", "fqan", "issuer", "group", "scope", "subject", "client", "name"];
    let table = Table::new(policy.cx, policy.subject.key("principals"), &PRINCIPAL, node);
    let kind = table.text("type");
    let needed: &[&str] = match kind.as_str() {
        "anyone" | "any-authenticated-user" | "anonymous" => &[],
        "vo" | "vo-map" => &["vo"],
        "fqan" => &["fqan"],
        "jwt-group" => &["issuer", "group"],
        "jwt-scope" => &["issuer", "scope"],
        "jwt-issuer" => &["issuer"],
        "jwt-subject" => &["issuer", "subject"],
        "jwt-client" => &["issuer", "client"],
        "x509-subject" => &["subject"],
        "user" => &["name"],
        // This has been reported already.
        _ => return None,
    };
    for key in KEYS {
        match (table.get(key), needed.contains(&key)) {
            (Some(node), false) => {
                table.error(key, node.span, format!("not for a principal of type {kind:?}"))
            }
            (None, true) if !table.cx.is_incomplete() => {
                table.cx.error(node.span, format!("{}: {key} is missing for type {kind:?}", table.subject));
            }
            _ => {}
        }
    }
    let text = |key| table.text(key);
    issuers.extend(table.text_if("issuer").filter(|_| needed.contains(&"issuer")));
    Some(match kind.as_str() {
        "anyone" => Principal::Anyone,
        "any-authenticated-user" => Principal::AnyAuthenticatedUser,
        "anonymous" => Principal::Anonymous,
        "vo" => Principal::Vo { vo: text("vo") },
        "vo-map" => Principal::VoMap { vo: text("vo") },
        "fqan" => Principal::Fqan { fqan: text("fqan") },
        "jwt-group" => Principal::JwtGroup { issuer: text("issuer"), group: text("group") },
        "jwt-scope" => Principal::JwtScope { issuer: text("issuer"), scope: text("scope") },
        "jwt-issuer" => Principal::JwtIssuer { issuer: text("issuer") },
        "jwt-subject" => Principal::JwtSubject { issuer: text("issuer"), subject: text("subject") },
        "jwt-client" => Principal::JwtClient { issuer: text("issuer"), client: text("client") },
        "x509-subject" => Principal::X509Subject { subject: text("subject") },
        _ => Principal::User { name: text("name") },
    })
}

pub(crate) fn issuer(cx: &Context<'_>, name: &Located<String>, node: &Node) -> Option<IssuerSpec> {
    let subject = Subject::default().named("token issuer", &name.value);
    let table = Table::new(cx, subject, &TOKEN_ISSUER, node);
    let valid_name = names::name(cx, "token issuer", name)?;
    let issuer = table.text_if("issuer");
    let key_set = key_set(&table, issuer.as_ref());
    let algorithms: Vec<JwtAlgorithm> =
        table.many("algorithms").iter().filter_map(Node::text).filter_map(JwtAlgorithm::from_name).collect();
    if let (Some(node), []) = (table.get("algorithms"), table.many("algorithms")) {
        table.error("algorithms", node.span, "expected at least one algorithm");
    }
    Some(IssuerSpec {
        name: name.span,
        issuer: issuer.as_ref().map_or(table.span(), |issuer| issuer.span),
        plan: TokenIssuerPlan {
            name: valid_name.value,
            issuer: issuer.map(|issuer| issuer.value).unwrap_or_default(),
            key_set,
            ca: path_if(&table, "ca"),
            audiences: table.many("audiences").iter().filter_map(Node::text).map(str::to_owned).collect(),
            algorithms: match table.get("algorithms") {
                None => Issuer::new("").algorithms,
                Some(_) => algorithms,
            },
            access_token_type_required: table.text("access-token-type") == "required",
            profile_required: table.text("profile") == "required",
            leeway: table.duration("leeway"),
            lifetime_max: table.duration("max-lifetime"),
            refresh: table.duration("refresh"),
        },
    })
}

fn key_set(table: &Table<'_, '_>, issuer: Option<&Located<String>>) -> KeySetSource {
    match table.text_if("key-set") {
        Some(text) if text.value.starts_with('/') => KeySetSource::File(text.value.into()),
        Some(text) if text.value.starts_with("https://") => KeySetSource::Url(text.value),
        Some(text) => {
            let message = format!("{:?} is neither an absolute path nor an https URL", short(&text.value));
            table.error("key-set", text.span, message);
            KeySetSource::Discovery
        }
        None => {
            if let Some(issuer) = issuer.filter(|issuer| !issuer.value.starts_with("https://")) {
                let message =
                    format!("{:?} is no https URL, so its keys cannot be discovered", short(&issuer.value));
                let help = "say where they are: key-set = \"/etc/weir/keys.json\"".to_owned();
                table.report("issuer", issuer.span, message, Some(help));
            }
            KeySetSource::Discovery
        }
    }
}
