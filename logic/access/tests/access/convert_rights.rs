//! Tests of the rights after a conversion. They follow StoRM's code, not its documentation, and a marked note
//! reports each change.

use weir_access::convert::{Converted, Note, Source, convert_storm};

fn converted(properties: &str, application: &str) -> Converted {
    let area = format!("name=p\nrootPath=/p\naccessPoints=/p\n{properties}");
    let area = Source { name: "p.properties", text: &area };
    convert_storm(&[area], &[Source { name: "application.yml", text: application }]).unwrap()
}

fn table(converted: &Converted) -> toml::Table {
    converted.toml.parse().unwrap_or_else(|error| panic!("{error}\n{}", converted.toml))
}

fn access(converted: &Converted) -> toml::Table {
    table(converted)["storage-area"]["p"]["access"].as_table().unwrap().clone()
}

/// Returns the notes about rights that contain a text.
fn access_notes<'a>(converted: &'a Converted, text: &str) -> Vec<&'a Note> {
    converted.notes.iter().filter(|note| note.is_about_access && note.what.contains(text)).collect()
}

fn says(converted: &Converted, line: usize, text: &str) {
    let found = access_notes(converted, text);
    assert!(found.iter().any(|note| note.line == line), "{text} at line {line}: {:#?}", converted.notes);
    assert!(found.iter().all(|note| note.to_string().contains(": access: ")), "{found:?}");
}

const ISSUER: &str = "https://iam.example";
const ISSUERS: &str = "oauth:\n  issuers:\n  - {name: iam, issuer: \"https://iam.example\"}\n";

#[test]
fn members_by_a_map_file_may_write_by_the_key_that_the_code_reads_only() {
    for (properties, may_write) in [
        ("vos=cms\nvoMapGrantsWritePermission=true\n", true),
        ("vos=cms\nvoMapGrantsWritePermission=false\n", false),
        ("vos=cms\n", false),
        ("vos=cms\nvoMapGrantsWriteAccess=true\n", false),
        // A client without the right to read may not write.
        ("vos=cms\nvoMapEnabled=false\nvoMapGrantsWritePermission=true\n", false),
    ] {
        let converted = converted(properties, "");
        let rules = access(&converted);
        assert_eq!(rules["vo-map-write"].as_bool(), Some(may_write), "{properties}");
    }
    let documented = converted("vos=cms\nvoMapGrantsWriteAccess=true\n", "");
    says(&documented, 5, "voMapGrantsWriteAccess has no effect in StoRM");
}

#[test]
fn bearers_of_tokens_may_write_unless_that_is_said_to_be_false() {
    let orgs = format!("orgs={ISSUER}\n");
    for (properties, may_write) in [
        ("", true),
        ("orgsGrantWritePermission=true\n", true),
        ("orgsGrantWritePermission=false\n", false),
        ("orgsGrantReadPermission=false\n", false),
        ("orgsGrantReadPermission=false\norgsGrantWritePermission=true\n", false),
        // StoRM's code does not read the plural form.
        ("orgsGrantWritePermissions=false\n", true),
    ] {
        let converted = converted(&format!("{orgs}{properties}"), ISSUERS);
        assert_eq!(access(&converted)["issuers-write"].as_bool(), Some(may_write), "{properties}");
    }
    let unset = converted(&orgs, ISSUERS);
    says(&unset, 4, "orgsGrantWritePermission is not set, and StoRM's code takes true");
    let said = converted(&format!("{orgs}orgsGrantWritePermission=true\n"), ISSUERS);
    assert_eq!(access_notes(&said, "is not set"), Vec::<&Note>::new());
    let misspelt = converted(&format!("{orgs}orgsGrantWritePermissions=false\n"), ISSUERS);
    says(&misspelt, 5, "orgsGrantWritePermissions has no effect in StoRM");
}

#[test]
fn read_access_for_the_authenticated_is_for_certificates_as_it_was() {
    let rules = access(&converted("authenticatedReadEnabled=true\n", ISSUERS));
    assert_eq!(rules["certificate-read"].as_bool(), Some(true));
    assert_eq!(rules.get("authenticated-read"), None, "it would be for tokens, too");
}

