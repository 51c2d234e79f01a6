//! Prints storage areas, token issuers and token endpoints.

use toml::Value;
use weir_access::rule::{AreaSpec, Effect, PolicySpec};
use weir_dav::digest::Algorithm;
use weir_model::ByteSize;

use super::plan::{
    AreaPlan, Durability, KeySetSource, OwnAlgorithm, Symlinks, TokenEndpointPlan, TokenIssuerPlan,
};
use crate::common::print::path;
use crate::common::secret;
use crate::common::writer::{Printed, Spelled, Writer, bare, table};

pub(crate) fn area(writer: &mut Writer, area: &AreaPlan) {
    let name = bare(area.name.as_str());
    writer.table(&format!("[storage-area.{name}]"));
    writer.key("root", path(&area.root));
    writer.many("access-points", &area.access_points);
    writer.key("read-only", area.read_only);
    writer.many("index", &area.index);
    writer.key("listing", area.listing);
    writer.key("precompressed", area.precompressed);
    writer.key_if("cache-control", area.cache_control.as_ref());
    let mut mime_types = area.mime_types.entries().peekable();
    if mime_types.peek().is_some() {
        let types = mime_types.map(|(extension, media_type)| (extension.to_owned(), media_type.spelled()));
        writer.key("mime-types", Value::Table(types.collect()));
    }
    writer.key("symlinks", symlinks(area.symlinks));
    writer.key(
        "durability",
        match area.durability {
            Durability::None => "none",
            Durability::Data => "data",
            Durability::Full => "full",
        },
    );
    writer.key("checksums", list(area.checksums.iter().map(|algorithm: &Algorithm| algorithm.name())));
    writer.key_if("checksum-interval", area.checksum_interval.map(Printed));
    writer.key("trust-checksums", area.trust_checksums);
    writer.key("propfind-infinity", area.propfind_infinity);
    writer.key("threads", area.threads);
    writer.key("queue", area.queue);
    writer.key("open-files", area.open_files_max);
    writer.key_if("quota", area.quota.map(Printed));
    writer.key_if("max-files", area.files_max);
    writer.key("max-locks", area.locks_max);
    writer.key("max-locks-per-user", area.locks_per_user_max);
    writer.key_if("usage-interval", area.usage_interval.map(Printed));
    writer.key("upload-expiry", Printed(area.upload_expiry));
    writer.key_if("htpasswd", area.htpasswd.as_deref().map(path));
    writer.key("realm", &area.realm);
    writer.many("identity-from", &area.identity_from.iter().map(Printed).collect::<Vec<_>>());
    if !area.vo_maps.is_empty() {
        let maps = area.vo_maps.iter().map(|(vo, file)| (vo.clone(), path(file).spelled()));
        writer.key("vo-maps", Value::Table(maps.collect()));
    }
    writer.key("token-in-url", area.token_in_url);
    writer.key_if("token-endpoint", area.token_endpoint.as_ref().map(|name| name.as_str()));
    writer.key("third-party-copy", area.third_party_copy);
    if area.third_party_copy_rate > 0 {
        writer.key("third-party-copy-rate", format!("{}/s", ByteSize(area.third_party_copy_rate)));
    }
    secret::secret(writer, "redirect-", area.redirect_key.as_ref());
    if let Some(act_as) = &area.act_as {
        let map = Some(path(&act_as.map).spelled());
        let otherwise = act_as.otherwise.as_ref().map(Spelled::spelled);
        writer.key("act-as", table([("map", map), ("otherwise", otherwise)]));
    }
    if let Some(accel) = &area.accel_redirect {
        writer.table(&format!("[storage-area.{name}.accel-redirect]"));
        writer.key("prefix", &accel.prefix);
        writer.many("trusted", &accel.trusted.iter().map(Printed).collect::<Vec<_>>());
    }
    access(writer, &name, &area.access);
}

pub(crate) fn symlinks(symlinks: Symlinks) -> &'static str {
    match symlinks {
        Symlinks::Never => "never",
        Symlinks::InsideRoot => "inside-root",
        Symlinks::OwnerMatch => "owner-match",
    }
}