#[test]
fn an_area_whose_denials_may_be_on_or_off_is_left_out() {
    let unclear = converted("fineGrainedAuthzEnabled=yes\nanonymousReadEnabled=true\n", "");
    assert_eq!(unclear.toml, "");
    says(&unclear, 4, "fineGrainedAuthzEnabled is neither true nor false");
}

#[test]
fn an_issuer_whose_audiences_are_checked_without_any_is_trusted_no_more_than_before() {
    let issuer = |more: &str| {
        format!("oauth:\n  issuers:\n  - name: iam\n    issuer: \"https://iam.example\"\n{more}")
    };
    for on in ["true", "yes", "on", "\"1\"", "TRUE", "${CHECK}"] {
        let converted =
            converted("orgs=https://iam.example\n", &issuer(&format!("    enforceAudienceChecks: {on}\n")));
        assert!(table(&converted).get("token-issuer").is_none(), "{on}: {}", converted.toml);
        says(&converted, 3, "left out");
        let with = format!("    enforce-audience-checks: {on}\n    audiences: [https://dav.example]\n");
        let converted = self::converted("orgs=https://iam.example\n", &issuer(&with));
        let audiences = &table(&converted)["token-issuer"]["iam"]["audiences"];
        assert_eq!(audiences.as_array().map(Vec::len), Some(1), "{on}: {}", converted.toml);
        says(&converted, 3, "tokens without aud");
        says(&converted, 3, "https://wlcg.cern.ch/jwt/v1/any");
    }
    for off in ["", "    enforceAudienceChecks: no\n", "    audiences: [https://dav.example]\n"] {
        let converted = converted("orgs=https://iam.example\n", &issuer(off));
        assert!(table(&converted)["token-issuer"]["iam"].get("audiences").is_none(), "{}", converted.toml);
        says(&converted, 3, "tokens that are meant for other services are accepted");
    }
}

#[test]
fn keys_come_from_where_the_code_looks_for_them() {
    let text = "oauth:\n  issuers:\n  - name: iam\n    issuer: https://iam.example\n    jwkUri: https://other.example/jwk\n";
    let converted = converted("orgs=https://iam.example\n", text);
    assert!(table(&converted)["token-issuer"]["iam"].get("key-set").is_none(), "{}", converted.toml);
    says(&converted, 5, "jwkUri");
}

fn policies(list: &str) -> String {
    format!("storm:\n  authz:\n    policies:\n{list}")
}

fn actions(converted: &Converted, number: usize) -> Vec<String> {
    access(converted)["policy"][number]["actions"].clone().try_into().unwrap()
}

#[test]
fn reading_includes_listing_and_who_may_not_write_may_not_move_away() {
    let text = policies(
        "    - {sa: p, effect: deny, actions: [write], description: a, principals: [{type: anyone}]}\n    \
         - {sa: p, effect: deny, actions: [READ], description: b, principals: [{type: anyone}]}\n    \
         - {sa: p, effect: permit, actions: [read, list], description: c, principals: [{type: anyone}]}\n    \
         - {sa: p, effect: permit, actions: [write], description: d, principals: [{type: anyone}]}\n",
    );
    let converted = converted("fineGrainedAuthzEnabled=true\n", &text);
    assert_eq!(actions(&converted, 0), ["write", "delete"]);
    assert_eq!(actions(&converted, 1), ["list", "read"]);
    assert_eq!(actions(&converted, 2), ["list", "read"]);
    assert_eq!(actions(&converted, 3), ["write"]);
    says(&converted, 4, "it denies to delete, too");
    says(&converted, 7, "to move something away takes read and delete");
    says(&converted, 7, "PROPPATCH");
    assert_eq!(access_notes(&converted, "PROPPATCH").len(), 1, "of permits only");
}

#[test]
fn a_denial_that_could_be_outvoted_is_told() {
    let text = policies(
        "    - {sa: p, effect: deny, actions: [all], description: a, principals: [{type: anyone}]}\n    \
         - {sa: p, effect: permit, actions: [all], description: b, principals: [{type: anyone}]}\n",
    );
    let on = converted("fineGrainedAuthzEnabled=true\n", &text);
    says(&on, 4, "this denial is final");
    assert_eq!(access_notes(&on, "this denial is final").len(), 1);
}