fn access(writer: &mut Writer, area: &str, access: &AreaSpec) {
    writer.table(&format!("[storage-area.{area}.access]"));
    writer.key("anonymous-read", access.anonymous_read);
    writer.key("authenticated-read", access.authenticated_read);
    writer.key("certificate-read", access.certificate_read);
    writer.many("vos", &access.vos);
    writer.key("vo-map-read", access.vo_map_read);
    writer.key("vo-map-write", access.vo_map_write);
    writer.many("issuers", &access.issuers);
    writer.key("issuers-read", access.issuers_read);
    writer.key("issuers-write", access.issuers_write);
    writer.key("token-scopes", access.token_scopes);
    if !access.scope_bases.is_empty() {
        let bases = access.scope_bases.iter().map(|(issuer, base)| (issuer.clone(), base.spelled()));
        writer.key("scope-bases", Value::Table(bases.collect()));
    }
    writer.many("cedar", &access.cedar.iter().map(|file| path(file)).collect::<Vec<_>>());
    writer.key("policies", access.policies);
    access.policy.iter().for_each(|one| policy(writer, area, one));
}

fn policy(writer: &mut Writer, area: &str, policy: &PolicySpec) {
    writer.table(&format!("[[storage-area.{area}.access.policy]]"));
    writer.key("description", &policy.description);
    writer.key("effect", if policy.effect == Effect::Permit { "permit" } else { "deny" });
    // The file uses the serialized names of actions.
    let actions = policy.actions.iter().filter_map(|action| Value::try_from(action).ok());
    writer.key("actions", Value::Array(actions.collect()));
    writer.many("paths", &policy.paths);
    let principals = policy.principals.iter().filter_map(|principal| Value::try_from(principal).ok());
    writer.lines("principals", principals.map(escaped));
}

/// Returns the value with its texts in the syntax of the file.
fn escaped(value: Value) -> Value {
    match value {
        Value::String(text) => text.spelled(),
        Value::Table(entries) => {
            Value::Table(entries.into_iter().map(|(key, value)| (key, escaped(value))).collect())
        }
        other => other,
    }
}

pub(crate) fn issuer(writer: &mut Writer, issuer: &TokenIssuerPlan) {
    writer.table(&format!("[token-issuer.{}]", bare(issuer.name.as_str())));
    writer.key("issuer", &issuer.issuer);
    match &issuer.key_set {
        KeySetSource::File(file) => writer.key("key-set", path(file)),
        KeySetSource::Url(url) => writer.key("key-set", url),
        KeySetSource::Discovery => {}
    }
    writer.key_if("ca", issuer.ca.as_deref().map(path));
    writer.many("audiences", &issuer.audiences);
    writer.key("algorithms", list(issuer.algorithms.iter().map(|algorithm| algorithm.name())));
    let stated = |required| if required { "required" } else { "when-stated" };
    writer.key("access-token-type", stated(issuer.access_token_type_required));
    writer.key("profile", stated(issuer.profile_required));
    writer.key("leeway", Printed(issuer.leeway));
    writer.key("max-lifetime", Printed(issuer.lifetime_max));
    writer.key("refresh", Printed(issuer.refresh));
}

pub(crate) fn endpoint(writer: &mut Writer, endpoint: &TokenEndpointPlan) {
    writer.table(&format!("[token-endpoint.{}]", bare(endpoint.name.as_str())));
    writer.key("issuer", &endpoint.issuer);
    writer.key("path", &endpoint.path);
    writer.key("algorithm", if endpoint.algorithm == OwnAlgorithm::Hs256 { "HS256" } else { "ES256" });
    writer.key("key", path(&endpoint.key));
    let previous: Vec<String> = endpoint.previous_keys.iter().map(|file| path(file)).collect();
    writer.many("previous-keys", &previous);
    writer.many("audiences", &endpoint.audiences);
    writer.key("lifetime", Printed(endpoint.lifetime));
    writer.key("max-lifetime", Printed(endpoint.lifetime_max));
    writer.key("max-requests", endpoint.requests_per_minute);
}

/// Returns a list, even of one name or of none.
fn list<'n>(names: impl Iterator<Item = &'n str>) -> Value {
    Value::Array(names.map(Spelled::spelled).collect())
}