#[test]
fn groups_and_clients_that_more_claims_state_are_told() {
    let text = policies(
        "    - {sa: p, effect: permit, actions: [all], description: a, principals: [{type: JWT_GROUP, params: {iss: \"https://iam.example\", group: /a}}]}\n    \
         - {sa: p, effect: permit, actions: [all], description: b, principals: [{type: jwtClient, params: {iss: \"https://iam.example\", id: c}}]}\n",
    );
    let converted = converted("fineGrainedAuthzEnabled=true\n", &format!("{ISSUERS}{text}"));
    assert_eq!(access(&converted)["policy"].as_array().map(Vec::len), Some(2), "{}", converted.toml);
    says(&converted, 7, "wlcg.groups");
    says(&converted, 8, "azp");
}

#[test]
fn policies_that_reached_into_another_area_are_told() {
    let outer = "name=outer\nrootPath=/o\naccessPoints=/data\nfineGrainedAuthzEnabled=true\n";
    let inner = "name=inner\nrootPath=/i\naccessPoints=/data/inner\nfineGrainedAuthzEnabled=true\n";
    let text = policies(
        "    - {sa: outer, effect: deny, actions: [all], description: a, principals: [{type: anyone}]}\n",
    );
    let areas = [Source { name: "o.properties", text: outer }, Source { name: "i.properties", text: inner }];
    let converted = convert_storm(&areas, &[Source { name: "application.yml", text: &text }]).unwrap();
    says(&converted, 4, "also at /data/inner of the area 'inner'; so it is written there, too");
    for area in ["outer", "inner"] {
        let policies = &table(&converted)["storage-area"][area]["access"]["policy"];
        assert_eq!(policies[0]["effect"].as_str(), Some("deny"), "{area}: {policies}");
        assert_eq!(policies[0].get("paths"), None, "{area}: {policies}");
    }
    let permits = text.replace("effect: deny", "effect: permit");
    let converted = convert_storm(&areas, &[Source { name: "application.yml", text: &permits }]).unwrap();
    says(&converted, 4, "here it counts in 'outer' only");
    assert!(table(&converted)["storage-area"]["inner"]["access"].get("policy").is_none());
}

#[test]
fn what_the_files_do_not_say_and_is_otherwise_here_is_told() {
    let converted = converted("vos=cms\norgs=https://iam.example\nanonymousReadEnabled=true\n", ISSUERS);
    says(&converted, 1, "symbolic links");
    says(&converted, 1, "without a certificate");
    says(&converted, 1, "COPY to another server");
    says(&converted, 4, "VOMS attributes");
    says(&converted, 5, "limited to them");
    says(&converted, 5, "no access tokens");
    says(&converted, 5, "without nbf");
    assert_eq!(access_notes(&converted, "storage.stage"), Vec::<&Note>::new());
    let scopes = self::converted("orgs=https://iam.example\nwlcgScopeAuthzEnabled=true\n", ISSUERS);
    says(&scopes, 5, "storage.stage does not permit to read here");
    says(&converted, 6, "bearers of tokens");
    let with_maps = self::converted("vos=cms\n", "storm:\n  voMapFiles:\n    enabled: yes\n");
    says(&with_maps, 3, "by a file as well as by VOMS attributes");
    let disabled = self::converted("", "storm:\n  authz:\n    disabled: true\n");
    says(&disabled, 3, "storm.authz.disabled");
    let enabled = self::converted("", "storm:\n  authz:\n    disabled: false\n");
    assert_eq!(access_notes(&enabled, "storm.authz.disabled"), Vec::<&Note>::new());
}

#[test]
fn there_is_no_listener_with_tls_where_a_proxy_in_front_ends_it() {
    let behind = converted("", "storm:\n  nginx:\n    enabled: true\n");
    let listeners = table(&behind)["listener"].as_table().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(listeners, ["http"]);
    let alone = converted("", "storm:\n  nginx:\n    enabled: false\n");
    assert_eq!(table(&alone)["listener"].as_table().unwrap().len(), 2);
}
